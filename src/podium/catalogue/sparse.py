"""Sparse user x item matrices: checked once, then read in blocks of users.

SciPy's matrices are read through their attributes, so that this module does not import SciPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.catalogue import _kernels
from podium.errors import ArgumentError, arg
from podium.groups import row_offsets
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
        sizes = self.sizes[users]
        offsets = row_offsets(sizes)
        entries: NDArray[np.int64] = np.arange(int(offsets[-1])) + np.repeat(
            self.offsets[users] - offsets[:-1], sizes
        )
        return Rows(offsets, self.items[entries], self.values[entries])

    def of_items(self, start: int, stop: int) -> Rows:
        """Return the entries with items from start to stop, whose numbers then begin at 0."""
        is_inside = (self.items >= start) & (self.items < stop)
        offsets = kept_offsets(is_inside, self.offsets)
        return Rows(offsets, self.items[is_inside] - start, self.values[is_inside])

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets).astype(np.int64)

    def user(self, entry: int) -> int:
        """Return the user of a stored entry."""
        return int(np.searchsorted(self.offsets, entry, side="right")) - 1

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
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return Rows(csr.indptr, csr.indices, csr.data)


def read_relevant(matrix: Any, name: str, shape: tuple[int, int]) -> Rows:
    """Read the relevances of user-item pairs: distinct pairs, finite values >= 0."""
    csr = _csr(matrix, name, shape)
    has_duplicates = csr.nnz < matrix.nnz  # some formats sum duplicates in the conversion to CSR
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if has_duplicates or csr.nnz < matrix.nnz:
        raise ArgumentError(
            f"{name} must contain each user-item pair once, got {matrix.nnz - csr.nnz} repeated. "
            f"Call {name}.sum_duplicates() to add their relevances."
        )
    rows = Rows(csr.indptr, csr.indices, csr.data)
    _refuse_negative(rows, name)
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
    for start, stop in _slices(truth.offsets.size - 1):
        seen, relevant = exclude.block(start, stop), truth.block(start, stop)
        is_common_in_slice = is_common[truth.offsets[start] : truth.offsets[stop]]
        _kernels.common_items(seen, relevant, is_common_in_slice)
    if not is_common.any():
        return truth, is_common
    if overlap == "error":
        first = int(np.argmax(is_common))
        raise ArgumentError(
            f"exclude contains {int(is_common.sum())} of the pairs in {name}, first user "
            f"{truth.user(first)} and item {truth.items[first]}. Pass {arg.overlap('drop')} to "
            f"remove them from {name}, or remove them from exclude to rank them."
        )
    return truth.without(is_common), is_common


def _slices(n_users: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n_users, _SLICE):
        yield start, min(start + _SLICE, n_users)


def _csr(matrix: Any, name: str, shape: tuple[int, int]) -> Any:
    if not _check.is_sparse(matrix):
        raise ArgumentError(
            f"{name} must be a scipy.sparse matrix of users x items, got "
            f"{type(matrix).__name__}. Convert it: scipy.sparse.csr_array({name})."
        )
    if matrix.shape != shape:
        raise ArgumentError(
            f"{name} must have the shape of scores, users x items = {shape}, got {matrix.shape}."
        )
    return matrix.tocsr()


def _refuse_negative(rows: Rows, name: str) -> None:
    is_valid = np.isfinite(rows.values) & (rows.values >= 0)
    if not is_valid.all():
        first = int(np.argmin(is_valid))
        raise ArgumentError(
            f"{name} must hold finite relevances >= 0, got {rows.values[first]:g} for user "
            f"{rows.user(first)} and item {rows.items[first]}."
        )
