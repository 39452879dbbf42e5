"""Models compared by their sampled ranks: each one's estimates, and differences from the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from podium.cli import _estimates, _render
from podium.cli._estimates import number, span
from podium.cli._fit import Table
from podium.errors import DataError

if TYPE_CHECKING:
    from podium.cli._estimates import Given
    from podium.sampled import Estimator, SampledRanks
    from podium.types import Progress

_MEAN = (
    *("mean", "std_error", "level", "n_groups", "method", "biased", "interval_of", "error_from"),
    *("prior_decides", "order_assumed"),
)
_TEST = ("difference", "std_error", "sign_probability", "either_sign")
_CERTAIN = 0.9995  # what three decimals would show as 1


def compare(
    runs: Mapping[str, SampledRanks], measures: list[Any], show: Progress, **options: Any
) -> dict[str, Any]:
    """Estimate measures of each model, and how each but the first differs from it.

    Parameters
    ----------
    runs : mapping of str to SampledRanks
        By name, of the same users.
    measures : list of Measure
    show : Progress
        Called before each model's turn.
    **options
        Of `podium.sampled.evaluate` and `compare`.

    Returns
    -------
    dict
        As docs/schemas/estimate-comparison.json says.
    """
    from podium import sampled

    baseline, *others = runs
    means: dict[str, Any] = {}
    tests: dict[str, Any] = {}
    for i, (name, ranks) in enumerate(runs.items()):
        show(i, len(runs), name)
        means[name] = sampled.evaluate(ranks, measures, **options).to_dict()
        if name != baseline:
            tests[name] = sampled.compare(runs[baseline], ranks, measures, **options).to_dict()
    result = {
        measure: {
            "higher_is_better": True,  # as all measures are that one target's rank determines
            "means": {name: found["measures"][measure] for name, found in means.items()},
            "differences": [
                _difference(name, baseline, tests[name]["measures"][measure]) for name in others
            ],
        }
        for measure in means[baseline]["measures"]
    }
    designs = {baseline: tests[others[0]]["conventions"]["a"]}
    designs |= {name: tests[name]["conventions"]["b"] for name in others}
    return {"runs": list(runs), "baseline": baseline, "measures": result, "conventions": designs}


def refuse_other_histories(
    method: Estimator, files: Sequence[Path], samples: Sequence[SampledRanks]
) -> None:
    """Raise where a method would read the history of some files, and others have none.

    The difference would then be one of what the method knew, too.
    """
    without = [
        str(path) for path, ranks in zip(files, samples, strict=True) if ranks.history is None
    ]
    if method.reads_history and 0 < len(without) < len(files):
        raise DataError(
            f"{', '.join(without)}: no column of users' history, and other files have one, which "
            f"{method.name} reads. Add it, or leave it out of all files."
        )


def _difference(run: str, baseline: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Name both models; their estimates stand among the means."""
    rest = {key: value for key, value in found.items() if key not in ("a", "b")}
    return {"run": run, "baseline": baseline, **rest}


def show(result: Mapping[str, Any], format: str, given: Given, *, by_row: bool) -> None:
    """Print what `compare` returned; `by_row` says that users were told apart by rows alone."""
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
