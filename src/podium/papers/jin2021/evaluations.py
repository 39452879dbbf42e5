"""The recommenders of sampled evaluations by name, and the exact rank of every held-out item.

To add one, add its line to METHODS, and its options to the recipes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from podium import _check, recommenders
from podium.errors import PodiumWarning
from podium.papers.jin2021 import protocol
from podium.papers.jin2021.protocol import Floats, Held, Ints
from podium.papers.recipe import Recipe
from podium.papers.study import seed_of
from podium.sampled import (
    Design,
    Estimator,
    LinearEstimator,
    RankDistribution,
    SampledRanks,
    get,
    simulate_ranks,
)

METHODS: dict[str, Callable[..., Any]] = {
    "EASE": recommenders.EASE,
    "MultiVAE": recommenders.MultiVAE,
    "NeuMF": recommenders.NeuMF,
    "itemKNN": recommenders.ItemKNN,
    "ALS": recommenders.ALS,
    "RoBiRank": recommenders.Factorization,
}
"""Every recommender by the name that the paper's tables give it."""

_SMALL = sparse.csr_array(np.kron(np.eye(8, dtype=np.float32), np.ones((8, 8), np.float32)))


@dataclass(frozen=True, eq=False)
class Evaluations:
    """The held-out items of a recipe's data, and samples of what its methods rank above them."""

    recipe: Recipe
    held: Held
    _ranks: dict[str, Ints] = field(default_factory=dict[str, Ints])

    def fitted(self, method: str) -> Any:
        """Return a method with the recipe's options, fitted to what is not held out."""
        options = self.recipe.parameters["methods"][method]
        return _fit(method, options, self.held.train, self._seed(method))

    def ranks(self, method: str) -> Ints:
        """Return the rank of each user's held-out item among all items, the learned ones too.

        Returns
        -------
        int64, (n_users,)
            From 1. Items of equal scores have a random order, the same for a recipe's seed.

        Notes
        -----
        Ranks are kept, so that a process fits a method once. Fits have one thread: their results
        would depend on the number, in the last digits.
        """
        if method not in self._ranks:
            with threadpool_limits(1):
                found = self.fitted(method).ranks(
                    self.held.targets, exclude_seen=False, ties="random", seed=self._seed(method)
                )
            self._ranks[method] = found.astype(np.int64)
        return self._ranks[method]

    def exact(self, method: str) -> RankDistribution:
        """Return the distribution of the ranks among all items."""
        return RankDistribution.of_ranks(self.ranks(method), self.held.n_items)

    def sample(
        self, method: str, n_negatives: int | Sequence[int], repeat: int
    ) -> tuple[SampledRanks, SampledRanks]:
        """Draw one sampled evaluation; repeats, methods and sizes have items of their own."""
        purpose = f"{n_negatives} negatives for {method}"
        return self.drawn(method, n_negatives, seed_of(self.recipe, purpose, repeat))

    def drawn(
        self, method: str, n_negatives: int | Sequence[int], seed: int
    ) -> tuple[SampledRanks, SampledRanks]:
        """Return the ranks of one sampled evaluation, without and with the users' history."""
        ranks, n_items = self.ranks(method), self.held.n_items
        one, other = (
            simulate_ranks(ranks, n_items, n_negatives, history=history, seed=seed)
            for history in (None, self.held.history)
        )
        return one, other

    def readings(
        self, samples: tuple[SampledRanks, SampledRanks]
    ) -> Iterator[tuple[str, Estimator, SampledRanks]]:
        """Yield the label of each estimator that can read a sample, itself, and what it reads."""
        for label, text in self.recipe.parameters["estimators"].items():
            estimator = get(text)
            ranks = samples[label in self.recipe.parameters["with_history"]]
            if estimator.grows or not ranks.design.grows:
                yield label, estimator, ranks

    def _seed(self, method: str) -> int:
        return seed_of(self.recipe, f"model {method}")


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Evaluations:
    """Read the data, and see that every method can be fitted; fits are made when asked for."""
    load(recipe)
    return Evaluations(recipe, protocol.read(recipe, paths))


def load(recipe: Recipe) -> None:
    """Fit each of the recipe's methods to small data, or say what must be installed."""
    for name, options in recipe.parameters["methods"].items():
        make = METHODS[_check.choice(name, "methods", list(METHODS))]
        _fit(name, {**options, **({"n_epochs": 1} if _takes(make, "n_epochs") else {})}, _SMALL, 0)


def _fit(name: str, options: Mapping[str, Any], pairs: Any, seed: int) -> Any:
    make = METHODS[name]
    drawn = {"random_state": seed} if _takes(make, "random_state") else {}
    return make(**options, **drawn).fit(pairs)


def _takes(make: Callable[..., Any], option: str) -> bool:
    return option in signature(make).parameters


@contextmanager
def quiet() -> Generator[None]:
    """Let estimators be biased without saying so at every repeat: that is what is shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        yield


def estimates(estimator: Estimator, ranks: SampledRanks, measures: Sequence[str]) -> list[float]:
    """Return the estimates of all measures: what `Estimator.estimate` gives, from one fit."""
    with quiet():
        if isinstance(estimator, LinearEstimator):
            counts = ranks.counts / ranks.n_users
            return [float(counts @ _values(estimator, ranks.design, each)) for each in measures]
        if not estimator.gives_distribution:
            return [estimator.estimate(ranks, each) for each in measures]
        found = estimator.fit(ranks)
        return [found.expect(each) for each in measures]


@lru_cache(maxsize=1024)
def _values(estimator: LinearEstimator, design: Design, measure: str) -> Floats:
    """Solve once for all samples of a design: up to seconds, where samples are large."""
    return estimator.values(design, measure)
