"""Recommenders of one item x item matrix: a user's scores are the sum of its items' rows."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from podium import _check
from podium._arrays import Arrays
from podium.catalogue import top_k
from podium.errors import ArgumentError
from podium.recommenders._base import Floats, Ints, MatrixRecommender
from podium.recommenders._files import Shapes
from podium.recommenders._pairs import is_matrix

_BLOCK = 2**22  # numbers of the item x item matrix that are made at a time
_PRECISIONS = ("double", "single")


class _ItemItem(MatrixRecommender, abc.ABC):
    """``scores = user_items_ @ weights_``."""

    weights_: Any  # here, not in a dataclass, which would make a parameter of it

    def _score(self, users: Ints) -> Floats:
        rows: Any = self.user_items_[users]
        product: Any = rows @ self.weights_
        return product.toarray() if is_matrix(product) else product


@dataclass(eq=False)
class EASE(_ItemItem):
    """The linear model of items by items, of zero diagonal, with the least squared error.

    Minimises ``||X - X B||² + l2 ||B||²`` where ``diag(B) = 0``, X being the pairs: with P the
    inverse of ``X'X + l2 I``, ``B[i, j] = -P[i, j] / P[j, j]``. Only for catalogues whose items
    squared fit into memory.

    Parameters
    ----------
    l2 : float
        Penalty, > 0, in units of users: some hundred and more.
    precision : {"double", "single"}
        Of the inverse. Single takes half of the time and memory, and is exact enough where l2 is
        not far below the number of users of a popular item.

    Attributes
    ----------
    weights_ : float32, (n_items, n_items)

    Notes
    -----
    Cost: n_items³ operations; memory 8 (single: 4) bytes a pair of items, and 4 for the weights.

    References
    ----------
    steck2019.

    Examples
    --------
    >>> likes = sparse.csr_array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]])
    >>> EASE(l2=1.0).fit(likes).recommend([3], k=1)[0]
    array([[1]])
    """

    _learned: ClassVar[tuple[str, ...]] = ("weights_",)

    l2: float = 500.0
    precision: str = "double"

    def _layout(self, arrays: Arrays) -> tuple[int, int, Shapes]:
        n_items = arrays["weights_"].shape[0]
        shapes: Shapes = {"weights_": ((n_items, n_items), np.float32)}
        return arrays["seen_offsets_"].size - 1, n_items, shapes

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        l2 = _check.number(self.l2, "l2", low=0.0, strict=True)
        double = _check.choice(self.precision, "precision", _PRECISIONS) == "double"
        inverse = _gram(pairs, np.dtype(np.float64 if double else np.float32))
        inverse[np.diag_indices_from(inverse)] += l2
        _invert(inverse)
        self.weights_ = _negative_ratios(inverse)


@dataclass(eq=False)
class ItemKNN(_ItemItem):
    """Nearest items: the sum, over a user's items, of the cosine between each and its neighbours.

    Each item keeps the k others of greatest cosine between columns of pairs; of equal ones the
    lower item numbers. An item that is a neighbour of none of a user's items scores 0.

    Parameters
    ----------
    k : int
        Neighbours of an item.

    Attributes
    ----------
    weights_ : scipy.sparse.csr_array of float32, (n_items, n_items)
        Row j has the cosines of item j with its neighbours.

    Notes
    -----
    Cost: one sparse product, made and cut a block of items at a time. Cosines count a pair's
    weight.

    References
    ----------
    deshpande2004.

    Examples
    --------
    >>> likes = sparse.csr_array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]])
    >>> ItemKNN(k=2).fit(likes).recommend([3], k=2)[0]
    array([[1, 2]])
    """

    _learned: ClassVar[tuple[str, ...]] = ("neighbours", "neighbour_offsets", "cosines")

    k: int = 150

    def _arrays(self) -> Arrays:
        weights = self.weights_
        return {
            "neighbours": weights.indices.astype(np.int32),
            "neighbour_offsets": weights.indptr.astype(np.int64),
            "cosines": weights.data,
        }

    def _layout(self, arrays: Arrays) -> tuple[int, int, Shapes]:
        n_items, size = arrays["neighbour_offsets"].size - 1, arrays["neighbours"].size
        shapes: Shapes = {
            "neighbours": ((size,), np.int32),
            "neighbour_offsets": ((n_items + 1,), np.int64),
            "cosines": ((size,), np.float32),
        }
        return arrays["seen_offsets_"].size - 1, n_items, shapes

    def _take(self, arrays: Arrays) -> None:
        table = (arrays["cosines"], arrays["neighbours"], arrays["neighbour_offsets"])
        self.weights_ = sparse.csr_array(table, shape=(self.n_items_, self.n_items_))
        self.weights_.check_format()  # raises ValueError for places that are not there

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        k = _check.cutoff(self.k)
        n_items = pairs.shape[1]
        columns = _unit_columns(pairs)
        rows = columns.T.tocsr()
        kept = [_nearest(rows[start:stop] @ columns, start, k) for start, stop in _blocks(n_items)]
        self.weights_ = sparse.csr_array(sparse.vstack(kept, format="csr"))


def _blocks(n_items: int) -> list[tuple[int, int]]:
    step = max(1, _BLOCK // n_items)
    return [(start, min(start + step, n_items)) for start in range(0, n_items, step)]


def _gram(pairs: sparse.csr_array[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return X'X, on and above the diagonal; what is below is not to be read."""
    n_items = pairs.shape[1]
    wide: Any = pairs.astype(dtype)
    items = wide.T.tocsr()
    gram = np.zeros((n_items, n_items), dtype, order="F")
    for start, stop in _blocks(n_items):
        # each column of the block, from item 0 to the block's last
        gram[:stop, start:stop] = (items[:stop] @ wide[:, start:stop]).toarray()
    return gram


def _invert(matrix: NDArray[Any]) -> None:
    """Put the inverse of a positive definite matrix on and above its diagonal, in place."""
    routines: Any = linalg.get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, inverse = routines
    found, failed = factor(matrix, lower=False, clean=False, overwrite_a=True)
    if not failed:
        found, failed = inverse(found, lower=False, overwrite_c=True)
    if failed:
        raise ArgumentError(
            "l2 is too small for these pairs: the matrix has no inverse in this precision. Give "
            "a greater l2, or precision='double'."
        )
    if not np.shares_memory(found, matrix):
        matrix[:] = found


def _negative_ratios(inverse: NDArray[Any]) -> Floats:
    """Return -P[i, j] / P[j, j] and a zero diagonal, from P on and above its diagonal."""
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


def _unit_columns(pairs: sparse.csr_array[Any]) -> sparse.csr_array[Any]:
    """Return the pairs with columns of length 1, in float64; an item without pairs stays empty."""
    wide: Any = pairs.astype(np.float64)
    lengths = np.sqrt(np.bincount(wide.indices, wide.data**2, minlength=pairs.shape[1]))
    wide.data /= lengths[wide.indices]
    return wide


def _nearest(cosines: Any, start: int, k: int) -> sparse.csr_array[Any]:
    """Return the k greatest cosines > 0 of each row, whose own items begin at `start`."""
    n_rows, n_items = map(int, cosines.shape)
    rows = np.arange(n_rows)
    own = sparse.csr_array((np.ones(n_rows), (rows, rows + start)), shape=cosines.shape)
    items, best = top_k(cosines.toarray(), min(k, n_items), exclude=own)
    kept = best > 0
    table = (best[kept].astype(np.float32), (np.nonzero(kept)[0], items[kept]))
    return sparse.csr_array(table, shape=cosines.shape)
