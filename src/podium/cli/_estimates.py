"""Estimates from sampled ranks on stdout: of one model, or of several with differences."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from podium.cli import _render
from podium.cli._fit import Table
from podium.cli._render import number, span
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.cli._samples import Samples
    from podium.sampled import Estimator, SampledRanks

_POSSIBLE = "Possible: all values that the observed ranks allow, whatever the method."
_PRIOR = (
    "The ranks contain almost no information on {}. The mean follows from the assumptions of {}, "
    "and the interval covers all values that the ranks allow."
)
_ORDER = (
    "The order of the first N / negatives ranks is assumed, because samples hardly distinguish "
    "them. It affects {}."
)
_FLAT = (
    *("mean", "std_error", "low", "high", "level", "n_groups", "n_undefined", "method", "biased"),
    *("interval_of", "error_from", "lowest", "highest", "prior_decides"),
    "order_assumed",
)

_MEAN = (
    *("mean", "std_error", "level", "n_groups", "method", "biased", "interval_of", "error_from"),
    *("prior_decides", "order_assumed"),
)
_TEST = ("difference", "std_error", "sign_probability", "either_sign")
_CERTAIN = 0.9995  # values above this would round to 1.000


def refuse_resamples(method: Estimator, samples: Iterable[SampledRanks]) -> None:
    """Raise an ArgumentError if no estimate uses the bootstrap: the option has no effect."""
    from podium.sampled import error_from

    if all(error_from(method, sampled_ranks) != "bootstrap" for sampled_ranks in samples):
        raise ArgumentError(
            "--resamples is for methods whose standard error needs resampled users, and "
            f"{method.name} does not need them here. Leave it out."
        )


@dataclass(frozen=True)
class EstimateOptions:
    """The given options; the conventions in a result do not hold all of them.

    Attributes
    ----------
    samples : Samples
        The options on samples.
    ties : str or None
        The given rule for ties.
    level : float or None
        The given level; None for the default.
    """

    samples: Samples
    ties: str | None
    level: float | None

    def reproducing(self, conventions: Mapping[str, Any]) -> Iterator[str]:
        """Yield the options that reproduce the result."""
        method, resamples = conventions["method"], conventions["n_bootstrap"]
        yield f"--method {method!r}" if "(" in method else f"--method {method}"
        yield f"--items {self.samples.items}"
        if conventions["stages"]:
            yield f"--stages {','.join(map(str, conventions['stages']))}"
        else:
            yield f"--negatives {_size_text(conventions['n_negatives'])}"
        flags = {
            "--no-replacement": not conventions["replacement"],
            "--mixed": self.samples.mixed,
            "--drop-own": self.samples.drop_own,
            "--drop-seen": self.samples.drop_seen,
        }
        yield from (name for name, is_set in flags.items() if is_set)
        uses_seed = resamples is not None or self.ties == "random"
        values = {
            "--negatives-file": self.samples.negatives_file,
            "--seen": self.samples.seen,
            "--ties": self.ties,
            "--level": self.level,
            "--resamples": resamples,
            "--seed": conventions["seed"] if uses_seed else None,
        }
        for name, value in values.items():
            if value is not None:
                yield f"{name} {shlex.quote(str(value))}"


def show(result: Mapping[str, Any], format: str, options: EstimateOptions) -> None:
    """Print the JSON form of a SampledEvaluation."""
    note = _note(result, options)
    _render.print_result(
        result, format, tables=[_estimate_table(result)], flat=_flat_table(result), note=note
    )


def _estimate_table(result: Mapping[str, Any]) -> Table:
    first = next(iter(result["measures"].values()))
    rows = [[name, *_cells(estimate)] for name, estimate in result["measures"].items()]
    return {"columns": ["measure", *_columns(first)], "rows": rows}


def _columns(estimate: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns of an estimate."""
    possible = ["possible"] if estimate["bounds"] is not None else []
    return ["mean", f"{estimate['level']:.4g} interval", "std error", *possible, "users"]


def _cells(estimate: Mapping[str, Any]) -> list[str]:
    """Return the JSON form of an Estimate as a row of a table."""
    possible = [span(estimate["bounds"])] if estimate["bounds"] is not None else []
    return [
        number(estimate["mean"]),
        span(estimate["interval"]),
        number(estimate["std_error"]),
        *possible,
        str(estimate["n_groups"]),
    ]


def _flat_table(result: Mapping[str, Any]) -> Table:
    rows: list[list[Any]] = []
    for name, estimate in result["measures"].items():
        low, high = estimate["interval"]
        lowest, highest = estimate["bounds"] or (None, None)
        ends = {"low": low, "high": high, "lowest": lowest, "highest": highest}
        rows.append([name, *({**estimate, **ends}[column] for column in _FLAT)])
    return {"columns": ["measure", *_FLAT], "rows": rows}


def _note(result: Mapping[str, Any], options: EstimateOptions) -> str:
    """Return the meaning of intervals and bounds, and the options that reproduce the result."""
    first = next(iter(result["measures"].values()))
    sentences = [_meaning(first), *_about_history(result["conventions"])]
    sentences += [
        *_about_bounds(result["measures"]),
        *_about_prior(result["measures"]),
        *_about_order(result["measures"]),
    ]
    return f"{' '.join(sentences)}\n{' '.join(options.reproducing(result['conventions']))}"


def _meaning(estimate: Mapping[str, Any]) -> str:
    """Return a sentence on the meaning of an estimate's interval."""
    if estimate["interval_of"] == "exact":
        return "Means over users, estimated for a ranking of all items."
    return (
        f"{estimate['method']} is biased: its intervals are for its expectation over users and "
        "samples, not for the measure of a ranking of all items."
    )


def _about_history(conventions: Mapping[str, Any]) -> Iterator[str]:
    """Yield whether the method used the column of users' history, if there is one."""
    used, method = conventions["history"], conventions["method"]
    if used is not None:
        yield f"The column of users' history was {used} by {method}."


def _about_prior(estimates: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on estimates that depend more on the method's prior than on ranks."""
    names = [name for name, estimate in estimates.items() if estimate["prior_decides"]]
    if names:
        yield _PRIOR.format(", ".join(names), estimates[names[0]]["method"])


def _about_order(estimates: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the exact estimates that depend on an order that no sample shows."""
    names = [name for name, estimate in estimates.items() if estimate["order_assumed"]]
    if names and estimates[names[0]]["interval_of"] == "exact":
        yield _ORDER.format(", ".join(names))


def _about_bounds(estimates: Mapping[str, Any]) -> Iterator[str]:
    """Yield the meaning of the bounds, and the estimates outside their bounds."""
    first = next(iter(estimates.values()))
    if first["bounds"] is not None:
        yield _POSSIBLE
        outside = [name for name, estimate in estimates.items() if is_impossible(estimate)]
        if outside:
            yield f"{first['method']} gives an impossible value of {', '.join(outside)}."


def is_impossible(estimate: Mapping[str, Any]) -> bool:
    """Return whether the observed ranks exclude an estimate; False if either is unknown."""
    low, high = estimate["bounds"] or (None, None)
    mean = estimate["mean"]
    return None not in (low, mean, high) and not low <= mean <= high


def _size_text(size: Any) -> str:
    return f"{size[0]}..{size[1]}" if isinstance(size, list) else str(size)


def show_several(
    result: Mapping[str, Any], format: str, options: EstimateOptions, *, by_row: bool
) -> None:
    """Print the JSON form of SampledComparisons.

    `by_row` is true if the files have no users.
    """
    tables = [_means_table(result), _differences_table(result)]
    note = _several_note(result, options, by_row)
    _render.print_result(result, format, tables=tables, flat=_several_flat_table(result), note=note)


def _means_table(result: Mapping[str, Any]) -> Table:
    rows: list[list[str]] = []
    for measure, results in result["measures"].items():
        for i, (run, mean) in enumerate(results["means"].items()):
            rows.append([measure if i == 0 else "", run, *_cells(mean)])
    return {"columns": ["measure", "run", *_columns(_first(result))], "rows": rows}


def _differences_table(result: Mapping[str, Any]) -> Table:
    first = next(iter(result["measures"].values()))["differences"][0]
    has_bounds = first["bounds"] is not None
    rows = [
        [
            *(measure if i == 0 else "", test["run"], number(test["difference"], "+")),
            *(span(test["interval"], "+"), _probability(test["sign_probability"])),
            *([span(test["bounds"], "+")] if has_bounds else []),
        ]
        for measure, results in result["measures"].items()
        for i, test in enumerate(results["differences"])
    ]
    columns = ["measure", "run", "diff.", f"{first['level']:.4g} interval", "sign right"]
    return {"columns": [*columns, *(["possible"] if has_bounds else [])], "rows": rows}


def _several_flat_table(result: Mapping[str, Any]) -> Table:
    """Return a row per measure and model: its mean, then its difference from the first."""
    ends = ("low", "high", "lowest", "highest")
    rows: list[list[Any]] = []
    for measure, results in result["measures"].items():
        tests = {test["run"]: test for test in results["differences"]}
        for run, mean in results["means"].items():
            test = tests.get(run)
            rows.append([measure, run, *(mean[name] for name in _MEAN), *_ends(mean)])
            rows[-1] += [result["baseline"], *(test[name] if test else None for name in _TEST)]
            rows[-1] += _ends(test) if test else [None] * len(ends)
    test_columns = ("difference", "difference_std_error", *_TEST[2:])
    columns = ["measure", "run", *_MEAN, *ends, "baseline", *test_columns]
    return {"columns": [*columns, *(f"difference_{end}" for end in ends)], "rows": rows}


def _ends(interval_result: Mapping[str, Any]) -> list[Any]:
    return [*interval_result["interval"], *(interval_result["bounds"] or (None, None))]


def _several_note(result: Mapping[str, Any], options: EstimateOptions, by_row: bool) -> str:
    conventions = _merged_conventions(list(result["conventions"].values()))
    sentences = _several_sentences(result, by_row)
    return f"{' '.join(sentences)}\n{' '.join(options.reproducing(conventions))}"


def _several_sentences(result: Mapping[str, Any], by_row: bool) -> Iterator[str]:
    """Yield sentences on the meaning of the numbers."""
    first = _first(result)
    yield _meaning(first)
    yield from _about_history(_history(result))
    users = "row by row: the files have no users" if by_row else "on the same users"
    yield f"Differences are from {result['baseline']}, {users}."
    is_exact = first["interval_of"] == "exact"
    true_difference = (
        "exact difference" if is_exact else f"expected difference of {first['method']}"
    )
    yield f"Sign right: the probability that the difference has the sign of the {true_difference}."
    results_by_measure = result["measures"].items()
    estimates = {
        f"{name} of {run}": estimate
        for name, results in results_by_measure
        for run, estimate in results["means"].items()
    }
    yield from _about_prior(estimates)
    yield from _about_order(
        {name: next(iter(results["means"].values())) for name, results in results_by_measure}
    )
    yield from _about_bounds(estimates)
    tests = [test for _, results in results_by_measure for test in results["differences"]]
    if first["bounds"] is not None and any(test["either_sign"] for test in tests):
        yield "Where either sign is possible, the ranks alone do not show which model is better."


def _history(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conventions of the first model with a history, otherwise of the first model."""
    designs: list[dict[str, Any]] = list(result["conventions"].values())
    return next((design for design in designs if design["history"] is not None), designs[0])


def _merged_conventions(conventions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the options of all files; sizes that differ become [minimum, maximum]."""
    sizes = {
        name: sorted({n for design in conventions for n in _as_list(design[name])})
        for name in ("n_items", "n_negatives")
    }
    size_ranges = {name: values[:: len(values) - 1 or 1] for name, values in sizes.items()}
    return conventions[0] | {
        key: size_range[0] if len(size_range) == 1 else size_range
        for key, size_range in size_ranges.items()
    }


def _as_list(size: Any) -> list[int]:
    return cast("list[int]", size) if isinstance(size, list) else [size]


def _first(result: Mapping[str, Any]) -> dict[str, Any]:
    return next(iter(result["measures"].values()))["means"][result["baseline"]]


def _probability(value: float | None) -> str:
    if value is None:
        return number(None)
    return f">{_CERTAIN - 0.0005:.3f}" if value > _CERTAIN else f"{value:.3f}"
