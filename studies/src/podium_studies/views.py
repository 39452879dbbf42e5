"""Rows, tables, interval plots and curves for pages, from cells and figures.

A study chooses the content of rows. This module formats values with their errors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.report import Figure, Table
from podium.report.figures import lines as lines
from podium_studies.study import Figures, Grid, Measured, Recipe, Z

Row: TypeAlias = Mapping[str, Any]


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
    value = "–" if math.isnan(measured.value) else f"{measured.value:.{digits}f}{error}"
    return value if printed is None else f"{value} ({printed:.{digits}f})"


def fixed(value: float, digits: int) -> str:
    """Format a number; an undefined one is ""."""
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def gap(measured: Measured, digits: int = 3) -> str:
    """Format a difference with its 95 % interval.

    Examples
    --------
    >>> gap(Measured(0.5, 0.25))
    '+0.500 [+0.010, +0.990]'
    """
    value, half = measured.value, measured.half_width
    return f"{value:+.{digits}f} [{value - half:+.{digits}f}, {value + half:+.{digits}f}]"


def chosen(title: str, options: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """Return a table of the options that each method's fits chose on validation.

    Numbers are given by median and range, texts by their counts; one value stands alone.
    """
    texts = {
        name: "; ".join(f"{key} {_column([fit[key] for fit in fits])}" for key in fits[0])
        for name, fits in options.items()
    }
    caption = f"{title}: chosen options, median (least to greatest) or counts"
    return table(caption, "method", texts, ["options"], lambda name, _: texts[name])


def _column(values: Sequence[Any]) -> str:
    counts = Counter(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
    if len(counts) == 1:
        return next(iter(counts))
    if not all(isinstance(value, int | float) for value in values):
        return ", ".join(f"{text} ({times})" for text, times in counts.most_common())
    least, middle, most = np.quantile(values, [0.0, 0.5, 1.0], method="nearest").tolist()
    return f"{middle:g} ({least:g} to {most:g})"


def table(
    caption: str,
    head: str,
    names: Iterable[str],
    columns: Iterable[str] | Mapping[str, Any],
    cell: Callable[[str, Any], Any],
) -> Table:
    """Return a table with a row per name and a column per title.

    Parameters
    ----------
    caption, head : str
        The caption, and the title of the names' column.
    names : iterable of str
    columns : iterable of str, or mapping
        The titles, or the titles with the keys that are passed to `cell`.
    cell : (name, key of the column) -> text or number
    """
    keys = _titled(columns)
    return {
        "caption": caption,
        "columns": [head, *keys],
        "rows": [[name, *(cell(name, column) for column in keys.values())] for name in names],
    }


def row(label: str, measured: Measured) -> Row:
    """Return a row of an interval plot: a value, and its 95 % interval if the error is known."""
    value, half = measured.value, Z * measured.std_error
    return {"label": label, "value": value, "low": value - half, "high": value + half}


def curve(label: str, x: Iterable[float], y: Iterable[float | None]) -> dict[str, Any]:
    """Return a series of a line plot."""
    return {"label": label, "x": [*x], "y": [*y]}


def falling(names: Iterable[str], figures: Figures, measure: str) -> list[str]:
    """Return the names in falling order of the figure "name measure"."""
    return sorted(names, key=lambda name: -figures[f"{name} {measure}"].value)


def shown(grid: Grid, recipe: Recipe, figures: Figures) -> Iterator[Table | Figure]:
    """Yield the table and the plot of a grid."""
    columns, row_names = _titled(grid.columns), _titled(grid.rows)

    def cell(title: str, end: Any) -> tuple[Measured | None, float | None]:
        name = grid.name.format(row_names[title], end)
        return figures.get(name), recipe.printed.get(name)

    def text(title: str, end: Any) -> str:
        measured, printed = cell(title, end)
        if measured is None:
            return ""
        if grid.text == "gap":
            return gap(measured, grid.digits)
        without_error = Measured(measured.value) if grid.text == "value" else measured
        return level(without_error, grid.digits, printed)

    def rows(end: Any) -> Iterator[Row]:
        for title in titles:
            measured, printed = cell(title, end)
            if measured:
                yield row(title, measured)
            if printed is not None:
                yield row(f"{title}, printed", Measured(printed))

    def series(title: str) -> Row:
        points = [row(title, found) for end in columns.values() if (found := cell(title, end)[0])]
        y, low, high = ([point[end] for point in points] for end in ("value", "low", "high"))
        return {**curve(title, map(float, columns.values()), y), "low": low, "high": high}

    titles = [t for t in row_names if any(cell(t, end)[0] for end in columns.values())]
    if not titles:
        return
    if grid.text:
        yield table(grid.title, grid.head, titles, columns, text)
    if grid.plot == "intervals":
        parts = [row for title, end in columns.items() for row in ({"label": title}, *rows(end))]
        words = {"title": grid.title, "axis_label": grid.axis, "caption": grid.note}
        yield {"kind": "interval_plot", "rows": parts, **words}
    elif grid.plot == "lines":
        x_label, _, y_label = grid.axis.partition(": ")
        whole = [series(t) for t in titles if all(cell(t, end)[0] for end in columns.values())]
        yield lines(grid.title, (x_label, y_label), whole, caption=grid.note)


def _titled(names: Iterable[Any] | Mapping[str, Any]) -> dict[str, Any]:
    return {**names} if isinstance(names, Mapping) else {str(name): name for name in names}
