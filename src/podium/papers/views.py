"""From cells and figures to what pages show: tidy rows, tables, intervals and curves.

A study says what is in a row; how a value with its error is written is said here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.papers.study import Cells, Figures, Measured, Result, parts
from podium.report import Figure, Table

Z = 1.96
"""Standard errors to each side of an interval of 95 %."""

Row: TypeAlias = Mapping[str, Any]


def select(cells: Cells, **wanted: str) -> list[tuple[Mapping[str, str], Result]]:
    """Return the cells whose keys have these parts: the parts of each key, and the result.

    Examples
    --------
    >>> select({"part=test/seed=0": {"x": 1}, "part=fit/seed=0": {"x": 2}}, part="fit")
    [({'part': 'fit', 'seed': '0'}, {'x': 2})]
    """
    tidy = ((parts(cell), result) for cell, result in cells.items())
    return [each for each in tidy if wanted.items() <= each[0].items()]


def half_width(found: Measured) -> float:
    """Return half of an interval of 95 %; 0 where the standard error is unknown."""
    return 0.0 if math.isnan(found.std_error) else Z * found.std_error


def low(found: Measured) -> float:
    """Return the lower end of an interval of 95 %."""
    return found.value - Z * found.std_error


def paired(gap: NDArray[np.float64], weights: NDArray[np.float64]) -> Measured:
    """Return a mean paired difference with the error of drawing queries and drawing orders.

    Parameters
    ----------
    gap : float64, (n_draws, n_queries)
        Each query's difference under each draw.
    weights : float64, (n_queries,)
        Of each query, with a sum of 1.

    Returns
    -------
    Measured
        `n` is the number of queries. The variance over queries is that of the mean over draws;
        that of the draws' means over their number is added, since all queries share a draw.
    """
    n_draws, n_queries = gap.shape
    by_query, by_draw = gap.mean(axis=0), (gap * weights).sum(axis=1)
    mean = float(by_draw.mean())
    of_queries = float(np.sum((weights * (by_query - mean)) ** 2)) * n_queries / (n_queries - 1)
    of_draws = float(by_draw.var(ddof=1)) / n_draws if n_draws > 1 else 0.0
    return Measured(mean, math.sqrt(of_queries + of_draws), n_queries)


def level(found: Measured, digits: int = 3, printed: float | None = None) -> str:
    """Write a value with its standard error, and what the paper printed.

    Examples
    --------
    >>> level(Measured(0.25, 0.015, 5), 2, printed=0.3)
    '0.25 ± 0.01 (0.30)'
    """
    error = "" if math.isnan(found.std_error) else f" ± {found.std_error:.{digits}f}"
    return f"{found.value:.{digits}f}{error}" + beside(printed, digits)


def beside(printed: float | None, digits: int) -> str:
    """Write what the paper printed in brackets; nothing where it printed nothing."""
    return "" if printed is None else f" ({printed:.{digits}f})"


def gap(found: Measured, digits: int = 3) -> str:
    """Write a difference with its interval of 95 %.

    Examples
    --------
    >>> gap(Measured(0.5, 0.25))
    '+0.500 [+0.010, +0.990]'
    """
    ends = (found.value - half_width(found), found.value + half_width(found))
    return f"{found.value:+.{digits}f} [{ends[0]:+.{digits}f}, {ends[1]:+.{digits}f}]"


def options(chosen: Sequence[Mapping[str, Any]]) -> str:
    """Write which options were chosen: the median and range of numbers, how often a text."""
    return "; ".join(f"{name} {_column([each[name] for each in chosen])}" for name in chosen[0])


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
    """Return a table with a row a name and a column a measure.

    Parameters
    ----------
    caption, head : str
        `head` is the title of the names' column.
    names : iterable of str
    columns : sequence of str, or mapping
        Titles, or titles with the keys that `cell` is given.
    cell : (name, column's key) -> text or number
    """
    keys = columns if isinstance(columns, Mapping) else dict(zip(columns, columns, strict=True))
    return {
        "caption": caption,
        "columns": [head, *keys],
        "rows": [[name, *(cell(name, each) for each in keys.values())] for name in names],
    }


def row(label: str, found: Measured, **more: Any) -> Row:
    """Return a row of an interval plot: a value and its interval of 95 %."""
    half = half_width(found)
    ends = {"low": found.value - half, "high": found.value + half}
    return {"label": label, "value": found.value, **ends, **more}


def bare(label: str, value: float, **more: Any) -> Row:
    """Return a row of a value without an interval, as papers print it."""
    return {"label": label, "value": value, "low": None, "high": None, **more}


def intervals(title: str, panels: Mapping[str, Iterable[Row]], **more: Any) -> Figure:
    """Return rows with their intervals, a panel a title."""
    shown = [{"title": name, "rows": [*rows]} for name, rows in panels.items()]
    return {"kind": "grouped_intervals", "title": title, "panels": shown, **more}


def curve(label: str, x: Iterable[float], y: Iterable[float | None]) -> Row:
    """Return a series of a line plot."""
    return {"label": label, "x": [*x], "y": [*y]}


def band(label: str, x: Iterable[float], found: Sequence[Measured]) -> Row:
    """Return a series with its intervals of 95 %."""
    ends = {
        "low": [each.value - half_width(each) for each in found],
        "high": [each.value + half_width(each) for each in found],
    }
    return {**curve(label, x, [each.value for each in found]), **ends}


def falling(names: Iterable[str], figures: Figures, measure: str) -> list[str]:
    """Return the names with the best first, by the figure "name measure"."""
    return sorted(names, key=lambda name: -figures[f"{name} {measure}"].value)


def gaps(
    title: str,
    figures: Figures,
    one: str,
    others: Sequence[str],
    measures: Iterable[str],
    **more: Any,
) -> Figure:
    """Return how far one method is above others, from the figures "one − other measure"."""
    panels = {
        each: [row(name, figures[f"{one} − {name} {each}"]) for name in others] for each in measures
    }
    return intervals(title, panels, share_axis=False, axis_label="difference", digits=3, **more)


def lines(title: str, series: Iterable[Row], x_label: str, y_label: str, **more: Any) -> Figure:
    """Return series over one horizontal axis."""
    axes = {"x_label": x_label, "y_label": y_label}
    return {"kind": "line_plot", "title": title, "series": [*series], **axes, **more}
