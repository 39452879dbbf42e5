"""From values by query to five-fold means, and to differences on the same queries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.papers.folds import N_FOLDS
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, key
from podium.papers.xia2009.letor_methods import CUTOFFS, METHODS, PODIUM, Method

Z = 1.96  # an interval of 95 %
LISTMLE, TOP_10 = "ListMLE", "Top-10 ListMLE"
FAMILIES = (LISTMLE, "ListNet", "RankCosine")
RIVALS = ("RankBoost", "Ranking SVM", "ListNet", "RankCosine")
OVER_MEASURES = ", mean over measures"
SHOWING = "intervals that exclude 0"
DRAWN = "share of places that an irrelevant row has by chance"
BEST = "measures in which Top-10 ListMLE is no worse than the four baselines"
ORDERED = "pairs of methods in the printed order, share"


class Values:
    """All values of one collection: by measure, method and draw a number for each test query.

    Attributes
    ----------
    data : str
        The collection's name.
    before : str
        What its figures' names begin with: nothing where the recipe has one collection.
    weights : float64, (n_queries,)
        1 / (folds x the fold's queries): a weighted sum is the mean of the folds' means.
    folds : int64, (n_queries,)
    """

    def __init__(
        self, recipe: Recipe, cells: Cells, data: str, methods: Mapping[str, Method] = METHODS
    ) -> None:
        self._recipe, self._cells, self.data, self._methods = recipe, cells, data, methods
        self.before = f"{data} " if len(recipe.parameters["collections"]) > 1 else ""
        first = recipe.parameters["methods"][0]
        sizes = [len(cells[self._key(first, 0, fold)]["query"]) for fold in _FOLDS]
        self.folds = np.repeat(np.arange(N_FOLDS), sizes)
        self.weights = 1.0 / (N_FOLDS * np.array(sizes, np.float64)[self.folds])

    def of(self, method: str, measure: str) -> NDArray[np.float64]:
        """Return what each query has under each draw, (n_draws, n_queries)."""
        return np.array([self._of_draw(method, measure, draw) for draw in self.draws(method)])

    def _of_draw(self, method: str, measure: str, draw: int) -> NDArray[np.float64]:
        found = [self._cells[self._key(method, draw, fold)]["values"] for fold in _FOLDS]
        return np.concatenate([by_measure[measure] for by_measure in found])

    def draws(self, method: str) -> Sequence[int]:
        """Return the numbers of the method's draws."""
        return range((self._recipe.repeats or 1) if self._methods[method].draws else 1)

    def chosen(self, method: str) -> Iterator[Mapping[str, Any]]:
        """Yield what was chosen, by draw and fold."""
        for draw, fold in itertools.product(self.draws(method), _FOLDS):
            yield self._cells[self._key(method, draw, fold)]["chosen"]

    def _key(self, method: str, draw: int, fold: int) -> str:
        return key(data=self.data, method=method, draw=draw, fold=fold)


def collections(recipe: Recipe, cells: Cells) -> list[Values]:
    """Return the values of every collection."""
    return [Values(recipe, cells, name) for name in recipe.parameters["collections"]]


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return each method's means, the differences between methods, and what sums them up."""
    found: dict[str, Measured] = {}
    for values in collections(recipe, cells):
        levels = {
            (name, measure): level(values.of(name, measure), values)
            for name in recipe.parameters["methods"]
            for measure in recipe.parameters["measures"]
        }
        found |= {f"{values.before}{name} {m}": each for (name, m), each in levels.items()}
        for one, other in pairs(recipe):
            found |= differences(recipe, values, one, other)
        found |= _modifications(recipe, found, values.before)
        found |= _drawn(cells, values)
        found |= _summaries(recipe, levels, values.before)
    return found


def pairs(recipe: Recipe) -> list[tuple[str, str]]:
    """Return what is compared, of those methods that the recipe has."""
    there = set(recipe.parameters["methods"])
    modified = [(f"Top-{k} {name}", name) for name in FAMILIES for k in CUTOFFS]
    rivals = [(TOP_10, rival) for rival in RIVALS]
    others = [(name, TOP_10) for name in METHODS if METHODS[name].kind == PODIUM]
    return [pair for pair in (*modified, *rivals, *others) if {*pair} <= there]


def level(values: NDArray[np.float64], of: Values) -> Measured:
    """Return the mean of the five folds' means, and the standard error of it over folds."""
    by_fold = np.bincount(of.folds, values.mean(axis=0) * of.weights) * N_FOLDS
    error = float(by_fold.std(ddof=1)) / math.sqrt(N_FOLDS)
    return Measured(float(by_fold.mean()), error, N_FOLDS)


def spread(values: NDArray[np.float64], of: Values) -> float:
    """Return how much the five-fold mean of one draw varies over draws; nan with a single one."""
    means = by_draw(values, of)
    return float(means.std(ddof=1)) if means.size > 1 else math.nan


def by_draw(values: NDArray[np.float64], of: Values) -> NDArray[np.float64]:
    """Return the mean of the five folds' means under each draw."""
    return (values * of.weights).sum(axis=1)


def differences(recipe: Recipe, values: Values, one: str, other: str) -> Figures:
    """Return how far one method is above another, by measure and over all of them."""
    gaps = {
        measure: values.of(one, measure) - values.of(other, measure)
        for measure in recipe.parameters["measures"]
    }
    label = f"{values.before}{one} − {other}"
    found = {measure: difference(gap, values.weights) for measure, gap in gaps.items()}
    together = np.mean([*gaps.values()], axis=0)
    return {
        **{f"{label} {measure}": each for measure, each in found.items()},
        f"{label}{OVER_MEASURES}": difference(together, values.weights),
    }


def difference(gap: NDArray[np.float64], weights: NDArray[np.float64]) -> Measured:
    """Return a mean difference with the error of drawing queries and drawing orders.

    Parameters
    ----------
    gap : float64, (n_draws, n_queries)
        Each query's difference under each draw.
    weights : float64, (n_queries,)
        Of each query, with a sum of 1.

    Returns
    -------
    Measured
        `n` is the number of queries. The variance over queries is that of the mean over draws;
        that of the draws' means over their number is added, since all queries share a draw.
    """
    n_draws, n_queries = gap.shape
    by_query, by_draw = gap.mean(axis=0), (gap * weights).sum(axis=1)
    mean = float(by_draw.mean())
    of_queries = float(np.sum((weights * (by_query - mean)) ** 2)) * n_queries / (n_queries - 1)
    of_draws = float(by_draw.var(ddof=1)) / n_draws if n_draws > 1 else 0.0
    return Measured(mean, math.sqrt(of_queries + of_draws), n_queries)


def _modifications(recipe: Recipe, found: Figures, before: str) -> Figures:
    """Return what sums up the top-k modifications: where a gain is lowest, and how many show."""
    figures: dict[str, Measured] = {}
    for name in FAMILIES:
        gains: list[Measured] = []
        for one, other in pairs(recipe):
            if other == name and one.endswith(f" {name}"):
                label = f"{before}{one} − {other}"
                here = [found[f"{label} {measure}"] for measure in recipe.parameters["measures"]]
                figures[f"{label}, lowest interval of all measures"] = min(here, key=_low)
                gains += here
        if gains:
            showing = sum(abs(gain.value) > Z * gain.std_error for gain in gains)
            figures[f"{before}Top-k {name} − {name}, {SHOWING}"] = Measured(float(showing))
    return figures


def _summaries(recipe: Recipe, levels: Mapping[tuple[str, str], Measured], before: str) -> Figures:
    """Return in how many measures top-10 ListMLE leads, and how far the printed order is ours."""
    figures: dict[str, Measured] = {}
    if {TOP_10, *RIVALS} <= set(recipe.parameters["methods"]):
        leads = [
            all(levels[TOP_10, measure].value >= levels[other, measure].value for other in RIVALS)
            for measure in recipe.parameters["measures"]
        ]
        figures[before + BEST] = Measured(float(sum(leads)))
    agree = [*_agreements(recipe, levels, before)]
    if agree:
        figures[before + ORDERED] = Measured(float(np.mean(agree)), n=len(agree))
    return figures


def _drawn(cells: Cells, values: Values) -> Figures:
    """Return how much of the heads that top-k ListMLE learns from is irrelevant and drawn."""
    shares = cells[key(data=values.data, count="drawn")]
    return {f"{values.before}{name}: {DRAWN}": Measured(shares[name]) for name in shares}


def _agreements(
    recipe: Recipe, levels: Mapping[tuple[str, str], Measured], before: str
) -> Iterator[bool]:
    """Yield for every two printed figures of a measure that differ whether ours do so too."""
    for measure in recipe.parameters["measures"]:
        printed = {
            name: recipe.printed[f"{before}{name} {measure}"]
            for name in recipe.parameters["methods"]
            if f"{before}{name} {measure}" in recipe.printed
        }
        for one, other in itertools.combinations(printed, 2):
            theirs = printed[one] - printed[other]
            if theirs:
                ours = levels[one, measure].value - levels[other, measure].value
                yield ours * theirs > 0


def _low(found: Measured) -> float:
    return found.value - Z * found.std_error


_FOLDS = range(1, N_FOLDS + 1)
