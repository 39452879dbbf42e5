"""Rows of labelled intervals, and functions that draw a group of them (a forest plot)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.report import _axes, _numbers, _svg, _text
from podium.report._axes import Scale
from podium.report._svg import Canvas

PHONE = 480  # in narrower figures, labels are above the marks and not beside them
_SIZE = 13
_ROW = 28
_STACKED_ROW = 46
_LINE = 17
_INSET = 14
_LEAST_PLOT = 180  # including the gaps beside the plot


@dataclass(frozen=True)
class Row:
    """One interval in the form in which it is drawn; `text` is its value as text."""

    label: str
    value: float
    low: float
    high: float
    tone: str
    text: str
    hollow: bool = False

    @property
    def has_interval(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True)
class Place:
    """The place of a forest plot, and the values at its ends."""

    left: float
    right: float
    top: float
    limits: tuple[float, float]


def read(
    rows: Iterable[Mapping[str, Any]],
    colours: Mapping[str, int],
    *,
    digits: int | None = None,
    signed: bool = False,
    hollow_at_zero: bool = False,
    with_bounds: bool = True,
) -> list[Row]:
    """Return rows with all numbers as floats and as text, all with the same decimals."""
    rows = list(rows)
    if digits is None:
        digits = _numbers.decimals(row.get("value") for row in rows)
    return [
        _row(row, colours, digits, signed, hollow_at_zero, with_bounds=with_bounds) for row in rows
    ]


def series_numbers(
    rows: Iterable[Mapping[str, Any]], colours: Mapping[str, int] | None
) -> Mapping[str, int]:
    """Return the given colour numbers or, without them, number the series of the rows in order."""
    if colours is not None:
        return colours
    names = dict.fromkeys(row["series"] for row in rows if row.get("series"))
    return {name: i for i, name in enumerate(names)}


def limits(
    rows: Iterable[Row], include: Sequence[float] = (), *, pad: float = 0.05
) -> tuple[float, float]:
    """Return the limits of an axis that contains all values and intervals."""
    values = [v for row in rows for v in (row.value, row.low, row.high)]
    return _axes.domain(values, include=include, pad=pad)


def described(rows: Iterable[Row]) -> str:
    """Return a description of all rows as text."""
    return "; ".join(f"{row.label}: {row.text}" for row in rows) + "."


def is_stacked(rows: Sequence[Row], width: float) -> bool:
    """Return whether text is above the marks.

    It is on a phone, or if it would leave little room, or if a label would be shortened beside
    the marks but not above them.
    """
    values = max((_text.width(row.text, _SIZE) for row in rows), default=0.0)
    labels = label_room(rows, width) if rows else 0.0
    longest = max((_text.width(row.label, _SIZE) for row in rows), default=0.0)
    is_short_above = labels < longest < width - values - 20
    return width < PHONE or width - labels - values < _LEAST_PLOT or is_short_above


def forest_scale(rows: Sequence[Row], place: Place, *, stacked: bool) -> Scale:
    """Return the scale of the plot, in the room beside labels and values."""
    if stacked:
        return Scale(*place.limits, place.left + _INSET, place.right - _INSET)
    start = place.left + label_room(rows, place.right - place.left) + 20
    end = place.right - max(_text.width(row.text, _SIZE) for row in rows) - 22
    return Scale(*place.limits, start, end)


def label_room(rows: Iterable[Row], width: float) -> float:
    """Return the width of a column of labels: the longest label, at most 36% of the figure."""
    return min(max(_text.width(row.label, _SIZE) for row in rows), 0.36 * width)


def height(rows: Sequence[Row], place: Place, *, stacked: bool) -> float:
    """Return the height of a forest without its axis."""
    return len(rows) * (_stacked_row(rows, place) if stacked else _ROW) + 4


def forest(
    canvas: Canvas, rows: Sequence[Row], place: Place, scale: Scale, *, stacked: bool
) -> None:
    """Draw labels, intervals and values, one row each; axes and lines are already drawn."""
    draw = _stack if stacked else _line_up
    draw(canvas, rows, place, scale)


def _line_up(canvas: Canvas, rows: Sequence[Row], place: Place, scale: Scale) -> None:
    """Draw each row on one line: its label, the mark, the value."""
    room = label_room(rows, place.right - place.left) + 4
    for i, row in enumerate(rows):
        y = place.top + (i + 0.5) * _ROW + 2
        canvas.text(place.left + 4, y + 4.5, row.label, size=_SIZE, room=room)
        canvas.text(place.right - 4, y + 4.5, row.text, size=_SIZE, anchor="end")
        mark(canvas, row, scale, y)


def _stack(canvas: Canvas, rows: Sequence[Row], place: Place, scale: Scale) -> None:
    """Draw text above the mark: on one line if all rows fit, else on two."""
    pitch = _stacked_row(rows, place)
    for i, row in enumerate(rows):
        y = place.top + i * pitch + 19
        room = place.right - place.left - 8
        canvas.text(place.left + 4, y, row.label, size=_SIZE, room=room, halo=True)
        if pitch > _STACKED_ROW:
            y += _LINE
            canvas.text(place.left + 4, y, row.text, size=_SIZE, tone="muted", room=room, halo=True)
        else:
            canvas.text(place.right - 4, y, row.text, size=_SIZE, anchor="end", halo=True)
        mark(canvas, row, scale, y + _LINE)


def _stacked_row(rows: Sequence[Row], place: Place) -> float:
    widths = [_text.width(row.label, _SIZE) + _text.width(row.text, _SIZE) for row in rows]
    return _STACKED_ROW + (_LINE if max(widths) > place.right - place.left - 20 else 0)


def mark(canvas: Canvas, row: Row, scale: Scale, y: float) -> None:
    """Draw the interval as a bar and the value as a dot on it."""
    if row.has_interval:
        canvas.line(scale(row.low), y, scale(row.high), y, tone=row.tone, thickness=2.5)
    if math.isfinite(row.value):
        canvas.dot(scale(row.value), y, tone=row.tone, hollow=row.hollow)


def _row(
    row: Mapping[str, Any],
    colours: Mapping[str, int],
    digits: int,
    signed: bool,
    hollow_at_zero: bool,
    *,
    with_bounds: bool,
) -> Row:
    value, low, high = (_numbers.to_float(row.get(key)) for key in ("value", "low", "high"))
    interval = _numbers.bounds(low, high, digits, signed=signed)
    text = _numbers.fixed(value, digits, signed=signed)
    if with_bounds and math.isnan(value):
        text = "undefined"
    elif with_bounds and interval != _numbers.NOTHING:
        text = f"{text} {interval}"
    return Row(
        label=str(row["label"]),
        value=value,
        low=low,
        high=high,
        tone=_svg.series(colours.get(row.get("series", ""), 0)),
        text=text,
        hollow=hollow_at_zero and not (low > 0 or high < 0),
    )
