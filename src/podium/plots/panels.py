"""Small multiples: the same rows in one panel per measure or segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium.plots import _forest
from podium.plots._canvas import PHONE, SMALL, Canvas, canvas
from podium.plots._forest import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_PANEL = 178
_ROW = 26
_VALUE = 66  # width of one written value with the gap after it
_HEAD = 24
_AXIS = 34  # height of the tick labels, with the gap below them

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
    all_rows = [row for panel in panels for row in panel["rows"]]
    with canvas(ax, width, title) as sheet:
        if not all_rows:
            return sheet.empty()
        numbers = _forest.series_numbers(all_rows) if colours is None else colours
        columns = _columns(panels, sheet.width)
        options: dict[str, Any] = {"digits": digits, "with_bounds": columns == 1}
        parsed: list[_Panel] = [
            (
                str(panel["title"]),
                str(panel.get("note", "")),
                _forest.read(panel["rows"], numbers, **options),
            )
            for panel in panels
        ]
        sheet.ax.set_axis_off()
        drawn = _draw(sheet, parsed, columns)
        if share_axis:
            ends = [end for ax, rows in drawn if rows for end in ax.get_xlim()]
            for panel, _ in drawn:
                panel.set_xlim(min(ends), max(ends))
        if axis_label:
            sheet.note(f"Axis: {axis_label}.")
        _forest.note_bounds(sheet, [row for *_, rows in parsed for row in rows], bounds_label)
        described = (f"{head}: {_forest.described(rows)}" for head, _, rows in parsed)
        sheet.description = " ".join(described)
        return sheet.ax


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


def _draw(sheet: Canvas, panels: Sequence[_Panel], columns: int) -> list[tuple[Any, Sequence[Row]]]:
    """Draw panels in lines, inside the axes; the first one of each line has the row labels."""
    lines = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    rows = [[sheet.first(all_rows, "rows") for *_, all_rows in line] for line in lines]
    pitches = [
        _ROW if columns > 1 else _forest.pitch(sheet, line[0]) if line[0] else _ROW for line in rows
    ]
    heads = [_HEAD + 17 * any(note for _, note, _ in line) for line in lines]
    heights = [
        head + max(1, len(line[0])) * pitch + _AXIS
        for head, line, pitch in zip(heads, rows, pitches, strict=True)
    ]
    total = sheet.height = sum(heights) - _AXIS
    width = sheet.width / columns
    if columns > 1:
        width = (sheet.width - _forest.label_room(rows[0][0], sheet.width) - 16) / columns
    drawn: list[tuple[Any, Sequence[Row]]] = []
    top = 0.0
    for i, line in enumerate(lines):
        for j, (title, note, _) in enumerate(line):
            body = max(1, len(rows[i][j])) * pitches[i]
            bottom = 1 - (top + heads[i] + body) / total
            room = 1 - _VALUE / width if columns > 1 else 1
            box = (j / columns, bottom, room / columns, body / total)
            ax = sheet.ax.inset_axes(box, facecolor="none")
            _panel(sheet, ax, rows[i][j], pitches[i], with_labels=j == 0)
            sheet.space_ticks(ax, 0.6 * width)
            up, within = 6 + 17 * bool(note), width - 16
            sheet.write(ax, title, (0, 1), offset=(0, up), room=within, fontweight="bold")
            style: dict[str, Any] = {"tone": "muted", "size": SMALL, "room": within}
            sheet.write(ax, note, (0, 1), offset=(0, 6), **style)
            drawn.append((ax, rows[i][j]))
        top += heights[i]
    return drawn


def _panel(sheet: Canvas, ax: Any, rows: Sequence[Row], pitch: float, *, with_labels: bool) -> None:
    if not rows:
        ax.set_axis_off()
        sheet.write(ax, "No values.", (0, 0.5), tone="muted")
        return
    _forest.draw(sheet, ax, rows, pitch, with_labels=with_labels)
    sheet.style_axis(ax.xaxis)
