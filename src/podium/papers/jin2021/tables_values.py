"""What repeats of sampled evaluations gave, as arrays, with jackknife errors of what follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, parts

Floats = NDArray[np.float64]


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
        done = {
            name: [c for k, c in cells.items() if parts(k)["method"] == name] for name in methods
        }
        exact = np.array([[done[name][0]["exact"][m] for m in measures] for name in methods])
        estimates = np.array(
            [
                [
                    np.hstack([block["estimates"][each] for block in done[name]])
                    for each in estimators
                ]
                for name in methods
            ]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(
                exact[:, None, :, None] > 0, estimates / exact[:, None, :, None], math.nan
            )
        first = done[methods[0]][0]
        users, items = first["users"], first["items"]
        return cls(methods, estimators, measures, exact, estimates, ratios, users, items)

    @property
    def n_repeats(self) -> int:
        return self.ratios.shape[-1]

    def rows(self, names: Sequence[str]) -> list[int]:
        """Return the places of methods."""
        return [self.methods.index(name) for name in names]

    def columns(self, names: Sequence[str]) -> list[int]:
        """Return the places of estimators."""
        return [self.estimators.index(name) for name in names]


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

    def figure(self, statistic: Callable[[Moments], Floats]) -> Measured:
        """Return a statistic of moments, (1 + n_repeats,), with its jackknife standard error."""
        found = statistic(self)
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


Floats = NDArray[np.float64]

UNIT = 1e3
"""Levels are told in thousandths, as the paper prints them."""


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return exact values, ratios by method, and the figures of all compared methods together."""
    values = Values.of(recipe, cells)
    moments = Moments.of(values.ratios)
    found = dict(_levels(recipe, values, moments))
    rows = values.rows(recipe.parameters["compared"])
    shown = [*recipe.parameters["papers"], *recipe.parameters["own"]]
    together = moments.of_methods(rows)
    found |= of_all(shown, values.estimators, values.measures, together)
    papers = recipe.parameters["papers"]
    found |= of_the_papers(papers, values.estimators, values.exact[rows], together)
    return found | dict(_against_the_best(recipe, values, together))


def _levels(recipe: Recipe, values: Values, moments: Moments) -> Iterator[tuple[str, Measured]]:
    shown = [*recipe.parameters["papers"], *recipe.parameters["own"]]
    for i, method in enumerate(values.methods):
        for k, measure in enumerate(values.measures):
            yield f"{method} {measure}: exact", Measured(UNIT * values.exact[i, k], n=values.users)
            for name, j in zip(shown, values.columns(shown), strict=True):
                ratio = moments.figure(partial(_mean_ratio, place=(i, j, k)))
                yield f"{method} {measure}: {name} / exact", ratio


def of_all(
    shown: Sequence[str], estimators: Sequence[str], measures: Sequence[str], moments: Moments
) -> dict[str, Measured]:
    """Return each estimator's error by measure, its largest, and its bias."""
    found: dict[str, Measured] = {}
    for name in shown:
        j = estimators.index(name)
        for k, measure in enumerate(measures):
            found[f"{name}: error, {measure}"] = moments.figure(partial(_error, place=(j, k)))
            most = partial(_largest, place=(j, k))
            found[f"{name}: largest error, {measure}"] = moments.figure(most)
        found[f"{name}: bias"] = moments.figure(partial(_bias, column=j))
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
    for name in ("MLE", "WMLE", "MES"):
        pair = estimators.index(name), estimators.index("BV(0.01)")
        found[f"{name} / BV(0.01): spread"] = moments.figure(partial(_spread, columns=pair))
    others = [estimators.index(name) for name in papers if name not in ("CLS", "WMLE")]
    worse = partial(_more_biased, column=estimators.index("CLS"), others=others)
    found["CLS − the worst of BV, MLE and MES: bias"] = moments.figure(worse)
    return found


def _against_the_best(
    recipe: Recipe, values: Values, moments: Moments
) -> Iterator[tuple[str, Measured]]:
    """Yield the errors of podium's estimators over the least of any of the paper's."""
    papers = values.columns(recipe.parameters["papers"])
    for name in recipe.parameters["own"]:
        j = values.estimators.index(name)
        for k, measure in enumerate(values.measures):
            for label, statistic in (("error", _error), ("largest error", _largest)):
                ratio = partial(_over_best, statistic=statistic, column=j, others=papers, k=k)
                key = f"{name} / best of the paper's: {label}, {measure}"
                yield key, moments.figure(ratio)


def _mean_ratio(moments: Moments, place: tuple[int, int, int]) -> Floats:
    return moments.mean[place]


def _error(moments: Moments, place: tuple[int, int]) -> Floats:
    """Return the geometric mean over methods of the relative error."""
    return geometric_mean(moments.error[:, place[0], place[1]])


def _largest(moments: Moments, place: tuple[int, int]) -> Floats:
    return moments.error[:, place[0], place[1]].max(axis=0)


def _bias(moments: Moments, column: int) -> Floats:
    """Return the mean over methods and measures of what the mean estimate is off by."""
    return np.abs(moments.mean[:, column] - 1.0).mean(axis=(0, 1))


def _more_biased(moments: Moments, column: int, others: Sequence[int]) -> Floats:
    worst = np.max([_bias(moments, other) for other in others], axis=0)
    return _bias(moments, column) - worst


def _spread(moments: Moments, columns: tuple[int, int]) -> Floats:
    """Return how many times as much one estimator spreads as another: a geometric mean."""
    first, second = (moments.sd[:, j] for j in columns)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = first / second
    return geometric_mean(ratio.reshape(-1, ratio.shape[-1]))


def _over_best(
    moments: Moments, statistic: Any, column: int, others: Sequence[int], k: int
) -> Floats:
    best = np.min([statistic(moments, (other, k)) for other in others], axis=0)
    return statistic(moments, (column, k)) / best


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
