"""MovieLens-100k as hiranandani2020 prepared it: factors of the first ratings, labels of the rest.

Each user's first 20 ratings are factorised; a later rating becomes a row whose features are the
user's factors, the item's, and their products.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.data import Interactions, movielens
from podium.errors import DataError
from podium.papers.rows import Rows

RANK = 30
FIRST = 20  # ratings of each user that are factorised, in order of time
FEWEST = 20  # rows of a user that is kept
SEED = 5  # the reference code's
FLOOR = 1e-5
_CHECK_EVERY = 5  # iterations between two looks at the change
_SETTLED = 1e-6

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows to rank by, in order of user and then time.

    Attributes
    ----------
    X : float64, (n_rows, 90)
        The user's 30 factors, the item's, and their products; not scaled.
    rating : float64, (n_rows,)
        1 to 5; the paper's positives are the fives.
    user, item : int64, (n_rows,)
        Ids as in the source.
    """

    X: Floats
    rating: Floats
    user: Ints
    item: Ints


def prepare(
    ratings: Interactions, *, rank: int = RANK, max_iter: int = 1000, seed: int = SEED
) -> Prepared:
    """Return MovieLens-100k as the paper's reference code prepares it.

    Parameters
    ----------
    ratings : Interactions
        From `podium.data.movielens`, with times.
    rank : int
        Factors of a user and of an item.
    max_iter : int
        Iterations of the factorisation at most.
    seed : int
        Of the factors that it starts from.

    Raises
    ------
    DataError
        If the ratings have no times or values, or no user has enough of them.

    Notes
    -----
    Ratings of one user at the same second are common, and which of them are among the first 20
    decides the rest: see `in_time_order`. Cost: about 2 s for 100,000 ratings.

    References
    ----------
    hiranandani2020, section 7.3.1.
    """
    user, item, rating, time = _columns(ratings)
    first, rest = _first_ratings(user, in_time_order(time))
    users, row = np.unique(user[first], return_inverse=True)
    items, column = np.unique(item[first], return_inverse=True)
    known = rest[np.isin(item[rest], items)]
    kept = _of_frequent_users(known, user)
    if not kept.size:
        raise DataError(
            f"No user has {FEWEST} ratings beyond the first {FIRST} of items that are among "
            "anyone's first. Pass the whole of MovieLens-100k."
        )
    factors = factorise(row, column, rating[first], rank=rank, max_iter=max_iter, seed=seed)
    of_user = factors[0][np.searchsorted(users, user[kept])]
    of_item = factors[1][np.searchsorted(items, item[kept])]
    X = np.concatenate([of_user, of_item, of_user * of_item], axis=1)
    return Prepared(X, rating[kept], user[kept], item[kept])


def fives(path: Path) -> tuple[Rows, Ints]:
    """Read MovieLens-100k, prepared, as rows whose positives are the fives; and their items."""
    prepared = prepare(movielens(path, "100k"))
    positive = (prepared.rating == 5.0).astype(np.float64)
    return Rows(prepared.X, positive, prepared.user), prepared.item


def in_time_order(time: NDArray[np.generic]) -> Ints:
    """Return positions in rising order of time, equal times as the reference code had them.

    It sorted the times as text with NumPy's unstable quicksort, and the paper's counts (72,109
    rows of known items, 15,486 fives of 638 users) come with just that order of equal times; a
    stable sort gives 72,243 and 15,489.
    """
    seconds = time.astype("datetime64[s]") if time.dtype.kind == "M" else time
    return np.argsort(seconds.astype(np.int64).astype(str), kind="quicksort")


def factorise(
    row: Ints, column: Ints, value: Floats, *, rank: int, max_iter: int = 1000, seed: int = SEED
) -> tuple[Floats, Floats]:
    """Factorise the given cells of a matrix into non-negative factors of rows and of columns.

    Multiplicative updates of lee2001 on the squared error of the given cells alone; no factor
    falls below 1e-5. Stops early once five iterations changed the cells by at most 1e-6 in all.

    Parameters
    ----------
    row, column : int64, (n_cells,)
        Positions from 0, no pair twice.
    value : float64, (n_cells,)
        > 0.
    rank : int
        Columns of each factor.
    max_iter, seed : int

    Returns
    -------
    (n_row, rank) and (n_column, rank) float64

    Notes
    -----
    Sums run in one order, so the number of threads changes nothing. Cost: O(n_cells rank) an
    iteration.
    """
    given: Any = sparse.csr_array((value, (row, column)))
    given.sort_indices()
    start = np.random.RandomState(seed).rand(given.shape[0], rank)
    left = np.maximum(start, FLOOR)
    right = np.maximum(_least_squares(left, given), FLOOR)
    before = _fitted(left, right, given)
    for step in range(1, max_iter + 1):
        left = _updated(left, right, given, _fitted(left, right, given))
        right = _updated(right, left, given.T, _fitted(left, right, given).T)
        if step % _CHECK_EVERY == 0 or step == 1:
            now = _fitted(left, right, given)
            if float(np.sqrt(np.sum((now.data - before.data) ** 2))) < _SETTLED:
                break
            before = now
    return left, right


def _columns(ratings: Interactions) -> tuple[Any, Any, Floats, NDArray[Any]]:
    value, time = ratings.value, ratings.timestamp
    if value is None or time is None:
        raise DataError(
            f"The ratings have no {'value' if value is None else 'timestamp'}: the first "
            f"{FIRST} of each user are factorised. Pass user, item, rating and timestamp."
        )
    return np.asarray(ratings.user), np.asarray(ratings.item), value, time


def _first_ratings(user: NDArray[Any], order: Ints) -> tuple[Ints, Ints]:
    """Return rows of each user's first ratings, and all others, by user and time."""
    _, codes = np.unique(user, return_inverse=True)
    rows = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    place = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows[place < FIRST], rows[place >= FIRST]


def _of_frequent_users(rows: Ints, user: NDArray[Any]) -> Ints:
    _, codes, counts = np.unique(user[rows], return_inverse=True, return_counts=True)
    return rows[counts[codes] >= FEWEST]


def _updated(factor: Floats, other: Floats, given: Any, fitted: Any) -> Floats:
    """Move one factor towards the given cells, the other held."""
    return np.maximum(factor * ((given @ other) / (fitted @ other + FLOOR)), FLOOR)


def _fitted(left: Floats, right: Floats, given: Any) -> Any:
    """Return ``left @ right.T`` at the given cells, 0 elsewhere."""
    rows, columns = given.tocoo().coords
    values = np.einsum("ij,ij->i", left[rows], right[columns])
    return sparse.csr_array((values, given.indices, given.indptr), given.shape)


def _least_squares(left: Floats, given: Any) -> Floats:
    """Return the other factor that fits the whole matrix best, absent cells taken as 0."""
    square: Floats = np.einsum("ki,kj->ij", left, left)
    inverse: Any = np.linalg.inv(square)
    return np.einsum("ij,jk->ik", given.T @ left, inverse)
