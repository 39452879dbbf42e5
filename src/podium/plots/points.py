"""Scatter plots: one dot per method, or the values of all users in two runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check, _numbers, _text
from podium.plots import colours as palette
from podium.plots._canvas import Canvas, canvas, hint, legend_label
from podium.plots._forest import hollow_or_full

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLOT = 300
_SQUARE = 340
_CELLS = 33  # of each axis, for the values of users


def trade_off_plot(
    points: Sequence[Mapping[str, Any]],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one dot per method, with a legend, for example its accuracy and its coverage.

    Parameters
    ----------
    points : sequence of mappings
        The points, each with "label", "x" and "y" (None if undefined); optionally with "low" and
        "high", the interval of y, and "x_low" and "x_high", that of x.
    title, x_label, y_label : str
        The title, and the quantities of the axes with their units.
    width, colours, ax
        The arguments of all plots, see `podium.plots`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Examples
    --------
    >>> points = [{"label": "als", "x": 0.31, "y": 0.2}, {"label": "ease", "x": 0.25, "y": 0.3}]
    >>> ax = trade_off_plot(points, x_label="coverage", y_label="ndcg@10")
    >>> ax.get_legend_handles_labels()[1]
    ['als', 'ease']
    """
    labels = [_text.printable(str(point["label"])) for point in points]
    places = [tuple(_numbers.to_float(point.get(key)) for key in "xy") for point in points]
    defined = [i for i, place in enumerate(places) if all(map(math.isfinite, place))]
    with canvas(ax, width, title) as sheet:
        texts = [_described(*pair) for pair in zip(labels, places, strict=True)]
        sheet.description = f"{'; '.join(texts)}."
        if not defined:
            return sheet.empty("; ".join(["No values.", *labels]))
        drawn = sheet.first(defined, "methods")
        for i in drawn:
            number = i if colours is None else colours.get(str(points[i]["label"]), i)
            _draw_point(sheet, points[i], labels[i], texts[i], number)
        sheet.height = max(_PLOT, 19 * len(drawn))
        sheet.ax.margins(0.08)
        sheet.style_axis(sheet.ax.xaxis, x_label)
        sheet.style_axis(sheet.ax.yaxis, y_label)
        sheet.space_ticks(sheet.ax, 0.7 * sheet.width)
        sheet.legend([labels[i] for i in drawn])
        if undefined := [label for i, label in enumerate(labels) if i not in defined]:
            sheet.note(f"Undefined: {', '.join(undefined)}.")
        return sheet.ax


def user_scatter(
    x: ArrayLike,
    y: ArrayLike,
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    count_label: str = "users",
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the values of users in two runs; a larger dot represents more users.

    Users above the diagonal gain by the run of the vertical axis.

    Parameters
    ----------
    x, y : (n_users,)
        The values of the same users in two runs; nan if undefined.
    title, x_label, y_label, count_label : str
        The title, the quantities of the axes, and the objects that are counted.
    width, colours, ax
        The arguments of all plots, see `podium.plots`. Dots have the first colour.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot. Values are rounded to at most 33 values per axis.

    Raises
    ------
    ArgumentError
        If x and y differ in length.

    Examples
    --------
    >>> ax = user_scatter([0.0, 0.5, 0.5], [0.5, 0.5, 1.0], x_label="als", y_label="ease")
    """
    across = _check.no_infinity(_check.column(x, "x"), "x")
    up = _check.no_infinity(_check.column(y, "y"), "y")
    _check.equal_length(x=across, y=up)
    is_defined = ~(np.isnan(across) | np.isnan(up))
    with canvas(ax, width, title) as sheet:
        if not is_defined.any():
            return sheet.empty()
        sheet.height = min(_SQUARE, sheet.width - 70)
        _draw_users(sheet, across[is_defined], up[is_defined], sheet.height)
        if sheet.is_own:
            sheet.ax.set_aspect("equal", anchor="W")
        sheet.style_axis(sheet.ax.xaxis, x_label)
        sheet.style_axis(sheet.ax.yaxis, y_label)
        sheet.space_ticks(sheet.ax, sheet.height)
        sheet.description = f"{', '.join(_compared(across, up, count_label))}."
        sheet.note(sheet.description)
        return sheet.ax


def _draw_users(sheet: Canvas, x: NDArray[np.float64], y: NDArray[np.float64], size: float) -> None:
    """Draw one dot per cell, with an area that grows with the number of its users."""
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    pad = 0.05 * (high - low) or 0.5
    low, high = low - pad, high + pad
    sheet.ax.plot([low, high], [low, high], color=sheet.paints["muted"], linewidth=1, zorder=1.5)
    sheet.ax.set(xlim=(low, high), ylim=(low, high))
    cells = max(8, min(_CELLS, np.unique(x).size, np.unique(y).size))
    columns, rows = (np.floor((v - low) * cells / (high - low)).astype(np.int64) for v in (x, y))
    keys, inverse, counts = np.unique(
        columns * (cells + 1) + rows, return_inverse=True, return_counts=True
    )
    xs, ys = (np.bincount(inverse, v) / counts for v in (x, y))
    sizes = np.maximum(3.0, min(26.0, size / cells) * np.sqrt(counts / counts.max()))
    style: dict[str, Any] = {"color": sheet.paints["c0"], "alpha": 0.75, "linestyle": "none"}
    for i in range(keys.size):
        sheet.ax.plot(xs[i], ys[i], markersize=sizes[i], marker="o", markeredgewidth=0, **style)


def _compared(x: NDArray[np.float64], y: NDArray[np.float64], count_label: str) -> list[str]:
    counts = {
        "above the diagonal": y > x,
        "below the diagonal": y < x,
        "on the diagonal": x == y,
        "undefined": np.isnan(x) | np.isnan(y),
    }
    lines = [f"{count_label} {place}: {int(mask.sum()):,}" for place, mask in counts.items()]
    if not counts["undefined"].any():
        lines.pop()
    return [*lines, "area of a dot: number of " + count_label]


def _draw_point(
    sheet: Canvas, point: Mapping[str, Any], label: str, described: str, number: int
) -> None:
    """Draw a dot, hollow if another one has the same colour, and its intervals."""
    paint = sheet.paints[palette.series(number)]
    x, y, *ends = (
        _numbers.to_float(point.get(key)) for key in ("x", "y", "x_low", "x_high", "low", "high")
    )
    for xs, ys in ((ends[:2], [y, y]), ([x, x], ends[2:])):
        if all(map(math.isfinite, (*xs, *ys))):
            sheet.ax.plot(xs, ys, color=paint, linewidth=2, label="_nolegend_")
    style = hollow_or_full(sheet, paint, is_hollow=number >= palette.N_COLOURS)
    (dot,) = sheet.ax.plot([x], [y], label=legend_label(label), **style)
    hint(dot, described)


def _described(label: str, place: tuple[float, ...]) -> str:
    if not all(map(math.isfinite, place)):
        return f"{label}: undefined"
    return f"{label}: {', '.join(_numbers.fixed(v, _numbers.decimals([v])) for v in place)}"
