"""Forest plots: values with their intervals, one row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium import _text
from podium.plots import _forest
from podium.plots._scales import Scale
from podium.plots._sheet import DASHED, NOTE_SIZE, Sheet

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
    sheet = Sheet(ax, width, title)
    numbers = _forest.series_numbers(rows, colours)
    parsed_rows = _forest.read(rows, numbers, digits=digits)
    if not parsed_rows:
        return sheet.empty()
    drawn_rows = sheet.first(parsed_rows, "rows")
    sheet.top += 18 if reference else 0
    reference_values = [float(reference["value"])] if reference else []
    bounds = _forest.limits(drawn_rows, reference_values)
    scale = _forest.plot(sheet, drawn_rows, bounds, label=axis_label)
    if reference:
        _reference(sheet, reference, scale)
    _forest.note_bounds(sheet, drawn_rows, bounds_label)
    return sheet.finish(_forest.described(parsed_rows))


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
    sheet = Sheet(ax, width, title)
    numbers = _forest.series_numbers(rows, colours)
    parsed_rows = _forest.read(rows, numbers, digits=digits, signed=True, hollow_at_zero=True)
    if not parsed_rows:
        return sheet.empty()
    drawn_rows = sheet.first(parsed_rows, "rows")
    sheet.top += 20 if low_label or high_label else 0
    sheet.top += 18 if reference else 0
    zero_and_reference = [0.0, float(reference["value"])] if reference else [0.0]
    bounds = _forest.limits(drawn_rows, zero_and_reference, pad=0.08)
    scale = _forest.plot(sheet, drawn_rows, bounds, label=axis_label, signed=True)
    sheet.ax.axvline(0.0, color=sheet.paints["muted"], linewidth=1.5, zorder=1.5)
    _name_sides(sheet, low_label, high_label, 26 if reference else 8)
    if reference:
        _reference(sheet, reference, scale)
    if any(row.hollow for row in drawn_rows):
        sheet.note("Hollow dots: the interval includes 0, or there is no interval.")
    _forest.note_bounds(sheet, drawn_rows, bounds_label)
    return sheet.finish(_forest.described(parsed_rows))


def _reference(sheet: Sheet, reference: Mapping[str, Any], scale: Scale) -> None:
    value, label = float(reference["value"]), str(reference.get("label", ""))
    sheet.ax.axvline(value, color=sheet.paints["muted"], **DASHED)
    half = min(_text.width(label, NOTE_SIZE), sheet.width - 8) / 2
    middle = max(half + 4, min(scale(value), sheet.width - half - 4))
    room = sheet.width - 8
    sheet.text(
        middle, sheet.top - 6, label, size=NOTE_SIZE, anchor="center", tone="muted", room=room
    )


def _name_sides(sheet: Sheet, low: str, high: str, above: float) -> None:
    """Write the meaning of each side of zero, at the two ends of one line."""
    style: dict[str, Any] = {"size": NOTE_SIZE, "tone": "muted", "room": sheet.width / 2 - 12}
    if low:
        sheet.text(4, sheet.top - above, f"← {low}", **style)
    if high:
        sheet.text(sheet.width - 4, sheet.top - above, f"{high} →", anchor="right", **style)
