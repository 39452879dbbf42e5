"""The recommenders of sampled evaluations by name, and the exact rank of every held-out item.

To add one, add its line to METHODS, and its options to the recipes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from podium import _check, recommenders
from podium.experiments.papers._sampled_protocol import Held, Ints
from podium.experiments.recipe import Recipe
from podium.experiments.study import generator
from podium.recommenders import Factorization


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
    return int(generator(recipe, f"model {name}").integers(2**31))
