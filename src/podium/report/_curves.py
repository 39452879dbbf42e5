"""Line plots, for training curves or a measure at each cutoff."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium import _check
from podium.errors import ArgumentError
from podium.report import _axes, _numbers, _svg, _text
from podium.report._axes import LogScale, Scale
from podium.report._rows import PHONE
from podium.report._svg import Canvas

_PLOT = 250
_SIZE = 12.5
_LINE = 17
_MARKED = 12  # the points of lines with at most this number of points are marked
_DASH = "7 5"  # the pattern of lines whose colour is already used by another line

Points = list[tuple[float, float]]
Ends = tuple[float, float]  # the first and last pixel of an axis


@dataclass(frozen=True)
class _Curve:
    label: str
    tone: str
    dash: str
    points: Points  # (x, y), with y nan where the line breaks
    band: list[tuple[float, float, float]]  # (x, low, high)

    @property
    def last(self) -> tuple[float, float] | None:
        return next((p for p in reversed(self.points) if math.isfinite(p[1])), None)


def line_plot(
    series: Sequence[Mapping[str, Any]],
    *,
    title: str,
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    background: str | None = None,
) -> str:
    """Draw lines through points, each labelled at its end, or in a legend if labels are long.

    Parameters
    ----------
    series : sequence of mappings
        The lines, each with "label", and "x" and "y" of equal length (None in y breaks the line);
        optionally with "low" and "high", a band around the line.
    title, x_label, y_label : str
        The title, and the quantities of the axes with their units.
    log_x, log_y : bool
        Whether the axis is logarithmic. All x, or all y with their bands, must then be above 0.
    width, colours, background
        The arguments of all figures, see `podium.report.figures`.

    Returns
    -------
    str
        One SVG element.

    Raises
    ------
    ArgumentError
        If x and y differ in length, or a value on a logarithmic axis is not above 0.

    Examples
    --------
    >>> curve = {"label": "linear", "x": [1, 2, 3], "y": [0.2, 0.3, 0.35]}
    >>> svg = line_plot([curve], title="Training", x_label="epoch", y_label="pap@10")
    >>> "linear: 0.350 at 3" in svg
    True
    """
    curves = [_curve(line, i, colours) for i, line in enumerate(series)]
    canvas = Canvas(width)
    top = _axes.title(canvas, title)
    if any(curve.last for curve in curves):
        logs = _check.flag(log_x, "log_x"), _check.flag(log_y, "log_y")
        bottom = _plot(canvas, curves, top, logs, x_label, y_label)
    else:
        canvas.text(4, top + 14, "No values.", tone="muted")
        bottom = top + 24
    description = "; ".join(map(_described, curves)) + "."
    return canvas.svg(bottom + 4, title=title, description=description, background=background)


def _curve(line: Mapping[str, Any], index: int, colours: Mapping[str, int] | None) -> _Curve:
    x, y = list(line["x"]), list(line["y"])
    _check.equal_length(x=x, y=y)
    label = str(line["label"])
    number = index if colours is None else colours.get(label, index)
    points = [(float(a), _numbers.to_float(b)) for a, b in zip(x, y, strict=True)]
    band: list[tuple[float, float, float]] = []
    if "low" in line and "high" in line:
        rows = zip(x, line["low"], line["high"], strict=True)
        band = [(float(a), _numbers.to_float(b), _numbers.to_float(c)) for a, b, c in rows]
        band = [edge for edge in band if math.isfinite(edge[1]) and math.isfinite(edge[2])]
    dash = _DASH if number >= _svg.N_COLOURS else ""
    return _Curve(label, _svg.series(number), dash, points, band)


def _plot(
    canvas: Canvas,
    curves: Sequence[_Curve],
    top: float,
    logs: tuple[bool, bool],  # of x and y
    x_label: str,
    y_label: str,
) -> float:
    names = 13 + max(_text.width(curve.label, _SIZE) for curve in curves)
    at_ends = canvas.width >= PHONE and names <= 0.3 * canvas.width
    if not at_ends:
        top, names = _legend(canvas, curves, top), 0.0
    if y_label:
        canvas.text(4, top + 10, y_label, size=_SIZE, tone="muted", room=canvas.width - 8)
        top += 22
    plot = max(_PLOT, _LINE * len(curves) if at_ends else 0)
    up = _scale([*_heights(curves)], (top + plot, top + 4), 0.06, log=logs[1], name="y")
    left = 4 + _axes.y_room(up)
    xs = [x for curve in curves for x, _ in curve.points]
    right = canvas.width - 20 - names
    across = _scale(xs, (left, right), 0.02, log=logs[0], name="x")
    are_integers = all(x == round(x) for x in xs)
    bottom = _axes.x_axis(canvas, across, top, up.start, label=x_label, integer_ticks=are_integers)
    _axes.y_axis(canvas, up, left, right)
    for curve in curves:
        _draw(canvas, curve, across, up)
    if at_ends:
        _name_ends(canvas, curves, up, right + 10, names - 9)
    return bottom


def _scale(values: list[float], ends: Ends, pad: float, *, log: bool, name: str) -> Scale:
    """Return a scale that contains all finite values, with some padding."""
    finite = [value for value in values if math.isfinite(value)]
    if not log:
        return Scale(*_axes.domain(finite, pad=pad), *ends)
    if min(finite) <= 0:
        raise ArgumentError(
            f"{name} must be above 0 with log_{name}=True, got {min(finite):g}. "
            f"Pass log_{name}=False."
        )
    low, high = _axes.domain(map(math.log, finite), pad=pad)
    return LogScale(math.exp(low), math.exp(high), *ends)


def _heights(curves: Sequence[_Curve]) -> Iterator[float]:
    for curve in curves:
        yield from (y for _, y in curve.points)
        for _, low, high in curve.band:
            yield from (low, high)


def _draw(canvas: Canvas, curve: _Curve, across: Scale, up: Scale) -> None:
    if curve.band:
        over = [(across(x), up(high)) for x, _, high in curve.band]
        under = [(across(x), up(low)) for x, low, _ in reversed(curve.band)]
        canvas.area([*over, *under], tone=curve.tone, opacity=0.15)
    for points in _unbroken(curve.points):
        pixels = [(across(x), up(y)) for x, y in points]
        canvas.path(pixels, tone=curve.tone, thickness=2.25, dash=curve.dash)
        if len(curve.points) <= _MARKED or len(pixels) == 1:
            for x, y in pixels:
                canvas.dot(x, y, tone=curve.tone, radius=3.5)


def _unbroken(points: Points) -> Iterator[Points]:
    """Split a line into its parts without undefined values."""
    part: Points = []
    for point in points:
        if math.isfinite(point[1]):
            part.append(point)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _name_ends(canvas: Canvas, curves: Sequence[_Curve], up: Scale, x: float, room: float) -> None:
    """Write each label beside the end of its line, moved apart if labels would overlap."""
    ends = [(up(curve.last[1]) if curve.last else up.start, curve) for curve in curves]
    ends.sort(key=lambda end: end[0])
    heights = _spread([y for y, _ in ends], up.end, up.start)
    for (_, curve), y in zip(ends, heights, strict=True):
        _key(canvas, curve, x, y)
        canvas.text(x + 13, y + 4, curve.label, size=_SIZE, room=room)


def _key(canvas: Canvas, curve: _Curve, x: float, y: float) -> None:
    if curve.dash:
        canvas.line(x - 1, y, x + 9, y, tone=curve.tone, thickness=3, dash=_short_dash(curve))
    else:
        canvas.dot(x + 4, y, tone=curve.tone, radius=4)


def _short_dash(curve: _Curve) -> str:
    """Return the dash pattern of a short line, in a key or a legend."""
    return "3 5" if curve.dash else ""


def _spread(positions: Sequence[float], top: float, bottom: float) -> list[float]:
    """Move rising positions at least one line apart, and keep them above the bottom."""
    placed: list[float] = []
    for y in positions:
        placed.append(max(y, placed[-1] + _LINE) if placed else max(y, top))
    limit = bottom
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - _LINE
    return placed


def _legend(canvas: Canvas, curves: Sequence[_Curve], top: float) -> float:
    """Write all labels in lines above the plot; return the y below them."""
    x, y = 4.0, top + 10
    for curve in curves:
        label_width = min(_text.width(curve.label, _SIZE), canvas.width - 40)
        if x > 4 and x + 22 + label_width > canvas.width - 4:
            x, y = 4.0, y + 20
        canvas.line(
            x + 1, y - 4, x + 15, y - 4, tone=curve.tone, thickness=3, dash=_short_dash(curve)
        )
        canvas.text(x + 21, y, curve.label, size=_SIZE, room=label_width)
        x += 22 + label_width + 14
    return y + 16


def _described(curve: _Curve) -> str:
    if curve.last is None:
        return f"{curve.label}: no values"
    digits = _numbers.decimals(y for _, y in curve.points)
    x, y = curve.last
    return (
        f"{curve.label}: {_numbers.fixed(y, digits)} at {x:g}, "
        f"the last of {len(curve.points)} points"
    )
