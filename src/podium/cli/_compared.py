"""Models compared by their sampled ranks on stdout: estimates, and differences from the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from podium.cli import _estimates, _render
from podium.cli._estimates import number, span
from podium.cli._fit import Table

if TYPE_CHECKING:
    from podium.cli._estimates import Given

_MEAN = (
    *("mean", "std_error", "level", "n_groups", "method", "biased", "interval_of", "error_from"),
    *("prior_decides", "order_assumed"),
)
_TEST = ("difference", "std_error", "sign_probability", "either_sign")
_CERTAIN = 0.9995  # what three decimals would show as 1


def show(result: Mapping[str, Any], format: str, given: Given, *, by_row: bool) -> None:
    """Print the JSON form of SampledComparisons; `by_row` says that files have no users."""
    tables, note = [_means(result), _differences(result)], _note(result, given, by_row)
    _render.either(result, format, shown=tables, flat=_flat(result), note=note)


def _means(result: Mapping[str, Any]) -> Table:
    rows: list[list[str]] = []
    for measure, found in result["measures"].items():
        for i, (run, mean) in enumerate(found["means"].items()):
            rows.append([measure if i == 0 else "", run, *_estimates.cells(mean)])
    columns = _estimates.columns(_first(result))
    return {"columns": ["measure", "run", *columns], "rows": rows}


def _differences(result: Mapping[str, Any]) -> Table:
    first = next(iter(result["measures"].values()))["differences"][0]
    bounded = first["bounds"] is not None
    rows = [
        [
            *(measure if i == 0 else "", test["run"], number(test["difference"], "+")),
            *(span(test["interval"], "+"), _probability(test["sign_probability"])),
            *([span(test["bounds"], "+")] if bounded else []),
        ]
        for measure, found in result["measures"].items()
        for i, test in enumerate(found["differences"])
    ]
    columns = ["measure", "run", "diff.", f"{first['level']:.4g} interval", "sign right"]
    return {"columns": [*columns, *(["possible"] if bounded else [])], "rows": rows}


def _flat(result: Mapping[str, Any]) -> Table:
    """Return a row for each measure and model: its mean, then its difference from the first."""
    ends = ("low", "high", "lowest", "highest")
    rows: list[list[Any]] = []
    for measure, found in result["measures"].items():
        tests = {test["run"]: test for test in found["differences"]}
        for run, mean in found["means"].items():
            test = tests.get(run)
            rows.append([measure, run, *(mean[name] for name in _MEAN), *_ends(mean)])
            rows[-1] += [result["baseline"], *(test[name] if test else None for name in _TEST)]
            rows[-1] += _ends(test) if test else [None] * len(ends)
    of_test = ("difference", "difference_std_error", *_TEST[2:])
    columns = ["measure", "run", *_MEAN, *ends, "baseline", *of_test]
    return {"columns": [*columns, *(f"difference_{end}" for end in ends)], "rows": rows}


def _ends(found: Mapping[str, Any]) -> list[Any]:
    return [*found["interval"], *(found["bounds"] or (None, None))]


def _note(result: Mapping[str, Any], given: Given, by_row: bool) -> str:
    conventions = _together(list(result["conventions"].values()))
    return f"{' '.join(_said(result, by_row))}\n{' '.join(given.again(conventions))}"


def _said(result: Mapping[str, Any], by_row: bool) -> Iterator[str]:
    """Say what the numbers are of, sentence by sentence."""
    first = _first(result)
    yield _estimates.meaning(first)
    yield from _estimates.about_history(_history(result))
    users = "row by row: the files have no users" if by_row else "on the same users"
    yield f"Differences are from {result['baseline']}, {users}."
    exact = first["interval_of"] == "exact"
    true = "exact one" if exact else f"one that {first['method']} gives on average"
    yield f"Sign right: the probability that the difference has the sign of the {true}."
    means = result["measures"].items()
    yield from _estimates.about_prior(
        {f"{name} of {run}": one for name, each in means for run, one in each["means"].items()}
    )
    yield from _estimates.about_order(
        {name: next(iter(each["means"].values())) for name, each in means}
    )
    if first["bounds"] is None:
        return
    yield _estimates.POSSIBLE
    outside = [
        f"{measure} of {run}"
        for measure, found in result["measures"].items()
        for run, mean in found["means"].items()
        if _estimates.is_impossible(mean)
    ]
    if outside:
        yield f"{first['method']} gives an impossible value of {', '.join(outside)}."
    tests = [test for found in result["measures"].values() for test in found["differences"]]
    if any(test["either_sign"] for test in tests):
        yield "Where either sign is possible, the ranks alone do not tell which model is better."


def _history(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conventions of the first model that has a history, or of the first."""
    designs: list[dict[str, Any]] = list(result["conventions"].values())
    return next((each for each in designs if each["history"] is not None), designs[0])


def _together(conventions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the options that all files were read with; sizes that differ as [least, most]."""
    sizes = {
        name: sorted({n for each in conventions for n in _listed(each[name])})
        for name in ("n_items", "n_negatives")
    }
    extents = {name: found[:: len(found) - 1 or 1] for name, found in sizes.items()}
    return conventions[0] | {k: v[0] if len(v) == 1 else v for k, v in extents.items()}


def _listed(size: Any) -> list[int]:
    return cast("list[int]", size) if isinstance(size, list) else [size]


def _first(result: Mapping[str, Any]) -> dict[str, Any]:
    return next(iter(result["measures"].values()))["means"][result["baseline"]]


def _probability(value: float | None) -> str:
    if value is None:
        return number(None)
    return f">{_CERTAIN - 0.0005:.3f}" if value > _CERTAIN else f"{value:.3f}"
