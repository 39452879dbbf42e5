"""Errors of measures of whole rankings, from candidates that all targets of a user share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from podium.report import Table
from podium.sampled import SharedRanks, draw_strata, evaluate, sample_shared
from podium_studies import views
from podium_studies.jin2021 import protocol
from podium_studies.jin2021.evaluations import fit, load, quiet
from podium_studies.jin2021.protocol import Floats
from podium_studies.jin2021.tables_values import geometric_mean
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Measured, Result, Study, key, parts, seed_of

RANDOM, POPULARITY = "random items", "popularity"
"""The cells without a proxy, and the proxy of the number of training users of each item."""
ESTIMATE, NAIVE = "estimate", "naive"


@dataclass(frozen=True, eq=False)
class Rankings:
    """The held-out items of users, and methods that rank them, fitted once."""

    recipe: Recipe
    train: sparse.csr_array[Any]
    targets: sparse.csr_array[Any]
    _fitted: dict[str, Any] = field(default_factory=dict[str, Any])
    _exact: dict[str, list[float]] = field(default_factory=dict[str, "list[float]"])

    def fitted(self, method: str) -> Any:
        """Return a method, fitted once with one thread."""
        if method not in self._fitted:
            with threadpool_limits(1):
                self._fitted[method] = fit(self.recipe, method, self.train)
        return self._fitted[method]

    def exact(self, method: str) -> list[float]:
        """Return the measures of the whole rankings, computed once."""
        if method not in self._exact:
            self._exact[method] = self.measured(self._all_ranks(method), "naive")
        return self._exact[method]

    def measured(self, shared: SharedRanks, estimator: str) -> list[float]:
        """Return the estimates of all measures."""
        measures = self.recipe.parameters["measures"]
        with quiet(), threadpool_limits(1):
            estimate = evaluate(shared, measures, estimator=estimator, bounds=False)
        return [estimate.means[measure] for measure in measures]

    def sample(self, method: str, proxy: str, seed: int) -> SharedRanks:
        """Rank the targets among random items, or with the first items of a proxy's list."""
        listed, n_scored = (self.recipe.parameters[name] for name in ("listed", "scored"))
        options: dict[str, Any] = {"exclude": self.train, "seed": seed}
        if proxy == RANDOM:
            scores = self.fitted(method).as_scores()
            return sample_shared(scores, self.targets, n_scored, replacement=False, **options)
        drawn = draw_strata(
            self.targets,
            proxy=self._proxy(proxy),
            certain=listed,
            uniform=n_scored - listed,
            **options,
        )
        pair_scores = self.fitted(method).score_pairs(drawn.row, drawn.item)
        return SharedRanks.of_candidates(drawn, pair_scores)

    def _proxy(self, proxy: str) -> Any:
        if proxy == POPULARITY:
            return np.bincount(self.train.indices, minlength=self.train.shape[1]).astype(float)
        return self.fitted(proxy).as_scores()

    def _all_ranks(self, method: str) -> SharedRanks:
        """Rank all targets among all items that are not in training."""
        with threadpool_limits(1):
            ranks = self.fitted(method).ranks(self.targets, exclude_seen=True)
        sizes = np.diff(self.targets.indptr)
        user = np.repeat(np.arange(sizes.size), sizes)
        place = np.empty(user.size, np.int64)
        place[np.lexsort((ranks, user))] = np.arange(user.size) - (np.cumsum(sizes) - sizes)[user]
        n_items = (self.train.shape[1] - np.diff(self.train.indptr))[user]
        above, n_others = ranks.astype(np.int64) - 1 - place, n_items - sizes[user]
        return SharedRanks(above, n_others, n_items, user=user, replacement=False)


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Rankings:
    """Read the data, and check that every method can be fitted."""
    load(recipe)
    return Rankings(recipe, *protocol.split(recipe, paths, recipe.parameters["share"]))


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each method with random items, and with each proxy but itself."""
    for repeat in range(recipe.repeats or 1):
        for method, proxy in _pairs(recipe):
            yield key(method=method, proxy=proxy, repeat=repeat)


def _pairs(recipe: Recipe) -> list[tuple[str, str]]:
    compared, proxies = recipe.parameters["compared"], recipe.parameters["proxies"]
    return [(m, proxy) for m in compared for proxy in (RANDOM, *proxies) if proxy != m]


def run(recipe: Recipe, context: Rankings, cell: str) -> Result:
    """Draw one sample, and estimate the measures by the default and by the naive method."""
    of = parts(cell)
    method, proxy = of["method"], of["proxy"]
    seed = seed_of(recipe, f"{method} by {proxy}", int(of["repeat"]))
    shared = context.sample(method, proxy, seed)
    names = {ESTIMATE: "auto", NAIVE: "naive"}
    return {
        "exact": context.exact(method),
        "estimates": {name: context.measured(shared, text) for name, text in names.items()},
    }


def errors(recipe: Recipe, cells: Cells) -> dict[tuple[str, str, str], Floats]:
    """Return the relative errors by method, proxy and estimator.

    Returns
    -------
    dict of (method, proxy, estimator) to float64, (n_measures,)
        The root mean square over repeats of estimate / exact - 1.
    """
    result: dict[tuple[str, str, str], Floats] = {}
    for method, proxy in _pairs(recipe):
        chosen = [cell for _, cell in views.select(cells, method=method, proxy=proxy)]
        for name in (ESTIMATE, NAIVE) if chosen else ():
            values = np.array([cell["estimates"][name] for cell in chosen])
            relative = values / np.array([cell["exact"] for cell in chosen]) - 1
            result[method, proxy, name] = np.sqrt((relative**2).mean(axis=0))
    return result


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the exact values, the relative errors, and geometric means of their ratios."""
    relative, figures = errors(recipe, cells), dict[str, Measured]()
    n, measures = recipe.repeats or 1, recipe.parameters["measures"]
    for method in recipe.parameters["compared"]:
        for _, cell in views.select(cells, method=method, proxy=RANDOM)[:1]:
            for measure, value in zip(measures, cell["exact"], strict=True):
                figures[f"{method} {measure}: exact"] = Measured(value)
    for (method, proxy, name), error in relative.items():
        for measure, value in zip(measures, error.tolist(), strict=True):
            figures[_label(method, proxy, name, measure)] = Measured(value, n=n)
    for proxy in (RANDOM, *recipe.parameters["proxies"]):
        of = {m: e for (m, p, name), e in relative.items() if (p, name) == (proxy, ESTIMATE)}
        ratios = {
            f"{proxy} / naive": [e / relative[m, proxy, NAIVE] for m, e in of.items()],
            f"{proxy} / {RANDOM}": [e / relative[m, RANDOM, ESTIMATE] for m, e in of.items()],
        }
        for text, values in ratios.items():
            if values and text != f"{RANDOM} / {RANDOM}":
                array = np.array(values).ravel()
                mean = float(geometric_mean(array))
                figures[f"{text}: geometric mean"] = Measured(mean, n=array.size)
    return figures


def _label(method: str, proxy: str, name: str, measure: str) -> str:
    return f"{method} by {proxy} {measure}: {name}"


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield the relative errors of the estimates, then those of the naive values."""
    measures = recipe.parameters["measures"]
    rows = {f"{method} by {proxy}": (method, proxy) for method, proxy in _pairs(recipe)}
    for name in (ESTIMATE, NAIVE):

        def error(row: str, measure: str, name: str = name) -> str:
            figure = figures.get(_label(*rows[row], name, measure))
            return "" if figure is None else f"{figure.value:.3f}"

        caption = f"relative errors with {recipe.parameters['scored']} scored items: {name}"
        yield views.table(caption, "model and candidates", rows, measures, error)

    def exact(method: str, measure: str) -> str:
        figure = figures.get(f"{method} {measure}: exact")
        return "" if figure is None else f"{figure.value:.3f}"

    yield views.table("exact values", "model", recipe.parameters["compared"], measures, exact)


STUDY = Study(cells, run, fold, prepare, tables=tables)
"""The study of whole rankings from shared candidates."""
