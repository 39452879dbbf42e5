"""Figures of estimates from sampled ranks, and of plans, from their JSON forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podium._text import counted
from podium.report._types import Figure
from podium.report.cells import percentage
from podium.report.figures import differences, grouped, interval_row, intervals, lines, panel
from podium.report.pictures import measured

BOUNDS = "all values that the observed ranks allow"
_DIFFERENCES = "all differences that the observed ranks allow"
_MOST_CUTOFFS = 12  # of a curve of ranks, with bounds


def estimates(result: Mapping[str, Any], measure: str = "") -> Figure:
    """Return the estimates of a SampledEvaluation's JSON form."""
    rows = {name: e for name, e in result["measures"].items() if measure in ("", name)}
    level = next(iter(result["measures"].values()))["level"]
    drawn = (interval_row(name, estimate) for name, estimate in rows.items())
    return intervals(f"Estimates, with {percentage(level)} intervals", drawn, bounds_label=BOUNDS)


def run_estimates(result: Mapping[str, Any], measure: str = "") -> Figure:
    """Return the estimates of a SampledComparison's JSON form: one panel per measure."""
    measures = {n: m["means"] for n, m in result["measures"].items() if measure in ("", n)}
    panels = [panel(name, means, means) for name, means in measures.items()]
    first = next(iter(next(iter(result["measures"].values()))["means"].values()))
    title = f"Estimates, with {percentage(first['level'])} intervals"
    return grouped(title, panels, BOUNDS)


def run_differences(result: Mapping[str, Any], measure: str) -> Figure:
    """Return the differences in one measure of a SampledComparison's JSON form."""
    tests = result["measures"][measure]["differences"]
    sides = result["baseline"], "the run" if len(tests) > 1 else tests[0]["run"]
    title = f"{measure}: difference from {sides[0]}, with {percentage(tests[0]['level'])} intervals"
    return differences(title, sides, [(t["run"], t, t["run"]) for t in tests], _DIFFERENCES)


def cutoffs(
    means: Mapping[str, Mapping[str, Mapping[str, Any]]], measures: Iterable[str]
) -> dict[str, Figure]:
    """Return the picture of the first metric that was estimated at several cutoffs, if any is.

    Parameters
    ----------
    means : dict of measure to dict of run to estimate
    measures : iterable of str
        The measures whose metrics are tried in turn.
    """
    figures = (measured.cutoffs(means, name, BOUNDS) for name in measures)
    figure = next(filter(None, figures), None)
    return {} if figure is None else {"cutoffs": figure}


def plan_errors(plan: Mapping[str, Any]) -> Figure:
    """Return the error of each design of a Plan's JSON form against its cost."""
    field = "std_error" if plan["conventions"]["ignore_bias"] else "error"
    families: dict[str, list[tuple[float, float]]] = {}
    for design in plan["designs"]:
        families.setdefault(_family(design), []).append((design["n_scored"], design[field]))
    series = [
        {"label": label, **dict(zip("xy", zip(*sorted(points), strict=True), strict=True))}
        for label, points in families.items()
    ]
    label = f"{field.replace('std_', 'standard ')} in {plan['measure']}"
    return lines(
        f"Error of {plan['measure']} with {counted(plan['n_users'], 'users')}",
        ("items scored per user", label),
        series,
        log_x=True,
        log_y=min(error for points in families.values() for _, error in points) > 0,
        reference={"value": plan["goal"], "label": f"goal: {plan['goal']:.3g}"},
    )


def _family(design: Mapping[str, Any]) -> str:
    """Return the kind of a design in words."""
    if design["kind"] == "growing":
        return f"doubled up to {len(design['stages']) - 1} times"
    kind = str(design["kind"])
    return {"fixed": "one size", "all": "all items"}.get(kind, kind)


def cutoffs_of_ranks(n_items: int) -> list[int]:
    """Return cutoffs from 1 to the number of items, by about equal factors.

    Examples
    --------
    >>> cutoffs_of_ranks(1000)
    [1, 2, 4, 7, 12, 23, 43, 81, 152, 285, 534, 1000]
    """
    factor = max(n_items, 2) ** (1 / (_MOST_CUTOFFS - 1))
    return sorted({min(n_items, round(factor**i)) for i in range(_MOST_CUTOFFS)})


def rank_shares(
    shares: Sequence[float], bounds: Mapping[int, tuple[float, float]] | None = None
) -> Figure:
    """Return the share of users whose target is among the first k items, with bounds by k.

    Parameters
    ----------
    shares : (n_items,)
        The shares at k = 1 .. n_items.
    bounds : dict of int to (low, high), optional
        The smallest and the largest share at some of these cutoffs.
    """
    ks = sorted(bounds) if bounds else cutoffs_of_ranks(len(shares))
    line: dict[str, Any] = {"label": "estimate", "x": ks, "y": [shares[k - 1] for k in ks]}
    if bounds:
        line |= {end: [bounds[k][i] for k in ks] for i, end in enumerate(("lowest", "highest"))}
    axes = "k", "share of users with a rank of at most k (recall@k)"
    title = "Rank of the target among all items"
    return lines(title, axes, [line], log_x=True, bounds_label=BOUNDS)
