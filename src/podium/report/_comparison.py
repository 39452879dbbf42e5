"""Conversion of the JSON of a comparison to a report's dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.report import _details, headlines
from podium.report._types import Figure, Report, Section
from podium.report.cells import percentage
from podium.report.figures import interval_row
from podium.report.measured import (
    BOLD,
    differences_table,
    run_means_table,
    tests_notes,
    undefined_note,
    wins_table,
)
from podium.report.pages import (
    MOST_IN_FIGURE,
    complete,
    conventions,
    dashes,
    without,
)


def comparison_report(
    comparison: Mapping[str, Any],
    details: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    subtitle: str = "",
    groups: str = "users",
) -> Report:
    """Return the report of the JSON object of ``podium compare``.

    Parameters
    ----------
    comparison : mapping
        A mapping with "runs", "baseline", "measures" and optionally "conventions"
        (docs/schemas/comparison.json).
    details : mapping, optional
        Gains and losses, curves and users, in the form of `podium.evaluation.details`.
    title, subtitle : str
        The title and subtitle of the page. The default title gives the number of runs and the
        baseline.
    groups : str
        The word for groups, in the plural.

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
    result = {**defaults, **comparison}
    more, measures = details or {}, result["measures"]
    against = "" if result["pairs"] == "all" else f", compared with {result['baseline']}"
    leads = [headlines.lead(name, tested) for name, tested in measures.items()][:1]
    return {
        "title": title or f"{len(result['runs'])} runs{against}",
        "subtitle": subtitle,
        "status": "good" if all(best and best.is_proven for best in leads) and leads else "open",
        "summary": headlines.of_comparison(result),
        "sections": [
            *_means(result, groups),
            *(section for name in measures for section in _differences(result, name)),
            *_details.gains(more, groups),
            *_details.curves(more),
            *_details.users(more, groups),
        ],
        "conventions": conventions(result),
    }


def _means(result: Mapping[str, Any], groups: str) -> Iterator[Section]:
    measures, runs = result["measures"], _in_figures(result)
    if not measures or not runs:
        return
    level = percentage(next(iter(measures.values()))["means"][runs[0]]["level"])
    title = f"Means over {groups}, with {level} intervals"
    if len(runs) < len(result["runs"]):
        title = f"The best {len(runs)} of {len(result['runs'])} runs: {title[0].lower()}{title[1:]}"
    panels = [
        {"title": name, "rows": [interval_row(run, results["means"][run], run) for run in runs]}
        for name, results in measures.items()
    ]
    figure: Figure = {"kind": "grouped_intervals", "title": title, "panels": panels}
    figure = {**figure, "share_axis": False}
    if len(panels) == 1:
        rows, name = panels[0]["rows"], panels[0]["title"]
        figure = {"kind": "interval_plot", "title": f"{name}: {title}", "rows": rows}
    table = complete(run_means_table(result))
    means = [m for tested in measures.values() for m in tested["means"].values()]
    bold = [BOLD] if table.get("highlight") else []
    notes = [*bold, *undefined_note(result, means), *dashes([table])]
    yield {"title": "Means", "figures": [figure], "tables": [table], "notes": notes}


def _in_figures(result: Mapping[str, Any]) -> list[str]:
    """Return the runs in figures: all, or the baseline and the best ones in the first measure."""
    runs = list(result["runs"])
    if len(runs) <= MOST_IN_FIGURE:
        return runs
    tested = next(iter(result["measures"].values()))
    sign = -1 if tested.get("higher_is_better") is False else 1
    known = [run for run in runs if tested["means"][run]["mean"] is not None]
    best = sorted(known, key=lambda run: -sign * tested["means"][run]["mean"])
    leaders = {result["baseline"], *best[: MOST_IN_FIGURE - 1]}
    return [run for run in runs if run in leaders]


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
    bold = [i for i, test in enumerate(tests) if headlines.is_significant(test)]
    tables[0]["highlight"] = [(i, 2) for i in bold if i < len(tables[0]["rows"])]
    if not segments:
        tables = [without(table, "measure") for table in tables]
    notes = [*tests_notes(of_measure), *dashes(tables)]
    if bold:
        notes.insert(0, f"Bold: p Holm is at most {headlines.alpha(tests[0]):g}.")
    yield {
        "title": f"Differences in {measure}",
        "figures": [_figure(result, measure, tests)],
        "tables": tables,
        "notes": notes,
    }


def _figure(result: Mapping[str, Any], measure: str, tests: Sequence[Mapping[str, Any]]) -> Figure:
    is_all, baseline = result["pairs"] == "all", result["baseline"]
    start = "differences" if is_all else f"difference from {baseline}"
    level = percentage(tests[0].get("level", 0.95))
    runs = set(_in_figures(result))
    drawn = [t for t in tests if {t["run"], t["baseline"]} <= runs][: 2 * MOST_IN_FIGURE]
    low, high = _directions(result["measures"][measure], "" if is_all else baseline)
    return {
        "kind": "difference_plot",
        "title": f"{measure}: {start}, with {level} intervals",
        "low_label": low,
        "high_label": high,
        "rows": [
            interval_row(
                f"{t['run']} - {t['baseline']}" if is_all else t["run"],
                {**t, "mean": t["difference"]},
                t["run"],
            )
            for t in drawn
        ],
    }


def _directions(results: Mapping[str, Any], baseline: str) -> tuple[str, str]:
    """Return labels for a difference below and above 0; for a loss, lower is better."""
    tests, is_better = results["differences"], results.get("higher_is_better")
    run = "the run" if len(tests) > 1 else str(tests[0]["run"])
    if not baseline:
        run, baseline = "the first run", "the second run"
    if is_better is None:
        return f"{baseline} higher", f"{run} higher"
    low, high = (baseline, run) if is_better else (run, baseline)
    return f"{low} better", f"{high} better"
