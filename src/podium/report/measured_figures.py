"""Figures of measured and estimated means, from JSON forms of results and values of users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from podium._text import counted
from podium.evaluation import Comparison, Evaluation, stats
from podium.report import figures
from podium.report._types import Figure
from podium.report.cells import percentage
from podium.report.figures import interval_row
from podium.report.headlines import best_first
from podium.report.measured import summaries

MOST_IN_FIGURE = 20
UNJUDGED = "all means over judgements of the unjudged items"
_MOST_BANDS = 3  # intervals of more lines would cover each other

Means = Mapping[str, Mapping[str, Any]]


def means(result: Mapping[str, Any], measure: str = "", bounds_label: str = UNJUDGED) -> Figure:
    """Return the means of one evaluation's JSON form: of one measure, or of those in [0, 1].

    Measures in other units are drawn only if there are no shares.
    """
    everyone: dict[str, Any] = {**result, "segments": []}
    means = [(n, s) for *_, n, s in summaries(everyone) if measure in ("", n)]
    known = [(n, s) for n, s in means if measure or s["mean"] is not None]
    shares = [(n, s) for n, s in known if measure or 0 <= s["mean"] <= 1]
    level = percentage(next(iter(result["measures"].values()))["level"])
    title, drawn = f"Means, with {level} intervals", shares or known
    return figures.intervals(title, (interval_row(*s) for s in drawn), bounds_label=bounds_label)


def distribution(evaluation: Evaluation, measure: str) -> Figure:
    """Return the distribution of a measure over users."""
    title = f"Distribution of {measure} over users"
    mean = evaluation.summary(measure).mean
    return figures.histogram(title, measure, evaluation.filled(measure), mean)


def gains(comparison: Comparison, measure: str, run: str) -> Figure:
    """Return the distribution of the differences of users between a run and the baseline."""
    runs = [comparison.evaluations[name] for name in (comparison.baseline, run)]
    difference = stats.differences(*(evaluation.filled(measure) for evaluation in runs))
    title = f"{measure} of each user: {run} − {comparison.baseline}"
    mean = comparison.difference(measure, run).test.difference
    return figures.histogram(title, f"difference in {measure}", difference, mean)


def curve(metric: str, curve: Mapping[str, Any]) -> Figure:
    """Return the means of a metric at several cutoffs, in the form of `report.details`."""
    sampled = f" ({curve['n_users']:,} users)" if "n_users" in curve else ""
    means: Mapping[str, Any] = curve["means"]
    series = [{"label": run or metric, "x": curve["k"], "y": y} for run, y in means.items()]
    return figures.lines(f"{metric} at k{sampled}", ("k", f"mean {metric}"), series, log_x=True)


def cutoffs(
    measures: Mapping[str, Means], names: Iterable[str], bounds_label: str = UNJUDGED
) -> dict[str, Figure]:
    """Return the picture of the first metric that was measured at several cutoffs, if any is.

    Parameters
    ----------
    measures : dict of measure to dict of run to summary
        The summaries; the name of a single run may be empty.
    names : iterable of str
        The measures whose metrics are tried in turn.
    bounds_label : str
        The meaning of bounds.
    """
    for metric, _ in map(_metric, names):
        by_cutoff = {
            k: s for text, s in measures.items() for m, k in [_metric(text)] if m == metric
        }
        ks = sorted(filter(None, by_cutoff))
        if len(ks) > 1:
            runs = [*by_cutoff[ks[0]]]
            lines = (_line(r or metric, ks, [by_cutoff[k][r] for k in ks], len(runs)) for r in runs)
            figure = curve(metric, {"k": ks, "means": {}})
            return {"cutoffs": {**figure, "series": [*lines], "bounds_label": bounds_label}}
    return {}


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


def run_means(result: Mapping[str, Any], measure: str, bounds_label: str = UNJUDGED) -> Figure:
    """Return the means of runs or models in one measure of a comparison's JSON form."""
    means, runs = result["measures"][measure]["means"], _runs(result, measure)
    best = f"the best {len(runs)} of " if len(runs) < len(means) else ""
    level = percentage(means[runs[0]]["level"])
    title = f"{measure} of {best}{counted(len(means), 'runs')}, with {level} intervals"
    rows = (interval_row(run, means[run], run) for run in runs)
    return figures.intervals(title, rows, bounds_label=bounds_label)


def _runs(result: Mapping[str, Any], measure: str) -> list[str]:
    """Return the runs in figures: all, or of many the best ones, with the baseline if any."""
    runs = list(result["runs"])
    if len(runs) <= MOST_IN_FIGURE:
        return runs
    first = [] if result.get("pairs") == "all" else [result["baseline"]]
    leaders = [*dict.fromkeys([*first, *best_first(result["measures"][measure])])]
    return [run for run in runs if run in leaders[:MOST_IN_FIGURE]]


def differences(result: Mapping[str, Any], measure: str, bounds_label: str = "") -> Figure:
    """Return the differences in one measure of a comparison's JSON form."""
    tests: Sequence[Mapping[str, Any]] = result["measures"][measure]["differences"]
    is_all, baseline = result.get("pairs") == "all", result["baseline"]
    start = "differences" if is_all else f"difference from {baseline}"
    level = percentage(tests[0]["level"])
    runs = set(_runs(result, measure))
    drawn = [t for t in tests if {t["run"], t["baseline"]} <= runs]
    run = "the run" if len(tests) > 1 else str(tests[0]["run"])
    sides = ("the second run", "the first run") if is_all else (baseline, run)
    better = result["measures"][measure]["higher_is_better"]
    return figures.differences(
        f"{measure}: {start}, with {level} intervals",
        sides if better else (sides[1], sides[0]),
        [(f"{t['run']} - {t['baseline']}" if is_all else t["run"], t, t["run"]) for t in drawn],
        bounds_label or UNJUDGED.replace("means", "differences"),
    )


def segments(result: Mapping[str, Any], measure: str) -> Iterator[tuple[str, Figure]]:
    """Yield each division of the users, and the means of its parts in one measure.

    In a comparison, the runs are below the name of each part.
    """
    for by in dict.fromkeys(segment["by"] for segment in result["segments"]):
        rows: list[Mapping[str, Any]] = []
        for part in result["segments"]:
            found = part["measures"].get(measure) if part["by"] == by else None
            if found and "means" in found:
                rows.append({"label": f"{part['name']} ({counted(part['n_groups'], 'users')})"})
                rows += [interval_row(r, found["means"][r], r) for r in _runs(result, measure)]
            elif found:
                rows.append(interval_row(part["name"], found))
        if rows:
            yield by, figures.intervals(f"{measure} by {by}", rows, bounds_label=UNJUDGED)
