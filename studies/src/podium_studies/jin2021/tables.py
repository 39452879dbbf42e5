"""Measures estimated by every estimator in repeated sampled evaluations, with exact values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.report import Figure, Table
from podium_studies import views
from podium_studies.cells import key, repeats, results, seed_of
from podium_studies.jin2021.evaluations import Evaluations, estimates, geometric_mean, prepare
from podium_studies.jin2021.protocol import Floats
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study

UNIT = 1e3
"""The factor of levels in tables: the paper prints them in thousandths."""


@dataclass(frozen=True, eq=False)
class Values:
    """Estimates, exact values, and their ratios.

    Attributes
    ----------
    methods, estimators, measures : sequence of str
    exact : float64, (n_methods, n_measures)
    estimates : float64, (n_methods, n_estimators, n_measures, n_repeats)
    ratios : float64, (n_methods, n_estimators, n_measures, n_repeats)
        The estimate divided by the exact value; nan if the exact value is 0.
    users, items : int
    """

    methods: Sequence[str]
    estimators: Sequence[str]
    measures: Sequence[str]
    exact: Floats
    estimates: Floats
    ratios: Floats
    users: int
    items: int

    @classmethod
    def of(cls, recipe: Recipe, cells: Cells) -> Values:
        """Concatenate the blocks of every method."""
        methods = [*recipe.parameters["methods"]]
        estimators = [*recipe.parameters["estimators"]]
        measures = [*recipe.parameters["measures"]]
        blocks_by_method = [results(cells, method=name) for name in methods]
        exact = np.array([[blocks[0]["exact"][m] for m in measures] for blocks in blocks_by_method])
        estimates = np.array(
            [
                [np.hstack([block["estimates"][name] for block in blocks]) for name in estimators]
                for blocks in blocks_by_method
            ]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(
                exact[:, None, :, None] > 0, estimates / exact[:, None, :, None], math.nan
            )
        users, items = (blocks_by_method[0][0][name] for name in ("users", "items"))
        return cls(methods, estimators, measures, exact, estimates, ratios, users, items)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the ratios over repeats."""
        return Moments.of(self.ratios)

    @property
    def n_repeats(self) -> int:
        return self.ratios.shape[-1]

    def rows(self, names: Sequence[str]) -> list[int]:
        """Return the positions of methods in `methods`."""
        return [self.methods.index(name) for name in names]


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of ratios over repeats: over all repeats, then without each of them.

    Attributes
    ----------
    mean, sd, error : float64, (n_methods, n_estimators, n_measures, 1 + n_repeats)
        The mean of estimate / exact, its standard deviation, and the root-mean-square of its
        difference from 1.
    """

    mean: Floats
    sd: Floats
    error: Floats

    @classmethod
    def of(cls, ratios: Floats) -> Moments:
        """Compute the moments over the last axis, of all repeats and without each of them."""
        mean = _leave_one_out_means(ratios)
        n = ratios.shape[-1]
        counts = np.array([n, *[max(n - 1, 1)] * n], np.float64)
        spread = np.maximum(_leave_one_out_means(ratios**2) - mean**2, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            sd = np.sqrt(spread * counts / (counts - 1.0))
        return cls(mean, sd, np.sqrt(_leave_one_out_means((ratios - 1.0) ** 2)))

    def of_methods(self, rows: Sequence[int]) -> Moments:
        """Return the moments of a selection of methods."""
        return Moments(self.mean[rows], self.sd[rows], self.error[rows])

    @cached_property
    def mean_error(self) -> Floats:
        """The geometric mean of errors over methods: (n_estimators, n_measures, 1 + n_repeats)."""
        return geometric_mean(self.error)

    @cached_property
    def largest(self) -> Floats:
        """The largest error over methods: (n_estimators, n_measures, 1 + n_repeats)."""
        return self.error.max(axis=0)

    @cached_property
    def bias(self) -> Floats:
        """The mean distance of the mean ratio from 1: (n_estimators, 1 + n_repeats)."""
        return np.abs(self.mean - 1.0).mean(axis=(0, 2))


def jackknife(statistics: Floats) -> Measured:
    """Return a statistic over all repeats and its jackknife error, from an array of (1 + n,)."""
    n = statistics.size - 1
    if n < 2:
        return Measured(float(statistics[0]), n=max(n, 1))
    deviations = statistics[1:] - statistics[1:].mean()
    return Measured(
        float(statistics[0]), math.sqrt((n - 1) / n * float(deviations @ deviations)), n
    )


def _leave_one_out_means(values: Floats) -> Floats:
    """Return the mean over the last axis, followed by the means without each of its values."""
    n = values.shape[-1]
    total = values.sum(axis=-1, keepdims=True)
    remaining_means = (total - values) / (n - 1) if n > 1 else np.full_like(values, math.nan)
    return np.concatenate([total / n, remaining_means], axis=-1)


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return exact values, ratios by method, and the figures over all compared methods."""
    values = Values.of(recipe, cells)
    papers, own_names = recipe.parameters["papers"], recipe.parameters["own"]
    figures: dict[str, Measured] = {}
    for i, method in enumerate(values.methods):
        for k, measure in enumerate(values.measures):
            exact = Measured(UNIT * values.exact[i, k], n=values.users)
            figures[f"{method} {measure}: exact"] = exact
            for name in (*papers, *own_names):
                ratio = values.moments.mean[i, values.estimators.index(name), k]
                figures[f"{method} {measure}: {name} / exact"] = jackknife(ratio)
    rows = values.rows(recipe.parameters["compared"])
    moments = values.moments.of_methods(rows)
    figures |= error_figures([*papers, *own_names], values.estimators, values.measures, moments)
    figures |= paper_figures(papers, values.estimators, values.exact[rows], moments)
    columns = [values.estimators.index(name) for name in papers]
    for name in own_names:
        j = values.estimators.index(name)
        for k, measure in enumerate(values.measures):
            for label, error in (("error", moments.mean_error), ("largest error", moments.largest)):
                ratio = error[j, k] / error[columns, k].min(axis=0)
                figures[f"{name} / best of the paper's: {label}, {measure}"] = jackknife(ratio)
    return figures


def error_figures(
    shown: Sequence[str], estimators: Sequence[str], measures: Sequence[str], moments: Moments
) -> dict[str, Measured]:
    """Return the error and the largest error of each estimator by measure, and its bias."""
    figures: dict[str, Measured] = {}
    for name in shown:
        j = estimators.index(name)
        for k, measure in enumerate(measures):
            figures[f"{name}: error, {measure}"] = jackknife(moments.mean_error[j, k])
            figures[f"{name}: largest error, {measure}"] = jackknife(moments.largest[j, k])
        figures[f"{name}: bias"] = jackknife(moments.bias[j])
    return figures


def paper_figures(
    papers: Sequence[str], estimators: Sequence[str], exact: Floats, moments: Moments
) -> dict[str, Measured]:
    """Return comparisons of the paper's estimators in bias, order of methods and spread."""
    columns = [estimators.index(name) for name in papers]
    best = _least_biased(moments.mean[..., 0][:, columns])
    figures: dict[str, Measured] = {}
    for i, (name, j) in enumerate(zip(papers, columns, strict=True)):
        figures[f"{name}: rows with least or second least bias"] = Measured(float(best[i]))
        ordered = _n_pairs_in_order(exact, exact * moments.mean[:, j, :, 0])
        figures[f"{name}: pairs of methods in exact order"] = Measured(float(ordered))
    reference_sd = moments.sd[:, estimators.index("BV(0.01)")]
    for name in ("MLE", "WMLE", "MES"):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = moments.sd[:, estimators.index(name)] / reference_sd
        spread = geometric_mean(ratio.reshape(-1, ratio.shape[-1]))
        figures[f"{name} / BV(0.01): spread"] = jackknife(spread)
    others = [estimators.index(name) for name in papers if name not in ("CLS", "WMLE")]
    excess = moments.bias[estimators.index("CLS")] - moments.bias[others].max(axis=0)
    figures["CLS − the worst of BV, MLE and MES: bias"] = jackknife(excess)
    return figures


def _least_biased(means: Floats) -> NDArray[np.int64]:
    """Count for each estimator the rows in which its bias is one of the two smallest."""
    bias = np.abs(means - 1.0)
    bias_ranks = np.argsort(np.argsort(bias, axis=1, kind="stable"), axis=1)
    return (bias_ranks < 2).sum(axis=(0, 2))


def _n_pairs_in_order(exact: Floats, estimates: Floats) -> int:
    """Return the number of pairs of methods that estimates order correctly, over all measures."""
    return sum(
        int(((exact[i] - exact[j]) * (estimates[i] - estimates[j]) > 0).sum())
        for i, j in combinations(range(len(exact)), 2)
    )


def paper_values(recipe: Recipe) -> Mapping[str, Floats] | None:
    """Return the paper's values "mean" and "sd" by name, in thousandths, or None.

    Both are float64, (n_methods, 1 + n_estimators, n_measures). The first column contains the
    exact values, followed by the estimators in `papers`.
    """
    table, measures = recipe.parameters.get("paper"), recipe.parameters["measures"]
    if table is None:
        return None
    return {
        part: np.array(
            [
                np.transpose([table[part][name][m] for m in measures])
                for name in recipe.parameters["compared"]
            ]
        )
        for part in ("mean", "sd")
    }


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
        samples = context.drawn(name, parameters["n_negatives"], seed)
        for label, estimator, ranks in context.readings(samples):
            rows_by_label.setdefault(label, []).append(
                estimates(estimator, ranks, parameters["measures"])
            )
    return {
        "users": context.held_out.n_users,
        "items": context.held_out.n_items,
        "exact": {measure: exact.expect(measure) for measure in parameters["measures"]},
        "estimates": {label: _columns(values) for label, values in rows_by_label.items()},
    }


def _columns(values: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return a row of repeats for each measure, with few digits."""
    return [
        [float(f"{estimate:.{_DIGITS}g}") for estimate in row] for row in zip(*values, strict=True)
    ]


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Figure | Table]:
    """Yield levels with the paper's, ratios to exact values, and errors of the estimators."""
    values, parameters = Values.of(recipe, cells), recipe.parameters
    names = [*parameters["papers"], *parameters["own"]]
    plotted = [name for name in names if name not in parameters["not_plotted"]]
    for k, measure in enumerate(values.measures):
        yield {
            "caption": f"{measure} in thousandths: mean ± standard deviation over "
            f"{values.n_repeats} samples of {parameters['n_negatives']} of {values.items:,} items "
            f"for each of {values.users:,} users",
            "columns": ["estimator", *values.methods],
            "rows": [*_level_rows(recipe, values, k)],
            "align": ["left", *["right"] * len(values.methods)],
        }
        title = f"{measure}: mean estimate divided by the exact value (printed)"
        ratio = f"{{1}} {measure}: {{0}} / exact"
        yield Grid(title, names, values.methods, ratio, head="estimator")
        yield _ratios(values, plotted, measure)
    for kind in ("error", "largest error"):
        title = f"Relative {kind} over the compared methods, the root mean square over samples"
        columns = {measure: f"{kind}, {measure}" for measure in values.measures}
        yield Grid(title, names, columns, "{}: {}", head="estimator")
    best = [name for name in plotted if name != _WORST]
    columns = {measure: f"error, {measure}" for measure in values.measures}
    axis = "root-mean-square error / exact value"
    title = "Relative error of the estimators"
    yield Grid(title, best, columns, "{}: {}", text="", digits=2, plot="intervals", axis=axis)
    yield Grid("Mean absolute bias", names, ["bias"], "{}: {}", head="estimator")


def _ratios(values: Values, shown: Sequence[str], measure: str) -> Figure:
    k = values.measures.index(measure)

    def spread(name: str, i: int) -> views.Row:
        index = (i, values.estimators.index(name), k, 0)
        mean, sd = values.moments.mean[index], values.moments.sd[index]
        ends = {"low": mean - sd, "high": mean + sd} if np.isfinite(sd) else {}
        return {**views.point_row(name, mean), **ends}

    return views.intervals(
        f"{measure}: estimate divided by exact value",
        {method: [spread(name, i) for name in shown] for i, method in enumerate(values.methods)},
        axis_label="estimate / exact value",
        digits=2,
        caption=f"Mean ± standard deviation of {values.n_repeats} samples.",
    )


def _level_rows(recipe: Recipe, values: Values, k: int) -> Iterator[Sequence[Any]]:
    """Yield a row for the exact values and each estimator, with the paper's row below."""
    printed, names = paper_values(recipe), ["exact", *recipe.parameters["papers"]]
    compared = [*recipe.parameters["compared"]]
    for j, name in enumerate(["exact", *values.estimators]):
        mean, sd = UNIT * values.exact[:, k], np.full(len(values.methods), np.nan)
        if j:
            ratio = values.moments.mean[:, j - 1, k, 0], values.moments.sd[:, j - 1, k, 0]
            mean, sd = mean * ratio[0], mean * ratio[1]
        yield [name, *map(_level, mean, sd)]
        if printed is not None and name in names:
            found = [printed[part][:, names.index(name), k] for part in ("mean", "sd")]
            texts = dict(zip(compared, map(_level, *found), strict=True))
            yield [f"{name}, printed", *(texts.get(method, "") for method in values.methods)]


def _level(mean: float, sd: float) -> str:
    return views.level(Measured(mean, sd if sd else math.nan), 2)


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of means, standard deviations and errors of every estimator for every method."""
