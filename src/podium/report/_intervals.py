"""Forest plots: values with their intervals, a row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.report import _axes, _rows, _text
from podium.report._axes import Scale
from podium.report._rows import Place, Row
from podium.report._svg import Canvas

_NOTE = 12


def interval_plot(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    axis_label: str = "",
    reference: Mapping[str, Any] | None = None,
    digits: int | None = None,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    background: str | None = None,
) -> str:
    """Draw a dot with its confidence interval for each row, the value written beside it.

    Parameters
    ----------
    rows : sequence of mappings
        "label"; "value", "low" and "high" (None where undefined); optionally "series", the
        method whose colour the row has.
    title, axis_label : str
        What is shown, and the axis's quantity with its unit.
    reference : mapping, optional
        "value" and "label" of a dashed line.
    digits : int, optional
        Decimals of the written values; by default three significant digits or more.
    width, colours, background
        See `podium.report.figures`.

    Returns
    -------
    str
        One SVG element.

    Examples
    --------
    >>> rows = [{"label": "linear", "value": 0.31, "low": 0.29, "high": 0.33}]
    >>> "0.310 [0.290, 0.330]" in interval_plot(rows, title="pap@10")
    True
    """
    read = _rows.read(rows, _rows.series_numbers(rows, colours), digits=digits)
    line = [float(reference["value"])] if reference else []
    canvas = Canvas(width)
    top = _axes.title(canvas, title) + (18 if reference else 0)
    place = Place(0, width, top, _rows.limits(read, line))
    bottom = _body(canvas, read, place, axis_label, reference=reference)
    return canvas.svg(
        bottom + 4, title=title, description=_rows.described(read), background=background
    )


def difference_plot(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    axis_label: str = "",
    low_label: str = "",
    high_label: str = "",
    digits: int | None = None,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    background: str | None = None,
) -> str:
    """Draw paired differences with their intervals around a line at zero.

    A dot is hollow where the interval includes zero.

    Parameters
    ----------
    rows : sequence of mappings
        As in `interval_plot`; values are differences.
    title, axis_label : str
        What is shown, and the axis's quantity with its unit.
    low_label, high_label : str
        What it means to be left, and right, of zero.
    digits : int, optional
        Decimals of the written values; by default three significant digits or more.
    width, colours, background
        See `podium.report.figures`.

    Returns
    -------
    str
        One SVG element.

    Examples
    --------
    >>> rows = [{"label": "linear", "value": 0.02, "low": 0.01, "high": 0.03}]
    >>> "+0.0200 [+0.0100, +0.0300]" in difference_plot(rows, title="pap@10")
    True
    """
    numbers = _rows.series_numbers(rows, colours)
    read = _rows.read(rows, numbers, digits=digits, signed=True, hollow_at_zero=True)
    canvas = Canvas(width)
    sides = bool(rows and (low_label or high_label))
    top = _axes.title(canvas, title) + (20 if sides else 0)
    place = Place(0, width, top, _rows.limits(read, [0.0], pad=0.08))
    bottom = _body(canvas, read, place, axis_label, signed=True, zero=True)
    if sides:
        _name_sides(canvas, low_label, high_label, top - 8)
    if any(row.hollow for row in read):
        note = "A hollow dot: the interval includes 0, or there is none."
        canvas.text(4, bottom + _NOTE, note, size=_NOTE, tone="muted", room=width - 8)
        bottom += _NOTE + 6
    return canvas.svg(
        bottom + 4, title=title, description=_rows.described(read), background=background
    )


def _body(
    canvas: Canvas,
    rows: Sequence[Row],
    place: Place,
    axis_label: str,
    *,
    reference: Mapping[str, Any] | None = None,
    signed: bool = False,
    zero: bool = False,
) -> float:
    """Draw axis, lines, rows; return the y below."""
    if not rows:
        canvas.text(4, place.top + 14, "No values.", tone="muted")
        return place.top + 24
    stacked = _rows.is_stacked(rows, canvas.width)
    scale = _rows.forest_scale(rows, place, stacked=stacked)
    end = place.top + _rows.height(rows, place, stacked=stacked)
    bottom = _axes.x_axis(canvas, scale, place.top, end, label=axis_label, signed=signed)
    if zero:
        canvas.line(scale(0), place.top, scale(0), end, tone="muted", thickness=1.5)
    if reference:
        _reference(canvas, reference, scale, place.top, end)
    _rows.forest(canvas, rows, place, scale, stacked=stacked)
    return bottom


def _reference(
    canvas: Canvas, reference: Mapping[str, Any], scale: Scale, top: float, bottom: float
) -> None:
    x, label = scale(float(reference["value"])), str(reference.get("label", ""))
    canvas.line(x, top - 2, x, bottom, tone="muted", thickness=1.5, dash="5 4")
    half = _text.width(label, 12) / 2
    middle = max(half + 4, min(x, canvas.width - half - 4))
    canvas.text(
        middle, top - 8, label, size=12, anchor="middle", tone="muted", room=canvas.width - 8
    )


def _name_sides(canvas: Canvas, low: str, high: str, y: float) -> None:
    """Write what each side of zero means, at the ends of one line."""
    room = canvas.width / 2 - 12
    if low:
        canvas.text(4, y, f"← {low}", size=12, tone="muted", room=room)
    if high:
        canvas.text(
            canvas.width - 4, y, f"{high} →", size=12, anchor="end", tone="muted", room=room
        )
