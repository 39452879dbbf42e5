"""JSON forms of an Evaluation and a Comparison as flat tables: a row per number, for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Table: TypeAlias = dict[str, Any]
"""{"columns": names, "rows": lists of cells}: what `podium.report.tables` writes out."""

_SUMMARY = ("mean", "std_error", "low", "high", "level", "n_groups", "n_undefined")
_TEST = (
    *("difference", "std_error", "low", "high", "level", "t_p_value", "randomisation_p_value"),
    *("holm_p_value", "wins", "losses", "equal", "detectable", "n_groups", "n_undefined"),
)


def evaluation_table(result: Mapping[str, Any]) -> Table:
    """Return a row per segment and measure of an Evaluation's JSON form."""
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
    """Return a row per measure and run of a Comparison's JSON form.

    Its mean comes first, then the test against the baseline.
    """
    rows: list[list[Any]] = []
    for measure, found in result["measures"].items():
        tests = {test["run"]: test for test in found["differences"]}
        for run, summary in found["means"].items():
            test = _flat(tests[run], _TEST) if run in tests else [None] * len(_TEST)
            rows.append([measure, run, summary["mean"], result["baseline"], *test])
    return {"columns": ["measure", "run", "mean", "baseline", *_TEST], "rows": rows}


def summaries(result: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (by, name, measure, summary), with pooled forms as measures of their own."""
    for by, name, measures in _segments(result):
        for measure, summary in measures.items():
            yield by, name, measure, summary
            if "pooled" in summary:
                yield by, name, f"{measure} (pooled)", summary["pooled"]


def _segments(result: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield (by, name, measures) of all users, and of each segment."""
    yield "", "all", result["measures"]
    for segment in result["segments"]:
        yield segment["by"], segment["name"], segment["measures"]


def _flat(values: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    low, high = values["interval"]
    bounds = {"low": low, "high": high}
    return [bounds[name] if name in bounds else values[name] for name in names]
