"""Forest plots: values with their intervals, one row each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from podium import _numbers, _text
from podium.plots import colours as palette
from podium.plots._canvas import DASHED, SIZE, Canvas, Style, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 28
_KEYS = ("value", "low", "high", "lowest", "highest")
_LABEL = 190  # the largest width of a label
_LEAST_PLOT = 120


@dataclass(frozen=True)
class _Row:
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
    is_hollow: bool

    def __str__(self) -> str:
        return f"{self.label}: {self.text}".removesuffix(": ")


def interval_plot(
    rows: Sequence[Mapping[str, Any]],
    *,
    axis_label: str = "",
    reference: Mapping[str, Any] | None = None,
    bounds_label: str = "bounds",
    sides: tuple[str, str] | None = None,
    **style: Unpack[Style],
) -> Axes:
    """Draw a dot with its confidence interval for each row, and the value beside it.

    Parameters
    ----------
    rows : sequence of mappings
        The rows, each with "label", "value", "low" and "high" (None if undefined); optionally
        with "series", the method that determines the colour of the row, and with "lowest" and
        "highest", bounds that are drawn as a thin line. A row with a label
        alone is the heading of the rows below it.
    axis_label : str
        The quantity of the axis with its unit.
    reference : mapping, optional
        The "value" and "label" of a dashed line.
    bounds_label : str
        The meaning of thin lines, for the note below the plot.
    sides : (str, str), optional
        The meaning of values below and above zero, if the values are differences. They are then
        signed and drawn around a line at zero, and a dot is hollow if the interval includes zero.
    **style
        The title, width, colours and ax, as in all plots; see `podium.plots`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Examples
    --------
    >>> rows = [{"label": "linear", "value": 0.31, "low": 0.29, "high": 0.33}]
    >>> ax = interval_plot(rows, title="pap@10")
    >>> ax.figure.savefig("means.png")  # doctest: +SKIP
    """
    with canvas(**style) as sheet:
        all_rows = _read(rows, sheet.numbers, signed=sides is not None)
        if not all_rows:
            return sheet.empty()
        drawn, axes = sheet.first(all_rows, "rows"), sheet.ax
        sheet.height = _ROW * len(drawn)
        _draw(sheet, drawn)
        sheet.style_axis(axes.xaxis, axis_label)
        if reference:
            axes.axvline(float(reference["value"]), color=sheet.paints["muted"], **DASHED)
            label = str(reference.get("label", ""))
            sheet.above(label, float(reference["value"]), at_value=True, ha="center")
        if sides is not None:
            axes.axvline(0.0, color=sheet.paints["muted"], linewidth=1.5, zorder=1.5)
            for side, x, text in zip(("left", "right"), (0, 1), ("← {}", "{} →"), strict=True):
                sheet.above(text.format(sides[x]), x, ha=side)
            if any(row.is_hollow for row in drawn):
                sheet.notes.append("Hollow dots: the interval includes 0, or there is no interval.")
        if any(math.isfinite(row.highest - row.lowest) for row in drawn):
            sheet.notes.append(f"Thin lines: {bounds_label}.")
        sheet.description = "; ".join(map(str, all_rows)) + "."
        return axes


def _read(
    rows: Sequence[Mapping[str, Any]], numbers: Mapping[str, int] | None, *, signed: bool = False
) -> list[_Row]:
    """Return rows with all numbers as floats and as text, all with the same decimals.

    `numbers` are those of the colours of series, by default in order of appearance. Differences,
    which are signed, are hollow if the interval includes 0.
    """
    if numbers is None:
        names = dict.fromkeys(row["series"] for row in rows if row.get("series"))
        numbers = {name: i for i, name in enumerate(names)}
    digits = _numbers.decimals(row.get(key) for row in rows for key in _KEYS[:3])
    result: list[_Row] = []
    for row in rows:
        value, low, high, lowest, highest = (_numbers.to_float(row.get(key)) for key in _KEYS)
        text = _numbers.fixed(value, digits, signed=signed)
        interval = _numbers.bounds(low, high, digits, signed=signed)
        if math.isnan(value):
            text = "undefined" if "value" in row else ""
        elif interval != _numbers.NOTHING:
            text = f"{text} {interval}"
        tone = palette.series(numbers.get(row.get("series", ""), 0))
        is_hollow = signed and not (low > 0 or high < 0)
        label = _text.printable(str(row["label"]))
        result.append(_Row(label, value, low, high, lowest, highest, tone, text, is_hollow))
    return result


def _draw(sheet: Canvas, rows: Sequence[_Row]) -> None:
    """Draw labels, marks and values, one row each; a new figure gets wide enough for them."""
    ax, labels = sheet.ax, [_text.shorten(row.label, SIZE, _LABEL) for row in rows]
    if sheet.is_own:
        texts = labels, [row.text for row in rows]
        parts = (max(_text.width(text, SIZE) for text in column) for column in texts)
        sheet.width = max(sheet.width, sum(parts) + _LEAST_PLOT)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks(range(len(rows)), labels, parse_math=False)
    ax.tick_params("y", length=0, pad=10, labelsize=SIZE, labelcolor=sheet.paints["ink"])
    for i, (row, label) in enumerate(zip(rows, ax.get_yticklabels(), strict=True)):
        if not row.text:
            label.set_fontweight("bold")
        _mark(sheet, row, i)
        place, coords = (1, i), ("axes fraction", "data")
        sheet.write(row.text, place, coords=coords, offset=(10, 0), va="center_baseline")


def _mark(sheet: Canvas, row: _Row, y: float) -> None:
    """Draw the interval as a bar, the value as a dot on it, and bounds as a thin line with ends."""
    paint = sheet.paints[row.tone]
    thin = {"linewidth": 1.25, "marker": "|", "markersize": 8, "markeredgewidth": 1.25}
    wide = {"linewidth": 2.5, "solid_capstyle": "round", "zorder": 2.5}
    for ends, style in (((row.lowest, row.highest), thin), ((row.low, row.high), wide)):
        if all(map(math.isfinite, ends)):
            sheet.ax.plot(ends, [y, y], color=paint, **style)
    if math.isfinite(row.value):
        dot: dict[str, Any] = {"marker": "o", "markersize": 9, "markeredgecolor": paint}
        dot["markerfacecolor"] = sheet.paints["paper"] if row.is_hollow else paint
        dot["markeredgewidth"] = 2 if row.is_hollow else 0
        sheet.ax.plot([row.value], [y], linestyle="none", zorder=3, **dot)
