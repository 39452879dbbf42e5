"""A fitted model as scores for `podium.catalogue`, whichever package it is from."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from podium.catalogue import ScoreFunction, target_ranks
from podium.errors import ArgumentError
from podium.types import PerRow, Ties

Floats: TypeAlias = "NDArray[np.float32]"
Ints: TypeAlias = "NDArray[np.int64]"


@runtime_checkable
class Factored(Protocol):
    """A fitted model whose scores are ``user_factors_ @ item_factors_.T + item_bias_``.

    Attributes
    ----------
    user_factors_ : float32, (n_users, n_factors)
    item_factors_ : float32, (n_items, n_factors)
    item_bias_ : float32, (n_items,)
    """

    user_factors_: Any
    item_factors_: Any
    item_bias_: Any


@runtime_checkable
class Scored(Protocol):
    """A fitted model that scores all items for a block of users.

    Attributes
    ----------
    n_users_, n_items_ : int
    """

    @property
    def n_users_(self) -> int: ...

    @property
    def n_items_(self) -> int: ...

    def scores(self, users: Ints) -> Floats:
        """Return scores of all items, float32, (n, n_items), for row numbers of users."""
        ...


def scores_of(
    model: Factored | Scored, users: Ints | None = None, items: Ints | None = None
) -> ScoreFunction | tuple[Floats, Floats]:
    """Turn a fitted model into scores that `podium.catalogue` reads a block at a time.

    Parameters
    ----------
    model : Factored or Scored
        Any model of `podium.recommenders`, RoBiRank, or one of your own with such attributes.
    users, items : int64, (n,), optional
        Row and column numbers that alone are meant; all without them.

    Returns
    -------
    pair of float32, or ScoreFunction
        Factors, with the bias as one more, where the model has them: products of factors are
        the fastest. Else a function.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from podium.catalogue import top_k_factors
    >>> from podium.recommenders import Popularity
    >>> likes = csr_array([[1, 0, 1], [0, 0, 1]])
    >>> top_k_factors(*scores_of(Popularity().fit(likes)), 1, exclude=likes)[0]
    array([[1],
           [0]])
    """
    rows: Any = slice(None) if users is None else users
    columns: Any = slice(None) if items is None else items
    given: Any = model
    if isinstance(given, Factored):
        return _with_bias(
            given.user_factors_[rows], given.item_factors_[columns], given.item_bias_[columns]
        )
    if not isinstance(given, Scored):
        raise ArgumentError(
            "model must be fitted, with user_factors_, item_factors_ and item_bias_, or with "
            f"n_users_, n_items_ and scores(users), got {type(given).__name__}."
        )
    scored, numbers = given, np.arange(given.n_users_)[rows]
    n_items = scored.n_items_ if items is None else items.size

    def block(places: Ints) -> Floats:
        return scored.scores(numbers[places])[:, columns]

    return ScoreFunction(block, numbers.size, n_items, np.float32)


def ranks_of(
    model: Factored | Scored,
    held_out: Any,
    *,
    exclude: Any = None,
    ties: Ties = "worst",
    block_size: int | None = None,
    seed: int = 0,
) -> PerRow:
    """Find the exact rank of each held-out item among all items of its user.

    Parameters
    ----------
    model : Factored or Scored
        As in `scores_of`.
    held_out : scipy.sparse matrix, (n_users, n_items)
        The stored pairs are ranked, one or several for a user; users without any have none.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        Items that are not ranked for a user, most often what the model was fitted to. A pair
        that is in both is an error.
    ties, block_size, seed
        As in `podium.catalogue.target_ranks`.

    Returns
    -------
    float64, (n_held_out,)
        From 1, in the order of ``held_out.tocsr().data``.

    Notes
    -----
    Cost: users without a held-out item are not scored.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from podium.recommenders import Popularity
    >>> likes = csr_array([[1, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 0]])
    >>> held_out = csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    >>> ranks_of(Popularity().fit(likes), held_out, exclude=likes)
    array([1., 1.])
    """
    if not hasattr(held_out, "tocsr"):
        raise ArgumentError(
            f"held_out must be a sparse matrix of users x items, got {type(held_out).__name__}."
        )
    wanted = held_out.tocsr()
    users = np.flatnonzero(np.diff(wanted.indptr))
    hidden = None if exclude is None else _rows_of(exclude, users, wanted.shape)
    return target_ranks(
        scores_of(model, users),
        wanted[users],
        exclude=hidden,
        ties=ties,
        block_size=block_size,
        seed=seed,
    )


def _rows_of(exclude: Any, users: Ints, shape: tuple[int, int]) -> Any:
    if not hasattr(exclude, "tocsr") or exclude.shape != shape:
        got = getattr(exclude, "shape", type(exclude).__name__)
        raise ArgumentError(f"exclude must be a sparse matrix of shape {shape}, got {got}.")
    return exclude.tocsr()[users]


def _with_bias(users: Floats, items: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """Return factors whose product alone is the score: a column of ones beside the biases."""
    ones = np.ones(users.shape[0], np.float32)
    return np.column_stack([users, ones]), np.column_stack([items, bias])
