"""Forest plots: values with their intervals, one row each."""

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
    """Draw a dot with its confidence interval for each row, and the value beside it.

    Parameters
    ----------
    rows : sequence of mappings
        The rows, each with "label", "value", "low" and "high" (None if undefined); optionally
        with "series", the method that determines the colour of the row.
    title, axis_label : str
        The title, and the quantity of the axis with its unit.
    reference : mapping, optional
        The "value" and "label" of a dashed line.
    digits : int, optional
        The decimals of the written values; by default three significant digits or more.
    width, colours, background
        The arguments of all figures, see `podium.report.figures`.

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
    parsed_rows = _rows.read(rows, _rows.series_numbers(rows, colours), digits=digits)
    reference_values = [float(reference["value"])] if reference else []
    canvas = Canvas(width)
    top = _axes.title(canvas, title) + (18 if reference else 0)
    place = Place(0, width, top, _rows.limits(parsed_rows, reference_values))
    bottom = _body(canvas, parsed_rows, place, axis_label, reference=reference)
    return canvas.svg(
        bottom + 4, title=title, description=_rows.described(parsed_rows), background=background
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

    A dot is hollow if the interval includes zero.

    Parameters
    ----------
    rows : sequence of mappings
        The rows in the form of `interval_plot`; the values are differences.
    title, axis_label : str
        The title, and the quantity of the axis with its unit.
    low_label, high_label : str
        The meaning of values to the left and to the right of zero.
    digits : int, optional
        The decimals of the written values; by default three significant digits or more.
    width, colours, background
        The arguments of all figures, see `podium.report.figures`.

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
    parsed_rows = _rows.read(rows, numbers, digits=digits, signed=True, hollow_at_zero=True)
    canvas = Canvas(width)
    has_side_labels = bool(rows and (low_label or high_label))
    top = _axes.title(canvas, title) + (20 if has_side_labels else 0)
    place = Place(0, width, top, _rows.limits(parsed_rows, [0.0], pad=0.08))
    bottom = _body(canvas, parsed_rows, place, axis_label, signed=True, zero=True)
    if has_side_labels:
        _name_sides(canvas, low_label, high_label, top - 8)
    if any(row.hollow for row in parsed_rows):
        note = "Hollow dots: the interval includes 0, or there is no interval."
        canvas.text(4, bottom + _NOTE, note, size=_NOTE, tone="muted", room=width - 8)
        bottom += _NOTE + 6
    return canvas.svg(
        bottom + 4, title=title, description=_rows.described(parsed_rows), background=background
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
    """Draw axis, lines and rows; return the y below them."""
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
    """Write the meaning of each side of zero, at the two ends of one line."""
    room = canvas.width / 2 - 12
    if low:
        canvas.text(4, y, f"← {low}", size=12, tone="muted", room=room)
    if high:
        canvas.text(
            canvas.width - 4, y, f"{high} →", size=12, anchor="end", tone="muted", room=room
        )
