"""Histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from podium import _check, _numbers, _text
from podium.errors import ArgumentError
from podium.plots._canvas import DASHED, canvas, hint

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
    with canvas(ax, width, title) as sheet:
        if n_undefined:
            sheet.note(f"{_text.counted(n_undefined, count_label)} without a value.")
        if not len(counts):
            return sheet.empty()
        heights = _check.column(counts, "counts").tolist()
        bounds = _check.column(edges, "edges").tolist()
        hints = _hints(bounds, heights, count_label)
        gap = (bounds[-1] - bounds[0]) / sheet.width  # about a point
        for i, height in enumerate(heights):
            span = bounds[i + 1] - bounds[i]
            left, inner = bounds[i] + min(gap, 0.1 * span), span - 2 * min(gap, 0.1 * span)
            (bar,) = sheet.ax.bar(left, height, inner, align="edge", color=sheet.paints["c0"])
            hint(bar, hints[i])
        sheet.height = _PLOT
        sheet.ax.set_xlim(bounds[0], bounds[-1])
        sheet.ax.set_ylim(0, max(*heights, 1) * 1.04)
        sheet.style_axis(sheet.ax.xaxis, axis_label)
        sheet.space_ticks(sheet.ax, sheet.width - 70)
        sheet.style_axis(sheet.ax.yaxis, count_label)
        sheet.ax.yaxis.get_major_locator().set_params(integer=True)
        sheet.ax.grid(visible=False, axis="x")
        if mean is not None:
            sheet.ax.axvline(mean, color=sheet.paints["ink"], zorder=3, **DASHED)
            text = f"mean {_numbers.fixed(mean, _numbers.decimals([mean]))}"
            sheet.above(text, mean, at_value=True, ha="center", tone="ink", is_beside=True)
        sheet.description = "; ".join(hints) + "."
        return sheet.ax


def _hints(edges: Sequence[float], counts: Sequence[float], count_label: str) -> list[str]:
    """Return the bounds and the count of each bin as text."""
    digits = max(0, _numbers.decimals([(edges[-1] - edges[0]) / len(counts)]) - 1)
    bounds = [_numbers.fixed(edge, digits) for edge in edges]
    return [
        f"{bounds[i]} to {bounds[i + 1]}: {_text.counted(count, count_label)}"
        for i, count in enumerate(counts)
    ]
