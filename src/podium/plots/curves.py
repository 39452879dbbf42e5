"""Line plots: training curves, a measure at each cutoff, an error by samples, rank shares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium import _check, _numbers, _text
from podium.plots import _scales, colours
from podium.plots._scales import Scale
from podium.plots._sheet import DASHED, LABEL_SIZE, MOST_LINES, NOTE_SIZE, PHONE, Sheet, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLOT = 250
_LINE = 17
_MARKED = 12  # the points of lines with at most this number of points are marked
_THICK = 2.25
_DASHES: Any = (0, (7 / _THICK, 5 / _THICK))  # of lines whose colour another line has already
_KEY_DASHES: Any = (0, (1, 5 / 3))

Points = list[tuple[float, float]]
Band = list[tuple[float, float, float]]  # (x, low, high)


@dataclass(frozen=True)
class _Curve:
    label: str
    tone: str
    is_dashed: bool
    points: Points  # (x, y), with y nan where the line breaks
    band: Band
    bounds: Band

    @property
    def last(self) -> tuple[float, float] | None:
        return next((p for p in reversed(self.points) if math.isfinite(p[1])), None)


def line_plot(
    series: Sequence[Mapping[str, Any]],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    reference: Mapping[str, Any] | None = None,
    bounds_label: str = "bounds",
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw lines through points, each labelled at its end, or in a legend if labels are long.

    Parameters
    ----------
    series : sequence of mappings
        The lines, each with "label", and "x" and "y" of equal length (None in y breaks the line);
        optionally with "low" and "high", a band around the line, and with "lowest" and "highest",
        bounds that are drawn as thin lines.
    title, x_label, y_label : str
        The title, and the quantities of the axes with their units.
    log_x, log_y : bool
        Whether the axis is logarithmic. All x, or all y with their bands, must then be above 0.
    reference : mapping, optional
        The "value" and "label" of a dashed horizontal line.
    bounds_label : str
        The meaning of thin lines, for the note below the plot.
    width, colours, ax
        The arguments of all plots, see `podium.plots`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ArgumentError
        If x and y differ in length, or a value on a logarithmic axis is not above 0.

    Examples
    --------
    >>> curve = {"label": "linear", "x": [1, 2, 3], "y": [0.2, 0.3, 0.35]}
    >>> ax = line_plot([curve], title="Training", x_label="epoch", y_label="pap@10")
    >>> [line.get_label() for line in ax.get_lines()][:1]
    ['linear']
    """
    logs = _check.flag(log_x, "log_x"), _check.flag(log_y, "log_y")
    curves = [_curve(line, i, colours) for i, line in enumerate(series)]
    sheet = Sheet(ax, width, title)
    if not any(curve.last for curve in curves):
        return sheet.empty("; ".join(["No values.", *(curve.label for curve in curves)]))
    first_curves = sheet.first(curves, "lines", MOST_LINES)
    _plot(sheet, first_curves, logs, (x_label, y_label), reference)
    if any(curve.bounds for curve in curves):
        sheet.note(f"Thin lines: {bounds_label}.")
    return sheet.finish("; ".join(map(_described, curves)) + ".")


def _curve(line: Mapping[str, Any], index: int, numbers: Mapping[str, int] | None) -> _Curve:
    x, y = list(line["x"]), list(line["y"])
    _check.equal_length(x=x, y=y)
    label = str(line["label"])
    number = index if numbers is None else numbers.get(label, index)
    points = [(float(a), _numbers.to_float(b)) for a, b in zip(x, y, strict=True)]
    bands = _band(line, x, "low", "high"), _band(line, x, "lowest", "highest")
    is_defined = any(math.isfinite(y) for _, y in points)
    name = _text.printable(label if is_defined else f"{label} (undefined)")
    return _Curve(name, colours.series(number), number >= colours.N_COLOURS, points, *bands)


def _band(line: Mapping[str, Any], x: Sequence[Any], low: str, high: str) -> Band:
    """Return the defined places of a band; none if the line has none."""
    if low not in line or high not in line:
        return []
    rows = zip(x, line[low], line[high], strict=True)
    band = [(float(a), _numbers.to_float(b), _numbers.to_float(c)) for a, b, c in rows]
    return [edge for edge in band if math.isfinite(edge[1]) and math.isfinite(edge[2])]


def _plot(
    sheet: Sheet,
    curves: Sequence[_Curve],
    logs: tuple[bool, bool],
    labels: tuple[str, str],
    reference: Mapping[str, Any] | None,
) -> None:
    x_label, y_label = labels
    names = 13 + max(_text.width(curve.label, LABEL_SIZE) for curve in curves)
    at_ends = sheet.is_own and sheet.width >= PHONE and names <= 0.3 * sheet.width
    if not at_ends:
        names = 0.0
    if sheet.is_own and not at_ends:
        sheet.legend([(curve.label, curve.tone, _key(curve)) for curve in curves])
    sheet.top += 22 if y_label and sheet.is_own else 0
    plot = max(_PLOT, _LINE * len(curves) if at_ends else 0)
    levels = [] if reference is None else [float(reference["value"])]
    up = _scales.around([*_heights(curves), *levels], (plot, 4), 0.06, log=logs[1], name="y")
    xs = [x for curve in curves for x, _ in curve.points]
    margin = 12 + _scales.room(_scales.up_ticks(up)) + 4
    left, right = sheet.place(margin, 20 + names, plot)
    across = _scales.around(xs, (left, right), 0.02, log=logs[0], name="x")
    sheet.x_axis(sheet.ax, across, label=x_label, integers=all(x == round(x) for x in xs))
    sheet.y_axis(sheet.ax, up)
    if reference is not None:
        at_left = _is_left_free(curves, across, up, levels[0])
        _reference(sheet, reference, up, left + 6 if at_left else right - 6, at_left=at_left)
    for curve in curves:
        _draw(sheet, curve)
    sheet.name_y(y_label)
    if at_ends:
        _name_ends(sheet, curves, up, right + 10, names - 9)
    elif not sheet.is_own:
        sheet.native_legend()


def _heights(curves: Sequence[_Curve]) -> list[float]:
    bands = (edges for curve in curves for edges in (*curve.band, *curve.bounds))
    edges = [edge for _, *ends in bands for edge in ends]
    return [y for curve in curves for _, y in curve.points] + edges


def _draw(sheet: Sheet, curve: _Curve) -> None:
    paint = sheet.paints[curve.tone]
    clip = not sheet.is_own
    if curve.band:
        x, low, high = zip(*curve.band, strict=True)
        around = [*x, *reversed(x)], [*high, *reversed(low)]
        sheet.ax.fill(*around, color=paint, alpha=0.15, linewidth=0, clip_on=clip)
    if curve.bounds:
        x, *edges = zip(*curve.bounds, strict=True)
        for edge in edges:
            sheet.ax.plot(x, edge, color=paint, linewidth=1, label="_nolegend_", clip_on=clip)
    is_marked = len(curve.points) <= _MARKED
    label = curve.label.lstrip("_") or curve.label
    style: dict[str, Any] = {"color": paint, "clip_on": clip, "solid_capstyle": "round"}
    for points in _unbroken(curve.points):
        x, y = zip(*points, strict=True)
        marker = "o" if is_marked or len(points) == 1 else ""
        dashes = _DASHES if curve.is_dashed else "-"
        dashes = dashes if len(points) > 1 else "none"
        sheet.ax.plot(
            x,
            y,
            label=label,
            linewidth=_THICK,
            linestyle=dashes,
            marker=marker,
            markersize=7,
            markeredgewidth=0,
            **style,
        )
        label = "_nolegend_"


def _is_left_free(curves: Sequence[_Curve], across: Scale, up: Scale, level: float) -> bool:
    """Return whether the left end of a horizontal line is as far from the curves as the right."""
    middle = (across.start + across.end) / 2
    nearest = [math.inf, math.inf]
    for x, y in (point for curve in curves for point in curve.points):
        if math.isfinite(y):
            side = int(across(x) > middle)
            nearest[side] = min(nearest[side], abs(up(y) - up(level)))
    return nearest[0] >= nearest[1]


def _reference(
    sheet: Sheet, reference: Mapping[str, Any], up: Scale, x: float, *, at_left: bool
) -> None:
    """Draw a dashed line with its label above one end, or below it at the top of the plot."""
    value, label = float(reference["value"]), str(reference.get("label", ""))
    sheet.ax.axhline(value, color=sheet.paints["muted"], **DASHED)
    y = sheet.top + up(value)
    y += 14 if up(value) < 20 else -6
    anchor, room = "left" if at_left else "right", sheet.width / 2
    sheet.text(x, y, label, size=NOTE_SIZE, anchor=anchor, tone="muted", halo=True, room=room)


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


def _name_ends(sheet: Sheet, curves: Sequence[_Curve], up: Scale, x: float, room: float) -> None:
    """Write each label beside the end of its line, moved apart if labels would overlap."""
    ends = [(up(curve.last[1]) if curve.last else up.start, curve) for curve in curves]
    ends.sort(key=lambda end: end[0])
    heights = spread([y for y, _ in ends], up.end, up.start)
    for (_, curve), y in zip(ends, heights, strict=True):
        middle = sheet.top + y
        if curve.is_dashed:
            sheet.line([x - 1, x + 9], [middle] * 2, curve.tone, linewidth=3, linestyle=_KEY_DASHES)
        else:
            key: dict[str, Any] = {"marker": "o", "markersize": 8, "linestyle": "none"}
            sheet.line([x + 4], [middle], curve.tone, **key)
        sheet.text(x + 13, middle + 4, curve.label, size=LABEL_SIZE, room=room)


def _key(curve: _Curve) -> dict[str, Any]:
    """Return the style of the line before the label in a legend."""
    dashes = _KEY_DASHES if curve.is_dashed else "-"
    return {"linewidth": 3, "linestyle": dashes, "solid_capstyle": "round"}


def _described(curve: _Curve) -> str:
    if curve.last is None:
        return f"{curve.label}: no values"
    digits = _numbers.decimals(y for _, y in curve.points)
    x, y = curve.last
    return (
        f"{curve.label}: {_numbers.fixed(y, digits)} at {x:g}, "
        f"the last of {len(curve.points)} points"
    )
