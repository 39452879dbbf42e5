"""Rows of labelled intervals, and functions that draw a group of them (a forest plot)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium import _numbers, _text
from podium.plots import _scales, colours
from podium.plots._scales import Scale
from podium.plots._sheet import PHONE, SIZE, Sheet

_ROW = 28
_STACKED_ROW = 46
_LINE = 17
_INSET = 14
_END = 4  # points of a thin line's end above and below it
_KEYS = ("value", "low", "high", "lowest", "highest")
_LEAST_PLOT = 180  # including the gaps beside the plot
_USUAL_WIDTH = 720  # limits the labels beside axes of the caller


@dataclass(frozen=True)
class Row:
    """One interval in the form in which it is drawn; `text` is its value as text.

    The values from `lowest` to `highest` are those that are possible at all; nan without bounds.
    """

    label: str
    value: float
    low: float
    high: float
    lowest: float
    highest: float
    tone: str
    text: str
    hollow: bool = False

    @property
    def has_interval(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def has_bounds(self) -> bool:
        return math.isfinite(self.lowest) and math.isfinite(self.highest)


@dataclass(frozen=True)
class Form:
    """How a group of rows is drawn: beside their labels, or below them, and the height of each."""

    stacked: bool
    pitch: float
    left: float
    right: float

    @classmethod
    def of(
        cls,
        rows: Sequence[Row],
        width: float,
        bounds: tuple[float, float],
        *,
        signed: bool = False,
        stacked: bool | None = None,
    ) -> Form:
        """Return the form of rows in a figure of this width."""
        if is_stacked(rows, width) if stacked is None else stacked:
            inset = _inset(Scale(*bounds, _INSET, width - _INSET), signed=signed)
            return cls(True, _stacked_pitch(rows, width), inset, inset)
        values = max(_text.width(row.text, SIZE) for row in rows)
        return cls(False, _ROW, label_room(rows, width) + 20, values + 22)


def read(
    rows: Iterable[Mapping[str, Any]],
    numbers: Mapping[str, int],
    *,
    digits: int | None = None,
    signed: bool = False,
    hollow_at_zero: bool = False,
    with_bounds: bool = True,
) -> list[Row]:
    """Return rows with all numbers as floats and as text, all with the same decimals."""
    rows = list(rows)
    if digits is None:
        keys = _KEYS[:3] if with_bounds else _KEYS[:1]
        digits = _numbers.decimals(row.get(key) for row in rows for key in keys)
    return [
        _row(row, numbers, digits, signed, hollow_at_zero, with_bounds=with_bounds) for row in rows
    ]


def series_numbers(
    rows: Iterable[Mapping[str, Any]], colours: Mapping[str, int] | None
) -> Mapping[str, int]:
    """Return the number of each series' colour: the given ones, or in order of appearance."""
    if colours is not None:
        return colours
    names = dict.fromkeys(row["series"] for row in rows if row.get("series"))
    return {name: i for i, name in enumerate(names)}


def limits(
    rows: Iterable[Row], include: Sequence[float] = (), *, pad: float = 0.05
) -> tuple[float, float]:
    """Return the limits of an axis that contains all values and intervals."""
    values = [v for r in rows for v in (r.value, r.low, r.high, r.lowest, r.highest)]
    return _scales.domain(values, include=include, pad=pad)


def described(rows: Iterable[Row]) -> str:
    """Return a description of all rows as text."""
    return "; ".join(map(_described, rows)) + "."


def note_bounds(sheet: Sheet, rows: Iterable[Row], label: str) -> None:
    """Note the meaning of thin lines, if a row has bounds."""
    if any(row.has_bounds for row in rows):
        sheet.note(f"Thin lines: {label}.")


def is_stacked(rows: Sequence[Row], width: float) -> bool:
    """Return whether text is above the marks.

    It is on a phone, or if it would leave little room, or if a label would be shortened beside
    the marks but not above them.
    """
    values = max((_text.width(row.text, SIZE) for row in rows), default=0.0)
    labels = label_room(rows, width) if rows else 0.0
    longest = max((_text.width(row.label, SIZE) for row in rows), default=0.0)
    is_short_above = labels < longest < width - values - 20
    return width < PHONE or width - labels - values < _LEAST_PLOT or is_short_above


def label_room(rows: Iterable[Row], width: float) -> float:
    """Return the width of a column of labels: the longest label, at most 36% of the figure."""
    return min(max(_text.width(row.label, SIZE) for row in rows), 0.36 * width)


def height(rows: Sequence[Row], form: Form) -> float:
    """Return the height of a forest without its axis."""
    return len(rows) * form.pitch + 4


def plot(
    sheet: Sheet,
    rows: Sequence[Row],
    bounds: tuple[float, float],
    *,
    label: str = "",
    signed: bool = False,
) -> Scale:
    """Draw rows on the axes of a sheet, with the horizontal axis below them."""
    width = sheet.width if sheet.is_own else _USUAL_WIDTH
    stacked = None if sheet.is_own else False
    form = Form.of(rows, width, bounds, signed=signed, stacked=stacked)
    left, right = sheet.place(form.left, form.right, height(rows, form))
    scale = Scale(*bounds, left, right)
    sheet.x_axis(sheet.ax, scale, label=label, signed=signed)
    draw(sheet, sheet.ax, rows, form, scale, (0.0, sheet.width))
    return scale


def draw(
    sheet: Sheet,
    ax: Any,
    rows: Sequence[Row],
    form: Form,
    scale: Scale,
    ends: tuple[float, float],
) -> None:
    """Draw labels, marks and values, one row each, between two places of the sheet."""
    from podium.plots import _drawing

    _drawing.no_y_axis(ax, -2 / form.pitch, len(rows) + 2 / form.pitch)
    for i, row in enumerate(rows):
        if form.stacked:
            _stack(sheet, ax, row, i, form, ends)
            mark(sheet, ax, row, i + (form.pitch - 10) / form.pitch, 1 / form.pitch)
        else:
            room = scale.start - ends[0] - 16
            sheet.text(ends[0] + 4, i + 0.5, row.label, room=room, along=ax)
            sheet.text(ends[1] - 4, i + 0.5, row.text, anchor="right", along=ax)
            mark(sheet, ax, row, i + 0.5, 1 / form.pitch)


def mark(sheet: Sheet, ax: Any, row: Row, y: float, point: float) -> None:
    """Draw the interval as a bar, the value as a dot on it, and bounds as a thin line with ends.

    `point` is a point in units of the vertical axis.
    """
    from podium.plots import _drawing

    paint, paper = sheet.paints[row.tone], sheet.paints["paper"]
    style: dict[str, Any] = {"clip_on": not sheet.is_own, "color": paint}
    if row.has_bounds:
        ends, thin = [row.lowest, row.highest], {**style, "linewidth": 1.25, "zorder": 2.25}
        ax.plot(ends, [y, y], **thin)
        for end in ends:
            ax.plot([end, end], [y - _END * point, y + _END * point], **thin)
    if row.has_interval:
        ends = [row.low, row.high]
        ax.plot(ends, [y, y], linewidth=2.5, solid_capstyle="round", zorder=2.5, **style)
    if math.isfinite(row.value):
        inside = {"markerfacecolor": paper if row.hollow else paint, "markeredgecolor": paint}
        size = {"markersize": 10 if row.hollow else 9, "markeredgewidth": 2 if row.hollow else 0}
        (dot,) = ax.plot(
            [row.value], [y], marker="o", linestyle="none", zorder=3, **inside, **size, **style
        )
        _drawing.mark(dot, hint=_text.printable(_described(row)))


def _described(row: Row) -> str:
    """Return a row as text."""
    text = f"{row.label}: {row.text}"
    if not row.has_bounds:
        return text
    digits = _numbers.decimals([row.value, row.lowest, row.highest])
    return f"{text}, bounds {_numbers.bounds(row.lowest, row.highest, digits)}"


def _stack(sheet: Sheet, ax: Any, row: Row, i: int, form: Form, ends: tuple[float, float]) -> None:
    """Write text above the mark: on one line if all rows fit, else on two."""
    room = ends[1] - ends[0] - 8
    y = i + 14.5 / form.pitch
    sheet.text(ends[0] + 4, y, row.label, room=room, halo=True, along=ax)
    if form.pitch > _STACKED_ROW:
        y += _LINE / form.pitch
        sheet.text(ends[0] + 4, y, row.text, tone="muted", room=room, halo=True, along=ax)
    else:
        sheet.text(ends[1] - 4, y, row.text, anchor="right", halo=True, along=ax)


def _stacked_pitch(rows: Sequence[Row], width: float) -> float:
    widths = [_text.width(row.label, SIZE) + _text.width(row.text, SIZE) for row in rows]
    return _STACKED_ROW + (_LINE if max(widths) > width - 20 else 0)


def _inset(scale: Scale, *, signed: bool) -> float:
    """Return the room at the ends of an axis without which its labels leave the figure."""
    ticks = _scales.across_ticks(scale, signed=signed)
    half = _scales.room(ticks, signed=signed) / 2 + 2
    ends = scale(ticks[0]), scale.end + _INSET - scale(ticks[-1])
    return _INSET + max(0.0, half - min(ends))


def _row(
    row: Mapping[str, Any],
    numbers: Mapping[str, int],
    digits: int,
    signed: bool,
    hollow_at_zero: bool,
    *,
    with_bounds: bool,
) -> Row:
    value, low, high, lowest, highest = (_numbers.to_float(row.get(key)) for key in _KEYS)
    interval = _numbers.bounds(low, high, digits, signed=signed)
    text = _numbers.fixed(value, digits, signed=signed)
    if math.isnan(value):
        text = "undefined"
    elif with_bounds and interval != _numbers.NOTHING:
        text = f"{text} {interval}"
    return Row(
        label=str(row["label"]),
        value=value,
        low=low,
        high=high,
        lowest=lowest,
        highest=highest,
        tone=colours.series(numbers.get(row.get("series", ""), 0)),
        text=text,
        hollow=hollow_at_zero and not (low > 0 or high < 0),
    )
