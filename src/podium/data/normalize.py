"""Features scaled within each query, as in LETOR's QueryLevelNorm files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.data._letor_kernels import scale_groups
from podium.errors import ArgumentError
from podium.groups import Groups

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ALL = np.empty(0, np.int64)


def normalize_by_query(
    X: Any, qid: ArrayLike, *, copy: bool = True
) -> NDArray[np.floating] | csr_array:
    """Scale each feature to [0, 1] within each query: ``(x - min) / (max - min)``.

    Parameters
    ----------
    X : (n_rows, n_features)
        A dense array, or a scipy.sparse matrix. float32 is kept; other numbers become float64.
    qid : (n_rows,)
        The query (or user) of each row, in any order.
    copy : bool
        Whether X is copied. With False, a dense float array may be overwritten.

    Returns
    -------
    float64 or float32, (n_rows, n_features)
        The scaled features, dense, or CSR if X is sparse.

    Raises
    ------
    ArgumentError
        If lengths differ, a value is infinite, or copy is neither True nor False.

    Notes
    -----
    A feature that is constant within a query becomes 0, also in a query of one row. nan is ignored
    and remains nan. The values that a sparse X does not store count as zeros: the result is that of
    the dense matrix. It remains sparse if the minimum of each feature in each query is 0, as for
    counts. If a minimum is negative, values that were not stored become nonzero and are stored.

    Cost: two passes over X. For a sparse X, each query also needs a dense array of the columns that
    it stores.

    References
    ----------
    qin2010, section on normalisation.

    Examples
    --------
    >>> normalize_by_query([[1.0, 5.0], [3.0, 5.0], [2.0, 7.0]], [7, 7, 8]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    needs_copy = _check.flag(copy, "copy")
    groups = Groups.from_qid(_check.array(qid, "qid"))
    if _check.is_sparse(X):
        return _sparse(_floats(X.tocsr(), copy=False), groups)
    dense = _floats(_check.array(X, "X"), copy=needs_copy)
    if dense.ndim != 2:
        raise ArgumentError(f"X must have two dimensions, got shape {dense.shape}.")
    _check_rows(dense, groups, dense)
    _scale(dense, groups.offsets, _ALL if groups.order is None else groups.order)
    return dense


def _floats(X: Any, *, copy: bool) -> Any:
    """Return float64 or float32; a dense array is C-ordered and, with `copy`, copied."""
    if X.dtype.kind == "c":
        raise ArgumentError("X must hold real numbers, got complex ones.")
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if _check.is_sparse(X):
        return X.astype(dtype)
    try:
        return np.array(X, dtype, order="C", copy=True if copy else None)
    except (TypeError, ValueError):
        raise ArgumentError(f"X must hold numbers, got an array of {X.dtype}.") from None


def _check_rows(X: Any, groups: Groups, values: NDArray[Any]) -> None:
    if X.shape[0] != groups.n_rows:
        raise ArgumentError(
            f"X and qid must have equal length, got {X.shape[0]} and {groups.n_rows}."
        )
    n_infinite = int(np.isinf(values).sum())
    if n_infinite:
        raise ArgumentError(
            f"X has {n_infinite} infinite value{'s' if n_infinite > 1 else ''}, which can't be "
            "scaled to [0, 1]. Drop those rows, or clip the values."
        )


def _scale(X: NDArray[Any], offsets: NDArray[np.int64], order: NDArray[np.int64]) -> None:
    low, high = np.empty((2, X.shape[1]))
    scale_groups(offsets, order, low, high, X)


def _sparse(X: Any, groups: Groups) -> csr_array:
    """Scale each query as a dense array of the columns that it stores."""
    from scipy import sparse

    _check_rows(X, groups, X.data)
    grouped = X if groups.order is None else X[groups.order]
    bounds = zip(groups.offsets[:-1], groups.offsets[1:], strict=True)
    parts = [_scaled(grouped[low:high]) for low, high in bounds]
    if not parts:
        return sparse.csr_array(X)
    stacked = sparse.csr_array(sparse.vstack(parts, format="csr"))
    return stacked if groups.order is None else stacked[np.argsort(groups.order)]


def _scaled(rows: Any) -> Any:
    from scipy import sparse

    columns = np.unique(rows.indices)
    dense = np.ascontiguousarray(rows[:, columns].toarray())
    _scale(dense, np.array([0, dense.shape[0]]), _ALL)
    scaled = sparse.csr_array(dense)
    indices = columns[scaled.indices]
    return sparse.csr_array((scaled.data, indices, scaled.indptr), shape=rows.shape)
