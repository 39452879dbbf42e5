"""Figures as dictionaries: "kind" selects a function of `podium.plots`, other keys are arguments.

A page contains a figure as SVG. `width` is in pixels.
`colours` is the number of each method's colour, the same in all figures of a report. `background`
is a colour, such as ``"white"`` for a file that is shown elsewhere, or None for transparent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from podium import _check, plots
from podium.errors import ArgumentError
from podium.types import PerGroup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_BINS = 24
_ROUNDING = 1e-12  # relative difference of values that are equal but for the rounding of sums

__all__ = ["FIGURES", "bin_values", "colour_numbers", "draw", "interval_row", "plot"]

_PLOTS = "histogram interval_plot line_plot"
FIGURES: dict[str, Callable[..., Axes]] = {name: vars(plots)[name] for name in _PLOTS.split()}
"""The figures by the "kind" in a figure's dictionary."""


def draw(
    figure: Mapping[str, Any],
    *,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    background: str | None = None,
) -> str:
    """Draw a figure from its dictionary as SVG.

    Parameters
    ----------
    figure : mapping
        The "kind", the function's arguments by name, and optionally "caption" (not drawn).
    width, colours, background
        The arguments of all figures, see `podium.report.figures`.

    Returns
    -------
    str
        One SVG element.

    Raises
    ------
    ArgumentError
        If the kind is unknown, or the arguments do not match those of the function.
    MissingExtraError
        If matplotlib, the extra ``plots``, is not installed.

    Examples
    --------
    >>> row = {"label": "pap@10", "value": 0.31, "low": 0.29, "high": 0.33}
    >>> draw({"kind": "interval_plot", "rows": [row], "title": "Means"})[:4]
    '<svg'
    """
    return plots.to_svg(plot(figure, width=width, colours=colours), background=background)


def plot(figure: Mapping[str, Any], **options: Any) -> Axes:
    """Draw a figure from its dictionary and return its axes.

    Parameters
    ----------
    figure : mapping
        The "kind", the function's arguments by name, and optionally "caption" (not drawn).
    **options
        More arguments of the function, such as `ax`; they replace those of the figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ArgumentError
        If the kind is unknown, or the arguments do not match those of the function.
    MissingExtraError
        If matplotlib, the extra ``plots``, is not installed.
    """
    kind = _check.choice(figure.get("kind"), "kind", list(FIGURES))
    arguments = {key: value for key, value in figure.items() if key not in ("kind", "caption")}
    try:
        return FIGURES[kind](**{**arguments, **options})
    except TypeError as error:
        raise ArgumentError(f"A figure of kind {kind!r} cannot be drawn: {error}.") from error


def colour_numbers(figures: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Number all methods in order of appearance, so that each has one colour in all figures.

    Examples
    --------
    >>> curve = {"kind": "line_plot", "series": [{"label": "linear"}, {"label": "random"}]}
    >>> colour_numbers([curve, {"rows": [{"label": "pap@10", "series": "random"}]}])
    {'linear': 0, 'random': 1}
    """
    names: dict[str, None] = {}
    for figure in figures:
        names |= dict.fromkeys(line["label"] for line in figure.get("series", ()))
        names |= dict.fromkeys(row.get("series") for row in figure.get("rows", ()))
    return {name: i for i, name in enumerate(filter(None, names))}


def bin_values(values: ArrayLike, n_bins: int = 20) -> dict[str, list[float]]:
    """Count values in bins of equal width; return "edges" and "counts" for `histogram`.

    Undefined values (nan) are excluded. If all values are equal up to rounding, the bins reach
    from 0.5 below them to 0.5 above.

    Examples
    --------
    >>> bin_values([0.0, 0.1, 0.9, 1.0, float("nan")], n_bins=2)
    {'edges': [0.0, 0.5, 1.0], 'counts': [2, 2]}
    """
    column = _check.no_infinity(_check.column(values, "values"), "values")
    column = column[~np.isnan(column)]
    ends = None
    if column.size and np.ptp(column) <= _ROUNDING * np.abs(column).max():
        half = max(0.5, abs(column[0]) / 1000)
        ends = column[0] - half, column[0] + half
    counts, edges = np.histogram(column, bins=_check.cutoff(n_bins, name="n_bins"), range=ends)
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def interval_row(label: str, summary: Mapping[str, Any], series: str = "") -> dict[str, Any]:
    """Return a mean and its interval, in the form of the JSON results, as a row of a figure.

    The row has bounds, if the result has bounds from sampled ranks or from unjudged items.

    Examples
    --------
    >>> interval_row("linear", {"mean": 0.31, "interval": [0.29, 0.33]})
    {'label': 'linear', 'value': 0.31, 'low': 0.29, 'high': 0.33, 'series': ''}
    """
    low, high = summary["interval"]
    row = {"label": label, "value": summary["mean"], "low": low, "high": high, "series": series}
    unjudged = summary.get("unjudged")
    bounds = summary.get("bounds") or (unjudged and (unjudged["low"], unjudged["high"]))
    return {**row, "lowest": bounds[0], "highest": bounds[1]} if bounds else row


def intervals(title: str, rows: Iterable[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """Return the figure of intervals, with more arguments of `podium.plots.interval_plot`."""
    return {"kind": "interval_plot", "title": title, "rows": list(rows), **more}


def histogram(title: str, axis_label: str, values: PerGroup, mean: float) -> dict[str, Any]:
    """Return the figure of the values of users; without a value, it has no bins."""
    axes = {"title": title, "axis_label": axis_label, "count_label": "users"}
    n_undefined = int(np.isnan(values).sum())
    bins: dict[str, Any] = {"edges": [], "counts": []}
    if n_undefined < values.size:
        bins = {**bin_values(values, _N_BINS), "mean": mean}
    return {"kind": "histogram", **axes, **bins, "n_undefined": n_undefined}


def lines(
    title: str, axes: tuple[str, str], series: Iterable[Mapping[str, Any]], **more: Any
) -> dict[str, Any]:
    """Return the figure of lines; `axes` are the labels of x and y."""
    named = {"title": title, "x_label": axes[0], "y_label": axes[1]}
    return {"kind": "line_plot", **named, **more, "series": list(series)}


def differences(
    title: str,
    sides: tuple[str, str],
    tests: Iterable[tuple[str, Mapping[str, Any], str]],
    bounds_label: str = "bounds",
) -> dict[str, Any]:
    """Return the figure of differences; `tests` are labels, results and series.

    `sides` are what is better below and above 0, and `bounds_label` is the meaning of bounds.
    """
    rows = [interval_row(name, {"mean": t["difference"], **t}, run) for name, t, run in tests]
    better = [f"{side} better" for side in sides]
    return intervals(title, rows, sides=better, bounds_label=bounds_label)
