"""Counts of how often each estimator finds the best method, and differences between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from podium.report import Table
from podium_studies import views
from podium_studies.cells import mean
from podium_studies.jin2021.evaluations import Floats
from podium_studies.jin2021.tables import UNIT, Values, cells, prepare, run
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Grid, Measured, Study

_RUNS = 100  # the number of runs to which counts are scaled, as in the paper


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the counts in 100 runs by estimator and measure, and differences of estimators."""
    values = Values.of(recipe, cells)
    is_correct = wins(recipe, values)
    figures: dict[str, Measured] = {}
    for j, name in enumerate(values.estimators):
        for k, measure in enumerate(values.measures):
            figures[f"{name}: {measure}"] = _count(is_correct[:, j, k])
        figures[f"{name}: all measures"] = _count(is_correct[:, j].mean(axis=1))
    for one, other in recipe.parameters["differences"]:
        first, second = (is_correct[:, values.estimators.index(name)] for name in (one, other))
        figures[f"{one} − {other}: all measures"] = _count((first - second).mean(axis=1))
    highest = values.exact[values.rows(recipe.parameters["compared"])].max(axis=0)
    for k, measure in enumerate(values.measures):
        label = f"best by exact {measure} is {_best(recipe, values, k)}"
        figures[label] = Measured(float(highest[k]) * UNIT, n=values.users)
    return figures


def wins(recipe: Recipe, values: Values) -> Floats:
    """Return 1 where an estimator finds the best of the compared methods, else 0.

    Returns
    -------
    float64, (n_repeats, n_estimators, n_measures)
        0 also if another method has the same estimate as the best one.
    """
    rows = values.rows(recipe.parameters["compared"])
    estimates = values.estimates[:, rows]
    best = np.argmax(values.exact[rows], axis=0)
    best_estimates = np.take_along_axis(estimates, best[None, None, None, :], axis=1)
    n_as_good = (estimates >= best_estimates).sum(axis=1)
    return (n_as_good == 1).astype(np.float64)


def _best(recipe: Recipe, values: Values, k: int) -> str:
    rows = values.rows(recipe.parameters["compared"])
    return values.methods[rows[int(np.argmax(values.exact[rows, k]))]]


def _count(shares: Floats) -> Measured:
    """Return the mean over repeats as a count in 100 runs, with its standard error."""
    return mean(_RUNS * shares)


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield the counts of every estimator with the paper's, and the methods' exact values."""
    values = Values.of(recipe, cells)
    title = "Runs of 100 in which the estimator finds the best method (printed)"
    counts = Grid(title, values.estimators, values.measures, "{}: {}", digits=0, head="estimator")
    yield counts
    top = [measure for measure in values.measures if measure.endswith("@10")]
    guess = f"A random guess is right in {_RUNS // len(recipe.parameters['compared'])} runs."
    yield replace(counts, columns=top, text="", plot="intervals", axis="runs of 100", note=guess)
    yield views.table(
        "Exact values of the methods, in thousandths",
        "method",
        values.methods,
        {measure: k for k, measure in enumerate(values.measures)},
        lambda method, k: f"{UNIT * values.exact[values.methods.index(method), k]:.2f}",
    )


STUDY = Study(cells, run, fold, prepare, shown)
"""The study that counts in the repeats of `tables` how often an estimator finds the best method."""
