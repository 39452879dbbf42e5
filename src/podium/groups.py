"""Groups: the rows that belong together (the items of a user, the documents of a query).

Groups have any size and are not padded. `Groups` holds one row order, computed once, and the
offsets of the groups in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError, arg
from podium.types import Counts, Offsets

A = TypeVar("A", bound=np.generic)

_LARGEST = np.iinfo(np.int64).max  # hashed ids can be unsigned and larger
_DENSE = 4  # integer labels are counted, not sorted, if their range is at most 4 times the rows


@dataclass(frozen=True, eq=False)
class Groups:
    """The row order and the bounds of groups, in increasing order of their labels.

    Group g holds the rows ``order[offsets[g]:offsets[g + 1]]`` of the caller's arrays. If `order`
    is None, the rows are already grouped. Rows of one group keep their order.

    Parameters
    ----------
    labels : (n_groups,)
        Distinct labels, increasing.
    offsets : int64, (n_groups + 1,)
        The first row of each group in the row order, and n_rows at the end.
    order : int64, (n_rows,), or None
        Positions in the caller's arrays.

    Examples
    --------
    >>> groups = Groups.from_qid(["b", "a", "b"])
    >>> groups.labels.tolist(), groups.sizes.tolist(), groups.order.tolist()
    (['a', 'b'], [1, 2], [1, 0, 2])
    """

    labels: NDArray[Any]
    offsets: NDArray[np.int64]
    order: NDArray[np.int64] | None = None

    @classmethod
    def from_qid(cls, qid: ArrayLike) -> Groups:
        """Group rows by their labels, integers or strings, in any row order.

        Cost: one pass if the rows are already grouped with increasing labels; a counting sort for
        integers in a narrow range; otherwise a stable sort.
        """
        labels = _labels(qid)
        if np.any(labels[1:] < labels[:-1]):
            return cls._sorted(labels)
        starts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
        starts = np.concatenate([np.zeros(min(1, labels.size), np.int64), starts])
        return cls(labels[starts], np.append(starts, labels.size))

    @classmethod
    def from_sizes(cls, sizes: ArrayLike) -> Groups:
        """Group consecutive rows by group sizes (LightGBM's form), with labels from 0."""
        counts = _check.array(sizes, "sizes")
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or (counts.size and counts.min() < 0):
            raise ArgumentError(
                f"{arg.sizes} must be integers >= 0 in one dimension, got {sizes!r}."
            )
        return cls(np.arange(counts.size), row_offsets(counts))

    @classmethod
    def single(cls, n_rows: int) -> Groups:
        """Put all rows into one group with label 0."""
        return cls.from_sizes([n_rows])

    @classmethod
    def _sorted(cls, labels: NDArray[Any]) -> Groups:
        from podium._kernels import counting_order, read_only

        bounds = _dense_bounds(labels)
        if bounds is None:
            codes, distinct = encode(labels)
            low = 0
        else:
            low, high = bounds
            codes = labels.astype(np.int64, copy=False)
            distinct = np.arange(low, high + 1).astype(labels.dtype)
        offsets = np.zeros(distinct.size + 1, np.int64)
        order = np.empty(codes.size, np.int64)
        counting_order(read_only(codes), low, offsets, order)
        used = np.flatnonzero(offsets[1:] > offsets[:-1])
        return cls(distinct[used], np.append(offsets[used], codes.size), order)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return self.labels.size

    @property
    def n_rows(self) -> int:
        """The number of rows of all groups."""
        return int(self.offsets[-1])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        return np.diff(self.offsets)

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """The group number of each row, in the caller's row order."""
        return self.scatter(np.repeat(np.arange(self.n_groups), self.sizes))

    def rows_of(self, group: int) -> NDArray[np.int64]:
        """Return the rows of a group, given its number."""
        rows = np.arange(int(self.offsets[group]), int(self.offsets[group + 1]))
        return rows if self.order is None else self.order[rows]

    def of_first(self, n_rows: int) -> Groups:
        """Return all groups with the first rows only; some may then have none."""
        if n_rows == self.n_rows:
            return self
        order = np.arange(self.n_rows) if self.order is None else self.order
        is_first = order < n_rows
        offsets = np.append(0, np.cumsum(is_first))[self.offsets]
        return Groups(self.labels, offsets, order[is_first])

    def gather(self, values: NDArray[A]) -> NDArray[A]:
        """Return values in group order, without a copy if it is the caller's row order."""
        return values if self.order is None else values[self.order]

    def scatter(self, values: NDArray[A]) -> NDArray[A]:
        """Return values that are in group order in the caller's row order."""
        if self.order is None:
            return values
        scattered = np.empty_like(values)
        scattered[self.order] = values
        return scattered


def encode(labels: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return codes and the distinct labels, increasing, with ``distinct[codes] == labels``."""
    bounds = _dense_bounds(labels)
    if bounds is not None:
        low, high = bounds
        shifted = np.subtract(labels, low, dtype=np.int64)
        present = np.zeros(high - low + 1, np.bool_)
        present[shifted] = True
        if present.all():
            return shifted, (low + np.arange(present.size, dtype=np.int64)).astype(labels.dtype)
        number = np.cumsum(present) - 1
        return number[shifted], (np.flatnonzero(present) + low).astype(labels.dtype)
    try:
        distinct, codes = np.unique(labels, return_inverse=True)
    except TypeError:  # objects of several types that cannot be compared
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise ArgumentError(
            f"ids must be all integers or all strings, got {' and '.join(kinds)}. Convert the "
            "column, or leave out rows without an id."
        ) from None
    return codes.astype(np.int64, copy=False), distinct


def _dense_bounds(labels: NDArray[Any]) -> tuple[int, int] | None:
    """Return the smallest and the largest label if they are integers in a narrow range."""
    if labels.dtype.kind not in "iu" or not labels.size:
        return None
    low, high = int(labels.min()), int(labels.max())
    is_dense = high <= _LARGEST and high - low < _DENSE * labels.size + 1000
    return (low, high) if is_dense else None


def _labels(qid: ArrayLike) -> NDArray[Any]:
    labels = _check.one_dimensional(_check.array(qid, "qid"), "qid")
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(str)
    if labels.dtype.kind not in "iuU" and labels.size:
        raise ArgumentError(
            f"qid must hold integers or strings, got {labels.dtype}. "
            "Convert the column, or encode it first."
        )
    return labels if labels.size else np.empty(0, np.int64)


def find(labels: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each value among increasing labels, -1 if it is absent."""
    if not labels.size:
        return np.full(values.size, -1)
    position = np.minimum(np.searchsorted(labels, values), labels.size - 1)
    return np.where(labels[position] == values, position, -1)


def row_offsets(sizes: Counts) -> Offsets:
    """Return the start of each group, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def rows_between(starts: NDArray[np.int64], sizes: Counts) -> tuple[Offsets, NDArray[np.int64]]:
    """Return the offsets of groups of consecutive rows, one after the other, and these rows.

    Examples
    --------
    >>> rows_between(np.array([7, 2]), np.array([1, 2]))
    (array([0, 1, 3]), array([7, 2, 3]))
    """
    offsets = row_offsets(sizes)
    return offsets, np.arange(int(offsets[-1])) + np.repeat(starts - offsets[:-1], sizes)
