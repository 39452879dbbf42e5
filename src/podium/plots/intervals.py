"""Forest plots: values with their intervals, one row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium import _text
from podium.plots import _forest
from podium.plots._canvas import DASHED, SMALL, Canvas, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def interval_plot(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str = "",
    axis_label: str = "",
    reference: Mapping[str, Any] | None = None,
    bounds_label: str = "bounds",
    digits: int | None = None,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a dot with its confidence interval for each row, and the value beside it.

    Parameters
    ----------
    rows : sequence of mappings
        The rows, each with "label", "value", "low" and "high" (None if undefined); optionally
        with "series", the method that determines the colour of the row, and with "lowest" and
        "highest", bounds that are drawn as a thin line.
    title, axis_label : str
        The title, and the quantity of the axis with its unit.
    reference : mapping, optional
        The "value" and "label" of a dashed line.
    bounds_label : str
        The meaning of thin lines, for the note below the plot.
    digits : int, optional
        The decimals of the written values; by default three significant digits or more.
    width, colours, ax
        The arguments of all plots, see `podium.plots`.

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
    with canvas(ax, width, title) as sheet:
        parsed_rows = _forest.read(rows, colours, digits=digits)
        return _draw(sheet, parsed_rows, axis_label, reference, bounds_label)


def difference_plot(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str = "",
    axis_label: str = "",
    low_label: str = "",
    high_label: str = "",
    reference: Mapping[str, Any] | None = None,
    bounds_label: str = "bounds",
    digits: int | None = None,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
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
    reference : mapping, optional
        The "value" and "label" of a dashed line, such as the limit of a gate.
    bounds_label : str
        The meaning of thin lines, for the note below the plot.
    digits : int, optional
        The decimals of the written values; by default three significant digits or more.
    width, colours, ax
        The arguments of all plots, see `podium.plots`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Examples
    --------
    >>> rows = [{"label": "linear", "value": 0.02, "low": 0.01, "high": 0.03}]
    >>> ax = difference_plot(rows, title="pap@10", high_label="linear is better")
    """
    with canvas(ax, width, title) as sheet:
        parsed_rows = _forest.read(rows, colours, digits=digits, signed=True)
        sides = low_label, high_label
        return _draw(sheet, parsed_rows, axis_label, reference, bounds_label, sides)


def _draw(
    sheet: Canvas,
    all_rows: Sequence[_forest.Row],
    axis_label: str,
    reference: Mapping[str, Any] | None,
    bounds_label: str,
    sides: tuple[str, str] | None = None,
) -> Axes:
    """Draw rows, and what the sides of zero mean if they are differences."""
    if not all_rows:
        return sheet.empty()
    rows, ax = sheet.first(all_rows, "rows"), sheet.ax
    row_height = _forest.pitch(sheet, rows)
    sheet.height = row_height * len(rows)
    _forest.draw(sheet, ax, rows, row_height)
    sheet.style_axis(ax.xaxis, axis_label, signed=sides is not None)
    sheet.space_ticks(ax, _forest.plot_width(sheet, rows, row_height))
    if reference:
        ax.axvline(float(reference["value"]), color=sheet.paints["muted"], **DASHED)
        label = str(reference.get("label", ""))
        sheet.above(label, float(reference["value"]), at_value=True, ha="center")
    if sides is not None:
        ax.axvline(0.0, color=sheet.paints["muted"], linewidth=1.5, zorder=1.5)
        _name_sides(sheet, *sides)
        if any(row.hollow for row in rows):
            sheet.note("Hollow dots: the interval includes 0, or there is no interval.")
    _forest.note_bounds(sheet, rows, bounds_label)
    sheet.description = _forest.described(all_rows)
    return ax


def _name_sides(sheet: Canvas, low: str, high: str) -> None:
    """Write the meaning of each side of zero, at the two ends of one line, or on two lines."""
    low, high = f"← {low}" if low else "", f"{high} →" if high else ""
    if high:
        sheet.above(high, 1, ha="right")
    if low:
        fits = _text.width(f"{low}{high}", SMALL) < 0.4 * sheet.width
        sheet.above(low, 0, ha="left", is_beside=bool(high) and fits)
