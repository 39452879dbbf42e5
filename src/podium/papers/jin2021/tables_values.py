"""What repeats of sampled evaluations gave, as arrays, with jackknife errors of what follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Measured, parts

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
