"""What repeats of sampled evaluations gave, as arrays, with jackknife errors of what follows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from podium.papers.jin2021.protocol import Floats
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured
from podium.papers.views import select

UNIT = 1e3
"""Levels are told in thousandths, as the paper prints them."""


@dataclass(frozen=True, eq=False)
class Values:
    """Estimates, exact values, and the former over the latter.

    Attributes
    ----------
    methods, estimators, measures : sequence of str
    exact : float64, (n_methods, n_measures)
    estimates : float64, (n_methods, n_estimators, n_measures, n_repeats)
    ratios : float64, (n_methods, n_estimators, n_measures, n_repeats)
        Estimate over exact; nan where the exact value is 0.
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
        """Join the blocks of every method."""
        methods = [*recipe.parameters["methods"]]
        estimators = [*recipe.parameters["estimators"]]
        measures = [*recipe.parameters["measures"]]
        done = [[block for _, block in select(cells, method=name)] for name in methods]
        exact = np.array([[blocks[0]["exact"][m] for m in measures] for blocks in done])
        estimates = np.array(
            [
                [np.hstack([block["estimates"][name] for block in blocks]) for name in estimators]
                for blocks in done
            ]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(
                exact[:, None, :, None] > 0, estimates / exact[:, None, :, None], math.nan
            )
        users, items = (done[0][0][name] for name in ("users", "items"))
        return cls(methods, estimators, measures, exact, estimates, ratios, users, items)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the ratios over repeats."""
        return Moments.of(self.ratios)

    @property
    def n_repeats(self) -> int:
        return self.ratios.shape[-1]

    def rows(self, names: Sequence[str]) -> list[int]:
        """Return the places of methods."""
        return [self.methods.index(name) for name in names]


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of ratios over repeats: all of them, then without each in turn.

    Attributes
    ----------
    mean, sd, error : float64, (n_methods, n_estimators, n_measures, 1 + n_repeats)
        Mean estimate over exact, its standard deviation, and the root mean square of what it is
        off by, over exact too.
    """

    mean: Floats
    sd: Floats
    error: Floats

    @classmethod
    def of(cls, ratios: Floats) -> Moments:
        """Take the moments of the last axis, which is replaced by what is left out."""
        mean = _left_out(ratios)
        n = ratios.shape[-1]
        counts = np.array([n, *[max(n - 1, 1)] * n], np.float64)
        spread = np.maximum(_left_out(ratios**2) - mean**2, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            sd = np.sqrt(spread * counts / (counts - 1.0))
        return cls(mean, sd, np.sqrt(_left_out((ratios - 1.0) ** 2)))

    @classmethod
    def printed(cls, mean: Floats, sd: Floats) -> Moments:
        """Return the moments that a paper prints, over exact; no repeat can be left out."""
        error = np.sqrt((mean - 1.0) ** 2 + sd**2)
        return cls(mean[..., None], sd[..., None], error[..., None])

    def of_methods(self, rows: Sequence[int]) -> Moments:
        """Return the moments of some methods alone."""
        return Moments(self.mean[rows], self.sd[rows], self.error[rows])

    @cached_property
    def of_all(self) -> Floats:
        """Geometric mean of the errors over methods: (n_estimators, n_measures, 1 + n_repeats)."""
        return geometric_mean(self.error)

    @cached_property
    def largest(self) -> Floats:
        """Largest error of any method: (n_estimators, n_measures, 1 + n_repeats)."""
        return self.error.max(axis=0)

    @cached_property
    def bias(self) -> Floats:
        """Mean distance from 1 of the mean ratio: (n_estimators, 1 + n_repeats)."""
        return np.abs(self.mean - 1.0).mean(axis=(0, 2))


def jackknife(found: Floats) -> Measured:
    """Return a statistic of all repeats, and its error from those without each: (1 + n,)."""
    n = found.size - 1
    if n < 2:
        return Measured(float(found[0]), n=max(n, 1))
    around = found[1:] - found[1:].mean()
    return Measured(float(found[0]), math.sqrt((n - 1) / n * float(around @ around)), n)


def _left_out(values: Floats) -> Floats:
    """Return the mean over the last axis, then the means without each of its values."""
    n = values.shape[-1]
    total = values.sum(axis=-1, keepdims=True)
    others = (total - values) / (n - 1) if n > 1 else np.full_like(values, math.nan)
    return np.concatenate([total / n, others], axis=-1)


def geometric_mean(values: Floats) -> Floats:
    """Return the geometric mean over the first axis."""
    return np.exp(np.log(values).mean(axis=0))


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return exact values, ratios by method, and the figures of all compared methods together."""
    values = Values.of(recipe, cells)
    papers, own = recipe.parameters["papers"], recipe.parameters["own"]
    found: dict[str, Measured] = {}
    for i, method in enumerate(values.methods):
        for k, measure in enumerate(values.measures):
            exact = Measured(UNIT * values.exact[i, k], n=values.users)
            found[f"{method} {measure}: exact"] = exact
            for name in (*papers, *own):
                ratio = values.moments.mean[i, values.estimators.index(name), k]
                found[f"{method} {measure}: {name} / exact"] = jackknife(ratio)
    rows = values.rows(recipe.parameters["compared"])
    together = values.moments.of_methods(rows)
    found |= of_all([*papers, *own], values.estimators, values.measures, together)
    found |= of_the_papers(papers, values.estimators, values.exact[rows], together)
    columns = [values.estimators.index(name) for name in papers]
    for name in own:
        j = values.estimators.index(name)
        for k, measure in enumerate(values.measures):
            for label, error in (("error", together.of_all), ("largest error", together.largest)):
                ratio = error[j, k] / error[columns, k].min(axis=0)
                found[f"{name} / best of the paper's: {label}, {measure}"] = jackknife(ratio)
    return found


def of_all(
    shown: Sequence[str], estimators: Sequence[str], measures: Sequence[str], moments: Moments
) -> dict[str, Measured]:
    """Return each estimator's error by measure, its largest, and its bias."""
    found: dict[str, Measured] = {}
    for name in shown:
        j = estimators.index(name)
        for k, measure in enumerate(measures):
            found[f"{name}: error, {measure}"] = jackknife(moments.of_all[j, k])
            found[f"{name}: largest error, {measure}"] = jackknife(moments.largest[j, k])
        found[f"{name}: bias"] = jackknife(moments.bias[j])
    return found


def of_the_papers(
    papers: Sequence[str], estimators: Sequence[str], exact: Floats, moments: Moments
) -> dict[str, Measured]:
    """Return how the paper's estimators compare with each other: in bias, order and spread."""
    columns = [estimators.index(name) for name in papers]
    best = _least_biased(moments.mean[..., 0][:, columns])
    found: dict[str, Measured] = {}
    for place, (name, j) in enumerate(zip(papers, columns, strict=True)):
        found[f"{name}: rows with least or second least bias"] = Measured(float(best[place]))
        ordered = _in_order(exact, exact * moments.mean[:, j, :, 0])
        found[f"{name}: pairs of methods in exact order"] = Measured(float(ordered))
    narrow = moments.sd[:, estimators.index("BV(0.01)")]
    for name in ("MLE", "WMLE", "MES"):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = moments.sd[:, estimators.index(name)] / narrow
        spread = geometric_mean(ratio.reshape(-1, ratio.shape[-1]))
        found[f"{name} / BV(0.01): spread"] = jackknife(spread)
    others = [estimators.index(name) for name in papers if name not in ("CLS", "WMLE")]
    more = moments.bias[estimators.index("CLS")] - moments.bias[others].max(axis=0)
    found["CLS − the worst of BV, MLE and MES: bias"] = jackknife(more)
    return found


def _least_biased(means: Floats) -> NDArray[np.int64]:
    """Return in how many rows of method and measure each estimator is one of the best two."""
    off = np.abs(means - 1.0)
    places = np.argsort(np.argsort(off, axis=1, kind="stable"), axis=1)
    return (places < 2).sum(axis=(0, 2))


def _in_order(exact: Floats, estimates: Floats) -> int:
    """Return how many pairs of methods estimates put in the exact order, over all measures."""
    return sum(
        int(((exact[i] - exact[j]) * (estimates[i] - estimates[j]) > 0).sum())
        for i, j in combinations(range(len(exact)), 2)
    )


def paper_values(recipe: Recipe) -> Mapping[str, Floats] | None:
    """Return what the paper prints, in thousandths, or None: "mean" and "sd" by name.

    Both are float64, (n_methods, 1 + n_estimators, n_measures): exact first, then `papers`.
    """
    table = recipe.parameters.get("paper")
    if table is None:
        return None
    return {
        part: np.array(
            [
                np.transpose([table[part][name][m] for m in recipe.parameters["measures"]])
                for name in recipe.parameters["compared"]
            ]
        )
        for part in ("mean", "sd")
    }


def paper_moments(recipe: Recipe) -> tuple[Floats, Moments] | None:
    """Return the paper's exact values and its moments over them."""
    printed = paper_values(recipe)
    if printed is None:
        return None
    exact = printed["mean"][:, :1]
    over = printed["mean"][:, 1:] / exact, printed["sd"][:, 1:] / exact
    return exact[:, 0] / UNIT, Moments.printed(*over)
