"""Rows of labelled intervals, and functions that draw a group of them (a forest plot)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium import _numbers, _text
from podium.plots import colours
from podium.plots._canvas import SIZE, Canvas, hint

_ROW = 28
_STACKED_ROW = 46
_LINE = 17
_KEYS = ("value", "low", "high", "lowest", "highest")
_LEAST_PLOT = 180
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
    def has_bounds(self) -> bool:
        return math.isfinite(self.lowest) and math.isfinite(self.highest)

    def __str__(self) -> str:
        text = f"{self.label}: {self.text}"
        if not self.has_bounds:
            return text
        digits = _numbers.decimals([self.value, self.lowest, self.highest])
        return f"{text}, bounds {_numbers.bounds(self.lowest, self.highest, digits)}"


def read(
    rows: Sequence[Mapping[str, Any]],
    numbers: Mapping[str, int] | None,
    *,
    digits: int | None = None,
    signed: bool = False,
    with_bounds: bool = True,
) -> list[Row]:
    """Return rows with all numbers as floats and as text, all with the same decimals.

    `numbers` are those of the colours of series, by default in order of appearance. Differences,
    which are signed, are hollow if the interval includes 0.
    """
    if numbers is None:
        numbers = series_numbers(rows)
    if digits is None:
        keys = _KEYS[:3] if with_bounds else _KEYS[:1]
        digits = _numbers.decimals(row.get(key) for row in rows for key in keys)
    result: list[Row] = []
    for row in rows:
        value, low, high, lowest, highest = (_numbers.to_float(row.get(key)) for key in _KEYS)
        text = _numbers.fixed(value, digits, signed=signed)
        interval = _numbers.bounds(low, high, digits, signed=signed)
        if math.isnan(value):
            text = "undefined"
        elif with_bounds and interval != _numbers.NOTHING:
            text = f"{text} {interval}"
        tone = colours.series(numbers.get(row.get("series", ""), 0))
        is_hollow = signed and not (low > 0 or high < 0)
        label = _text.printable(str(row["label"]))
        result.append(Row(label, value, low, high, lowest, highest, tone, text, is_hollow))
    return result


def series_numbers(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, int]:
    """Return the number of each series' colour, in order of appearance."""
    names = dict.fromkeys(row["series"] for row in rows if row.get("series"))
    return {name: i for i, name in enumerate(names)}


def described(rows: Iterable[Row]) -> str:
    """Return a description of all rows as text."""
    return "; ".join(map(str, rows)) + "."


def note_bounds(sheet: Canvas, rows: Iterable[Row], label: str) -> None:
    """Note the meaning of thin lines, if a row has bounds."""
    if any(row.has_bounds for row in rows):
        sheet.note(f"Thin lines: {label}.")


def label_room(rows: Iterable[Row], width: float) -> float:
    """Return the width of a column of labels: the longest label, at most 36% of the figure."""
    return min(max(_text.width(row.label, SIZE) for row in rows), 0.36 * width)


def pitch(sheet: Canvas, rows: Sequence[Row]) -> float:
    """Return the height of a row: that of its mark, or with the text above it in one or two lines.

    Text is above the marks on a phone, or if it would leave little room, or if a label would be
    shortened beside the marks but not above them.
    """
    if not sheet.is_own:
        return _ROW
    width = sheet.width
    values = max(_text.width(row.text, SIZE) for row in rows)
    longest = max(_text.width(row.label, SIZE) for row in rows)
    labels = label_room(rows, width)
    is_short_above = labels < longest < width - values - 20
    if not (sheet.is_phone or width - labels - values < _LEAST_PLOT or is_short_above):
        return _ROW
    return _STACKED_ROW + (_LINE if longest + values > width - 40 else 0)


def plot_width(sheet: Canvas, rows: Sequence[Row], height: float) -> float:
    """Return about the width that rows of this height leave to the marks."""
    if height > _ROW or not sheet.is_own:
        return sheet.width - 20
    values = max(_text.width(row.text, SIZE) for row in rows)
    return sheet.width - label_room(rows, sheet.width) - values - 40


def draw(
    sheet: Canvas, ax: Any, rows: Sequence[Row], height: float, *, with_labels: bool = True
) -> None:
    """Draw labels, marks and values, one row each with this height."""
    ax.set_ylim(len(rows) - 0.5, -0.5)
    is_stacked = height > _ROW
    middle = 0.5 - 12 / height if is_stacked else 0.0  # of the mark, below that of the row
    ax.set_yticks([])
    room = label_room(rows, sheet.width if sheet.is_own else _USUAL_WIDTH)
    if with_labels and not is_stacked:
        labels = [_text.shorten(row.label, SIZE, room) for row in rows]
        ax.set_yticks(range(len(rows)), labels, parse_math=False)
        ax.tick_params("y", length=0, pad=10, labelsize=SIZE, labelcolor=sheet.paints["ink"])
        for row, label in zip(rows, ax.get_yticklabels(), strict=True):
            hint(label, row.label, if_shortened=True)
    for i, row in enumerate(rows):
        _mark(sheet, ax, row, i + middle)
        text: dict[str, Any] = {"coords": ("axes fraction", "data")}
        if is_stacked:
            above: dict[str, Any] = {**text, "room": sheet.width - 20}
            has_two_lines = height > _STACKED_ROW
            value: dict[str, Any] = {"tone": "muted"} if has_two_lines else {"ha": "right"}
            top = height / 2 - 14
            sheet.write(ax, row.label, (0, i), offset=(0, top), **above)
            place = 0 if has_two_lines else 1, i
            sheet.write(
                ax, row.text, place, offset=(0, top - _LINE * has_two_lines), **text, **value
            )
        else:
            sheet.write(ax, row.text, (1, i), offset=(10, 0), va="center_baseline", **text)


def _mark(sheet: Canvas, ax: Any, row: Row, y: float) -> None:
    """Draw the interval as a bar, the value as a dot on it, and bounds as a thin line with ends."""
    paint = sheet.paints[row.tone]
    if row.has_bounds:
        ends: dict[str, Any] = {"marker": "|", "markersize": 8, "markeredgewidth": 1.25}
        ax.plot([row.lowest, row.highest], [y, y], color=paint, linewidth=1.25, **ends)
    if math.isfinite(row.low) and math.isfinite(row.high):
        wide: dict[str, Any] = {"linewidth": 2.5, "solid_capstyle": "round", "zorder": 2.5}
        ax.plot([row.low, row.high], [y, y], color=paint, **wide)
    if math.isfinite(row.value):
        dot = hollow_or_full(sheet, paint, is_hollow=row.hollow)
        (drawn,) = ax.plot([row.value], [y], zorder=3, **dot)
        hint(drawn, str(row))


def hollow_or_full(sheet: Canvas, paint: str, *, is_hollow: bool) -> dict[str, Any]:
    """Return the style of a dot."""
    return {
        "marker": "o",
        "linestyle": "none",
        "markersize": 9,
        "markeredgecolor": paint,
        "markerfacecolor": sheet.paints["paper"] if is_hollow else paint,
        "markeredgewidth": 2 if is_hollow else 0,
    }
