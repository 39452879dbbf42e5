"""From repeats to ratios of estimate to exact, and to what is told of all methods together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.papers.jin2021.tables_values import Moments, Values, geometric_mean
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured

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
