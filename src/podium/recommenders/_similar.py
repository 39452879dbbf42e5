"""Recommenders with an item x item matrix: a user's scores are the sum of the items' rows."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from podium import _check
from podium._arrays import Arrays
from podium._one_thread import one_blas_thread
from podium.catalogue import top_k
from podium.errors import ArgumentError, arg
from podium.recommenders._auto import HALF_LIVES, or_auto
from podium.recommenders._base import MatrixRecommender
from podium.recommenders._files import Axes
from podium.recommenders._pairs import SEARCHED_GAINS, Floats, Ints

_BLOCK = 2**22  # entries of the item x item matrix that are computed at a time
_EXACT = 2.0**26  # the product of two such sums of squares is exact in double precision
_DIGITS = 24  # binary digits of float32
# With several threads, potrf of OpenBLAS 0.3.30 crashes for 16,980 items, but not for 12,000.
_THREADED = 2**13  # items up to which BLAS may use its threads
_USER_POWERS = [0.0, 0.5]


class _ItemItem(MatrixRecommender):
    """A recommender with ``scores = user_items_ @ weights_``."""

    weights_: Any  # declared here, because a dataclass would make it a parameter
    reads_times: ClassVar[bool] = True
    auto_values: ClassVar[dict[str, tuple[float | None, ...]]] = {"half_life": HALF_LIVES}
    constraints: ClassVar[_check.Constraints] = {
        "half_life": or_auto,
        "user_power": partial(_check.number, low=0.0, high=1.0),
    }

    def _score(self, users: Ints) -> Floats:
        rows: Any = self.user_items_[users]
        return rows @ self.weights_


@dataclass(eq=False)
class EASE(_ItemItem):
    """The linear item-item model with zero diagonal that minimises the squared error.

    It minimises ``||X - X B||² + l2 ||B||²`` subject to ``diag(B) = 0``, where X is the matrix of
    pairs. With P the inverse of ``X'X + l2 I``, the solution is ``B[i, j] = -P[i, j] / P[j, j]``.
    Use it only if a matrix of items x items fits into memory.

    Parameters
    ----------
    l2 : float
        The penalty, > 0, in units of users: usually some hundred or more.
    precision : {"double", "single"}
        The precision of the inverse. Single precision takes half the time and memory. It is
        accurate enough unless l2 is much smaller than the number of users of a popular item.
    gain : {"value", "log", "one"}
        The weight of a pair: its value, ``log2(1 + value)``, or 1.
    user_power : float
        From 0 to 1: how much the pairs of users with many pairs count less. With s the sum of the
        squared weights of a user, the weights are divided by ``s ** (user_power / 2)``, and then
        multiplied by a constant so that the squares of all have the same sum as before. With 0,
        each pair counts alike, and with 1, each user. It often pays: try 0.5.
    half_life : float, str or None
        The days, such as 30 or "30d", in which the weight of a pair falls by half: from its last
        event to the last event of the table, which must have times. With "auto", models without the
        last tenth of the events are measured on these, for each of eight half-lives and for none.

    Attributes
    ----------
    weights_ : float32, (n_items, n_items)
        The matrix B.

    Notes
    -----
    Cost: n_items³ operations. Memory: 8 bytes per pair of items (4 in single precision), and 4
    bytes for the weights.

    Scores that are equal in exact arithmetic, such as those of two items with the same users, can
    differ in their last digits. Rounding then decides which of them is first.

    References
    ----------
    steck2019.

    Examples
    --------
    >>> likes = sparse.csr_array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]])
    >>> EASE(l2=1.0).fit(likes).recommend([3], k=1)[0]
    array([[1]])
    """

    default_space: ClassVar[tuple[dict[str, Any], ...]] = (
        {"l2": "log(10,10000)", "gain": SEARCHED_GAINS, "user_power": _USER_POWERS},
    )
    reads_gain: ClassVar[bool] = True
    _learned: ClassVar[Axes] = {"weights_": (np.float32, "items", "items")}

    constraints: ClassVar[_check.Constraints] = {
        "l2": _check.positive,
        "precision": partial(_check.choice, options=("double", "single")),
    }

    l2: float = 500.0
    precision: str = "double"
    gain: str = "value"
    user_power: float = 0.0
    half_life: float | str | None = None

    def cost(self, user_items: sparse.csr_array[Any]) -> tuple[float, float]:
        """Return the estimates for an inverse of n_items x n_items."""
        n_items = float(user_items.shape[1])
        return 5e-11 * n_items**3, (4.0 + 8.0 + 4.0) * n_items**2

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        checked = _check.parameters(self)
        pairs = _balanced(pairs, checked["user_power"])
        is_double = checked["precision"] == "double"
        inverse = _gram(pairs, np.dtype(np.float64 if is_double else np.float32))
        inverse[np.diag_indices_from(inverse)] += checked["l2"]
        self.weights_ = _negative_ratios(_inverted(inverse))


@dataclass(eq=False)
class ItemKNN(_ItemItem):
    """Nearest items: an item's score is the sum of its cosines with the items of the user.

    Only neighbours count: each item keeps the k other items with the greatest cosine between
    columns of pairs. Among equal cosines the lower item numbers are kept. An item that is not a
    neighbour of any item of the user scores 0.

    Parameters
    ----------
    k : int
        The number of neighbours per item.
    gain : {"value", "log", "one"}
        The weight of a pair: its value, ``log2(1 + value)``, or 1.
    user_power : float
        How much the pairs of users with many pairs count less, see `EASE`.
    half_life : float, str or None
        The days in which the weight of a pair falls by half, see `EASE`.

    Attributes
    ----------
    weights_ : scipy.sparse.csr_array of float32, (n_items, n_items)
        Row j holds the cosines of item j with its neighbours.

    Notes
    -----
    The cosines use the weights of the pairs. Rounding does not decide which of two equal cosines is
    kept: if all weights are multiples of a power of two, such as counts and half stars, and the sum
    of squares of an item is at most 2 ** 26 of them, cosines are compared exactly. Otherwise they
    are compared in single precision, in which they are stored. Scores are added up in double
    precision, so that the order of a user's items does not matter.

    Cost: one sparse product, which is computed and reduced to the neighbours in blocks of items.

    References
    ----------
    deshpande2004.

    Examples
    --------
    >>> likes = sparse.csr_array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]])
    >>> ItemKNN(k=2).fit(likes).recommend([3], k=2)[0]
    array([[1, 2]])
    """

    default_space: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "k": [5, 10, 20, 50, 100, 200, 500, 1000],
            "gain": SEARCHED_GAINS,
            "user_power": _USER_POWERS,
        },
    )
    reads_gain: ClassVar[bool] = True
    _learned: ClassVar[Axes] = {
        "neighbours": (np.int32, "entries"),
        "neighbour_offsets": (np.int64, "items+1"),
        "cosines": (np.float32, "entries"),
    }

    constraints: ClassVar[_check.Constraints] = {"k": _check.cutoff}

    k: int = 150
    gain: str = "value"
    user_power: float = 0.0
    half_life: float | str | None = None

    def cost(self, user_items: sparse.csr_array[Any]) -> tuple[float, float]:
        """Return the estimates for the products of all pairs of items of each user."""
        counts = np.diff(user_items.indptr).astype(np.float64)
        n_neighbours = float(user_items.shape[1] * min(self.k, user_items.shape[1]))
        return 3e-9 * float(counts @ counts) + 1e-6 * n_neighbours, 8.0 * _BLOCK

    def _arrays(self) -> Arrays:
        weights = self.weights_
        return {
            "neighbours": weights.indices.astype(np.int32),
            "neighbour_offsets": weights.indptr.astype(np.int64),
            "cosines": weights.data,
        }

    def _set_arrays(self, arrays: Arrays) -> None:
        table = (arrays["cosines"], arrays["neighbours"], arrays["neighbour_offsets"])
        self.weights_ = sparse.csr_array(table, shape=(self.n_items_, self.n_items_))
        self.weights_.check_format()  # raises ValueError if an index is out of range

    def _score(self, users: Ints) -> Floats:
        rows: Any = self.user_items_[users].astype(np.float64)
        return (rows @ self.weights_).toarray().astype(np.float32)

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        checked = _check.parameters(self)
        pairs = _balanced(pairs, checked["user_power"])
        weights: Any = pairs.astype(np.float64)
        items = weights.T.tocsr()
        squares: Any = np.bincount(weights.indices, weights.data**2, minlength=pairs.shape[1])
        is_exact = squares.max() <= _EXACT * _unit(pairs.data) ** 2
        neighbours: list[Any] = []
        for start, stop in _blocks(pairs.shape[1]):
            cosines = _squared_cosines(items[start:stop] @ weights, squares, start)
            if not is_exact:
                cosines.data = np.sqrt(cosines.data).astype(np.float32).astype(np.float64) ** 2
            neighbours.append(_nearest(cosines, start, checked["k"]))
        self.weights_ = sparse.csr_array(sparse.vstack(neighbours, format="csr"))


def _balanced(pairs: sparse.csr_array[Any], power: float) -> sparse.csr_array[Any]:
    """Return the pairs with smaller weights for users with many pairs; see `EASE`."""
    if power == 0.0:
        return pairs
    users = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    squares = pairs.data.astype(np.float64) ** 2
    of_users = np.bincount(users, squares, pairs.shape[0])[users]
    factors = of_users**-power
    factors *= squares.sum() / (squares @ factors)
    weights = (pairs.data * np.sqrt(factors)).astype(np.float32)
    return sparse.csr_array((weights, pairs.indices, pairs.indptr), pairs.shape)


def _blocks(n_items: int) -> list[tuple[int, int]]:
    step = max(1, _BLOCK // n_items)
    return [(start, min(start + step, n_items)) for start in range(0, n_items, step)]


def _gram(pairs: sparse.csr_array[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return X'X on and above the diagonal; the entries below are not valid."""
    n_items = pairs.shape[1]
    converted: Any = pairs.astype(dtype)
    items = converted.T.tocsr()
    gram = np.zeros((n_items, n_items), dtype, order="F")
    for start, stop in _blocks(n_items):
        # only rows up to the block's last item: the rest lies below the diagonal
        gram[:stop, start:stop] = (items[:stop] @ converted[:, start:stop]).toarray()
    return gram


def _inverted(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the inverse of a positive definite matrix on and above the diagonal.

    The memory of the matrix is used.
    """
    routines: Any = linalg.get_lapack_funcs(("potrf", "potri"), (matrix,))
    factorize, invert = routines
    with nullcontext() if len(matrix) <= _THREADED else one_blas_thread:
        result, info = factorize(matrix, lower=False, clean=False, overwrite_a=True)
        if not info:
            result, info = invert(result, lower=False, overwrite_c=True)
    if info:
        raise ArgumentError(
            f"{arg.l2} is too small for these pairs: the matrix has no inverse in this precision. "
            f"Pass a greater l2, or {arg.precision('double')}."
        )
    return result


def _negative_ratios(inverse: NDArray[Any]) -> Floats:
    """Return -P[i, j] / P[j, j] with a zero diagonal; P is valid on and above its diagonal."""
    n_items = inverse.shape[0]
    diagonal = inverse.diagonal().copy()
    weights = np.empty((n_items, n_items), np.float32)
    for start, stop in _blocks(n_items):
        rows = np.zeros((stop - start, n_items), inverse.dtype)
        rows[:, start:] = np.triu(inverse[start:stop, start:])
        rows[:, :stop] += np.tril(inverse[:stop, start:stop].T, start - 1)
        weights[start:stop] = rows / -diagonal
    np.fill_diagonal(weights, 0.0)
    return weights


def _unit(weights: NDArray[np.float32]) -> float:
    """Return the greatest power of two of which all weights are multiples."""
    mantissas, exponents = np.frexp(weights.astype(np.float64))
    digits = (mantissas * 2.0**_DIGITS).astype(np.int64)  # whole numbers: float32 has 24 digits
    return float(np.ldexp((digits & -digits).astype(np.float64), exponents - _DIGITS).min())


def _squared_cosines(dots: Any, squares: NDArray[np.float64], start: int) -> Any:
    """Return the squared cosines of items from ``start`` on with all items.

    The products are exact for small whole numbers, so that the quotient, which is rounded once, is
    the same for all equal fractions.
    """
    n_entries: NDArray[np.int64] = np.diff(dots.indptr)
    row = start + np.repeat(np.arange(n_entries.size), n_entries)
    dots.data = dots.data**2 / (squares[row] * squares[dots.indices])
    return dots


def _nearest(squared_cosines: Any, start: int, k: int) -> sparse.csr_array[Any]:
    """Return the k greatest cosines > 0 of each row.

    Row i belongs to item ``start + i``, which is not its neighbour.
    """
    n_rows, n_items = map(int, squared_cosines.shape)
    rows = np.arange(n_rows)
    itself = (np.ones(n_rows), (rows, rows + start))
    diagonal = sparse.csr_array(itself, shape=squared_cosines.shape)
    items, best = top_k(squared_cosines.toarray(), min(k, n_items), exclude=diagonal)
    is_neighbour = best > 0
    table = (
        np.sqrt(best[is_neighbour]).astype(np.float32),
        (np.nonzero(is_neighbour)[0], items[is_neighbour]),
    )
    return sparse.csr_array(table, shape=squared_cosines.shape)
