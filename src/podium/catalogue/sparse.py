"""Sparse user x item matrices: checked once, then read in blocks of users.

SciPy's matrices are read through their attributes, so that this module does not import SciPy.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError, arg
from podium.groups import find, rows_between
from podium.ranking import kept_offsets

Overlap: TypeAlias = Literal["error", "drop"]

_SLICE = 2**14  # users whose overlap is searched at a time


class Rows(NamedTuple):
    """Items of each user, increasing and distinct within a user, with a value each."""

    offsets: NDArray[Any]
    items: NDArray[Any]
    values: NDArray[Any]

    @classmethod
    def none(cls, n_users: int) -> Rows:
        """Return rows without any entry."""
        return cls(np.zeros(n_users + 1, np.int64), np.empty(0, np.int64), np.empty(0))

    def block(self, start: int, stop: int) -> Rows:
        """Return the rows of some users, in the types that the kernels take."""
        offsets = self.offsets[start : stop + 1].astype(np.int64)
        part = slice(int(offsets[0]), int(offsets[-1]))
        return Rows(
            offsets - offsets[0],
            self.items[part].astype(np.int64, copy=False),
            self.values[part].astype(np.float64, copy=False),
        )

    def of(self, users: NDArray[np.int64]) -> Rows:
        """Return the rows of some users, in their order."""
        offsets, entries = rows_between(self.offsets[users].astype(np.int64), self.sizes[users])
        return Rows(offsets, self.items[entries], self.values[entries])

    def of_items(self, start: int, stop: int) -> Rows:
        """Return the entries with items from start to stop, whose numbers then begin at 0."""
        is_inside = (self.items >= start) & (self.items < stop)
        offsets = kept_offsets(is_inside, self.offsets)
        return Rows(offsets, self.items[is_inside] - start, self.values[is_inside])

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets).astype(np.int64)

    @property
    def users(self) -> NDArray[np.int64]:
        """The user of each entry: int64, (n_entries,)."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def keys(self, n_items: int) -> NDArray[np.int64]:
        """Return user * n_items + item of each entry, which increase: int64, (n_entries,)."""
        return self.users * n_items + self.items

    def without(self, entries: NDArray[np.bool_]) -> Rows:
        """Return the rows without the marked entries."""
        return self._replace(
            offsets=kept_offsets(~entries, self.offsets),
            items=self.items[~entries],
            values=self.values[~entries],
        )


def read_excluded(matrix: Any, shape: tuple[int, int], name: str = "exclude") -> Rows:
    """Read the items that are excluded for each user: all stored entries, whatever their values."""
    if matrix is None:
        return Rows.none(shape[0])
    csr = _csr(matrix, name, shape)
    return Rows(csr.indptr, csr.indices, csr.data)


def read_relevant(matrix: Any, name: str, shape: tuple[int, int]) -> Rows:
    """Read the relevances of user-item pairs: distinct pairs, finite values >= 0."""
    csr = _csr(matrix, name, shape)
    if csr.nnz < matrix.nnz:
        raise ArgumentError(
            f"{name} must contain each user-item pair once, got {matrix.nnz - csr.nnz} repeated. "
            f"Call {name}.sum_duplicates() to add their relevances."
        )
    rows = Rows(csr.indptr, csr.indices, csr.data)
    is_valid = np.isfinite(rows.values) & (rows.values >= 0)
    if not is_valid.all():
        first = int(np.argmin(is_valid))
        raise ArgumentError(
            f"{name} must hold finite relevances >= 0, got {rows.values[first]:g} for user "
            f"{rows.users[first]} and item {rows.items[first]}."
        )
    return rows


def storage_order(matrix: Any) -> NDArray[np.int64]:
    """Return the position of each entry, sorted by user and item, in the data of the CSR form."""
    csr = matrix.tocsr().copy()
    positions: NDArray[np.int64] = np.arange(int(csr.nnz))
    csr.data = positions
    csr.sort_indices()  # sorts the data too, in place
    return positions


def split_overlap(
    truth: Rows, name: str, exclude: Rows, overlap: Overlap
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the truth without excluded items and a mask of these items, or raise."""
    _check.choice(overlap, "overlap", ("error", "drop"))
    is_common = np.zeros(truth.items.size, np.bool_)
    if not exclude.items.size:
        return truth, is_common
    n_users = truth.sizes.size
    n_items = 1 + int(max(truth.items.max(initial=0), exclude.items.max()))
    for start in range(0, n_users, _SLICE):
        stop = min(start + _SLICE, n_users)
        seen, relevant = (rows.block(start, stop).keys(n_items) for rows in (exclude, truth))
        is_common[truth.offsets[start] : truth.offsets[stop]] = find(seen, relevant) >= 0
    if not is_common.any():
        return truth, is_common
    if overlap == "error":
        first = int(np.argmax(is_common))
        raise ArgumentError(
            f"exclude contains {int(is_common.sum())} of the pairs in {name}, first user "
            f"{truth.users[first]} and item {truth.items[first]}. Pass {arg.overlap('drop')} to "
            f"remove them from {name}, or remove them from exclude to rank them."
        )
    return truth.without(is_common), is_common


def _csr(matrix: Any, name: str, shape: tuple[int, int]) -> Any:
    """Return a matrix in CSR form with sorted and distinct items; others are added up."""
    if not _check.is_sparse(matrix):
        raise ArgumentError(
            f"{name} must be a scipy.sparse matrix of users x items, got "
            f"{type(matrix).__name__}. Convert it: scipy.sparse.csr_array({name})."
        )
    if matrix.shape != shape:
        raise ArgumentError(
            f"{name} must have the shape of scores, users x items = {shape}, got {matrix.shape}."
        )
    csr = matrix.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr
