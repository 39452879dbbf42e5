"""The recommenders of RoBiRank's study on MovieLens-1M by name, and how each is fitted.

To add one, add its line to METHODS, and to the recipe its options and their grid.
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
        It is RoBiRank, or podium's factors with another loss.
    passes : bool
        It learns from a seed, in as many passes as the option n_epochs says.
    """

    fit: Callable[[Pairs, int, int, Options], Any]
    form: bool = False
    passes: bool = True


def load(name: str) -> None:
    """Fit a method to small data: its code is loaded, or the error says what to install."""
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
        del seed, threads  # nothing is drawn, and BLAS has threads of its own
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
