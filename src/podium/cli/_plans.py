"""Plans on stdout: the table of designs, and what it says in words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from podium.cli import _estimates, _render
from podium.cli._fit import Table
from podium.errors import ArgumentError, PodiumError

if TYPE_CHECKING:
    from podium.cli._samples import SampleColumns, Samples
    from podium.sampled import Plan, PlannedDesign

_FLAT = (
    *("kind", "n_negatives", "stages", "n_scored", "n_scored_in_all", "share"),
    *("std_error", "bias", "error", "reaches"),
)
_OPTIONS = {"n_users": "--users", "n_repeats": "--repeats"}
_BARE = re.compile(rf"(?<![\w./'\"=-])({'|'.join(_OPTIONS)})(?![\w/'\"-]|\.\w)")
_FIRST = re.compile(r"^(error|expect|pilot|sizes)\b(?= (?:must|is)\b)")


@contextmanager
def own_words() -> Generator[None]:
    """Name this command's options in errors and warnings."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except PodiumError as error:
        raise type(error)(as_options(str(error))) from error
    for each in caught:
        warnings.warn(as_options(str(each.message)), each.category, stacklevel=3)


def as_options(text: str) -> str:
    """Write the library's arguments as options of `podium plan`.

    Examples
    --------
    >>> as_options("error must be a number > 0, got 0. n_users is 5 of n_items.")
    '--error must be a number > 0, got 0. --users is 5 of --items.'
    """
    text = _FIRST.sub(lambda match: f"--{match[1]}", _estimates.as_options(text))
    return _BARE.sub(lambda match: _OPTIONS[match[1]], text)


def refuse_options_of_a_pilot(samples: Samples, columns: SampleColumns) -> None:
    """Raise where the options say how a pilot was drawn, and there is none."""
    said = {**vars(samples), **vars(columns)}
    for name, value in said.items():
        if name not in ("items", "no_replacement") and value not in (None, False):
            raise ArgumentError(
                f"--{name.replace('_', '-')} tells how to read a pilot, and there is none. Pass "
                "--pilot RANKS, or leave it out."
            )


def read_sizes(text: str | None) -> list[int] | None:
    """Return numbers that stand between commas."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise ArgumentError(f"--sizes must be numbers with commas, as 50,100,200, got {text!r}.")
    return [int(word) for word in words]


def show(plan: Plan, format: str) -> None:
    """Print a plan."""
    note = "\n".join([" ".join(_conclusions(plan)), " ".join(_assumptions(plan))])
    _render.either(plan.to_dict(), format, shown=[_shown(plan)], flat=_flat(plan), note=note)


def _shown(plan: Plan) -> Table:
    columns = ["sampled", "scored", "in all", "of all", "std error", "bias", "error"]
    several = len(plan.everything.errors) > 1
    rows = [
        [
            each.text,
            f"{each.n_scored:,.1f}".removesuffix(".0"),
            _count(each.n_scored * plan.n_users),
            _percent(each.share),
            *(_number(each.std_error), f"{each.bias:.2g}", _number(each.error)),
            *([f"{min(each.errors.values()):.2g}"] if several else []),
            "yes" if each.reaches else "",
        ]
        for each in plan.designs
    ]
    return {"columns": [*columns, *(["or only"] if several else []), "ok"], "rows": rows}


def _flat(plan: Plan) -> Table:
    found: list[dict[str, Any]] = plan.to_dict()["designs"]
    names = list(plan.everything.errors)
    rows = [
        [
            *(_cell(design[name]) for name in _FLAT),
            *(design["errors"][name] for name in names),
        ]
        for design in found
    ]
    return {"columns": [*_FLAT, *(f"error_{name}" for name in names)], "rows": rows}


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _conclusions(plan: Plan) -> Iterator[str]:
    goal = f"{plan.measure} within {_number(plan.goal)}"
    largest = max([0, *(d.n_negatives for d in plan.designs if d.kind != "all")])
    if not plan.everything.reaches:
        yield (
            f"{plan.n_users} users are too few for {goal}: ranking all items has an error of "
            f"{_number(plan.everything.error)}, which comes from having no others. It takes "
            f"{plan.n_users_needed} users."
        )
    elif not largest:
        yield f"{plan.n_items} items are too few to sample from: rank all of them."
    elif plan.fixed is None and plan.growing is None:
        yield f"No sample of up to {largest} items has {goal}: rank all items, or see --sizes."
    else:
        yield f"For {goal}: {_choice('fixed sample', plan.fixed)};"
        yield f"{_choice('sample that doubles while the target comes first', plan.growing)}."
    if plan.conventions["ignore_bias"]:
        yield "Bias was left out."
    elif _bias_decides(plan):
        yield ("Cheaper ones have a standard error within it, but a bias that takes them beyond.")


def _choice(what: str, found: PlannedDesign | None) -> str:
    if found is None:
        return f"no {what} is enough"
    return f"{what}, {found.text} items: {_percent(found.share)} of the cost of ranking all"


def _bias_decides(plan: Plan) -> bool:
    until = plan.designs if plan.best is None else plan.designs[: plan.designs.index(plan.best)]
    return any(each.std_error <= plan.goal for each in until)


def _assumptions(plan: Plan) -> Iterator[str]:
    if plan.conventions["expected_from"] == "pilot":
        yield (
            f"Expected: ranks as a smooth fit to the pilot of {plan.conventions['n_pilot_users']} "
            f"users leaves them open, {plan.measure} about {_number(plan.value)}."
        )
    else:
        yield (
            f"Expected, without a pilot: {plan.measure} of {_number(plan.value)} (--expect), and "
            f"ranks of one of three shapes ({', '.join(plan.everything.errors)}). Errors are those "
            "of the worst shape, 'or only' those of the best."
        )
    yield (
        f"Scored: items a user on average, the target too. Method: {plan.conventions['method']}."
    )


def _count(number: float) -> str:
    """Write a large number with a unit, as 1.2M."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.1f}{name}"
    return f"{number:.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"


def _number(value: float) -> str:
    return f"{value:.3g}"
