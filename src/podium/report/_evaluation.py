"""Conversion of the JSON of an evaluation to a report's dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.report import _details, headlines
from podium.report._types import Figure, Report, Section
from podium.report.cells import number, percentage
from podium.report.figures import interval_row
from podium.report.flat import summaries
from podium.report.measured import means_table, undefined_note, without_segments
from podium.report.pages import MOST_IN_FIGURE, complete, conventions, dashes

_MOST_FACTS = 6


def evaluation_report(
    evaluation: Mapping[str, Any],
    details: Mapping[str, Any] | None = None,
    *,
    title: str = "Quality at the top of the list",
    subtitle: str = "",
    groups: str = "users",
) -> Report:
    """Return the report of the JSON object of ``podium measure``.

    Parameters
    ----------
    evaluation : mapping
        A mapping with "measures", "segments" and optionally "conventions"
        (docs/schemas/evaluation.json).
    details : mapping, optional
        Distributions, curves and users, in the form of `podium.evaluation.details`.
    title, subtitle : str
        The title and subtitle of the page.
    groups : str
        The word for groups, in the plural.

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
    result: dict[str, Any] = {"segments": [], "conventions": {}, **evaluation}
    measures, more = result["measures"], details or {}
    return {
        "title": title,
        "subtitle": subtitle,
        "summary": headlines.of_evaluation(result, groups),
        "facts": {name: number(s["mean"]) for name, s in [*measures.items()][:_MOST_FACTS]},
        "sections": [
            *_means(result, groups),
            *_segments(result["segments"]),
            *_details.distributions(more, groups),
            *_details.curves(more),
            *_details.users(more, groups),
        ],
        "conventions": conventions(result),
    }


def _means(result: Mapping[str, Any], groups: str) -> Iterator[Section]:
    everyone: dict[str, Any] = {**result, "segments": []}
    if not result["measures"]:
        return
    table = complete(means_table(result))
    shares = [(name, s) for _, _, name, s in summaries(everyone) if _is_share(s)]
    level = percentage(next(iter(result["measures"].values()))["level"])
    figure: Figure = {
        "kind": "interval_plot",
        "title": f"Means over {groups}, with {level} intervals",
        "rows": [interval_row(name, summary) for name, summary in shares[:MOST_IN_FIGURE]],
    }
    means = [summary for *_, summary in summaries(result)]
    notes = [without_segments(result).strip(), *undefined_note(result, means), *dashes([table])]
    yield {
        "title": "Measures",
        "figures": [figure] if shares else [],
        "tables": [table],
        "notes": notes,
    }


def _is_share(summary: Mapping[str, Any]) -> bool:
    """Return whether a value is in [0, 1], so that it can share an axis with others."""
    return summary["mean"] is not None and 0 <= summary["mean"] <= 1


def _segments(segments: Sequence[Mapping[str, Any]]) -> Iterator[Section]:
    """Yield a figure per division of the users; its numbers are in the table of measures."""
    for by in dict.fromkeys(segment["by"] for segment in segments):
        parts = [segment for segment in segments if segment["by"] == by]
        panels = [
            {
                "title": name,
                "rows": [
                    interval_row(s["name"], s["measures"][name]) for s in parts[:MOST_IN_FIGURE]
                ],
            }
            for name in parts[0]["measures"]
        ]
        title = f"Means by {by}"
        if len(parts) > MOST_IN_FIGURE:
            title += f" ({MOST_IN_FIGURE} of {len(parts)} segments)"
        yield {
            "title": f"By {by}",
            "figures": [
                {
                    "kind": "grouped_intervals",
                    "title": title,
                    "panels": panels,
                    "share_axis": False,
                }
            ],
        }
