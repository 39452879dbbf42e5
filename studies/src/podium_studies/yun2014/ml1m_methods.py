"""The recommenders in RoBiRank's study on MovieLens-1M by name, with functions that fit them.

To add a recommender, add its line to METHODS, and its options and their grid to the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from podium import recommenders
from podium.executors import Threads

Options: TypeAlias = Mapping[str, Any]
Pairs: TypeAlias = "sparse.csr_array[Any]"

ROBIRANK = "RoBiRank"


@dataclass(frozen=True)
class Method:
    """A recommender.

    Attributes
    ----------
    fit : (pairs, seed, threads, options) -> fitted model
    form : bool
        Whether it is RoBiRank or podium's factorization with another loss.
    passes : bool
        Whether it uses a seed, and as many passes as the option n_epochs.
    """

    fit: Callable[[Pairs, int, int, Options], Any]
    form: bool = False
    passes: bool = True


def load(name: str) -> None:
    """Fit a method to small data, to load its code; raise an error if an extra is missing."""
    METHODS[name].fit(_SMALL, 0, 1, {"n_epochs": 1} if METHODS[name].passes else {})


def _robirank(loss: str) -> Method:
    def fitted(pairs: Pairs, seed: int, threads: int, options: Options) -> Any:
        model = recommenders.Factorization(loss=loss, random_state=seed, **options)
        return model.fit(pairs, executor=Threads(threads))

    return Method(fitted, form=True)


def _factors(make: Callable[..., Any], *, same_by_threads: bool) -> Method:
    def fitted(pairs: Pairs, seed: int, threads: int, options: Options) -> Any:
        n_threads = threads if same_by_threads else 1
        return make(random_state=seed, n_threads=n_threads, **options).fit(pairs)

    return Method(fitted)


def _fixed(make: Callable[..., Any]) -> Method:
    def fitted(pairs: Pairs, seed: int, threads: int, options: Options) -> Any:
        del seed, threads  # these methods draw nothing, and BLAS sets its own threads
        return make(**options).fit(pairs)

    return Method(fitted, passes=False)


_SMALL = sparse.csr_array(np.kron(np.eye(8), np.ones((8, 8))))

METHODS: dict[str, Method] = {
    ROBIRANK: _robirank("robirank"),
    "RoBiRank, no rho": _robirank("identity"),
    "RoBiRank, type II": _robirank("type2"),
    "podium's BPR": _robirank("bpr"),
    "ALS": _factors(recommenders.ALS, same_by_threads=True),
    "BPR": _factors(recommenders.BPR, same_by_threads=False),
    "WARP": _factors(recommenders.WARP, same_by_threads=False),
    "EASE": _fixed(recommenders.EASE),
    "ItemKNN": _fixed(recommenders.ItemKNN),
    "popularity": _fixed(recommenders.Popularity),
}
"""Every method by its name in tables."""
