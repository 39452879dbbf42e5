"""Measures estimated by every estimator in repeated sampled evaluations, with exact values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product

import numpy as np

from podium.report import Figure, Table
from podium_studies import views
from podium_studies.cells import key, mean, repeats, results, seed_of
from podium_studies.jin2021 import evaluations
from podium_studies.jin2021.evaluations import Evaluations, Floats, estimates
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study

UNIT = 1e3
"""The factor of levels in tables: the paper prints them in thousandths."""


@dataclass(frozen=True, eq=False)
class Values:
    """Estimates, and exact values.

    Attributes
    ----------
    methods, estimators, measures : sequence of str
    exact : float64, (n_methods, n_measures)
    estimates : float64, (n_repeats, n_methods, n_estimators, n_measures)
    users, items : int
    """

    methods: Sequence[str]
    estimators: Sequence[str]
    measures: Sequence[str]
    exact: Floats
    estimates: Floats
    users: int
    items: int

    @classmethod
    def of(cls, recipe: Recipe, cells: Cells) -> Values:
        """Concatenate the blocks of every method."""
        methods, estimators, measures = (
            [*recipe.parameters[name]] for name in ("methods", "estimators", "measures")
        )
        blocks = [results(cells, method=name) for name in methods]
        exact = [[of_method[0]["exact"][m] for m in measures] for of_method in blocks]
        estimates = [
            [np.hstack([block["estimates"][name] for block in of_method]) for name in estimators]
            for of_method in blocks
        ]
        users, items = (blocks[0][0][name] for name in ("users", "items"))
        by_repeat = np.moveaxis(np.array(estimates), -1, 0)
        return cls(methods, estimators, measures, np.array(exact), by_repeat, users, items)

    def rows(self, names: Sequence[str]) -> list[int]:
        """Return the positions of methods in `methods`."""
        return [self.methods.index(name) for name in names]


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return exact values, ratios by method, and the figures over all compared methods."""
    values = Values.of(recipe, cells)
    # The ratios of estimates to exact values are undefined if the exact value is 0.
    ratios = values.estimates / np.where(values.exact > 0, values.exact, math.nan)[:, None, :]
    powers = np.stack([ratios, ratios**2, (ratios - 1.0) ** 2], axis=1)
    return evaluations.jackknife(powers, partial(statistics, recipe, values))


def statistics(recipe: Recipe, values: Values, moments: Floats) -> dict[str, float | Measured]:
    """Return all figures of these moments: means of ratios, their squares, and squared errors.

    The error of a method is the root mean square of estimate / exact - 1. For several methods, it
    is their geometric mean or the largest.
    """
    papers, own_names = recipe.parameters["papers"], recipe.parameters["own"]
    names, measures = (*papers, *own_names), [*enumerate(values.measures)]
    at, figures = values.estimators.index, dict[str, float | Measured]()
    for (i, method), (k, measure) in product(enumerate(values.methods), measures):
        exact = Measured(UNIT * values.exact[i, k], n=values.users)
        figures[f"{method} {measure}: exact"] = exact
        for name in names:
            figures[f"{method} {measure}: {name} / exact"] = moments[0, i, at(name), k]
    rows = values.rows(recipe.parameters["compared"])
    ratio, square, error = moments[0][rows], moments[1][rows], np.sqrt(moments[2][rows])
    errors = {"error": evaluations.geometric_mean(error), "largest error": error.max(axis=0)}
    bias = np.abs(ratio - 1.0).mean(axis=(0, 2))
    for name in names:
        for (k, measure), (label, e) in product(measures, errors.items()):
            figures[f"{name}: {label}, {measure}"] = e[at(name), k]
        figures[f"{name}: bias"] = bias[at(name)]
    columns = [at(name) for name in papers]
    # An estimator's number of rows in which its bias is one of the two smallest.
    biases = np.abs(ratio[:, columns] - 1.0)
    is_least = np.argsort(np.argsort(biases, axis=1, kind="stable"), axis=1) < 2
    for name, count in zip(papers, is_least.sum(axis=(0, 2)).tolist(), strict=True):
        ordered = _n_pairs_in_order(values.exact[rows], values.exact[rows] * ratio[:, at(name)])
        figures[f"{name}: rows with least or second least bias"] = Measured(float(count))
        figures[f"{name}: pairs of methods in exact order"] = Measured(float(ordered))
    sd = np.sqrt(np.maximum(square - ratio**2, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        for name in ("MLE", "WMLE", "MES"):
            spread = evaluations.geometric_mean((sd[:, at(name)] / sd[:, at("BV(0.01)")]).ravel())
            figures[f"{name} / BV(0.01): spread"] = float(spread)
    others = [at(name) for name in papers if name not in ("CLS", "WMLE")]
    figures["CLS − the worst of BV, MLE and MES: bias"] = bias[at("CLS")] - bias[others].max()
    for name, (k, measure), (label, e) in product(own_names, measures, errors.items()):
        ratio_to_best = e[at(name), k] / e[columns, k].min()
        figures[f"{name} / best of the paper's: {label}, {measure}"] = ratio_to_best
    return figures


def _n_pairs_in_order(exact: Floats, estimates: Floats) -> int:
    """Return the number of pairs of methods that estimates order correctly, over all measures."""
    return sum(
        int(((exact[i] - exact[j]) * (estimates[i] - estimates[j]) > 0).sum())
        for i, j in combinations(range(len(exact)), 2)
    )


_DIGITS = 7  # significant digits of stored estimates
_WORST = "CLS"  # left out of the plot of errors, where it would compress the scale


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: blocks of repeats of each method, because most of the time is its fit."""
    n, block_size = len(repeats(recipe)), recipe.parameters["block"]
    for name in recipe.parameters["methods"]:
        for first in range(0, n, block_size):
            yield key(method=name, first=first, n=min(block_size, n - first))


def run(recipe: Recipe, context: Evaluations, method: str, first: int, n: int) -> Result:
    """Compute the exact ranks of one method, then repeat the sampled evaluation."""
    name, parameters = method, recipe.parameters
    exact = context.exact(name)
    rows_by_label: dict[str, list[list[float]]] = {}
    for repeat in range(first, first + n):
        seed = seed_of(recipe, f"sample {name}", repeat)
        for label, estimator, ranks in context.readings(name, parameters["n_negatives"], seed):
            values = estimates(estimator, ranks, parameters["measures"])
            few_digits = [float(f"{value:.{_DIGITS}g}") for value in values]
            rows_by_label.setdefault(label, []).append(few_digits)
    return {
        "users": context.train.shape[0],
        "items": context.n_items,
        "exact": {measure: exact.expect(measure) for measure in parameters["measures"]},
        "estimates": {label: [*zip(*rows, strict=True)] for label, rows in rows_by_label.items()},
    }


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Figure | Table]:
    """Yield levels with the paper's, ratios to exact values, and errors of the estimators."""
    values, parameters = Values.of(recipe, cells), recipe.parameters
    names = [*parameters["papers"], *parameters["own"]]
    samples = f"{len(values.estimates)} samples of {parameters['n_negatives']}"
    for k, measure in enumerate(values.measures):
        title = f"{measure} in thousandths: mean ± standard deviation over {samples} of "
        title += f"{values.items:,} items for each of {values.users:,} users"
        names_and_exact = ["exact", *values.estimators]
        levels = Grid(title, names_and_exact, values.methods, digits=2, head="estimator")
        yield from views.shown(levels, recipe, _levels(values, k))
        title = f"{measure}: mean estimate divided by the exact value (printed)"
        ratio = f"{{1}} {measure}: {{0}} / exact"
        yield Grid(title, names, values.methods, ratio, head="estimator")
    for kind in ("error", "largest error"):
        title = f"Relative {kind} over the compared methods, the root mean square over samples"
        columns = {measure: f"{kind}, {measure}" for measure in values.measures}
        yield Grid(title, names, columns, "{}: {}", head="estimator")
    best = [name for name in names if name not in (*parameters["not_plotted"], _WORST)]
    columns = {measure: f"error, {measure}" for measure in values.measures}
    axis = "root-mean-square error / exact value"
    title = "Relative error of the estimators"
    yield Grid(title, best, columns, "{}: {}", text="", digits=2, plot="intervals", axis=axis)
    yield Grid("Mean absolute bias", names, ["bias"], "{}: {}", head="estimator")


def _levels(values: Values, k: int) -> dict[str, Measured]:
    """Return the mean and the standard deviation over samples, by estimator and method."""
    levels: dict[str, Measured] = {}
    for i, method in enumerate(values.methods):
        levels[f"exact {method}"] = Measured(UNIT * float(values.exact[i, k]))
        for name, samples in zip(values.estimators, values.estimates[:, i, :, k].T, strict=True):
            levels[f"{name} {method}"] = evaluations.deviation(UNIT * samples)
    return levels


STUDY = Study(cells, run, fold, evaluations.prepare, shown)
"""The study of means, standard deviations and errors of every estimator for every method."""


_RUNS = 100  # the number of runs to which counts are scaled, as in the paper


def counts(recipe: Recipe, cells: Cells) -> Figures:
    """Return the counts in 100 runs by estimator and measure, and differences of estimators."""
    values = Values.of(recipe, cells)
    is_correct = wins(recipe, values)
    figures: dict[str, Measured] = {}
    for j, name in enumerate(values.estimators):
        for k, measure in enumerate(values.measures):
            figures[f"{name}: {measure}"] = mean(_RUNS * is_correct[:, j, k])
        figures[f"{name}: all measures"] = mean(_RUNS * is_correct[:, j].mean(axis=1))
    for one, other in recipe.parameters["differences"]:
        first, second = (is_correct[:, values.estimators.index(name)] for name in (one, other))
        figures[f"{one} − {other}: all measures"] = mean(_RUNS * (first - second).mean(axis=1))
    compared = recipe.parameters["compared"]
    exact = values.exact[values.rows(compared)]
    for k, (measure, best) in enumerate(zip(values.measures, exact.argmax(axis=0), strict=True)):
        label = f"best by exact {measure} is {compared[best]}"
        figures[label] = Measured(UNIT * float(exact[best, k]), n=values.users)
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


def shown_counts(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield the counts of every estimator with the paper's, and the methods' exact values."""
    values = Values.of(recipe, cells)
    title = "Runs of 100 in which the estimator finds the best method (printed)"
    grid = Grid(title, values.estimators, values.measures, "{}: {}", digits=0, head="estimator")
    yield grid
    top = [measure for measure in values.measures if measure.endswith("@10")]
    guess = f"A random guess is right in {_RUNS // len(recipe.parameters['compared'])} runs."
    yield replace(grid, columns=top, text="", plot="intervals", axis="runs of 100", note=guess)

    def exact(method: str, measure: str) -> str:
        at = values.methods.index(method), values.measures.index(measure)
        return f"{UNIT * values.exact[at]:.2f}"

    title = "Exact values of the methods, in thousandths"
    yield views.table(title, "method", values.methods, values.measures, exact)


WINNERS = Study(cells, run, counts, evaluations.prepare, shown_counts)
"""The study that counts in the same repeats how often an estimator finds the best method."""
