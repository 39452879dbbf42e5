"""The command podium plan: the number of items to sample, before any are sampled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli import _messages, _render
from podium.cli._fit import Table
from podium.cli._options import FORMATS, Format
from podium.cli._samples import SampleColumns, Samples
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.sampled import Estimator, Plan, PlannedDesign, SampledRanks

_FLAT = (
    *("kind", "n_negatives", "stages", "n_scored", "n_scored_in_all", "share"),
    *("std_error", "bias", "error", "reaches"),
)
_WORTH = {
    "median": ": where ranks were known, errors were planned as .55 to 4.7 times the true ones"
}
_DIGITS = 6  # decimals of numbers of items
_EXPECTED = "What ranks are expected"


def plan(
    samples: Samples,
    columns: SampleColumns,
    users: Annotated[
        int, typer.Option(metavar="M", help="Users whose held-out items will be ranked.")
    ],
    error: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="What the estimate may be off: root mean square error (standard error and bias "
            "together), in units of the measure.",
        ),
    ],
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            "--metric",
            "-m",
            metavar="MEASURE",
            help="That the target's rank determines.",
        ),
    ] = "ndcg@10",
    relative: Annotated[
        bool, typer.Option("--relative", help="The error is a share of the measure's value.")
    ] = False,
    ignore_bias: Annotated[
        bool,
        typer.Option("--ignore-bias", help="Hold the standard error alone to X, without bias."),
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="That podium estimate will use: auto (smooth), or another as mle or "
            "'bv(gamma=0.1)'.",
        ),
    ] = "auto",
    pilot: Annotated[
        Path | None,
        typer.Option(
            metavar="RANKS",
            help="Sampled ranks of some users, as podium estimate reads them.",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    expect: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Without a pilot: the value of the measure that is expected. Else recall@k is "
            "taken to be the square root of k / N.",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Sizes of samples to look at, the last ones if they grow; else from 25, doubled "
            "until X is reached.",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Draws from what a pilot leaves open, and simulations for methods that need "
            "them: 16 without this option.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of these.")] = 0,
    format: Format = "table",
) -> None:
    """Find how many items to sample for an error, and the cost of ranking all.

    For samples of a fixed size, and for samples that grow while the target
    comes first. Ranks are expected to be as those of a pilot; without one, of
    three shapes that have one value of the measure.
    """
    from podium import _check

    _check.choice(format, "--format", FORMATS)
    _check.seed(seed)
    from podium import sampled
    from podium.cli._samples import read_numbers

    with _messages.own_words(_messages.of_plan):
        options: dict[str, Any] = {} if repeats is None else {"n_repeats": repeats}
        options |= {"relative": relative, "ignore_bias": ignore_bias, "method": method}
        options |= {"replacement": not samples.no_replacement, "seed": seed, "expect": expect}
        options |= {"pilot": _read_pilot(pilot, samples, columns, seed)}
        sample_sizes = None if sizes is None else read_numbers(sizes, "--sizes", "50,100,200")
        options |= {"sizes": sample_sizes}
        if repeats is not None and pilot is None:
            _refuse_repeats(sampled.get(method))
        with _messages.progress("planning") as show:
            result = sampled.plan(samples.items, users, measure, error, progress=show, **options)
    _show(result, format, assumed=expect is None)


def _read_pilot(
    path: Path | None, samples: Samples, columns: SampleColumns, seed: int
) -> SampledRanks | None:
    """Return the ranks of the pilot, or None if there is no pilot."""
    from podium.cli._samples import read_all, reader

    if path is None:
        _refuse_options_of_a_pilot(samples, columns)
        return None
    (ranks,) = read_all([path], reader(samples, columns, seed=seed))
    return ranks


def _refuse_options_of_a_pilot(samples: Samples, columns: SampleColumns) -> None:
    """Raise an ArgumentError if options describe a pilot and there is none."""
    options = {**vars(samples), **vars(columns)}
    for name, value in options.items():
        if name not in ("items", "no_replacement") and value not in (None, False):
            raise ArgumentError(
                f"--{name.replace('_', '-')} tells how to read a pilot, and there is none. Pass "
                "--pilot RANKS, or leave it out."
            )


def _refuse_repeats(method: Estimator) -> None:
    """Raise an ArgumentError if a plan without a pilot simulates nothing."""
    from podium.sampled import LinearEstimator, Smooth

    if isinstance(method, Smooth | LinearEstimator):
        raise ArgumentError(
            "--repeats is for draws from a pilot and for methods whose error is simulated, and "
            f"there is no pilot and {method.name}'s is computed. Leave it out."
        )


def _show(plan: Plan, format: str, *, assumed: bool) -> None:
    """Print a plan.

    `assumed` is true if the value of the measure was not given.
    """
    note = "\n".join([" ".join(_conclusions(plan)), " ".join(_assumptions(plan, assumed))])
    result = _as_json(plan)
    _render.either(result, format, shown=[_shown(plan)], flat=_flat(plan, result), note=note)


def _as_json(plan: Plan) -> dict[str, Any]:
    """Return the JSON form, with rounded numbers of items, which are sums of probabilities."""
    content = plan.to_dict()
    rounded = [
        {
            **design,
            **{name: round(design[name], _DIGITS) for name in ("n_scored", "n_scored_in_all")},
        }
        for design in content["designs"]
    ]
    return {**content, "designs": rounded}


def _shown(plan: Plan) -> Table:
    columns = ["sampled", "scored", "in all", "of all", "std error", "bias", "error"]
    has_several_errors = len(plan.everything.errors) > 1
    rows = [
        [
            design.text,
            f"{design.n_scored:,.1f}".removesuffix(".0"),
            _count(design.n_scored * plan.n_users),
            _percent(design.share),
            *(_number(design.std_error), f"{design.bias:.2g}", _number(design.error)),
            *([f"{min(design.errors.values()):.2g}"] if has_several_errors else []),
            "yes" if design.reaches else "",
        ]
        for design in plan.designs
    ]
    return {"columns": [*columns, *(["or only"] if has_several_errors else []), "ok"], "rows": rows}


def _flat(plan: Plan, result: dict[str, Any]) -> Table:
    designs: list[dict[str, Any]] = result["designs"]
    names = list(plan.everything.errors)
    rows = [
        [
            *(_cell(design[name]) for name in _FLAT),
            *(design["errors"][name] for name in names),
        ]
        for design in designs
    ]
    return {"columns": [*_FLAT, *(f"error_{name}" for name in names)], "rows": rows}


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _conclusions(plan: Plan) -> Iterator[str]:
    goal = f"{plan.measure} within {_number(plan.goal)}"
    largest = max([0, *(design.n_negatives for design in plan.designs if design.kind != "all")])
    if plan.best is None:
        yield from _too_few_users(plan, goal, largest)
    elif not largest:
        yield f"{plan.n_items} items are too few to sample from: rank all of them."
    elif plan.best is plan.everything:
        yield f"No sample of up to {largest} items has {goal}: rank all items, or see --sizes."
    else:
        yield f"For {goal}: {_choice('fixed sample', plan.fixed)};"
        yield f"{_choice('sample that doubles while the target comes first', plan.growing)}."
        yield from _nearer_than_all(plan)
    yield from _held(plan)


def _too_few_users(plan: Plan, goal: str, largest: int) -> Iterator[str]:
    yield (
        f"{plan.n_users} users are too few for {goal}: ranking all items has an error of "
        f"{_number(plan.everything.error)}, which comes from having no others"
        + (f", and no sample of up to {largest} items is near enough." if largest else ".")
    )
    yield f"Ranking all items takes {plan.n_users_needed} users."


def _nearer_than_all(plan: Plan) -> Iterator[str]:
    """Yield a note if a sample has less error than all ranks: its estimate varies less."""
    if not plan.everything.reaches:
        yield (
            f"Ranking all items has an error of {_number(plan.everything.error)}, which comes from "
            f"having no other users, and takes {plan.n_users_needed} users to reach it: an "
            "estimate from a sample varies less, as it is drawn to what its method assumes."
        )


def _held(plan: Plan) -> Iterator[str]:
    """Yield which error was compared with the goal, and the result of the other choice."""
    if plan.conventions["ignore_bias"]:
        yield "Held to the goal: the standard error alone. Bias was left out."
        return
    yield "Held to the goal: the root mean square error, standard error and bias together"
    yield f"({_alone(plan)}--ignore-bias holds the standard error alone)."


def _alone(plan: Plan) -> str:
    design = next(
        (candidate for candidate in plan.designs if candidate.std_error <= plan.goal), None
    )
    if design is None or design is plan.best:
        return ""
    return f"{design.text} has a standard error within it, but a bias that takes it beyond; "


def _choice(what: str, found: PlannedDesign | None) -> str:
    if found is None:
        return f"no {what} is enough"
    return f"{what}, {found.text} items: {_percent(found.share)} of the cost of ranking all"


def _assumptions(plan: Plan, assumed: bool) -> Iterator[str]:
    if plan.conventions["expected_from"] == "pilot":
        yield (
            f"Expected: ranks as a smooth fit to the pilot of {plan.conventions['n_pilot_users']} "
            f"users leaves them open, {plan.measure} about {_number(plan.value)}. Bias: the "
            f"{plan.conventions['bias_is']} of what is left open, not what will be found"
            f"{_WORTH.get(plan.conventions['bias_is'], '')}."
        )
    else:
        why = "as where recall@k is the square root of k / N, see --expect" if assumed else "given"
        yield (
            f"Expected, without a pilot: {plan.measure} of {_number(plan.value)} ({why}), and "
            f"ranks of one of three shapes ({', '.join(plan.everything.errors)}). Errors are those "
            "of the worst shape, 'or only' those of the best."
        )
    yield (
        f"Scored: items a user on average, the target too. Method: {plan.conventions['method']}."
    )


def _count(number: float) -> str:
    """Return a large number with a unit, such as 1.2M."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.1f}{name}"
    return f"{number:.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"


def _number(value: float) -> str:
    return f"{value:.3g}"
