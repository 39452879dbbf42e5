"""From curves of recall to how far their mean is from the exact one, in all and rank by rank."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, mean, parts

EXACT, SAMPLE = "exact", "sample"
"""What a cell has: the exact curve of a recommender, or the estimates of one sample."""

CDF, PMF = "cdf distance", "pmf distance"
"""How far the mean curve is from the exact one: mean distance over ranks of recall, and of the
shares of users at each rank, in parts of the exact one's mean."""

ONE, APART = "cdf distance of one sample", "cdf apart"
"""The same of recall, of each sample's curve on average; and of two estimators' mean curves."""

CHANCE = "users' chance"
"""How far shares of so many users are, rank by rank, from those of infinitely many."""

Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, eq=False)
class Curves:
    """Recall at ranks 1 .. depth by a recommender.

    Attributes
    ----------
    exact : float64, (depth,)
    runs : dict of str to float64, (n_runs, depth)
        Of each estimator, a row for each sample.
    users : int
    """

    exact: Floats
    runs: dict[str, Floats]
    users: int


def curves(recipe: Recipe, cells: Cells, method: str) -> Curves:
    """Collect the cells of a recommender."""
    asked = [(parts(cell), found) for cell, found in cells.items()]
    mine = [(told["part"], found) for told, found in asked if told["method"] == method]
    exact = next(found for part, found in mine if part == EXACT)
    samples = [found["recall"] for part, found in mine if part == SAMPLE]
    runs = {
        label: np.array([each[label] for each in samples], np.float64)
        for label in recipe.parameters["estimators"]
    }
    return Curves(np.array(exact["recall"], np.float64), runs, int(exact["users"]))


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return levels at a few ranks, distances of mean curves, and differences of both."""
    found: dict[str, Measured] = {}
    for method in recipe.parameters["methods"]:
        found |= {f"{method}, {name}": each for name, each in _of(recipe, cells, method).items()}
    return found


def _of(recipe: Recipe, cells: Cells, method: str) -> dict[str, Measured]:
    read = curves(recipe, cells, method)
    noise = chance(read.exact, read.users)
    found = {f"{CHANCE} {PMF}": Measured(noise, n=read.users)}
    for label, runs in read.runs.items():
        for k in recipe.parameters["cutoffs"]:
            found[f"{label} − exact recall@{k}"] = mean(runs[:, k - 1] - read.exact[k - 1])
        found |= {f"{label} {name}": each for name, each in _distances(runs, read.exact).items()}
        shares = found[f"{label} {PMF}"]
        found[f"{label} {PMF} / {CHANCE}"] = Measured(
            shares.value / noise, shares.std_error / noise, shares.n
        )
    for one, other in recipe.parameters["compared"]:
        both = np.stack([read.runs[one], read.runs[other]], axis=1)
        compared = _compared(both, read.exact, recipe.parameters["cutoffs"][0])
        found |= {f"{one} − {other} {name}": each for name, each in compared.items()}
    return found


def _distances(runs: Floats, exact: Floats) -> dict[str, Measured]:
    return {
        CDF: of_mean(runs, lambda curve: distance(curve, exact)),
        PMF: of_mean(runs, lambda curve: rankwise(curve, exact)),
        f"{PMF} − {CDF}": of_mean(
            runs, lambda curve: rankwise(curve, exact) - distance(curve, exact)
        ),
        ONE: mean(distance(run, exact) for run in runs),
    }


def _compared(pairs: Floats, exact: Floats, k: int) -> dict[str, Measured]:
    """Return one estimator less another, on the same samples."""

    def nearer(pair: Floats) -> float:
        return distance(pair[0], exact) - distance(pair[1], exact)

    return {
        f"recall@{k}": mean(pairs[:, 0, k - 1] - pairs[:, 1, k - 1]),
        CDF: of_mean(pairs, nearer),
        ONE: mean(nearer(pair) for pair in pairs),
        APART: of_mean(pairs, lambda pair: distance(pair[0], pair[1])),
    }


def distance(curve: Floats, exact: Floats) -> float:
    """Return the mean distance of two curves, over the mean of the second."""
    return float(np.abs(curve - exact).mean() / exact.mean())


def rankwise(curve: Floats, exact: Floats) -> float:
    """Return the distance of two curves' shares at each rank."""
    return distance(*(np.diff(each, prepend=0.0) for each in (curve, exact)))


def chance(exact: Floats, users: int) -> float:
    """Return how far users' shares at each rank are from those of infinitely many like them.

    The mean distance of a normal variable with a Poisson count's variance.
    """
    share = np.diff(exact, prepend=0.0)
    return float(np.sqrt(2.0 * share / (math.pi * users)).mean() / share.mean())


def of_mean(runs: Floats, statistic: Callable[[Floats], float]) -> Measured:
    """Return a statistic of the mean over runs; its standard error leaves out a run at a time."""
    n = runs.shape[0]
    value = statistic(runs.mean(axis=0))
    if n < 2:
        return Measured(value, n=n)
    total = runs.sum(axis=0)
    others = np.array([statistic((total - each) / (n - 1)) for each in runs])
    return Measured(value, float(others.std() * math.sqrt(n - 1)), n)
