"""Conversion of the JSON of a comparison to a report's dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.report import _details, headlines
from podium.report._types import Report, Section
from podium.report.cells import dashes
from podium.report.measured import (
    BOLD,
    differences_table,
    run_means_table,
    tests_notes,
    ties_notes,
    undefined_note,
    wins_table,
)
from podium.report.pages import complete, conventions, without, without_empty_segments
from podium.report.pictures import measured


def comparison_report(
    comparison: Mapping[str, Any], details: Mapping[str, Any] | None = None
) -> Report:
    """Return the report of the JSON object of ``podium compare``.

    Parameters
    ----------
    comparison : mapping
        A mapping with "runs", "baseline", "measures" and optionally "conventions"
        (docs/schemas/comparison.json).
    details : mapping, optional
        Gains and losses, curves and users, in the form of `podium.evaluation.details`.

    Returns
    -------
    Report
        A dictionary for `podium.report.render`. Each run has the same colour in all figures.

    Examples
    --------
    >>> summary = {"mean": 0.5, "std_error": 0.1, "interval": [0.3, 0.7], "level": 0.95}
    >>> summary |= {"n_groups": 9, "n_undefined": 0}
    >>> measures = {"pap@10": {"means": {"a": summary}, "differences": []}}
    >>> report = comparison_report({"runs": ["a"], "baseline": "a", "measures": measures})
    >>> [section["title"] for section in report["sections"]]
    ['Means']
    """
    defaults: dict[str, Any] = {"segments": [], "conventions": {}, "pairs": "first", "splits": 1}
    result, empty = without_empty_segments({**defaults, **comparison})
    more, measures = details or {}, result["measures"]
    against = "" if result["pairs"] == "all" else f", compared with {result['baseline']}"
    leads = [headlines.lead(name, tested) for name, tested in measures.items()][:1]
    return {
        "title": f"{len(result['runs'])} runs{against}",
        "status": "good" if all(best and best.is_proven for best in leads) and leads else "open",
        "summary": headlines.of_comparison(result),
        "sections": [
            *_means(result, empty),
            *(section for name in measures for section in _differences(result, name)),
            *_details.gains(more),
            *_details.curves(more),
            *_details.users(more),
        ],
        "conventions": conventions(result),
    }


def _means(result: Mapping[str, Any], empty: Sequence[str]) -> Iterator[Section]:
    measures = result["measures"]
    if not measures or not result["runs"]:
        return
    figure = measured.run_means(result)
    table = complete(run_means_table(result))
    means = [m for tested in measures.values() for m in tested["means"].values()]
    bold = [BOLD] if table.get("highlight") else []
    ties = ties_notes(
        (f"{measure} of {run}", mean)
        for measure, tested in measures.items()
        for run, mean in tested["means"].items()
    )
    notes = [*bold, *empty, *undefined_note(result, means), *ties, *dashes([table])]
    yield {"title": "Means", "figures": [figure], "tables": [table], "notes": notes}


def _differences(result: Mapping[str, Any], measure: str) -> Iterator[Section]:
    """Yield the tests of one measure, over all users and in segments."""
    tests: Sequence[Mapping[str, Any]] = result["measures"][measure]["differences"]
    if not tests:
        return
    segments = [
        {**s, "measures": {measure: s["measures"][measure]}}
        for s in result["segments"]
        if measure in s["measures"]
    ]
    of_measure = {**result, "measures": {measure: result["measures"][measure]}}
    of_measure["segments"] = segments
    tables = [
        complete(differences_table(of_measure), "Paired tests"),
        complete(wins_table(of_measure), "Wins, losses and the size of effects"),
    ]
    in_order = [*tests, *(t for s in segments for t in s["measures"][measure]["differences"])]
    bold = [i for i, test in enumerate(in_order) if headlines.is_significant(test)]
    tables[0]["highlight"] = [(i, 2) for i in bold if i < len(tables[0]["rows"])]
    if not segments:
        tables = [without(table, "measure") for table in tables]
    notes = [f"Bold: p Holm is at most {headlines.alpha(tests[0]):g}."] if bold else []
    if measure == next(iter(result["measures"])):
        notes += tests_notes(result)
    notes += dashes(tables)
    yield {
        "title": f"Differences in {measure}",
        "figures": [measured.differences(result, measure)],
        "tables": tables,
        "notes": notes,
    }
