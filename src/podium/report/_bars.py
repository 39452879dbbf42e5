"""Histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium import _check
from podium.errors import ArgumentError
from podium.report import _axes, _numbers, _text
from podium.report._axes import Scale
from podium.report._svg import Canvas

_PLOT = 200


def histogram(
    edges: Sequence[float],
    counts: Sequence[float],
    *,
    title: str,
    axis_label: str = "",
    count_label: str = "groups",
    mean: float | None = None,
    width: int = 720,
    colours: Mapping[str, int] | None = None,
    background: str | None = None,
) -> str:
    """Draw the number of values in each bin.

    Parameters
    ----------
    edges : (n_bins + 1,)
        The rising bounds of the bins, for example from `podium.report.figures.bin_values`.
    counts : (n_bins,)
        The number of values in each bin, >= 0.
    title, axis_label, count_label : str
        The title, the quantity of the values with its unit, and the objects that are counted.
    mean : float, optional
        The mean, marked by a dashed line.
    width, colours, background
        The arguments of all figures, see `podium.report.figures`. Bars have the first colour.

    Returns
    -------
    str
        One SVG element.

    Raises
    ------
    ArgumentError
        If the number of edges is not the number of counts plus one.

    Examples
    --------
    >>> svg = histogram([0, 0.5, 1], [3, 1], title="pap@10 per user")
    >>> "0.00 to 0.50: 3" in svg
    True
    """
    if len(edges) != len(counts) + 1 and (len(edges) or len(counts)):
        raise ArgumentError(
            f"edges must have one entry more than counts, got {len(edges)} and {len(counts)}."
        )
    canvas = Canvas(width)
    top = _axes.title(canvas, title)
    if not len(counts):
        canvas.text(4, top + 14, "No values.", tone="muted")
        bottom = top + 24
    else:
        bottom = _plot(canvas, edges, counts, top, (axis_label, count_label), mean)
    description = "; ".join(_bins(edges, counts, count_label)) + "."
    return canvas.svg(bottom + 4, title=title, description=description, background=background)


def _plot(
    canvas: Canvas,
    edges: Sequence[float],
    counts: Sequence[float],
    top: float,
    labels: tuple[str, str],
    mean: float | None,
) -> float:
    axis_label, count_label = labels
    canvas.text(4, top + 10, count_label, size=12.5, tone="muted", room=canvas.width / 2)
    top += 24
    _check.column(counts, "counts")
    up = Scale(0, max(*counts, 1) * 1.04, top + _PLOT, top)
    left = 4 + _axes.y_room(up)
    across = Scale(float(edges[0]), float(edges[-1]), left, canvas.width - 20)
    _axes.y_axis(canvas, up, left, across.end)
    for i, tip in enumerate(_bins(edges, counts, count_label)):
        start, end = across(float(edges[i])), across(float(edges[i + 1]))
        gap = min(1.0, 0.1 * (end - start))
        height = up.start - up(counts[i])
        canvas.rect(
            start + gap, up.start - height, end - start - 2 * gap, height, tone="c0", hint=tip
        )
    bottom = _axes.x_axis(canvas, across, up.start, up.start, label=axis_label)
    if mean is not None:
        _mark_mean(canvas, across, mean, top, up.start)
    return bottom


def _mark_mean(canvas: Canvas, across: Scale, mean: float, top: float, bottom: float) -> None:
    x, text = across(mean), f"mean {_numbers.fixed(mean, _numbers.decimals([mean]))}"
    canvas.line(x, top - 4, x, bottom, tone="ink", thickness=1.5, dash="5 4")
    fits = x + 6 + _text.width(text, 12) < canvas.width
    canvas.text(
        x + 6 if fits else x - 6, top - 10, text, size=12, anchor="start" if fits else "end"
    )


def _bins(edges: Sequence[Any], counts: Sequence[Any], count_label: str) -> list[str]:
    if not len(counts):
        return ["No values"]
    digits = _numbers.decimals([(edges[-1] - edges[0]) / len(counts)]) - 1
    bounds = [_numbers.fixed(edge, digits) for edge in edges]
    return [
        f"{bounds[i]} to {bounds[i + 1]}: {count:,.4g} {count_label}".rstrip()
        for i, count in enumerate(counts)
    ]
