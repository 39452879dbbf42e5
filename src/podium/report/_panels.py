"""Small multiples: the same rows in one panel per measure or segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.report import _axes, _rows
from podium.report._axes import Scale
from podium.report._rows import PHONE, Place, Row
from podium.report._svg import Canvas

_MIN_PANEL = 178
_ROW = 26
_VALUE = 52  # width of one written value
_HEAD = 26
_NOTE_LINE = 16

_Panel = tuple[str, str, list[Row]]  # title, note, rows


def grouped_intervals(
    panels: Sequence[Mapping[str, Any]],
    *,
    title: str,
    axis_label: str = "",
    share_axis: bool = True,
    digits: int | None = None,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    background: str | None = None,
) -> str:
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
    >>> panels = [{"title": "n_pos <= 10", "rows": rows}, {"title": "n_pos > 10", "rows": rows}]
    >>> grouped_intervals(panels, title="pap@10").count("<circle")
    2
    """
    all_rows = [row for panel in panels for row in panel["rows"]]
    numbers = _rows.series_numbers(all_rows, colours)
    columns = _columns(panels, width)
    parsed: list[_Panel] = [
        (
            str(panel["title"]),
            str(panel.get("note", "")),
            _rows.read(panel["rows"], numbers, digits=digits, with_bounds=columns == 1),
        )
        for panel in panels
    ]
    canvas = Canvas(width)
    y = _axes.title(canvas, title)
    shared = _rows.limits([row for *_, rows in parsed for row in rows]) if share_axis else None
    if not all_rows:
        canvas.text(4, y + 14, "No values.", tone="muted")
        y += 24
    elif columns == 1:
        y = _list(canvas, parsed, y, shared)
    else:
        y = _grid(canvas, parsed, y, shared, columns)
    if axis_label and all_rows:
        canvas.text(
            width / 2, y + 10, axis_label, size=12.5, anchor="middle", tone="muted", room=width - 8
        )
        y += 20
    description = " ".join(f"{head}: {_rows.described(rows)}" for head, _, rows in parsed)
    return canvas.svg(y + 4, title=title, description=description, background=background)


def _columns(panels: Sequence[Mapping[str, Any]], width: int) -> int:
    """Return the number of panels side by side: 1 on a phone, or if panels have other rows."""
    labels = [[row["label"] for row in panel["rows"]] for panel in panels]
    if (
        width < PHONE
        or len(panels) < 2
        or not labels[0]
        or any(names != labels[0] for names in labels)
    ):
        return 1
    room = width - _rows.label_room(_rows.read(panels[0]["rows"], {}), width) - 16
    fitting = max(1, min(len(panels), int(room // _MIN_PANEL)))
    lines = -(-len(panels) // fitting)
    return -(-len(panels) // lines)  # the same number of lines, filled as evenly as possible


def _list(
    canvas: Canvas, panels: Sequence[_Panel], y: float, shared: tuple[float, float] | None
) -> float:
    """Draw panels below each other, each over the full width."""
    for head, note, rows in panels:
        y = _head(canvas, head, note, 4, y, canvas.width - 8)
        if not rows:
            canvas.text(4, y + 14, "No values.", tone="muted")
            y += 28
            continue
        stacked = _rows.is_stacked(rows, canvas.width)
        place = Place(0, canvas.width, y, shared or _rows.limits(rows))
        scale = _rows.forest_scale(rows, place, stacked=stacked)
        bottom = y + _rows.height(rows, place, stacked=stacked)
        y = _axes.x_axis(canvas, scale, place.top, bottom) + 12
        _rows.forest(canvas, rows, place, scale, stacked=stacked)
    return y - 6


def _grid(
    canvas: Canvas,
    panels: Sequence[_Panel],
    y: float,
    shared: tuple[float, float] | None,
    columns: int,
) -> float:
    """Draw panels side by side, with the row labels once, at the left of each line of panels."""
    labels = _rows.label_room(panels[0][2], canvas.width)
    pitch = (canvas.width - labels - 16) / columns
    for first in range(0, len(panels), columns):
        line = panels[first : first + columns]
        head = _HEAD + (_NOTE_LINE if any(note for _, note, _ in line) else 0)
        for i, row in enumerate(line[0][2]):
            canvas.text(4, y + head + (i + 0.5) * _ROW + 4.5, row.label, room=labels + 4)
        for j, panel in enumerate(line):
            left = labels + 16 + j * pitch
            _panel(canvas, panel, left, left + pitch, y + head, shared)
        y += head + len(line[0][2]) * _ROW + _axes.X_AXIS + 14
    return y - 8


def _panel(
    canvas: Canvas,
    panel: _Panel,
    left: float,
    right: float,
    top: float,
    shared: tuple[float, float] | None,
) -> None:
    title, note, rows = panel
    head = top - _HEAD - (_NOTE_LINE if note else 0)
    _head(canvas, title, note, left + 8, head, right - left - 16)
    scale = Scale(*(shared or _rows.limits(rows, pad=0.1)), left + 14, right - _VALUE)
    _axes.x_axis(canvas, scale, top, top + len(rows) * _ROW)
    for i, row in enumerate(rows):
        y = top + (i + 0.5) * _ROW
        _rows.mark(canvas, row, scale, y)
        canvas.text(right - 4, y + 4.5, row.text, anchor="end", size=12.5, room=_VALUE + 12)


def _head(canvas: Canvas, title: str, note: str, x: float, y: float, room: float) -> float:
    """Write the title and note of a panel; return the y below them."""
    canvas.text(x, y + 16, title, bold=True, room=room)
    if note:
        canvas.text(x, y + 16 + _NOTE_LINE, note, size=12, tone="muted", room=room)
    return y + _HEAD + (_NOTE_LINE if note else 0)
