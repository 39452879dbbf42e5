"""MovieLens-100k as hiranandani2020 prepared it, with factors of the first ratings as features.

Each user's first 20 ratings are factorised. Each later rating of a factorised item becomes a row,
whose features are the factors of the user, the factors of the item, and their products. Users with
fewer than 20 such rows are left out.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.data import Interactions
from podium_studies.archive import movielens
from podium_studies.rows import Rows

RANK = 30
FIRST = 20  # number of ratings per user that are factorised, the earliest ones
FEWEST = 20  # smallest number of rows of a user
SEED = 5  # the seed of the reference code
FLOOR = 1e-5
_CHECK_EVERY = 5  # iterations between two checks of convergence
_SETTLED = 1e-6

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def prepare(
    ratings: Interactions, *, rank: int = RANK, max_iter: int = 1000, seed: int = SEED
) -> Rows:
    """Return MovieLens-100k as the paper's reference code prepares it.

    Parameters
    ----------
    ratings : Interactions
        The ratings from `archive.movielens`, with times.
    rank : int
        The number of factors per user and per item.
    max_iter : int
        The maximum number of iterations of the factorisation.
    seed : int
        The seed of the factors at the start.

    Returns
    -------
    Rows
        The rows to rank, in order of user and then time, with their items. The features are the
        30 factors of the user, the 30 factors of the item, and their products, unscaled. The
        labels are the ratings, 1 to 5; the paper's positives are the fives. Users and items have
        the ids in the source.

    Notes
    -----
    Many ratings of a user have the same time, so that the rows depend on the order of equal
    times: see `in_time_order`. Cost: about 2 s for 100,000 ratings.

    References
    ----------
    hiranandani2020, section 7.3.1.
    """
    columns = (ratings.user, ratings.item, ratings.value, ratings.timestamp)
    user, item, rating, time = (np.asarray(column) for column in columns)
    order = in_time_order(time)
    rows = order[np.argsort(user[order], kind="stable")]
    _, starts, sizes = np.unique(user[rows], return_index=True, return_counts=True)
    is_first = np.arange(rows.size) - np.repeat(starts, sizes) < FIRST
    first, rest = rows[is_first], rows[~is_first]
    users, row = np.unique(user[first], return_inverse=True)
    items, column = np.unique(item[first], return_inverse=True)
    rest = rest[np.isin(item[rest], items)]
    _, codes, counts = np.unique(user[rest], return_inverse=True, return_counts=True)
    rest = rest[counts[codes] >= FEWEST]
    factors = factorise(row, column, rating[first], rank=rank, max_iter=max_iter, seed=seed)
    user_factors = factors[0][np.searchsorted(users, user[rest])]
    item_factors = factors[1][np.searchsorted(items, item[rest])]
    X = np.concatenate([user_factors, item_factors, user_factors * item_factors], axis=1)
    return Rows(X, rating[rest], user[rest], item[rest])


def fives(path: Path) -> Rows:
    """Return the prepared rows of MovieLens-100k, with fives as positives."""
    rows = prepare(movielens(path, "100k"))
    return replace(rows, y=(rows.y == 5.0).astype(np.float64))


def in_time_order(time: NDArray[np.generic]) -> Ints:
    """Return the positions in ascending order of time, with the reference code's order of ties.

    The reference code sorts the times as text with NumPy's unstable quicksort. Only this order of
    equal times gives the paper's counts (72,109 rows of known items, 15,486 fives of 638 users).
    A stable sort gives 72,243 and 15,489.
    """
    seconds = time.astype("datetime64[s]") if time.dtype.kind == "M" else time
    return np.argsort(seconds.astype(np.int64).astype(str), kind="quicksort")


def factorise(
    row: Ints, column: Ints, value: Floats, *, rank: int, max_iter: int = 1000, seed: int = SEED
) -> tuple[Floats, Floats]:
    """Factorise the given cells of a matrix into non-negative factors of rows and columns.

    The function applies the multiplicative updates of lee2001 to the squared error of the given
    cells only. No factor falls below 1e-5. The iterations stop early if the Euclidean norm of the
    change of the fitted cells since the last check, five iterations before, is below 1e-6.

    Parameters
    ----------
    row, column : int64, (n_cells,)
        The positions of the cells, from 0, without duplicates.
    value : float64, (n_cells,)
        The values of the cells, > 0.
    rank : int
        The number of columns of each factor.
    max_iter : int
        The maximum number of iterations.
    seed : int
        The seed of the row factors at the start.

    Returns
    -------
    row_factors : float64, (n_rows, rank)
    column_factors : float64, (n_columns, rank)

    Notes
    -----
    Sums run in a fixed order, so that the result does not depend on the number of threads. Cost:
    O(n_cells rank) per iteration.
    """
    matrix: Any = sparse.csr_array((value, (row, column)))
    matrix.sort_indices()
    start = np.random.RandomState(seed).rand(matrix.shape[0], rank)
    left = np.maximum(start, FLOOR)
    right = np.maximum(_least_squares(left, matrix), FLOOR)
    fitted_before = _fitted(left, right, matrix)
    for step in range(1, max_iter + 1):
        left = _updated(left, right, matrix, _fitted(left, right, matrix))
        right = _updated(right, left, matrix.T, _fitted(left, right, matrix).T)
        if step % _CHECK_EVERY == 0 or step == 1:
            fitted = _fitted(left, right, matrix)
            if float(np.sqrt(np.sum((fitted.data - fitted_before.data) ** 2))) < _SETTLED:
                break
            fitted_before = fitted
    return left, right


def _updated(factor: Floats, other: Floats, matrix: Any, fitted: Any) -> Floats:
    """Return one factor after a multiplicative update with the other factor fixed."""
    return np.maximum(factor * ((matrix @ other) / (fitted @ other + FLOOR)), FLOOR)


def _fitted(left: Floats, right: Floats, matrix: Any) -> Any:
    """Return a sparse matrix of ``left @ right.T`` at the given cells."""
    rows, columns = matrix.tocoo().coords
    values = np.einsum("ij,ij->i", left[rows], right[columns])
    return sparse.csr_array((values, matrix.indices, matrix.indptr), matrix.shape)


def _least_squares(left: Floats, matrix: Any) -> Floats:
    """Return the right factor with the least squared error if absent cells are 0."""
    square: Floats = np.einsum("ki,kj->ij", left, left)
    inverse: Any = np.linalg.inv(square)
    return np.einsum("ij,jk->ik", matrix.T @ left, inverse)
