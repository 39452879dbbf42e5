"""Histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from podium import _check, _numbers, _text
from podium.errors import ArgumentError
from podium.plots import _scales
from podium.plots._scales import Scale
from podium.plots._sheet import DASHED, LABEL_SIZE, NOTE_SIZE, Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLOT = 200


def histogram(
    edges: Sequence[float],
    counts: Sequence[float],
    *,
    title: str = "",
    axis_label: str = "",
    count_label: str = "groups",
    mean: float | None = None,
    n_undefined: int = 0,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the number of values in each bin.

    Parameters
    ----------
    edges : (n_bins + 1,)
        The rising bounds of the bins, for example from `podium.plots.bin_values`.
    counts : (n_bins,)
        The number of values in each bin, >= 0.
    title, axis_label, count_label : str
        The title, the quantity of the values with its unit, and the objects that are counted.
    mean : float, optional
        The mean, marked by a dashed line.
    n_undefined : int
        The number of undefined values, which a note below the plot gives.
    width, colours, ax
        The arguments of all plots, see `podium.plots`. Bars have the first colour.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ArgumentError
        If the number of edges is not the number of counts plus one.

    Examples
    --------
    >>> ax = histogram([0, 0.5, 1], [3, 1], title="pap@10 per user")
    >>> len(ax.patches)
    2
    """
    if len(edges) != len(counts) + 1 and (len(edges) or len(counts)):
        raise ArgumentError(
            f"edges must have one entry more than counts, got {len(edges)} and {len(counts)}."
        )
    sheet = Sheet(ax, width, title)
    if n_undefined:
        sheet.note(f"{_text.counted(n_undefined, count_label)} without a value.")
    if not len(counts):
        return sheet.empty()
    heights = _check.column(counts, "counts").tolist()
    bounds = _check.column(edges, "edges").tolist()
    sheet.top += 24
    up = Scale(0, max(*heights, 1) * 1.04, _PLOT, 0)
    left, right = sheet.place(12 + _scales.room(_scales.up_ticks(up)) + 4, 20, _PLOT)
    across = Scale(bounds[0], bounds[-1], left, right)
    sheet.y_axis(sheet.ax, up)
    sheet.x_axis(sheet.ax, across, label=axis_label)
    sheet.ax.grid(visible=False, axis="x")
    hints = _hints(bounds, heights, count_label)
    _bars(sheet, bounds, heights, hints, (right - left) / (bounds[-1] - bounds[0]))
    sheet.text(4, sheet.top - 14, count_label, size=LABEL_SIZE, tone="muted", room=right / 2)
    if mean is not None:
        _mark_mean(sheet, across, mean)
    return sheet.finish("; ".join(hints) + ".")


def _bars(
    sheet: Sheet,
    edges: Sequence[float],
    counts: Sequence[float],
    hints: Sequence[str],
    points: float,  # per unit of the axis
) -> None:
    """Draw bars a point or less apart from the next."""
    from podium.plots import _drawing

    for i, count in enumerate(counts):
        span = edges[i + 1] - edges[i]
        gap = min(1.0 / points, 0.1 * span)
        (bar,) = sheet.ax.bar(
            edges[i] + gap,
            count,
            span - 2 * gap,
            align="edge",
            color=sheet.paints["c0"],
            linewidth=0,
            clip_on=not sheet.is_own,
        )
        _drawing.mark(bar, hint=_text.printable(hints[i]))


def _mark_mean(sheet: Sheet, across: Scale, mean: float) -> None:
    x, text = across(mean), f"mean {_numbers.fixed(mean, _numbers.decimals([mean]))}"
    sheet.ax.axvline(mean, ymax=1.03, color=sheet.paints["ink"], clip_on=False, zorder=3, **DASHED)
    fits = x + 6 + _text.width(text, NOTE_SIZE) < sheet.width
    anchor = "left" if fits else "right"
    sheet.text(x + 6 if fits else x - 6, sheet.top - 10, text, size=NOTE_SIZE, anchor=anchor)


def _hints(edges: Sequence[float], counts: Sequence[float], count_label: str) -> list[str]:
    """Return the bounds and the count of each bin as text."""
    digits = max(0, _numbers.decimals([(edges[-1] - edges[0]) / len(counts)]) - 1)
    bounds = [_numbers.fixed(edge, digits) for edge in edges]
    return [
        f"{bounds[i]} to {bounds[i + 1]}: {_text.counted(count, count_label)}"
        for i, count in enumerate(counts)
    ]
