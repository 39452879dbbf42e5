"""Scatter plots: one dot per method, or the values of all users in two runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check, _numbers, _text
from podium.plots import _scales, colours
from podium.plots._sheet import LABEL_SIZE, SIZE, Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLOT = 300
_SQUARE = 340
_LINE = 16
_BESIDE = 170  # the least room for a note beside a square plot
_CELLS = 33  # of each axis, for the values of users


_Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class _Point:
    label: str
    x: float
    y: float
    tone: str
    is_hollow: bool

    @property
    def is_defined(self) -> bool:
        return math.isfinite(self.x) and math.isfinite(self.y)


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
    """Draw one labelled dot per method, for example its accuracy and its coverage.

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
    >>> [text.get_text() for text in ax.texts][1:3]
    ['als', 'ease']
    """
    parsed = [_point(point, i, colours) for i, point in enumerate(points)]
    defined = [i for i, point in enumerate(parsed) if point.is_defined]
    sheet = Sheet(ax, width, title)
    description = "; ".join(map(_described, parsed)) + "."
    if not defined:
        return sheet.empty("; ".join(["No values.", *(point.label for point in parsed)]))
    first_points = sheet.first(defined, "methods")
    spans = [_spans(points[i]) for i in first_points]
    drawn = [parsed[i] for i in first_points]
    scales = _trade_off_scales(sheet, drawn, spans)
    boxes = _boxes(drawn, spans, *scales, sheet.width)
    has_legend = boxes is None and not sheet.is_own
    if boxes is None and sheet.is_own:
        keys = [(point.label, point.tone, _mark(sheet, point)) for point in drawn]
        sheet.legend([(label, tone, {**mark, "markevery": [1]}) for label, tone, mark in keys])
    sheet.top += 22 if y_label and sheet.is_own else 0
    sheet.place(scales[0].start, 20, _PLOT)
    sheet.x_axis(sheet.ax, scales[0], label=x_label)
    sheet.y_axis(sheet.ax, scales[1])
    sheet.name_y(y_label)
    for point, span in zip(drawn, spans, strict=True):
        _draw_point(sheet, point, span)
    for point, (left, top, right, _) in zip(drawn, boxes or [], strict=boxes is not None):
        room = right - left + 1
        sheet.text(left, sheet.top + top + 11, point.label, size=LABEL_SIZE, room=room, halo=True)
    if has_legend:
        sheet.native_legend()
    undefined = [point.label for point in parsed if not point.is_defined]
    if undefined:
        sheet.note(f"Undefined: {', '.join(undefined)}.")
    return sheet.finish(description)


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
    sheet = Sheet(ax, width, title)
    is_defined = ~(np.isnan(across) | np.isnan(up))
    if not is_defined.any():
        return sheet.empty()
    size = min(_SQUARE, sheet.width - 70) if sheet.is_own else _SQUARE
    sheet.top += 22 if sheet.is_own else 0
    low, high = _scales.domain(np.concatenate([across[is_defined], up[is_defined]]).tolist())
    scale = _scales.Scale(low, high, size, 0)
    left = 16 + _scales.room(_scales.up_ticks(scale))
    left, right = sheet.place(left, sheet.width - left - size if sheet.is_own else 0.0, size)
    sheet.x_axis(sheet.ax, _scales.Scale(low, high, left, right), label=x_label)
    sheet.y_axis(sheet.ax, scale)
    sheet.name_y(y_label)
    sheet.ax.plot([low, high], [low, high], color=sheet.paints["muted"], linewidth=1, zorder=1.5)
    _draw_users(sheet, across[is_defined], up[is_defined], (low, high), size)
    lines = _compared(across, up, count_label)
    if sheet.is_own and sheet.width - right > _BESIDE:
        for i, line in enumerate(lines):
            room = sheet.width - right - 34
            tone = "ink" if i < 3 else "muted"
            sheet.text(right + 30, sheet.top + 24 + 22 * i, line, size=SIZE, room=room, tone=tone)
    else:
        sheet.note(", ".join(lines) + ".")
    return sheet.finish(", ".join(lines) + ".")


def _draw_users(
    sheet: Sheet,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    ends: tuple[float, float],
    size: float,
) -> None:
    """Draw one dot per cell, with an area that grows with the number of its users."""
    low, high = ends
    cells = max(8, min(_CELLS, np.unique(x).size, np.unique(y).size))
    cell = (high - low) / cells
    columns, rows = (np.floor((v - low) / cell).astype(np.int64) for v in (x, y))
    keys, inverse, counts = np.unique(
        columns * (cells + 1) + rows, return_inverse=True, return_counts=True
    )
    xs, ys = (np.bincount(inverse, v) / counts for v in (x, y))
    sizes = np.maximum(3.0, min(26.0, size / cells) * np.sqrt(counts / counts.max()))
    style: dict[str, Any] = {"color": sheet.paints["c0"], "alpha": 0.75, "linestyle": "none"}
    style |= {"clip_on": not sheet.is_own, "marker": "o", "markeredgewidth": 0}
    for i in range(keys.size):
        sheet.ax.plot(xs[i], ys[i], markersize=sizes[i], **style)


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


def _point(point: Mapping[str, Any], index: int, numbers: Mapping[str, int] | None) -> _Point:
    label = str(point["label"])
    number = index if numbers is None else numbers.get(label, index)
    x, y = _numbers.to_float(point.get("x")), _numbers.to_float(point.get("y"))
    is_hollow = number >= colours.N_COLOURS
    return _Point(_text.printable(label), x, y, colours.series(number), is_hollow)


def _spans(point: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Return the finite ends of the intervals of x and of y: two or none each."""
    keys = (("x_low", "x_high"), ("low", "high"))
    spans = [[_numbers.to_float(point.get(key)) for key in pair] for pair in keys]
    x, y = ([] if any(math.isnan(end) for end in span) else span for span in spans)
    return x, y


def _draw_point(sheet: Sheet, point: _Point, spans: tuple[list[float], list[float]]) -> None:
    from podium.plots import _drawing

    across, up = spans
    style: dict[str, Any] = {"color": sheet.paints[point.tone], "clip_on": not sheet.is_own}
    if across:
        sheet.ax.plot(across, [point.y] * 2, linewidth=2, **style)
    if up:
        sheet.ax.plot([point.x] * 2, up, linewidth=2, **style)
    label = point.label.lstrip("_") or point.label  # a legend leaves out names that begin with _
    (dot,) = sheet.ax.plot([point.x], [point.y], label=label, **_mark(sheet, point), **style)
    _drawing.mark(dot, hint=_described(point))


def _mark(sheet: Sheet, point: _Point) -> dict[str, Any]:
    """Return the style of a dot: hollow if another one has the same colour."""
    inside = sheet.paints["paper" if point.is_hollow else point.tone]
    size = {"markersize": 9, "markeredgewidth": 2 if point.is_hollow else 0}
    return {"marker": "o", "linestyle": "none", "markerfacecolor": inside, **size}


def _trade_off_scales(
    sheet: Sheet, points: Sequence[_Point], spans: Sequence[tuple[list[float], list[float]]]
) -> tuple[_scales.Scale, _scales.Scale]:
    """Return the scales of x and y, which contain all points and intervals."""
    xs = [x for point, (span, _) in zip(points, spans, strict=True) for x in (point.x, *span)]
    ys = [y for point, (_, span) in zip(points, spans, strict=True) for y in (point.y, *span)]
    up = _scales.Scale(*_scales.domain(ys, pad=0.08), _PLOT, 0)
    left = 16 + _scales.room(_scales.up_ticks(up))
    right = sheet.width - 20 if sheet.is_own else sheet.width + left
    return _scales.Scale(*_scales.domain(xs, pad=0.08), left, right), up


def _boxes(
    points: Sequence[_Point],
    spans: Sequence[tuple[list[float], list[float]]],
    across: _scales.Scale,
    up: _scales.Scale,
    room: float,
) -> list[_Box] | None:
    """Return places of all labels where they cover nothing, or None if there are none."""
    occupied: list[_Box] = []
    for point, (x_span, y_span) in zip(points, spans, strict=True):
        xs = [across(x) for x in (point.x, *x_span)]
        ys = [up(y) for y in (point.y, *y_span)]
        occupied.append((min(xs) - 6, min(ys) - 6, max(xs) + 6, max(ys) + 6))
    boxes: list[_Box] = []
    for point in points:
        width = _text.width(point.label, LABEL_SIZE)
        places = _places(across(point.x), up(point.y), width, max(room, across.end))
        free = (p for p in places if not any(_overlap(p, other) for other in [*occupied, *boxes]))
        box = next(free, None)
        if box is None:
            return None
        boxes.append(box)
    return boxes


def _places(x: float, y: float, width: float, room: float) -> list[_Box]:
    """Return the boxes of a label inside the figure: beside a dot, then above and below."""
    places: list[_Box] = []
    for shift in (0, -_LINE, _LINE, -2 * _LINE, 2 * _LINE):
        for left in (x + 9, x - 9 - width, x - width / 2):
            if left == x - width / 2 and not shift:
                continue
            if 4 <= left <= room - width - 4 and y + shift >= 7:
                places.append((left, y + shift - 7, left + width, y + shift + 8))
    return places


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _described(point: _Point) -> str:
    if not point.is_defined:
        return f"{point.label}: undefined"
    digits = [_numbers.decimals([value]) for value in (point.x, point.y)]
    return (
        f"{point.label}: {_numbers.fixed(point.x, digits[0])}, {_numbers.fixed(point.y, digits[1])}"
    )
