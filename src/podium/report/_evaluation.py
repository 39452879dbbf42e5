"""Conversion of the JSON of an evaluation to a report's dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.report import _details, headlines
from podium.report._types import Report, Section
from podium.report.cells import dashes, number
from podium.report.flat import summaries
from podium.report.measured import means_table, ties_notes, undefined_note, without_segments
from podium.report.pages import complete, conventions, without_empty_segments
from podium.report.pictures import measured

_MOST_FACTS = 6


def evaluation_report(
    evaluation: Mapping[str, Any], details: Mapping[str, Any] | None = None
) -> Report:
    """Return the report of the JSON object of ``podium measure``.

    Parameters
    ----------
    evaluation : mapping
        A mapping with "measures", "segments" and optionally "conventions"
        (docs/schemas/evaluation.json).
    details : mapping, optional
        Distributions, curves and users, in the form of `podium.evaluation.details`.

    Returns
    -------
    Report
        A dictionary for `podium.report.render`.

    Examples
    --------
    >>> summary = {"mean": 0.5, "std_error": 0.1, "interval": [0.3, 0.7], "level": 0.95}
    >>> measures = {"pap@10": {**summary, "n_groups": 9, "n_undefined": 1}}
    >>> report = evaluation_report({"measures": measures, "segments": []})
    >>> report["summary"][0].partition(", with")[0]
    'Mean pap@10 is 0.5000 over 9 users'
    """
    result, empty = without_empty_segments({"segments": [], "conventions": {}, **evaluation})
    measures, more = result["measures"], details or {}
    return {
        "title": "Quality at the top of the list",
        "summary": headlines.of_evaluation(result),
        "facts": {name: number(s["mean"]) for name, s in [*measures.items()][:_MOST_FACTS]},
        "sections": [
            *_means(result, empty),
            *_segments(result),
            *_details.distributions(more),
            *_details.curves(more),
            *_details.users(more),
        ],
        "conventions": conventions(result),
    }


def _means(result: Mapping[str, Any], empty: Sequence[str]) -> Iterator[Section]:
    if not result["measures"]:
        return
    table = complete(means_table(result))
    figure = measured.means(result)
    means = [summary for *_, summary in summaries(result)]
    without = without_segments(result).strip()
    ties = ties_notes(result["measures"].items())
    notes = [without, *empty, *undefined_note(result, means), *ties, *dashes([table])]
    yield {
        "title": "Measures",
        "figures": [figure] if figure["rows"] else [],
        "tables": [table],
        "notes": notes,
    }


def _segments(result: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a figure per division of the users; its numbers are in the table of measures."""
    for by, figure in measured.segments(result):
        yield {"title": f"By {by}", "figures": [figure]}
