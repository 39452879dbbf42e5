"""The recommenders of sampled evaluations by name, and the exact rank of every held-out item.

To add a recommender, add its line to METHODS, and its options to the recipes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from podium import recommenders
from podium.errors import PodiumWarning
from podium.sampled import (
    Design,
    Estimator,
    LinearEstimator,
    RankDistribution,
    SampledRanks,
    get,
    simulate_ranks,
)
from podium_studies import checks
from podium_studies.cells import seed_of
from podium_studies.jin2021 import protocol
from podium_studies.jin2021.protocol import Floats, HeldOut, Ints
from podium_studies.recipe import Recipe
from podium_studies.rivals.with_cornac import MultiVAE, NeuMF
from podium_studies.rivals.with_implicit import ALS
from podium_studies.study import Measured

METHODS: dict[str, Callable[..., Any]] = {
    "EASE": recommenders.EASE,
    "MultiVAE": MultiVAE,
    "NeuMF": NeuMF,
    "itemKNN": recommenders.ItemKNN,
    "ALS": ALS,
    "RoBiRank": recommenders.Factorization,
}
"""Every recommender by its name in the paper's tables."""

_SMALL = sparse.csr_array(np.kron(np.eye(8, dtype=np.float32), np.ones((8, 8), np.float32)))


@dataclass(frozen=True, eq=False)
class Models:
    """The recipe's methods, fitted once to the same pairs.

    A fit uses one thread, because the last digits of its results depend on the number of threads.
    """

    recipe: Recipe
    train: sparse.csr_array[Any]
    _fitted: dict[str, Any] = field(default_factory=dict[str, Any])

    def fitted(self, method: str) -> Any:
        """Return a method with the recipe's options, fitted."""
        if method not in self._fitted:
            with threadpool_limits(1):
                options = self.recipe.parameters["methods"][method]
                seed = seed_of(self.recipe, f"model {method}")
                self._fitted[method] = _fit(method, options, self.train, seed)
        return self._fitted[method]


@dataclass(frozen=True, eq=False)
class Evaluations:
    """The held-out items of a recipe's data, with their exact and sampled ranks by method."""

    recipe: Recipe
    held_out: HeldOut
    _ranks: dict[str, Ints] = field(default_factory=dict[str, Ints])

    @cached_property
    def models(self) -> Models:
        """The recipe's methods, fitted to the pairs that are not held out."""
        return Models(self.recipe, self.held_out.train)

    def ranks(self, method: str) -> Ints:
        """Return the rank of each user's held-out item among all items, training items included.

        Returns
        -------
        int64, (n_users,)
            The ranks, from 1. Items with equal scores have a random order, which depends on the
            recipe's seed.

        Notes
        -----
        Ranks are cached, so that a process ranks with a method once, with one thread.
        """
        if method not in self._ranks:
            with threadpool_limits(1):
                options = {"exclude_seen": False, "ties": "random"}
                seed = seed_of(self.recipe, f"model {method}")
                ranks = self.models.fitted(method).ranks(
                    self.held_out.targets, **options, seed=seed
                )
            self._ranks[method] = ranks.astype(np.int64)
        return self._ranks[method]

    def exact(self, method: str) -> RankDistribution:
        """Return the distribution of the ranks among all items."""
        return RankDistribution.of_ranks(self.ranks(method), self.held_out.n_items)

    def sample(
        self, method: str, n_negatives: int | Sequence[int], repeat: int
    ) -> tuple[SampledRanks, SampledRanks]:
        """Draw one sampled evaluation; the draws differ by repeat, method and size."""
        purpose = f"{n_negatives} negatives for {method}"
        return self.drawn(method, n_negatives, seed_of(self.recipe, purpose, repeat))

    def drawn(
        self, method: str, n_negatives: int | Sequence[int], seed: int
    ) -> tuple[SampledRanks, SampledRanks]:
        """Return the ranks of one sampled evaluation: without and with the users' history."""
        ranks, n_items = self.ranks(method), self.held_out.n_items
        without_history, with_history = (
            simulate_ranks(ranks, n_items, n_negatives, history=history, seed=seed)
            for history in (None, self.held_out.history)
        )
        return without_history, with_history

    def readings(
        self, samples: tuple[SampledRanks, SampledRanks]
    ) -> Iterator[tuple[str, Estimator, SampledRanks]]:
        """Yield each estimator that supports these samples: its label, itself, and its ranks."""
        for label, text in self.recipe.parameters["estimators"].items():
            estimator = get(text)
            ranks = samples[label in self.recipe.parameters["with_history"]]
            if estimator.grows or not ranks.design.grows:
                yield label, estimator, ranks


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Evaluations:
    """Read the data, and check that every method can be fitted. Methods are fitted on first use."""
    load(recipe)
    return Evaluations(recipe, protocol.read(recipe, paths))


def load(recipe: Recipe) -> None:
    """Fit each of the recipe's methods to small data; raise an error if an extra is missing."""
    for name, options in recipe.parameters["methods"].items():
        make = METHODS[checks.choice(name, "methods", list(METHODS))]
        short = {"n_epochs": 1} if "n_epochs" in signature(make).parameters else {}
        _fit(name, {**options, **short}, _SMALL, 0)


def _fit(name: str, options: Mapping[str, Any], pairs: Any, seed: int) -> Any:
    make = METHODS[name]
    seeds = {"random_state": seed} if "random_state" in signature(make).parameters else {}
    return make(**options, **seeds).fit(pairs)


@contextmanager
def quiet() -> Generator[None]:
    """Ignore warnings about biased estimators, because the recipes measure the bias."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        yield


def estimates(estimator: Estimator, ranks: SampledRanks, measures: Sequence[str]) -> list[float]:
    """Return the estimates of all measures as `Estimator.estimate` does, from a single fit."""
    with quiet():
        if isinstance(estimator, LinearEstimator):
            counts = ranks.counts / ranks.n_users
            return [
                float(counts @ _values(estimator, ranks.design, measure)) for measure in measures
            ]
        if not estimator.gives_distribution:
            return [estimator.estimate(ranks, measure) for measure in measures]
        distribution = estimator.fit(ranks)
        return [distribution.expect(measure) for measure in measures]


def geometric_mean(values: Floats) -> Floats:
    """Return the geometric mean over the first axis."""
    return np.exp(np.log(values).mean(axis=0))


def jackknife(
    runs: Floats, statistics: Callable[[Floats], Mapping[str, float | Measured]]
) -> dict[str, Measured]:
    """Return statistics of the mean over runs, with their jackknife standard errors.

    Parameters
    ----------
    runs : float64, (n_runs, ...)
    statistics : (mean over runs) -> mapping of str to float or Measured
        The statistics by name. What is Measured already stays as it is.
    """
    n, total = len(runs), runs.sum(axis=0)
    others = [statistics((total - run) / (n - 1)) for run in runs] if n > 1 else []

    def measured(name: str, value: float | Measured) -> Measured:
        if isinstance(value, Measured):
            return value
        spread = float(np.std([other[name] for other in others])) if others else math.nan
        return Measured(float(value), spread * math.sqrt(n - 1), n)

    return {name: measured(name, value) for name, value in statistics(total / n).items()}


def relative_errors(samples: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
    """Return the root mean square over samples of estimate / exact - 1, by estimator."""
    exact = np.array([sample["exact"] for sample in samples])
    return {
        name: np.sqrt(
            ((np.array([sample["estimates"][name] for sample in samples]) / exact - 1) ** 2).mean(0)
        )
        for name in (samples[0]["estimates"] if samples else ())
    }


@lru_cache(maxsize=1024)
def _values(estimator: LinearEstimator, design: Design, measure: str) -> Floats:
    """Return the estimator's values, cached per design: for large samples they take seconds."""
    return estimator.values(design, measure)
