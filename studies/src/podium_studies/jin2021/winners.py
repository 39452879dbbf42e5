"""Counts of how often each estimator finds the best method, and differences between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podium.report import Figure, Table
from podium_studies import views
from podium_studies.jin2021.protocol import Floats
from podium_studies.jin2021.tables import cells, prepare, run
from podium_studies.jin2021.tables_values import UNIT, Values
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Measured, Study

_RUNS = 100  # the number of runs to which counts are scaled, as in the paper


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the counts in 100 runs by estimator and measure, and differences of estimators."""
    values = Values.of(recipe, cells)
    is_correct = wins(recipe, values)
    figures: dict[str, Measured] = {}
    for j, name in enumerate(values.estimators):
        for k, measure in enumerate(values.measures):
            figures[f"{name}: {measure}"] = _count(is_correct[j, k])
        figures[f"{name}: all measures"] = _count(is_correct[j].mean(axis=0))
    for one, other in recipe.parameters["differences"]:
        first, second = (is_correct[values.estimators.index(name)] for name in (one, other))
        figures[f"{one} − {other}: all measures"] = _count((first - second).mean(axis=0))
    highest = values.exact[values.rows(recipe.parameters["compared"])].max(axis=0)
    for k, measure in enumerate(values.measures):
        label = f"best by exact {measure} is {_best(recipe, values, k)}"
        figures[label] = Measured(float(highest[k]) * UNIT, n=values.users)
    return figures


def wins(recipe: Recipe, values: Values) -> Floats:
    """Return 1 where an estimator finds the best of the compared methods, else 0.

    Returns
    -------
    float64, (n_estimators, n_measures, n_repeats)
        0 also if another method has the same estimate as the best one.
    """
    rows = values.rows(recipe.parameters["compared"])
    estimates = values.estimates[rows]
    best = np.argmax(values.exact[rows], axis=0)
    best_estimates = np.take_along_axis(estimates, best[None, None, :, None], axis=0)[0]
    others = (estimates >= best_estimates).sum(axis=0) - 1
    return (others == 0).astype(np.float64)


def _best(recipe: Recipe, values: Values, k: int) -> str:
    rows = values.rows(recipe.parameters["compared"])
    return values.methods[rows[int(np.argmax(values.exact[rows, k]))]]


def _count(shares: Floats) -> Measured:
    """Return the mean over repeats as a count in 100 runs, with its standard error."""
    n = shares.size
    error = float(shares.std(ddof=1)) / n**0.5 if n > 1 else float("nan")
    return Measured(_RUNS * float(shares.mean()), _RUNS * error, n)


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield a plot of the counts of every estimator at a cutoff of 10, with the paper's below."""
    values = Values.of(recipe, cells)

    def rows(measure: str) -> Iterator[views.Row]:
        for name in values.estimators:
            label = f"{name}: {measure}"
            yield _row(name, figures[label])
            if label in recipe.printed:
                yield views.point_row(f"{name}, printed", recipe.printed[label])

    yield views.intervals(
        "Runs of 100 in which the best method is found",
        {measure: rows(measure) for measure in values.measures if measure.endswith("@10")},
        axis_label="runs of 100",
        digits=0,
        caption="Intervals of 95 %. A random guess is right in "
        f"{_RUNS // len(recipe.parameters['compared'])} runs.",
    )


def _row(label: str, measured: Measured) -> views.Row:
    """Return a count with its interval, clipped to [0, 100]."""
    if not np.isfinite(measured.std_error):
        return views.point_row(label, measured.value)
    row = views.row(label, measured)
    return {**row, "low": max(0.0, row["low"]), "high": min(float(_RUNS), row["high"])}


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield the paper's table with both counts, and the exact values of the methods."""
    values = Values.of(recipe, cells)

    def count(measure: str, name: str) -> str:
        if name == "best":
            return _best(recipe, values, values.measures.index(measure))
        label = f"{name}: {measure}"
        return f"{figures[label].value:.0f}{views.in_brackets(recipe.printed.get(label), 0)}"

    def exact(method: str, k: int) -> float:
        return float(UNIT * values.exact[values.methods.index(method), k])

    yield views.table(
        "Runs of 100 in which the estimator finds the best method (printed)",
        "measure",
        values.measures,
        ["best", *values.estimators],
        count,
    )
    measures = {measure: k for k, measure in enumerate(values.measures)}
    caption = "Exact values of the methods, in thousandths"
    yield {**views.table(caption, "method", values.methods, measures, exact), "digits": 2}


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""The study that counts in the repeats of `tables` how often an estimator finds the best method."""
