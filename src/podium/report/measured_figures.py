"""Figures of an Evaluation and a Comparison, from their JSON forms and values of users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium._text import counted
from podium.report import figures
from podium.report._types import Figure
from podium.report.cells import percentage
from podium.report.figures import interval_row
from podium.report.headlines import best_first
from podium.report.measured import summaries

MOST_IN_FIGURE = 20
UNJUDGED = "all means over judgements of the unjudged items"
_MOST_SEGMENTS = 5  # the largest gains, and the largest losses
_MOST_BANDS = 3  # intervals of more lines would cover each other


def means(result: Mapping[str, Any], measure: str = "") -> Figure:
    """Return the means of an Evaluation's JSON form: of one measure, or of those in [0, 1].

    Measures in other units are drawn only if there are no shares. The figure has no rows if no
    measure has a mean.
    """
    everyone: dict[str, Any] = {**result, "segments": []}
    means = [(n, s) for *_, n, s in summaries(everyone) if measure in ("", n)]
    known = [(n, s) for n, s in means if measure or s["mean"] is not None]
    shares = [(n, s) for n, s in known if measure or 0 <= s["mean"] <= 1]
    level = percentage(next(iter(result["measures"].values()))["level"])
    title, drawn = f"Means over users, with {level} intervals", shares or known
    return figures.intervals(title, (interval_row(*s) for s in drawn), bounds_label=UNJUDGED)


def segments(result: Mapping[str, Any], measure: str = "") -> Iterator[tuple[str, Figure]]:
    """Yield each division of the users in an Evaluation's JSON form, and the means of its parts."""
    for by, parts in _divisions(result).items():
        drawn = parts[:MOST_IN_FIGURE]
        panels = [
            {"title": n, "rows": [interval_row(s["name"], s["measures"][n]) for s in drawn]}
            for n in parts[0]["measures"]
            if measure in ("", n)
        ]
        title = f"Means by {by}{_of_many(len(parts))}"
        yield by, figures.grouped(title, panels, UNJUDGED)


def distribution(measure: str, bins: Mapping[str, Any]) -> Figure:
    """Return the distribution of a measure over users, from its bins and mean."""
    return figures.histogram(f"Distribution of {measure} over users", measure, bins)


def curve(metric: str, curve: Mapping[str, Any]) -> Figure:
    """Return the means of a metric at several cutoffs, in the form of `report.details`."""
    sampled = f" ({curve['n_users']:,} users)" if "n_users" in curve else ""
    means: Mapping[str, Any] = curve["means"]
    series = [{"label": run or metric, "x": curve["k"], "y": y} for run, y in means.items()]
    return figures.lines(f"{metric} at k{sampled}", ("k", f"mean {metric}"), series, log_x=True)


def cutoffs(
    measures: Mapping[str, Mapping[str, Mapping[str, Any]]], measure: str, bounds_label: str = ""
) -> Figure | None:
    """Return the means of a metric at the cutoffs that were measured; None for a single one.

    Parameters
    ----------
    measures : dict of measure to dict of run to summary
        The summaries; the name of a single run may be empty.
    measure : str
        One of the measures; the others have the same metric.
    bounds_label : str
        The meaning of bounds.
    """
    metric = _metric(measure)[0]
    same = {text: s for text, s in measures.items() if _metric(text)[0] == metric}
    by_cutoff = {k: s for text, s in same.items() if (k := _metric(text)[1])}
    if len(by_cutoff) < 2:
        return None
    ks = sorted(by_cutoff)
    runs = list(by_cutoff[ks[0]])
    series = [_line(run or metric, ks, [by_cutoff[k][run] for k in ks], len(runs)) for run in runs]
    figure = curve(metric, {"k": ks, "means": {}})
    return {**figure, "series": series, "bounds_label": bounds_label}


def _line(label: str, ks: Sequence[int], means: Sequence[Any], n_runs: int) -> dict[str, Any]:
    """Return the line of a run; with few runs, intervals are a band, and bounds are thin lines."""
    rows = [interval_row(label, summary) for summary in means]
    line: dict[str, Any] = {"label": label, "x": list(ks), "y": [row["value"] for row in rows]}
    if n_runs <= _MOST_BANDS:
        line |= {end: [row[end] for row in rows] for end in ("low", "high")}
    if n_runs == 1 and all("lowest" in row for row in rows):
        line |= {end: [row[end] for row in rows] for end in ("lowest", "highest")}
    return line


def _metric(measure: str) -> tuple[str, int]:
    """Return the text of a measure without its cutoff, and the cutoff; 0 if it has none."""
    name, _, k = measure.rpartition("@")
    return (name, int(k)) if name and k.isdigit() else (measure, 0)


def run_means(result: Mapping[str, Any], measure: str = "") -> Figure:
    """Return the means of a Comparison's JSON form: one panel per measure."""
    measures = {n: m for n, m in result["measures"].items() if measure in ("", n)}
    runs = runs_in_figures(result, measure)
    level = next(iter(next(iter(measures.values()))["means"].values()))["level"]
    title = f"means over users, with {percentage(level)} intervals"
    if len(runs) < len(result["runs"]):
        n_best = len(runs) - (result["pairs"] == "first")
        baseline = "the baseline and " if n_best < len(runs) else ""
        title = f"{baseline}the best {n_best} of {len(result['runs'])} runs, {title}"
    panels = [figures.panel(name, m["means"], runs) for name, m in measures.items()]
    return figures.grouped(f"{title[0].upper()}{title[1:]}", panels, UNJUDGED)


def runs_in_figures(result: Mapping[str, Any], measure: str = "") -> list[str]:
    """Return the runs in figures: all, or the best ones in a measure, and the baseline if any."""
    runs = list(result["runs"])
    if len(runs) <= MOST_IN_FIGURE:
        return runs
    best = best_first(result["measures"][measure or next(iter(result["measures"]))])
    first = [] if result["pairs"] == "all" else [result["baseline"]]
    leaders = [*dict.fromkeys([*first, *best])][:MOST_IN_FIGURE]
    return [run for run in runs if run in leaders]


def differences(result: Mapping[str, Any], measure: str) -> Figure:
    """Return the differences in one measure of a Comparison's JSON form."""
    tests: Sequence[Mapping[str, Any]] = result["measures"][measure]["differences"]
    is_all, baseline = result["pairs"] == "all", result["baseline"]
    start = "differences" if is_all else f"difference from {baseline}"
    level = percentage(tests[0]["level"])
    runs = set(runs_in_figures(result, measure))
    drawn = [t for t in tests if {t["run"], t["baseline"]} <= runs]
    run = "the run" if len(tests) > 1 else str(tests[0]["run"])
    sides = ("the second run", "the first run") if is_all else (baseline, run)
    better = result["measures"][measure]["higher_is_better"]
    return figures.differences(
        f"{measure}: {start}, with {level} intervals",
        sides if better else (sides[1], sides[0]),
        [(f"{t['run']} - {t['baseline']}" if is_all else t["run"], t, t["run"]) for t in drawn],
        UNJUDGED.replace("means", "differences"),
    )


def run_segments(result: Mapping[str, Any], measure: str) -> Iterator[tuple[str, Figure]]:
    """Yield each division of the users, and the means of all runs in its parts."""
    runs = runs_in_figures(result, measure)
    for by, all_parts in _divisions(result).items():
        parts = [part for part in all_parts if measure in part["measures"]]
        panels = [
            figures.panel(p["name"], p["measures"][measure]["means"], runs, p["n_groups"])
            for p in parts[:MOST_IN_FIGURE]
        ]
        if panels:
            title = f"{measure} by {by}{_of_many(len(parts))}"
            yield by, {**figures.grouped(title, panels, UNJUDGED), "share_axis": True}


def gains(gain: Mapping[str, Any]) -> Figure:
    """Return the distribution of the differences between a run and the baseline."""
    measure = gain["measure"]
    title = f"{measure} of each user: {gain['run']} − {gain['baseline']}"
    return figures.histogram(title, f"difference in {measure}", gain["histogram"])


def gains_by_segment(gain: Mapping[str, Any]) -> Figure:
    """Return the differences by segment: of many, the largest gains and losses."""
    parts: Sequence[Mapping[str, Any]] = gain["segments"]
    caption = "The intervals are those of each segment alone, without a correction."
    if len(parts) > 2 * _MOST_SEGMENTS:
        n = len(parts)
        parts = [*parts[:_MOST_SEGMENTS], *parts[-_MOST_SEGMENTS:]]
        caption = f"The largest gains and losses of {n} segments. {caption}"
    run, baseline = gain["run"], gain["baseline"]
    sides = (baseline, run) if gain["higher_is_better"] else (run, baseline)
    title = f"{gain['measure']} by segment: {run} − {baseline}"
    tests = [
        (f"{s['name']} ({counted(s['n_groups'], 'users')})", {**s, "difference": s["mean"]}, "")
        for s in parts
    ]
    return {**figures.differences(title, sides, tests), "caption": caption}


def _divisions(result: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the segments by what divides the users."""
    divisions: dict[str, list[Any]] = {}
    for segment in result["segments"]:
        divisions.setdefault(segment["by"], []).append(segment)
    return divisions


def _of_many(n_segments: int) -> str:
    """Return how many segments are drawn, for a title, if not all of them are."""
    return f" ({MOST_IN_FIGURE} of {n_segments} segments)" if n_segments > MOST_IN_FIGURE else ""
