"""JSON forms of an Evaluation and a Comparison as flat tables with one row per number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from podium.report._types import Table

_SUMMARY = ("mean", "std_error", "low", "high", "level", "n_groups", "n_undefined")
_TEST = (
    *("difference", "std_error", "low", "high", "level", "t_p_value", "randomisation_p_value"),
    *(
        "holm_p_value",
        "effect_size",
        "relative_difference",
        "wins",
        "losses",
        "equal",
        "detectable",
        "n_groups",
        "n_undefined",
    ),
)

_UNJUDGED = ("low", "high", "exact", "can_reverse", "n_labels")


def evaluation_table(result: Mapping[str, Any]) -> Table:
    """Return one row per segment and measure of an Evaluation's JSON form."""
    ends = ("low", "high") if has_bounds(result) else ()
    rows = [
        [
            *(by, name, measure, *_flat(summary, _SUMMARY)),
            *(summary.get("unjudged", {}).get(end) for end in ends),
        ]
        for by, name, measure, summary in summaries(result)
    ]
    columns = ["by", "segment", "measure", *_SUMMARY, *(f"unjudged_{end}" for end in ends)]
    return {"columns": columns, "rows": rows}


def has_bounds(result: Mapping[str, Any]) -> bool:
    """Return whether an Evaluation's JSON form has the bounds over unjudged items."""
    return any("unjudged" in summary for summary in result["measures"].values())


def comparison_table(result: Mapping[str, Any]) -> Table:
    """Return one row per segment, measure, run and test of a Comparison's JSON form.

    A row has the run's mean, its letters, and its test against a baseline. A run without a test
    has one row.
    """
    rows: list[list[Any]] = []
    has_ranges = result["conventions"].get("unjudged") == "bounds"
    of_unjudged = _UNJUDGED if has_ranges else ()
    for by, name, measure, results in comparisons(result):
        for run, summary in results["means"].items():
            start = [by, name, measure, run, summary["mean"], results.get("letters", {}).get(run)]
            tests = [test for test in results["differences"] if test["run"] == run]
            rows += [
                [
                    *(*start, test["baseline"], *_flat(test, _TEST)),
                    *(test.get("unjudged", {}).get(name) for name in of_unjudged),
                ]
                for test in tests
            ]
            if not tests:
                rows.append([*start, None, *[None] * (len(_TEST) + len(of_unjudged))])
    columns = ["by", "segment", "measure", "run", "mean", "letters", "baseline", *_TEST]
    return {"columns": [*columns, *(f"unjudged_{name}" for name in of_unjudged)], "rows": rows}


def comparisons(
    result: Mapping[str, Any],
) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (by, name, measure, results) of a Comparison's JSON form."""
    for by, name, measures in _segments(result):
        for measure, results in measures.items():
            yield by, name, measure, results


def summaries(result: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (by, name, measure, summary); pooled forms are separate measures."""
    for by, name, measures in _segments(result):
        for measure, summary in measures.items():
            yield by, name, measure, summary
            if "pooled" in summary:
                yield by, name, f"{measure} (pooled)", summary["pooled"]


def _segments(result: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield (by, name, measures) for all users, and for each segment."""
    yield "", "all", result["measures"]
    for segment in result["segments"]:
        yield segment["by"], segment["name"], segment["measures"]


def _flat(values: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    low, high = values["interval"]
    bounds = {"low": low, "high": high}
    return [bounds[name] if name in bounds else values[name] for name in names]
