"""JSON forms of an Evaluation and a Comparison as flat tables with one row per number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Table: TypeAlias = dict[str, Any]
"""{"columns": names, "rows": lists of cells}: the form that `podium.report.tables` writes."""

_SUMMARY = ("mean", "std_error", "low", "high", "level", "n_groups", "n_undefined")
_TEST = (
    *("difference", "std_error", "low", "high", "level", "t_p_value", "randomisation_p_value"),
    *("holm_p_value", "wins", "losses", "equal", "detectable", "n_groups", "n_undefined"),
)


def evaluation_table(result: Mapping[str, Any]) -> Table:
    """Return one row per segment and measure of an Evaluation's JSON form."""
    rows = [
        [by, name, measure, *_flat(summary, _SUMMARY)]
        for by, name, measure, summary in summaries(result)
    ]
    rows += [
        ["", "run", measure, value, *[None] * (len(_SUMMARY) - 1)]
        for measure, value in result.get("run", {}).items()
    ]
    return {"columns": ["by", "segment", "measure", *_SUMMARY], "rows": rows}


def comparison_table(result: Mapping[str, Any]) -> Table:
    """Return one row per measure and run of a Comparison's JSON form.

    A row has the run's mean, then its test against the baseline.
    """
    rows: list[list[Any]] = []
    for measure, comparison in result["measures"].items():
        tests = {test["run"]: test for test in comparison["differences"]}
        for run, summary in comparison["means"].items():
            test = _flat(tests[run], _TEST) if run in tests else [None] * len(_TEST)
            rows.append([measure, run, summary["mean"], result["baseline"], *test])
    return {"columns": ["measure", "run", "mean", "baseline", *_TEST], "rows": rows}


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
