"""Sparse user x item matrices: checked once, handed on in blocks of users.

SciPy's matrices are read by their attributes, so that nothing here imports SciPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.catalogue import _kernels
from podium.errors import ArgumentError

Overlap: TypeAlias = Literal["error", "drop"]

_SLICE = 2**14  # users whose overlap is looked for at a time


class Rows(NamedTuple):
    """Items of each user, rising and distinct within a user, and a value of each."""

    offsets: NDArray[Any]
    items: NDArray[Any]
    values: NDArray[Any]

    @classmethod
    def none(cls, n_users: int) -> Rows:
        """Return rows that hold nothing."""
        return cls(np.zeros(n_users + 1, np.int64), np.empty(0, np.int64), np.empty(0))

    def block(self, start: int, stop: int) -> Rows:
        """Return the rows of some users, in the types that the kernels want."""
        offsets = self.offsets[start : stop + 1].astype(np.int64)
        part = slice(int(offsets[0]), int(offsets[-1]))
        return Rows(
            offsets - offsets[0],
            self.items[part].astype(np.int64, copy=False),
            self.values[part].astype(np.float64, copy=False),
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets).astype(np.int64)

    def user(self, entry: int) -> int:
        """Return the user of a stored entry."""
        return int(np.searchsorted(self.offsets, entry, side="right")) - 1

    def without(self, entries: NDArray[np.bool_]) -> Rows:
        """Return the rows without some of their entries."""
        kept = np.concatenate([[0], np.cumsum(~entries)])
        return self._replace(
            offsets=kept[self.offsets],
            items=self.items[~entries],
            values=self.values[~entries],
        )


def read_excluded(matrix: Any, shape: tuple[int, int], name: str = "exclude") -> Rows:
    """Read the items that each user is not shown: all stored entries, whatever their values."""
    if matrix is None:
        return Rows.none(shape[0])
    csr = _csr(matrix, name, shape)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return Rows(csr.indptr, csr.indices, csr.data)


def read_relevant(matrix: Any, name: str, shape: tuple[int, int]) -> Rows:
    """Read relevances of user-item pairs, each pair once, finite and >= 0."""
    csr = _csr(matrix, name, shape)
    twice = csr.nnz < matrix.nnz  # some formats add duplicates up when they become rows
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if twice or csr.nnz < matrix.nnz:
        raise ArgumentError(
            f"{name} must hold each user-item pair once, got {matrix.nnz - csr.nnz} repeated. "
            f"Call {name}.sum_duplicates() if their relevances are to be added."
        )
    rows = Rows(csr.indptr, csr.indices, csr.data)
    _refuse_negative(rows, name)
    return rows


def storage_order(matrix: Any) -> NDArray[np.int64]:
    """Return the place of each entry, in order of user and item, in the CSR form's data."""
    probe = matrix.tocsr().copy()
    places: NDArray[np.int64] = np.arange(int(probe.nnz))
    probe.data = places
    probe.sort_indices()  # in place, data too
    return places


def split_overlap(
    truth: Rows, name: str, exclude: Rows, overlap: Overlap
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the truth without excluded items, and which entries those were; or refuse them."""
    _check.choice(overlap, "overlap", ("error", "drop"))
    common = np.zeros(truth.items.size, np.bool_)
    if not exclude.items.size:
        return truth, common
    for start, stop in _slices(truth.offsets.size - 1):
        seen, true = exclude.block(start, stop), truth.block(start, stop)
        part = common[truth.offsets[start] : truth.offsets[stop]]
        _kernels.common_items(seen, true, part)
    if not common.any():
        return truth, common
    if overlap == "error":
        first = int(np.argmax(common))
        raise ArgumentError(
            f"exclude holds {int(common.sum())} of the pairs in {name}, first user "
            f"{truth.user(first)} and item {truth.items[first]}. Pass overlap='drop' to leave "
            f"them out of {name}, or take them out of exclude to have them ranked."
        )
    return truth.without(common), common


def _slices(n_users: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n_users, _SLICE):
        yield start, min(start + _SLICE, n_users)


def _csr(matrix: Any, name: str, shape: tuple[int, int]) -> Any:
    if not _check.is_sparse(matrix):
        raise ArgumentError(
            f"{name} must be a scipy.sparse matrix of users x items, got "
            f"{type(matrix).__name__}. Wrap it: scipy.sparse.csr_array({name})."
        )
    if matrix.shape != shape:
        raise ArgumentError(
            f"{name} must have the shape of scores, users x items = {shape}, got {matrix.shape}."
        )
    return matrix.tocsr()


def _refuse_negative(rows: Rows, name: str) -> None:
    good = np.isfinite(rows.values) & (rows.values >= 0)
    if not good.all():
        first = int(np.argmin(good))
        raise ArgumentError(
            f"{name} must hold finite relevances >= 0, got {rows.values[first]:g} for user "
            f"{rows.user(first)} and item {rows.items[first]}."
        )
