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
_ERROR_ACCURACY = {
    "median": "; where ranks were known, planned errors were .55 to 4.7 times the true errors"
}
_DIGITS = 6  # decimals of numbers of items
_EXPECTED = "Expected ranks"


def plan(
    samples: Samples,
    columns: SampleColumns,
    users: Annotated[
        int, typer.Option(metavar="M", help="Number of users whose held-out items will be ranked.")
    ],
    error: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="Largest acceptable error of the estimate: the root mean square error, which "
            "combines standard error and bias, in units of the measure.",
        ),
    ],
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            "--metric",
            "-m",
            metavar="MEASURE",
            help="Measure that is determined by the rank of the target.",
        ),
    ] = "ndcg@10",
    relative: Annotated[
        bool,
        typer.Option("--relative", help="Take X of --error as a share of the measure's value."),
    ] = False,
    ignore_bias: Annotated[
        bool,
        typer.Option(
            "--ignore-bias", help="Apply --error to the standard error only, without bias."
        ),
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="Method that podium estimate will use: auto (smooth), or another one such as mle "
            "or 'bv(gamma=0.1)'.",
        ),
    ] = "auto",
    pilot: Annotated[
        Path | None,
        typer.Option(
            metavar="RANKS",
            help="Table of the sampled ranks (RANKS) or scores (SCORES) of some users, as for "
            "podium estimate.",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    expect: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Expected value of the measure, without a pilot. Default: the value of a "
            "ranking with recall@k = sqrt(k / N).",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Sizes of samples to compare; for growing samples, their last sizes. Default: "
            "from 25, doubled until the error X is reached.",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of draws from the posterior of the pilot, and of simulations for methods "
            "that need them. Default: 16.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of draws and simulations.")] = 0,
    format: Format = "table",
) -> None:
    """Compute how many items to sample for a given error, and the cost of ranking all items.

    The plan compares samples of a fixed size with samples that grow while the target ranks first.
    The expected ranks follow from a pilot. Without a pilot, the plan assumes three distributions of
    ranks with the same value of the measure.
    """
    from podium import _check

    _check.choice(format, "--format", FORMATS)
    _check.seed(seed)
    from podium import sampled
    from podium.cli._samples import read_numbers

    with _messages.naming_options(_messages.of_plan):
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
                f"--{name.replace('_', '-')} is an option of the pilot, and there is none. Pass "
                "--pilot RANKS, or leave it out."
            )


def _refuse_repeats(method: Estimator) -> None:
    """Raise an ArgumentError if a plan without a pilot simulates nothing."""
    from podium.sampled import LinearEstimator, Smooth

    if isinstance(method, Smooth | LinearEstimator):
        raise ArgumentError(
            "--repeats is for plans with a pilot and for methods whose error is simulated. There "
            f"is no pilot, and the error of {method.name} is computed. Leave it out."
        )


def _show(plan: Plan, format: str, *, assumed: bool) -> None:
    """Print a plan.

    `assumed` is true if the value of the measure was not given.
    """
    note = "\n".join([" ".join(_conclusions(plan)), " ".join(_assumptions(plan, assumed))])
    result = _as_json(plan)
    _render.print_result(
        result, format, tables=[_design_table(plan)], flat=_flat_table(plan, result), note=note
    )


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


def _design_table(plan: Plan) -> Table:
    columns = ["sampled", "scored", "total", "share", "std error", "bias", "error"]
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
    return {"columns": [*columns, *(["at best"] if has_several_errors else []), "ok"], "rows": rows}


def _flat_table(plan: Plan, result: dict[str, Any]) -> Table:
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
        yield f"No sample of up to {largest} items gives {goal}."
        yield "Rank all items, or pass larger --sizes."
    else:
        yield f"For {goal}: {_choice('fixed sample', plan.fixed)};"
        yield f"{_choice('sample that doubles while the target ranks first', plan.growing)}."
        yield from _nearer_than_all(plan)
    yield from _compared_error(plan)


def _too_few_users(plan: Plan, goal: str, largest: int) -> Iterator[str]:
    yield (
        f"{plan.n_users} users are too few for {goal}: ranking all items has an error of "
        f"{_number(plan.everything.error)}, because the users are a sample"
        + (f", and no sample of up to {largest} items reaches the goal." if largest else ".")
    )
    yield f"Ranking all items reaches the goal with {plan.n_users_needed} users."


def _nearer_than_all(plan: Plan) -> Iterator[str]:
    """Yield a note if a sample has less error than all ranks: its estimate varies less."""
    if not plan.everything.reaches:
        yield (
            f"Ranking all items has an error of {_number(plan.everything.error)}, because the "
            f"users are a sample. It reaches the goal with {plan.n_users_needed} users. The "
            "estimate from sampled items varies less, because it is shrunk towards the assumptions "
            "of its method."
        )


def _compared_error(plan: Plan) -> Iterator[str]:
    """Yield which error was compared with the goal, and the result of the other choice."""
    if plan.conventions["ignore_bias"]:
        yield "Compared with the goal: the standard error only, without the bias."
        return
    yield "Compared with the goal: the root mean square error of standard error and bias together"
    yield f"({_bias_note(plan)}--ignore-bias compares the standard error only)."


def _bias_note(plan: Plan) -> str:
    design = next(
        (candidate for candidate in plan.designs if candidate.std_error <= plan.goal), None
    )
    if design is None or design is plan.best:
        return ""
    return f"a sample of {design.text} has a small enough standard error, but too much bias; "


def _choice(kind: str, design: PlannedDesign | None) -> str:
    if design is None:
        return f"no {kind} is enough"
    return f"{kind} ({design.text} items, {_percent(design.share)} of the cost of ranking all)"


def _assumptions(plan: Plan, assumed: bool) -> Iterator[str]:
    if plan.conventions["expected_from"] == "pilot":
        yield (
            f"Expected ranks: the smooth fit to the pilot of {plan.conventions['n_pilot_users']} "
            f"users, with its uncertainty; {plan.measure} is about {_number(plan.value)}. Bias: "
            f"the {plan.conventions['bias_is']} over this uncertainty, not the true bias"
            f"{_ERROR_ACCURACY.get(plan.conventions['bias_is'], '')}."
        )
    else:
        why = "so that recall@k is the square root of k / N, see --expect" if assumed else "given"
        yield (
            "Expected ranks, without a pilot: one of three shapes "
            f"({', '.join(plan.everything.errors)}), with {plan.measure} = {_number(plan.value)} "
            f"({why}). The errors are those of the worst shape; 'at best' is that of the best one."
        )
    yield (
        "Scored: the mean number of items per user, including the target. Share: of the cost of "
        f"ranking all. Method: {plan.conventions['method']}."
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
