"""Rows, tables, interval plots and curves for pages, from cells and figures.

A study chooses the content of rows. This module formats values with their errors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.report import Figure, Table
from podium_studies.study import Cells, Figures, Measured, Result, parts

Z = 1.96
"""The half width of a 95 % interval in standard errors."""

Row: TypeAlias = Mapping[str, Any]


def select(cells: Cells, **key_parts: str) -> list[tuple[Mapping[str, str], Result]]:
    """Return the parts of the key and the result of every cell whose key has these parts.

    Examples
    --------
    >>> select({"part=test/seed=0": {"x": 1}, "part=fit/seed=0": {"x": 2}}, part="fit")
    [({'part': 'fit', 'seed': '0'}, {'x': 2})]
    """
    tidy = ((parts(cell), result) for cell, result in cells.items())
    return [entry for entry in tidy if key_parts.items() <= entry[0].items()]


def half_width(measured: Measured) -> float:
    """Return half the width of a 95 % interval; 0 if the standard error is unknown."""
    return 0.0 if math.isnan(measured.std_error) else Z * measured.std_error


def low(measured: Measured) -> float:
    """Return the lower end of a 95 % interval."""
    return measured.value - Z * measured.std_error


def paired(gap: NDArray[np.float64], weights: NDArray[np.float64]) -> Measured:
    """Return a mean paired difference; its error includes the samples of queries and of draws.

    Parameters
    ----------
    gap : float64, (n_draws, n_queries)
        The difference of each query in each draw.
    weights : float64, (n_queries,)
        The weight of each query; the sum is 1.

    Returns
    -------
    Measured
        `n` is the number of queries. The squared error is the sum of two variances: that over
        queries, of their means over draws, and the variance of the draws' means divided by their
        number, because all queries share a draw.
    """
    n_draws, n_queries = gap.shape
    by_query, by_draw = gap.mean(axis=0), (gap * weights).sum(axis=1)
    mean = float(by_draw.mean())
    query_variance = float(np.sum((weights * (by_query - mean)) ** 2)) * n_queries / (n_queries - 1)
    draw_variance = float(by_draw.var(ddof=1)) / n_draws if n_draws > 1 else 0.0
    return Measured(mean, math.sqrt(query_variance + draw_variance), n_queries)


def level(measured: Measured, digits: int = 3, printed: float | None = None) -> str:
    """Format a value with its standard error, and the printed value in brackets.

    Examples
    --------
    >>> level(Measured(0.25, 0.015, 5), 2, printed=0.3)
    '0.25 ± 0.01 (0.30)'
    """
    error = "" if math.isnan(measured.std_error) else f" ± {measured.std_error:.{digits}f}"
    return f"{measured.value:.{digits}f}{error}" + in_brackets(printed, digits)


def in_brackets(printed: float | None, digits: int) -> str:
    """Format the printed value in brackets; return "" if there is none."""
    return "" if printed is None else f" ({printed:.{digits}f})"


def gap(measured: Measured, digits: int = 3) -> str:
    """Format a difference with its 95 % interval.

    Examples
    --------
    >>> gap(Measured(0.5, 0.25))
    '+0.500 [+0.010, +0.990]'
    """
    ends = (measured.value - half_width(measured), measured.value + half_width(measured))
    return f"{measured.value:+.{digits}f} [{ends[0]:+.{digits}f}, {ends[1]:+.{digits}f}]"


def options(chosen: Sequence[Mapping[str, Any]]) -> str:
    """Format the chosen options: numbers by median and range, texts by their counts."""
    return "; ".join(f"{name} {_column([option[name] for option in chosen])}" for name in chosen[0])


def _column(values: Sequence[Any]) -> str:
    if isinstance(values[0], str):
        return ", ".join(f"{value} ({times})" for value, times in Counter(values).most_common())
    least, middle, most = np.quantile(values, [0.0, 0.5, 1.0], method="nearest").tolist()
    return f"{middle:g} ({least:g} to {most:g})"


def table(
    caption: str,
    head: str,
    names: Iterable[str],
    columns: Sequence[str] | Mapping[str, Any],
    cell: Callable[[str, Any], Any],
) -> Table:
    """Return a table with a row per name and a column per title.

    Parameters
    ----------
    caption, head : str
        The caption, and the title of the names' column.
    names : iterable of str
    columns : sequence of str, or mapping
        The titles, or the titles with the keys that are passed to `cell`.
    cell : (name, key of the column) -> text or number
    """
    keys = columns if isinstance(columns, Mapping) else dict(zip(columns, columns, strict=True))
    return {
        "caption": caption,
        "columns": [head, *keys],
        "rows": [[name, *(cell(name, column) for column in keys.values())] for name in names],
    }


def row(label: str, measured: Measured, **more: Any) -> Row:
    """Return a row of an interval plot: a value and its 95 % interval."""
    half = half_width(measured)
    ends = {"low": measured.value - half, "high": measured.value + half}
    return {"label": label, "value": measured.value, **ends, **more}


def point_row(label: str, value: float, **more: Any) -> Row:
    """Return a row of an interval plot for a value without an interval, such as a printed one."""
    return {"label": label, "value": value, "low": None, "high": None, **more}


def intervals(title: str, panels: Mapping[str, Iterable[Row]], **more: Any) -> Figure:
    """Return an interval plot with one panel per title."""
    panel_rows = [{"title": name, "rows": [*rows]} for name, rows in panels.items()]
    return {"kind": "grouped_intervals", "title": title, "panels": panel_rows, **more}


def curve(label: str, x: Iterable[float], y: Iterable[float | None]) -> Row:
    """Return a series of a line plot."""
    return {"label": label, "x": [*x], "y": [*y]}


def band(label: str, x: Iterable[float], measured: Sequence[Measured]) -> Row:
    """Return a series of a line plot with its 95 % intervals."""
    ends = {
        "low": [point.value - half_width(point) for point in measured],
        "high": [point.value + half_width(point) for point in measured],
    }
    return {**curve(label, x, [point.value for point in measured]), **ends}


def falling(names: Iterable[str], figures: Figures, measure: str) -> list[str]:
    """Return the names in falling order of the figure "name measure"."""
    return sorted(names, key=lambda name: -figures[f"{name} {measure}"].value)


def gaps(
    title: str,
    figures: Figures,
    one: str,
    others: Sequence[str],
    measures: Iterable[str],
    **more: Any,
) -> Figure:
    """Return an interval plot of the differences "one − other measure", one panel per measure."""
    panels = {
        measure: [row(name, figures[f"{one} − {name} {measure}"]) for name in others]
        for measure in measures
    }
    return intervals(title, panels, share_axis=False, axis_label="difference", digits=3, **more)


def lines(title: str, series: Iterable[Row], x_label: str, y_label: str, **more: Any) -> Figure:
    """Return a line plot of several series."""
    axes = {"x_label": x_label, "y_label": y_label}
    return {"kind": "line_plot", "title": title, "series": [*series], **axes, **more}
