"""The recommenders of RoBiRank's study on MovieLens-1M by name, and how each is fitted and timed.

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
from podium.recommenders import Factorization

Options: TypeAlias = Mapping[str, Any]
Pairs: TypeAlias = "sparse.csr_array[Any]"

FORM, FACTORS, OTHER = "podium's", "another's factors", "no factors"
"""Whose a method is: a form of RoBiRank, a rival of the same kind, or of another kind."""

ROBIRANK = "RoBiRank"


@dataclass(frozen=True)
class Method:
    """A recommender.

    Attributes
    ----------
    kind : str
        FORM, FACTORS or OTHER.
    fit : (pairs, seed, threads, options) -> fitted model
    draws : bool
        It depends on the seed.
    passes : bool
        It learns in passes, as many as the option n_epochs says.
    """

    kind: str
    fit: Callable[[Pairs, int, int, Options], Any]
    draws: bool = True
    passes: bool = True


def load(name: str) -> None:
    """Fit a method to small data: its code is loaded, or the error says what to install."""
    METHODS[name].fit(_SMALL, 0, 1, {"n_epochs": 1} if METHODS[name].passes else {})


def _robirank(loss: str) -> Method:
    def fitted(pairs: Pairs, seed: int, threads: int, options: Options) -> Factorization:
        model = Factorization(loss=loss, random_state=seed, **options)
        return model.fit(pairs, executor=Threads(threads))

    return Method(FORM, fitted)


def _factors(make: Callable[..., Any], *, same_by_threads: bool) -> Method:
    def fitted(pairs: Pairs, seed: int, threads: int, options: Options) -> Any:
        n_threads = threads if same_by_threads else 1
        return make(random_state=seed, n_threads=n_threads, **options).fit(pairs)

    return Method(FACTORS, fitted)


def _fixed(make: Callable[..., Any]) -> Method:
    def fitted(pairs: Pairs, seed: int, threads: int, options: Options) -> Any:
        del seed, threads  # nothing is drawn, and BLAS has threads of its own
        return make(**options).fit(pairs)

    return Method(OTHER, fitted, draws=False, passes=False)


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
