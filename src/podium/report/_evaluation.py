"""Conversion of the JSON of an evaluation to a report's dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium import _numbers
from podium.report._types import Report, Section
from podium.report.figures import interval_row

Summary = Mapping[str, Any]  # the summary of a measure, a stats.Summary in JSON


def evaluation_report(
    evaluation: Mapping[str, Any],
    *,
    title: str = "Quality at the top of the list",
    subtitle: str = "",
    groups: str = "users",
) -> Report:
    """Return the report of the JSON object of ``podium measure``.

    Parameters
    ----------
    evaluation : mapping
        A mapping with "measures" and "segments" (docs/schemas/evaluation.json); optionally with
        "conventions", and with "histograms" by measure, in the form of
        `podium.report.figures.bin_values`.
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
    >>> report["summary"]
    ['Mean pap@10 is 0.500 (95% interval 0.300 to 0.700) over 9 users; 1 undefined.']
    """
    measures = evaluation["measures"]
    sections = [
        *_means_section(measures, groups),
        *_segment_sections(evaluation.get("segments", ()), groups),
        *_histogram_sections(evaluation.get("histograms", {}), measures, groups),
    ]
    return {
        "title": title,
        "subtitle": subtitle,
        "summary": [_sentence(name, measures[name], groups) for name in list(measures)[:1]],
        "facts": {name: mean(summary) for name, summary in list(measures.items())[:6]},
        "sections": sections,
        "conventions": conventions(evaluation),
    }


def mean(summary: Summary) -> str:
    """Return a mean as text, with the decimals used in all tables and facts."""
    return _numbers.fixed(summary["mean"], _numbers.decimals([summary["mean"]]))


def interval(summary: Summary) -> str:
    """Return an interval as text, with the decimals of its mean."""
    low, high = summary["interval"]
    return _numbers.bounds(low, high, _numbers.decimals([summary["mean"]]))


def unjudged(summary: Summary) -> str:
    """Return the range over all judgements of unjudged items as text; a dash without it."""
    ends = summary.get("unjudged", {"low": None, "high": None})
    return _numbers.bounds(ends["low"], ends["high"], _numbers.decimals([summary["mean"]]))


def estimate(summary: Summary) -> str:
    """Return a mean as text, with its interval if it has one."""
    text = interval(summary)
    return mean(summary) if text == _numbers.NOTHING else f"{mean(summary)} {text}"


def percent(level: float) -> str:
    """Return a level as text, such as "95%" for 0.95."""
    return f"{100 * level:.4g}%"


def conventions(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the conventions that were set, by name, and how each measure was computed."""
    values = dict(result.get("conventions") or {})
    computed: Mapping[str, Mapping[str, Any]] = values.pop("computed", {})
    lines = [(name, _text(value)) for name, value in values.items() if value is not None]
    for text, rules in computed.items():
        rules_text = [
            f"{name}: {_text(value)}"
            for name, value in rules.items()
            if value is not None and name != "measure"
        ]
        lines.append((text, ", ".join([rules["measure"], *rules_text])))
    return lines


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sentence(name: str, summary: Summary, groups: str) -> str:
    low, high = (
        _numbers.fixed(bound, _numbers.decimals([summary["mean"]])) for bound in summary["interval"]
    )
    bounds = ""
    if _numbers.NOTHING not in (low, high):
        bounds = f" ({percent(summary['level'])} interval {low} to {high})"
    undefined = f"; {summary['n_undefined']:,} undefined" if summary["n_undefined"] else ""
    value = mean(summary)
    predicate = f"is {value}" if value != _numbers.NOTHING else "is undefined"
    return f"Mean {name} {predicate}{bounds} over {summary['n_groups']:,} {groups}{undefined}."


def _means_section(measures: Mapping[str, Summary], groups: str) -> list[Section]:
    if not measures:
        return []
    level = percent(next(iter(measures.values()))["level"])
    columns = ["measure", "mean", f"{level} interval", "std error", groups, "undefined"]
    has_bounds = any("unjudged" in summary for summary in measures.values())
    if has_bounds:
        columns.append("unjudged")
    rows = [
        [
            *(name, mean(summary), interval(summary)),
            _numbers.fixed(summary["std_error"], _numbers.decimals([summary["mean"]]) + 1),
            *(summary["n_groups"], summary["n_undefined"]),
            *([unjudged(summary)] if has_bounds else []),
        ]
        for name, summary in _with_pooled(measures)
    ]
    shares = {name: summary for name, summary in _with_pooled(measures) if _is_share(summary)}
    figure = {
        "kind": "interval_plot",
        "title": f"Means over {groups}, with {level} intervals",
        "rows": [interval_row(name, summary) for name, summary in shares.items()],
    }
    return [
        {
            "title": "Measures",
            "figures": [figure] if shares else [],
            "table": {"columns": columns, "rows": rows},
        }
    ]


def _with_pooled(measures: Mapping[str, Summary]) -> Iterator[tuple[str, Summary]]:
    for name, summary in measures.items():
        yield name, summary
        if "pooled" in summary:
            yield f"{name} (pooled)", summary["pooled"]


def _is_share(summary: Summary) -> bool:
    """Return whether a value is in [0, 1], so that it can share an axis with others."""
    value = _numbers.to_float(summary["mean"])
    return 0 <= value <= 1


def _segment_sections(segments: Sequence[Mapping[str, Any]], groups: str) -> list[Section]:
    kinds = dict.fromkeys(segment["by"] for segment in segments)
    return [_segment_section(by, [s for s in segments if s["by"] == by], groups) for by in kinds]


def _segment_section(by: str, segments: Sequence[Mapping[str, Any]], groups: str) -> Section:
    measures = list(segments[0]["measures"])
    rows = [
        [s["name"], s["n_groups"]] + [estimate(s["measures"][m]) for m in measures]
        for s in segments
    ]
    panels = [
        {"title": m, "rows": [interval_row(s["name"], s["measures"][m]) for s in segments]}
        for m in measures
    ]
    figure = {
        "kind": "grouped_intervals",
        "title": f"Means by {by}",
        "panels": panels,
        "share_axis": False,
    }
    return {
        "title": f"By {by}",
        "figures": [figure],
        "table": {"columns": ["segment", groups, *measures], "rows": rows},
    }


def _histogram_sections(
    histograms: Mapping[str, Any], measures: Mapping[str, Summary], groups: str
) -> list[Section]:
    figures = [
        {
            "kind": "histogram",
            "title": f"Distribution of {name} over {groups}",
            "edges": bins["edges"],
            "counts": bins["counts"],
            "axis_label": name,
            "count_label": groups,
            "mean": measures[name]["mean"] if name in measures else None,
        }
        for name, bins in histograms.items()
    ]
    return [{"title": "Distributions", "figures": figures}] if figures else []
