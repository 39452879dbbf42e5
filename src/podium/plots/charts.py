"""Histograms and line plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from podium import _check, _numbers, _text
from podium.errors import ArgumentError
from podium.plots import colours as palette
from podium.plots._canvas import DASHED, SMALL, Canvas, Style, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BARS = 200


def histogram(
    edges: Sequence[float],
    counts: Sequence[float],
    *,
    axis_label: str = "",
    count_label: str = "groups",
    mean: float | None = None,
    n_undefined: int = 0,
    **style: Unpack[Style],
) -> Axes:
    """Draw the number of values in each bin.

    Parameters
    ----------
    edges : (n_bins + 1,)
        The rising bounds of the bins, for example from `podium.plots.bin_values`.
    counts : (n_bins,)
        The number of values in each bin, >= 0.
    axis_label, count_label : str
        The quantity of the values with its unit, and the objects that are counted.
    mean : float, optional
        The mean, marked by a dashed line.
    n_undefined : int
        The number of undefined values, which a note below the plot gives.
    **style
        The title, width, colours and ax, as in all plots; see `podium.plots`. Bars have
        the first colour.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ArgumentError
        If the number of edges is not the number of counts plus one.

    Examples
    --------
    >>> ax = histogram([0, 0.5, 1], [3, 1], title="pap@10 per user")
    >>> len(ax.patches)
    2
    """
    if len(edges) != len(counts) + 1 and (len(edges) or len(counts)):
        raise ArgumentError(
            f"edges must have one entry more than counts, got {len(edges)} and {len(counts)}."
        )
    with canvas(**style) as sheet:
        if n_undefined:
            sheet.notes.append(f"{_text.counted(n_undefined, count_label)} without a value.")
        if not len(counts):
            return sheet.empty()
        heights, bounds = _check.column(counts, "counts"), _check.column(edges, "edges")
        bars = {"color": sheet.paints["c0"], "edgecolor": sheet.paints["paper"]}
        sheet.ax.bar(bounds[:-1], heights, np.diff(bounds), align="edge", **bars)
        sheet.height = _BARS
        sheet.ax.set_xlim(bounds[0], bounds[-1])
        sheet.ax.set_ylim(0, max(*heights, 1) * 1.04)
        sheet.style_axes(axis_label, count_label)
        sheet.ax.yaxis.get_major_locator().set_params(integer=True)
        sheet.ax.grid(visible=False, axis="x")
        if mean is not None:
            sheet.ax.axvline(mean, color=sheet.paints["ink"], zorder=3, **DASHED)
            text = f"mean {_numbers.fixed(mean, _numbers.decimals([mean]))}"
            sheet.above(text, mean, at_value=True, ha="center", tone="ink")
        ends = _numbers.bounds(bounds[0], bounds[-1])
        sheet.description = f"{_text.counted(heights.sum(), count_label)} in {ends}."
        return sheet.ax


_PLOT = 250
_MARKED = 12  # the points of lines with at most this number of points are marked
_DASHES: Any = (0, (3, 2))  # of lines whose colour another line has already

Values = NDArray[np.float64]


@dataclass(frozen=True)
class _Curve:
    label: str
    tone: str
    is_dashed: bool
    x: Values
    y: Values  # nan where the line breaks
    band: tuple[Values, ...]
    bounds: tuple[Values, ...]

    @property
    def is_defined(self) -> bool:
        return bool(np.isfinite(self.y).any())

    @property
    def last(self) -> float:
        """The last value; -inf if there is none."""
        return float(self.y[np.isfinite(self.y)][-1]) if self.is_defined else -np.inf


def line_plot(
    series: Sequence[Mapping[str, Any]],
    *,
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    reference: Mapping[str, Any] | None = None,
    bounds_label: str = "bounds",
    **style: Unpack[Style],
) -> Axes:
    """Draw lines through points, with a legend in the order of their last values.

    Parameters
    ----------
    series : sequence of mappings
        The lines, each with "label", and "x" and "y" of equal length (None in y breaks the line);
        optionally with "low" and "high", a band around the line, and with "lowest" and "highest",
        bounds that are drawn as thin lines.
    x_label, y_label : str
        The quantities of the axes with their units.
    log_x, log_y : bool
        Whether the axis is logarithmic. All x, or all y with their bands, must then be above 0.
    reference : mapping, optional
        The "value" and "label" of a dashed horizontal line.
    bounds_label : str
        The meaning of thin lines, for the note below the plot.
    **style
        The title, width, colours and ax, as in all plots; see `podium.plots`.

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
    logs = {"x": _check.flag(log_x, "log_x"), "y": _check.flag(log_y, "log_y")}
    with canvas(**style) as sheet:
        curves = [_curve(line, i, sheet.numbers) for i, line in enumerate(series)]
        if not any(curve.is_defined for curve in curves):
            return sheet.empty("; ".join(["No values.", *(curve.label for curve in curves)]))
        drawn = sheet.first(curves, "lines")
        sheet.height = max(_PLOT, 19 * len(drawn))
        levels = [] if reference is None else [float(reference["value"])]
        _scale(sheet, drawn, levels, logs)
        for curve in sorted(drawn, key=lambda curve: curve.last, reverse=True):
            _draw_curve(sheet, curve)
        sheet.style_axes(x_label, y_label)
        if not logs["x"]:
            are_integers = all((curve.x == np.round(curve.x)).all() for curve in drawn)
            sheet.ax.xaxis.get_major_locator().set_params(integer=are_integers)
        if reference is not None:
            sheet.ax.axhline(levels[0], color=sheet.paints["muted"], **DASHED)
            muted: dict[str, Any] = {"tone": "muted", "size": SMALL, "room": sheet.width / 2}
            text, coords = str(reference.get("label", "")), ("axes fraction", "data")
            sheet.write(text, (0, levels[0]), coords=coords, offset=(6, 5), **muted)
        sheet.legend()
        if any(curve.bounds for curve in curves):
            sheet.notes.append(f"Thin lines: {bounds_label}.")
        sheet.description = "; ".join(map(_described, curves)) + "."
        return sheet.ax


def _curve(line: Mapping[str, Any], index: int, numbers: Mapping[str, int] | None) -> _Curve:
    _check.equal_length(x=list(line["x"]), y=list(line["y"]))
    label = str(line["label"])
    number = (numbers or {}).get(label, index)
    x, y = (_values(line[name]) for name in "xy")
    name = label if np.isfinite(y).any() else f"{label} (undefined)"
    bands = (
        tuple(_values(line[end]) for end in ends) if {*ends} <= line.keys() else ()
        for ends in (("low", "high"), ("lowest", "highest"))
    )
    tone, is_dashed = palette.series(number), number >= palette.N_COLOURS
    return _Curve(_text.printable(name), tone, is_dashed, x, y, *bands)


def _values(given: Sequence[Any]) -> Values:
    return np.array([_numbers.to_float(value) for value in given])


def _scale(
    sheet: Canvas, curves: Sequence[_Curve], levels: Sequence[float], logs: Mapping[str, bool]
) -> None:
    """Make axes logarithmic; all values on them must be above 0."""
    values = {
        "x": [curve.x for curve in curves],
        "y": [levels, *(part for c in curves for part in (c.y, *c.band, *c.bounds))],
    }
    for name in filter(logs.get, values):
        finite = np.concatenate([part for part in values[name] if len(part)])
        low, high = float(np.nanmin(finite)), float(np.nanmax(finite))
        if low <= 0:
            raise ArgumentError(
                f"{name} must be above 0 with log_{name}=True, got {low:g}. Pass log_{name}=False."
            )
        length = 0.7 * sheet.width if name == "x" else sheet.height
        sheet.log_axis(name, (low, high), length)
    sheet.ax.margins(x=0.02, y=0.06)


def _draw_curve(sheet: Canvas, curve: _Curve) -> None:
    paint = sheet.paints[curve.tone]
    if curve.band:
        sheet.ax.fill_between(curve.x, *curve.band, color=paint, alpha=0.15, linewidth=0)
    for edge in curve.bounds:
        sheet.ax.plot(curve.x, edge, color=paint, linewidth=1, label="_nolegend_")
    is_defined = np.pad(np.isfinite(curve.y), 1)
    is_alone = is_defined[1:-1] & ~is_defined[:-2] & ~is_defined[2:]
    marks: dict[str, Any] = {"markersize": 7, "markeredgewidth": 0}
    if len(curve.x) <= _MARKED or is_alone.any():
        marks["marker"] = "o"
    style: dict[str, Any] = {"linewidth": 2.25, "linestyle": _DASHES if curve.is_dashed else "-"}
    style["label"] = curve.label.lstrip("_") or curve.label  # a legend leaves out others
    sheet.ax.plot(curve.x, curve.y, color=paint, **style, **marks)


def _described(curve: _Curve) -> str:
    if not curve.is_defined:
        return f"{curve.label}: no values"
    text = _numbers.fixed(curve.last, _numbers.decimals(curve.y.tolist()))
    x = curve.x[np.isfinite(curve.y)][-1]
    return f"{curve.label}: {text} at {x:g}, the last of {len(curve.x)} points"
