"""The recommenders of sampled evaluations by name, and the exact rank of every held-out item.

To add one, add its line to METHODS, and its options to the recipes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from podium import _check, recommenders
from podium.errors import PodiumWarning
from podium.papers.jin2021 import protocol
from podium.papers.jin2021.protocol import Held, Ints
from podium.papers.recipe import Recipe
from podium.papers.study import seed_of
from podium.recommenders import Factorization
from podium.sampled import Design, Estimator, LinearEstimator, SampledRanks


@dataclass(frozen=True)
class Method:
    """A recommender.

    Attributes
    ----------
    make : callable
        Takes the options of the recipe; and random_state, where `draws`.
    draws : bool
        It depends on a seed.
    passes : bool
        It learns in passes, as many as the option n_epochs says.
    """

    make: Callable[..., Any]
    draws: bool = True
    passes: bool = True


METHODS: dict[str, Method] = {
    "EASE": Method(recommenders.EASE, draws=False, passes=False),
    "MultiVAE": Method(recommenders.MultiVAE),
    "NeuMF": Method(recommenders.NeuMF),
    "itemKNN": Method(recommenders.ItemKNN, draws=False, passes=False),
    "ALS": Method(recommenders.ALS),
    "RoBiRank": Method(Factorization),
}
"""Every recommender by the name that the paper's tables give it."""

_SMALL = sparse.csr_array(np.kron(np.eye(8, dtype=np.float32), np.ones((8, 8), np.float32)))


def load(recipe: Recipe) -> None:
    """Fit each of the recipe's methods to small data, or say what must be installed."""
    for name, options in recipe.parameters["methods"].items():
        method = METHODS[_check.choice(name, "methods", list(METHODS))]
        _fit(method, {**options, "n_epochs": 1} if method.passes else options, _SMALL, 0)


def exact_ranks(recipe: Recipe, held: Held, method: str) -> Ints:
    """Fit a method and rank each user's held-out item among all items, the learned ones too.

    Parameters
    ----------
    recipe : Recipe
        ``parameters["methods"][method]`` are the method's options.
    held : Held
    method : str
        A name of `METHODS`.

    Returns
    -------
    int64, (n_users,)
        From 1. Items of equal scores have a random order, the same for a recipe's seed.

    Notes
    -----
    The result is kept as long as `held` is, so that a process fits a method once. Fits have one
    thread: their results would depend on the number, in the last digits.
    """
    kept = _found.setdefault(held, {})
    options = recipe.parameters["methods"][method]
    name = f"{recipe.seed} {method} {sorted(options.items())}"
    if name not in kept:
        kept[name] = _ranks(recipe, held, method)
    return kept[name]


_found: WeakKeyDictionary[Held, dict[str, Ints]] = WeakKeyDictionary()


def _ranks(recipe: Recipe, held: Held, name: str) -> Ints:
    with threadpool_limits(1):
        ranks = fitted(recipe, held, name).ranks(
            held.targets, exclude_seen=False, ties="random", seed=_seed(recipe, name)
        )
    return ranks.astype(np.int64)


def fitted(recipe: Recipe, held: Held, name: str) -> Any:
    """Return a method of the recipe, fitted to what is not held out."""
    options = recipe.parameters["methods"][name]
    return _fit(METHODS[name], options, held.train, _seed(recipe, name))


def _fit(method: Method, options: Mapping[str, Any], pairs: Any, seed: int) -> Any:
    drawn = {"random_state": seed} if method.draws else {}
    return method.make(**options, **drawn).fit(pairs)


def _seed(recipe: Recipe, name: str) -> int:
    return seed_of(recipe, f"model {name}")


@dataclass(frozen=True, eq=False)
class Evaluations:
    """The held-out items of a recipe's data, and samples of what its methods rank above them."""

    recipe: Recipe
    held: Held

    def ranks(self, method: str) -> Ints:
        """Return the rank of each user's held-out item among all items."""
        return exact_ranks(self.recipe, self.held, method)

    def sample(
        self, method: str, n_negatives: int | Sequence[int], repeat: int
    ) -> tuple[SampledRanks, SampledRanks]:
        """Return the ranks of one sampled evaluation, without and with the users' history.

        Repeats, methods and designs have items of their own.
        """
        drawn = seed_of(self.recipe, f"{n_negatives} negatives for {method}", repeat)
        return self.held.simulate(self.ranks(method), n_negatives, drawn)


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Evaluations:
    """Read the data, and see that every method can be fitted; fits are made when asked for."""
    load(recipe)
    return Evaluations(recipe, protocol.read(recipe, paths))


def told(recipe: Recipe, label: str, samples: tuple[SampledRanks, SampledRanks]) -> SampledRanks:
    """Return the ranks as an estimator of the recipe reads them."""
    return samples[label in recipe.parameters["with_history"]]


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
def _values(estimator: LinearEstimator, design: Design, measure: str) -> NDArray[np.float64]:
    """Solve once for all samples of a design: up to seconds, where samples are large."""
    return estimator.values(design, measure)
