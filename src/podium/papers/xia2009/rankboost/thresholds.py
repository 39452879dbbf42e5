"""Features as codes of thresholds, dense or sparse, and the search for the best threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.types import Mask, Offsets, PerRow, RowIndex

Thresholds: TypeAlias = NDArray[np.float64]  # (n_thresholds,), by feature, then rising
Codes: TypeAlias = NDArray[Any]  # unsigned integers, as narrow as they can be


@dataclass(frozen=True, eq=False)
class Coded:
    """Training rows as codes: a value's code is how many of its feature's thresholds it exceeds.

    Attributes
    ----------
    thresholds : float64, (n_thresholds,)
    starts : int64, (n_features + 1,)
        Where each feature's thresholds begin.
    codes : unsigned, (n_features, n_rows), or (n_stored,) by column
    rows : int64, (n_stored,), or None
        Of a sparse matrix: the row of each code.
    columns : int64, (n_features + 1,), or None
        Of a sparse matrix: where each column's codes begin.
    zeros : int64, (n_features,), or None
        Of a sparse matrix: the code of what is not stored.
    n_rows : int
    """

    thresholds: Thresholds
    starts: Offsets
    codes: Codes
    n_rows: int
    rows: RowIndex | None = None
    columns: Offsets | None = None
    zeros: RowIndex | None = None

    def best(self, potential: PerRow) -> tuple[float, int]:
        """Return the sum of potentials above the best threshold, and its place; -1: there is none.

        The best has the sum of the largest size; of equal ones (up to rounding), the first
        feature's highest.
        """
        from podium.papers.xia2009.rankboost import threshold_kernels

        if self.rows is None:
            found = threshold_kernels.best_of_dense(self.codes, self.starts, potential)
        else:
            stored = (self.codes, self.rows, self.columns, self.zeros)
            found = threshold_kernels.best_of_sparse(*stored, self.starts, potential)
        return float(found[0]), int(found[1])

    def feature(self, place: int) -> int:
        """Return the feature of a threshold."""
        return int(np.searchsorted(self.starts, place, side="right")) - 1

    def above(self, place: int) -> Mask:
        """Return which rows exceed the threshold."""
        f = self.feature(place)
        least = place - int(self.starts[f])
        if self.rows is None or self.columns is None or self.zeros is None:
            return self.codes[f] > least
        result = np.full(self.n_rows, bool(self.zeros[f] > least))
        part = slice(self.columns[f], self.columns[f + 1])
        result[self.rows[part]] = self.codes[part] > least
        return result


def coded(features: Any, n_thresholds: int | None) -> Coded:
    """Choose thresholds of each feature, and code the rows by them; dense or CSR, all finite."""
    if hasattr(features, "tocsc"):
        return _coded_sparse(features.tocsc(), n_thresholds)
    n_rows, n_features = features.shape
    cuts = [
        _cuts(*np.unique(features[:, f], return_counts=True), n_thresholds)
        for f in range(n_features)
    ]
    thresholds, starts, narrowest = _layout(cuts)
    codes = np.empty((n_features, n_rows), narrowest)
    for f, cut in enumerate(cuts):
        codes[f] = np.searchsorted(cut, features[:, f], side="left")
    return Coded(thresholds, starts, codes, n_rows)


def _coded_sparse(matrix: Any, n_thresholds: int | None) -> Coded:
    n_rows, n_features = matrix.shape
    matrix.sum_duplicates()
    columns = matrix.indptr.astype(np.int64)
    stored = [matrix.data[columns[f] : columns[f + 1]] for f in range(n_features)]
    cuts = [_cuts(*_with_zeros(values, n_rows), n_thresholds) for values in stored]
    thresholds, starts, narrowest = _layout(cuts)
    codes = np.empty(int(columns[-1]), narrowest)
    for f, values in enumerate(stored):
        codes[columns[f] : columns[f + 1]] = np.searchsorted(cuts[f], values, side="left")
    zeros = np.array([np.searchsorted(cut, 0.0, side="left") for cut in cuts], np.int64)
    rows = matrix.indices.astype(np.int64)
    return Coded(thresholds, starts, codes, n_rows, rows, columns, zeros)


def _with_zeros(stored: PerRow, n_rows: int) -> tuple[PerRow, RowIndex]:
    """Return distinct values and their counts, those that are not stored included."""
    values = np.append(stored, np.zeros(min(1, n_rows - stored.size)))
    distinct, counts = np.unique(values, return_counts=True)
    counts[distinct == 0.0] += max(0, n_rows - stored.size - 1)
    return distinct, counts


def _cuts(distinct: PerRow, counts: RowIndex, n_thresholds: int | None) -> PerRow:
    """Return thresholds halfway between neighbours: all, or about as many rows between them."""
    chosen: RowIndex = np.arange(distinct.size - 1)
    if n_thresholds is not None and n_thresholds < chosen.size:
        up_to = np.cumsum(counts, dtype=np.int64)
        below = np.arange(1, n_thresholds + 1) * int(up_to[-1]) / (n_thresholds + 1)
        place = np.searchsorted(up_to, below)
        chosen = np.unique(np.minimum(place, chosen.size - 1))
    low, high = distinct[chosen], distinct[chosen + 1]
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)  # neighbours among floats


def _layout(cuts: list[PerRow]) -> tuple[Thresholds, Offsets, Any]:
    """Return all thresholds, where each feature's begin, and the narrowest type of their codes."""
    sizes = [cut.size for cut in cuts]
    narrowest = np.min_scalar_type(max(sizes, default=0))
    thresholds = np.concatenate([np.empty(0), *cuts])
    return thresholds, np.cumsum([0, *sizes], dtype=np.int64), narrowest
