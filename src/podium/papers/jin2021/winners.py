"""How often each estimator finds the best method: the counts, and differences between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podium.papers import views
from podium.papers.jin2021.protocol import Floats
from podium.papers.jin2021.tables import cells, prepare, run
from podium.papers.jin2021.tables_values import UNIT, Values
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Study
from podium.report import Figure, Table

_RUNS = 100  # that counts are told of, as the paper's


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return counts by estimator and measure, of 100 runs, and differences of estimators."""
    values = Values.of(recipe, cells)
    right = wins(recipe, values)
    found: dict[str, Measured] = {}
    for j, name in enumerate(values.estimators):
        for k, measure in enumerate(values.measures):
            found[f"{name}: {measure}"] = _count(right[j, k])
        found[f"{name}: all measures"] = _count(right[j].mean(axis=0))
    for one, other in recipe.parameters["differences"]:
        first, second = (right[values.estimators.index(name)] for name in (one, other))
        found[f"{one} − {other}: all measures"] = _count((first - second).mean(axis=0))
    highest = values.exact[values.rows(recipe.parameters["compared"])].max(axis=0)
    for k, measure in enumerate(values.measures):
        label = f"best by exact {measure} is {_best(recipe, values, k)}"
        found[label] = Measured(float(highest[k]) * UNIT, n=values.users)
    return found


def wins(recipe: Recipe, values: Values) -> Floats:
    """Return 1 where an estimator found the best of the compared methods, else 0.

    float64, (n_estimators, n_measures, n_repeats). A draw is not won.
    """
    rows = values.rows(recipe.parameters["compared"])
    estimates = values.estimates[rows]
    best = np.argmax(values.exact[rows], axis=0)
    won = np.take_along_axis(estimates, best[None, None, :, None], axis=0)[0]
    others = (estimates >= won).sum(axis=0) - 1
    return (others == 0).astype(np.float64)


def _best(recipe: Recipe, values: Values, k: int) -> str:
    rows = values.rows(recipe.parameters["compared"])
    return values.methods[rows[int(np.argmax(values.exact[rows, k]))]]


def _count(shares: Floats) -> Measured:
    """Return the mean over repeats as a count of 100, with its standard error."""
    n = shares.size
    error = float(shares.std(ddof=1)) / n**0.5 if n > 1 else float("nan")
    return Measured(_RUNS * float(shares.mean()), _RUNS * error, n)


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield the counts of every estimator at a cutoff of 10, the paper's below ours."""
    values = Values.of(recipe, cells)

    def rows(measure: str) -> Iterator[views.Row]:
        for name in values.estimators:
            label = f"{name}: {measure}"
            yield _row(name, figures[label])
            if label in recipe.printed:
                yield views.bare(f"{name}, printed", recipe.printed[label])

    yield views.intervals(
        "Runs of 100 in which the best method is found",
        {measure: rows(measure) for measure in values.measures if measure.endswith("@10")},
        axis_label="runs of 100",
        digits=0,
        caption="Intervals of 95 %. A guess finds it in "
        f"{_RUNS // len(recipe.parameters['compared'])}.",
    )


def _row(label: str, found: Measured) -> views.Row:
    """Return a count with its interval, between none and all."""
    if not np.isfinite(found.std_error):
        return views.bare(label, found.value)
    row = views.row(label, found)
    return {**row, "low": max(0.0, row["low"]), "high": min(float(_RUNS), row["high"])}


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield the paper's table with both counts, and exact values of the methods."""
    values = Values.of(recipe, cells)

    def count(measure: str, name: str) -> str:
        if name == "best":
            return _best(recipe, values, values.measures.index(measure))
        label = f"{name}: {measure}"
        return f"{figures[label].value:.0f}{views.beside(recipe.printed.get(label), 0)}"

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
"""The repeats of `tables`, and how often the method that an estimator finds best is the best."""
