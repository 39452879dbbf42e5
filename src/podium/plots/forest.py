"""Forest plots: values with their intervals, one row each, in one panel or several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from podium import _numbers, _text
from podium.plots import colours as palette
from podium.plots._canvas import DASHED, PHONE, SIZE, SMALL, Canvas, Style, canvas, hint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 28
_STACKED_ROW = 46
_LINE = 17
_KEYS = ("value", "low", "high", "lowest", "highest")
_LEAST_PLOT = 180
_USUAL_WIDTH = 720  # limits the labels beside axes of the caller
_MIN_PANEL = 178
_VALUE = 66  # width of one written value with the gap after it
_HEAD = 24
_AXIS = 34  # height of the tick labels, with the gap below them


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


_Panel = tuple[str, str, list[_Row]]  # title, note, rows


def interval_plot(
    rows: Sequence[Mapping[str, Any]],
    *,
    axis_label: str = "",
    reference: Mapping[str, Any] | None = None,
    bounds_label: str = "bounds",
    digits: int | None = None,
    sides: tuple[str, str] | None = None,
    **style: Unpack[Style],
) -> Axes:
    """Draw a dot with its confidence interval for each row, and the value beside it.

    Parameters
    ----------
    rows : sequence of mappings
        The rows, each with "label", "value", "low" and "high" (None if undefined); optionally
        with "series", the method that determines the colour of the row, and with "lowest" and
        "highest", bounds that are drawn as a thin line.
    axis_label : str
        The quantity of the axis with its unit.
    reference : mapping, optional
        The "value" and "label" of a dashed line.
    bounds_label : str
        The meaning of thin lines, for the note below the plot.
    digits : int, optional
        The decimals of the written values; by default three significant digits or more.
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
    is_signed = sides is not None
    with canvas(**style) as sheet:
        all_rows = _read(rows, sheet.numbers, digits=digits, signed=is_signed)
        if not all_rows:
            return sheet.empty()
        drawn, axes = sheet.first(all_rows, "rows"), sheet.ax
        row_height = _pitch(sheet, drawn)
        sheet.height = row_height * len(drawn)
        _draw(sheet, axes, drawn, row_height)
        sheet.style_axis(axes.xaxis, axis_label, signed=is_signed)
        sheet.space_ticks(axes, sheet.width * (0.9 if row_height > _ROW else 0.5))
        if reference:
            axes.axvline(float(reference["value"]), color=sheet.paints["muted"], **DASHED)
            label = str(reference.get("label", ""))
            sheet.above(label, float(reference["value"]), at_value=True, ha="center")
        if sides is not None:
            axes.axvline(0.0, color=sheet.paints["muted"], linewidth=1.5, zorder=1.5)
            _name_sides(sheet, *sides)
            if any(row.hollow for row in drawn):
                sheet.note("Hollow dots: the interval includes 0, or there is no interval.")
        _note_bounds(sheet, drawn, bounds_label)
        sheet.description = _described(all_rows)
        return axes


def _name_sides(sheet: Canvas, low: str, high: str) -> None:
    """Write the meaning of each side of zero, at the two ends of one line, or on two lines."""
    low, high = f"← {low}" if low else "", f"{high} →" if high else ""
    if high:
        sheet.above(high, 1, ha="right")
    if low:
        fits = _text.width(f"{low}{high}", SMALL) < 0.4 * sheet.width
        sheet.above(low, 0, ha="left", is_beside=bool(high) and fits)


def grouped_intervals(
    panels: Sequence[Mapping[str, Any]],
    *,
    axis_label: str = "",
    share_axis: bool = True,
    bounds_label: str = "bounds",
    digits: int | None = None,
    **style: Unpack[Style],
) -> Axes:
    """Draw one panel of intervals per segment or measure, side by side if they fit.

    Parameters
    ----------
    panels : sequence of mappings
        The panels, each with "title" and "rows" in the form of `interval_plot`; optionally with
        "note", a line below the title.
    axis_label : str
        The quantity of the axis with its unit.
    share_axis : bool
        Whether all panels have the same range (for one measure). Otherwise each panel has its own
        range (for several measures).
    bounds_label : str
        The meaning of thin lines, for the note below the plot.
    digits : int, optional
        The decimals of the written values; by default three significant digits or more.
    **style
        The title, width, colours and ax, as in all plots; see `podium.plots`. Panels are drawn
        inside the axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that contain the panels, which are their `child_axes`.

    Examples
    --------
    >>> rows = [{"label": "linear", "value": 0.31, "low": 0.29, "high": 0.33}]
    >>> panels = [{"title": "n_pos <= 10", "rows": rows}, {"title": "n_pos > 10", "rows": rows}]
    >>> len(grouped_intervals(panels, title="pap@10").child_axes)
    2
    """
    all_rows = [row for panel in panels for row in panel["rows"]]
    with canvas(**style) as sheet:
        if not all_rows:
            return sheet.empty()
        numbers = _series_numbers(all_rows) if sheet.numbers is None else sheet.numbers
        columns = _columns(panels, sheet.width)
        options: dict[str, Any] = {"digits": digits, "with_bounds": columns == 1}
        read = [_read(panel["rows"], numbers, **options) for panel in panels]
        heads = [(str(panel["title"]), str(panel.get("note", ""))) for panel in panels]
        parsed: list[_Panel] = [(*head, rows) for head, rows in zip(heads, read, strict=True)]
        sheet.ax.set_axis_off()
        drawn = _draw_panels(sheet, parsed, columns)
        if share_axis:
            ends = [end for panel in drawn for end in panel.get_xlim()]
            for panel in drawn:
                panel.set_xlim(min(ends), max(ends))
        if axis_label:
            sheet.note(f"Axis: {axis_label}.")
        _note_bounds(sheet, [row for rows in read for row in rows], bounds_label)
        sheet.description = " ".join(f"{head}: {_described(rows)}" for head, _, rows in parsed)
        return sheet.ax


def _columns(panels: Sequence[Mapping[str, Any]], width: float) -> int:
    """Return the number of panels side by side: 1 on a phone, or if panels have other rows."""
    labels = [[row["label"] for row in panel["rows"]] for panel in panels]
    is_alike = labels[0] and all(names == labels[0] for names in labels)
    if width < PHONE or len(panels) < 2 or not is_alike:
        return 1
    room = width - _label_room(_read(panels[0]["rows"], {}), width) - 16
    fitting = max(1, min(len(panels), int(room // _MIN_PANEL)))
    lines = -(-len(panels) // fitting)
    return -(-len(panels) // lines)  # the same number of lines, filled as evenly as possible


def _draw_panels(sheet: Canvas, panels: Sequence[_Panel], columns: int) -> list[Any]:
    """Draw panels in lines, inside the axes; the first one of each line has the row labels."""
    drawn = [(t, note, sheet.first(rows, "rows")) for t, note, rows in panels]
    labels = _label_room(next(rows for *_, rows in drawn if rows), sheet.width) + 16
    width = (sheet.width - labels * (columns > 1)) / columns
    head = _HEAD + 17 * any(note for _, note, _ in panels)
    pitch = _ROW if columns > 1 else max(_pitch(sheet, rows) for *_, rows in drawn if rows)
    bodies = [max(1, len(rows)) * pitch for *_, rows in drawn]
    total = sheet.height = sum(head + body + _AXIS for body in bodies[::columns]) - _AXIS
    axes: list[Any] = []
    bottom = total + _AXIS
    for i, (title, note, rows) in enumerate(drawn):
        if i % columns == 0:
            bottom -= head + bodies[i] + _AXIS
        room = 1 - _VALUE / width if columns > 1 else 1
        box = (i % columns / columns, bottom / total, room / columns, bodies[i] / total)
        ax = sheet.ax.inset_axes(box, facecolor="none")
        above: dict[str, Any] = {"room": width - 16}
        sheet.write(ax, title, (0, 1), offset=(0, 6 + 17 * bool(note)), fontweight="bold", **above)
        sheet.write(ax, note, (0, 1), offset=(0, 6), tone="muted", size=SMALL, **above)
        if rows:
            _draw(sheet, ax, rows, pitch, with_labels=i % columns == 0)
            sheet.style_axis(ax.xaxis)
            sheet.space_ticks(ax, 0.6 * width)
            axes.append(ax)
        else:
            ax.set_axis_off()
            sheet.write(ax, "No values.", (0, 0.5), tone="muted")
    return axes


def _read(
    rows: Sequence[Mapping[str, Any]],
    numbers: Mapping[str, int] | None,
    *,
    digits: int | None = None,
    signed: bool = False,
    with_bounds: bool = True,
) -> list[_Row]:
    """Return rows with all numbers as floats and as text, all with the same decimals.

    `numbers` are those of the colours of series, by default in order of appearance. Differences,
    which are signed, are hollow if the interval includes 0.
    """
    if numbers is None:
        numbers = _series_numbers(rows)
    if digits is None:
        keys = _KEYS[:3] if with_bounds else _KEYS[:1]
        digits = _numbers.decimals(row.get(key) for row in rows for key in keys)
    result: list[_Row] = []
    for row in rows:
        value, low, high, lowest, highest = (_numbers.to_float(row.get(key)) for key in _KEYS)
        text = _numbers.fixed(value, digits, signed=signed)
        interval = _numbers.bounds(low, high, digits, signed=signed)
        if math.isnan(value):
            text = "undefined"
        elif with_bounds and interval != _numbers.NOTHING:
            text = f"{text} {interval}"
        tone = palette.series(numbers.get(row.get("series", ""), 0))
        is_hollow = signed and not (low > 0 or high < 0)
        label = _text.printable(str(row["label"]))
        result.append(_Row(label, value, low, high, lowest, highest, tone, text, is_hollow))
    return result


def _series_numbers(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, int]:
    """Return the number of each series' colour, in order of appearance."""
    names = dict.fromkeys(row["series"] for row in rows if row.get("series"))
    return {name: i for i, name in enumerate(names)}


def _described(rows: Iterable[_Row]) -> str:
    """Return a description of all rows as text."""
    return "; ".join(map(str, rows)) + "."


def _note_bounds(sheet: Canvas, rows: Iterable[_Row], label: str) -> None:
    """Note the meaning of thin lines, if a row has bounds."""
    if any(row.has_bounds for row in rows):
        sheet.note(f"Thin lines: {label}.")


def _label_room(rows: Iterable[_Row], width: float) -> float:
    """Return the width of a column of labels: the longest label, at most 36% of the figure."""
    return min(max(_text.width(row.label, SIZE) for row in rows), 0.36 * width)


def _pitch(sheet: Canvas, rows: Sequence[_Row]) -> float:
    """Return the height of a row: that of its mark, or with the text above it in one or two lines.

    Text is above the marks on a phone, or if it would leave little room, or if a label would be
    shortened beside the marks but not above them.
    """
    if not sheet.is_own:
        return _ROW
    width = sheet.width
    values = max(_text.width(row.text, SIZE) for row in rows)
    longest = max(_text.width(row.label, SIZE) for row in rows)
    labels = _label_room(rows, width)
    is_short_above = labels < longest < width - values - 20
    if not (sheet.is_phone or width - labels - values < _LEAST_PLOT or is_short_above):
        return _ROW
    return _STACKED_ROW + (_LINE if longest + values > width - 40 else 0)


def _draw(
    sheet: Canvas, ax: Any, rows: Sequence[_Row], height: float, *, with_labels: bool = True
) -> None:
    """Draw labels, marks and values, one row each with this height."""
    ax.set_ylim(len(rows) - 0.5, -0.5)
    is_stacked = height > _ROW
    middle = 0.5 - 12 / height if is_stacked else 0.0  # of the mark, below that of the row
    ax.set_yticks([])
    room = _label_room(rows, sheet.width if sheet.is_own else _USUAL_WIDTH)
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
            above: dict[str, Any] = {**text, "room": sheet.width - 48}
            has_two_lines = height > _STACKED_ROW
            value: dict[str, Any] = {"tone": "muted"} if has_two_lines else {"ha": "right"}
            top = height / 2 - 14
            sheet.write(ax, row.label, (0, i), offset=(0, top), **above)
            place = 0 if has_two_lines else 1, i
            below = (0, top - _LINE * has_two_lines)
            sheet.write(ax, row.text, place, offset=below, **text, **value)
        else:
            sheet.write(ax, row.text, (1, i), offset=(10, 0), va="center_baseline", **text)


def _mark(sheet: Canvas, ax: Any, row: _Row, y: float) -> None:
    """Draw the interval as a bar, the value as a dot on it, and bounds as a thin line with ends."""
    paint = sheet.paints[row.tone]
    thin = {"linewidth": 1.25, "marker": "|", "markersize": 8, "markeredgewidth": 1.25}
    wide = {"linewidth": 2.5, "solid_capstyle": "round", "zorder": 2.5}
    for ends, style in (((row.lowest, row.highest), thin), ((row.low, row.high), wide)):
        if all(map(math.isfinite, ends)):
            ax.plot(ends, [y, y], color=paint, **style)
    if math.isfinite(row.value):
        sheet.dot(ax, (row.value, y), paint, str(row), is_hollow=row.hollow).set_zorder(3)
