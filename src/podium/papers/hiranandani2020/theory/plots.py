"""Figures of what the theory's functions found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.report.figures import line_plot


def gap_plot(
    gap: Mapping[str, Any],
    *,
    title: str = "Population less empirical risk of pAp@k",
    width: int = 720,
    background: str | None = None,
) -> str:
    """Draw what `generalization_gap` found: the mean gap, its band, and the bound scaled to it.

    Parameters
    ----------
    gap : mapping
        From `generalization_gap`.
    title, width, background
        As in every figure, see `podium.report.figures`.

    Returns
    -------
    str
        One SVG element.

    Examples
    --------
    >>> found = {
    ...     "n_pos": [20, 40], "n_neg": [200, 400], "rho": 0.05, "n_repeats": 200,
    ...     "gap": {"mean": [0.0, 0.0], "low": [-0.2, -0.1], "high": [0.2, 0.1]},
    ...     "constant": 0.1, "scaled_bound": [0.2, 0.15],
    ... }
    >>> gap_plot(found)[:4]
    '<svg'
    """
    low, high = 100 * gap["rho"], 100 * (1 - gap["rho"])
    x = [p + n for p, n in zip(gap["n_pos"], gap["n_neg"], strict=True)]
    shown = gap["gap"]
    label = f"mean of {gap['n_repeats']}, band: {low:g} % to {high:g} %"
    series: list[dict[str, Any]] = [
        {"label": label, "x": x, "y": shown["mean"], "low": shown["low"], "high": shown["high"]}
    ]
    if gap["constant"] is not None:
        label = f"bound with C = {gap['constant']:.3g}"
        series.append({"label": label, "x": x, "y": gap["scaled_bound"]})
    return line_plot(
        series,
        title=title,
        x_label="items of the group, logarithmic",
        y_label="population − empirical risk",
        log_x=True,
        width=width,
        background=background,
    )
