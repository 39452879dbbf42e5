"""Small multiples: the same rows in one panel per measure or segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium.plots import _forest
from podium.plots._forest import Form, Row
from podium.plots._scales import Scale
from podium.plots._sheet import LABEL_SIZE, NOTE_SIZE, PHONE, X_AXIS, Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_PANEL = 178
_ROW = 26
_VALUE = 52  # width of one written value
_HEAD = 26
_NOTE_LINE = 16

_Panel = tuple[str, str, list[Row]]  # title, note, rows


def grouped_intervals(
    panels: Sequence[Mapping[str, Any]],
    *,
    title: str = "",
    axis_label: str = "",
    share_axis: bool = True,
    bounds_label: str = "bounds",
    digits: int | None = None,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one panel of intervals per segment or measure, side by side if they fit.

    Parameters
    ----------
    panels : sequence of mappings
        The panels, each with "title" and "rows" in the form of `interval_plot`; optionally with
        "note", a line below the title.
    title, axis_label : str
        The title, and the quantity of the axis with its unit.
    share_axis : bool
        Whether all panels have the same range (for one measure). Otherwise each panel has its own
        range (for several measures).
    bounds_label : str
        The meaning of thin lines, for the note below the plot.
    digits : int, optional
        The decimals of the written values; by default three significant digits or more.
    width, colours, ax
        The arguments of all plots, see `podium.plots`. Panels are drawn inside the axes.

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
    sheet = Sheet(ax, width, title)
    all_rows = [row for panel in panels for row in panel["rows"]]
    if not all_rows:
        return sheet.empty()
    numbers = _forest.series_numbers(all_rows, colours)
    columns = _columns(panels, sheet.width)
    parsed: list[_Panel] = [
        (
            str(panel["title"]),
            str(panel.get("note", "")),
            _forest.read(panel["rows"], numbers, digits=digits, with_bounds=columns == 1),
        )
        for panel in panels
    ]
    shared = _forest.limits([row for *_, rows in parsed for row in rows]) if share_axis else None
    sheet.hold_panels()
    y = sheet.top if sheet.is_own else 0.0
    draw = _list if columns == 1 else _grid
    y = draw(sheet, parsed, y, shared, columns)
    if axis_label:
        style: dict[str, Any] = {"size": LABEL_SIZE, "tone": "muted", "room": sheet.width - 8}
        sheet.text(sheet.width / 2, y + 10, axis_label, anchor="center", **style)
        y += 20
    sheet.host(y)
    _forest.note_bounds(sheet, [row for *_, rows in parsed for row in rows], bounds_label)
    return sheet.finish(" ".join(f"{head}: {_forest.described(rows)}" for head, _, rows in parsed))


def _columns(panels: Sequence[Mapping[str, Any]], width: float) -> int:
    """Return the number of panels side by side: 1 on a phone, or if panels have other rows."""
    labels = [[row["label"] for row in panel["rows"]] for panel in panels]
    is_alike = labels[0] and all(names == labels[0] for names in labels)
    if width < PHONE or len(panels) < 2 or not is_alike:
        return 1
    room = width - _forest.label_room(_forest.read(panels[0]["rows"], {}), width) - 16
    fitting = max(1, min(len(panels), int(room // _MIN_PANEL)))
    lines = -(-len(panels) // fitting)
    return -(-len(panels) // lines)  # the same number of lines, filled as evenly as possible


def _list(
    sheet: Sheet,
    panels: Sequence[_Panel],
    y: float,
    shared: tuple[float, float] | None,
    columns: int,
) -> float:
    """Draw panels below each other, each over the full width."""
    for head, note, all_rows in panels:
        y = _head(sheet, head, note, 4, y, sheet.width - 8)
        if not all_rows:
            sheet.text(4, y + 14, "No values.", tone="muted")
            y += 28
            continue
        rows = sheet.first(all_rows, "rows")
        bounds = shared or _forest.limits(rows)
        form = Form.of(rows, sheet.width, bounds)
        height = _forest.height(rows, form)
        scale = Scale(*bounds, form.left, sheet.width - form.right)
        ax = sheet.panel(scale.start, y, scale.end - scale.start, height)
        sheet.x_axis(ax, scale)
        _forest.draw(sheet, ax, rows, form, scale, (0.0, sheet.width))
        y += height + X_AXIS + 12
    return y - 6


def _grid(
    sheet: Sheet,
    panels: Sequence[_Panel],
    y: float,
    shared: tuple[float, float] | None,
    columns: int,
) -> float:
    """Draw panels side by side, with the row labels once, at the left of each line of panels."""
    labels = _forest.label_room(panels[0][2], sheet.width)
    pitch = (sheet.width - labels - 16) / columns
    for first in range(0, len(panels), columns):
        line = panels[first : first + columns]
        y += _HEAD + (_NOTE_LINE if any(note for _, note, _ in line) else 0)
        drawn_rows = [sheet.first(rows, "rows") for *_, rows in line]
        for i, row in enumerate(drawn_rows[0]):
            sheet.text(4, y + (i + 0.5) * _ROW + 4.5, row.label, room=labels + 4)
        for j, (head, note, _) in enumerate(line):
            left = labels + 16 + j * pitch
            top = y - _HEAD - (_NOTE_LINE if note else 0)
            _head(sheet, head, note, left + 8, top, pitch - 16)
            _panel(sheet, drawn_rows[j], left, left + pitch, y, shared)
        y += len(drawn_rows[0]) * _ROW + X_AXIS + 14
    return y - 8


def _panel(
    sheet: Sheet,
    rows: Sequence[Row],
    left: float,
    right: float,
    top: float,
    shared: tuple[float, float] | None,
) -> None:
    from podium.plots import _drawing

    bounds = shared or _forest.limits(rows, pad=0.1)
    has_words = any(row.text == "undefined" for row in rows)
    scale = Scale(*bounds, left + 14, right - (_VALUE + 18 if has_words else _VALUE))
    ax = sheet.panel(scale.start, top, scale.end - scale.start, len(rows) * _ROW)
    sheet.x_axis(ax, scale)
    _drawing.no_y_axis(ax, 0, len(rows))
    for i, row in enumerate(rows):
        y = top + (i + 0.5) * _ROW + 4.5
        _forest.mark(sheet, ax, row, i + 0.5, 1 / _ROW)
        sheet.text(right - 4, y, row.text, anchor="right", size=LABEL_SIZE, room=_VALUE + 30)


def _head(sheet: Sheet, title: str, note: str, x: float, y: float, room: float) -> float:
    """Write the title and note of a panel; return the y below them."""
    sheet.text(x, y + 16, title, bold=True, room=room)
    if note:
        sheet.text(x, y + 16 + _NOTE_LINE, note, size=NOTE_SIZE, tone="muted", room=room)
    return y + _HEAD + (_NOTE_LINE if note else 0)
