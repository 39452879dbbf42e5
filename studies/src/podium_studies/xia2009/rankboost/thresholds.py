"""Features coded by thresholds, dense or sparse, and the search for the best threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.types import Mask, Offsets, PerRow, RowIndex

Thresholds: TypeAlias = NDArray[np.float64]  # (n_thresholds,), by feature, then ascending
Codes: TypeAlias = NDArray[Any]  # unsigned integers of the smallest possible type


@dataclass(frozen=True, eq=False)
class Coded:
    """The training rows as codes. A code is the number of the feature's thresholds below a value.

    Attributes
    ----------
    thresholds : float64, (n_thresholds,)
        The thresholds of all features.
    starts : int64, (n_features + 1,)
        The position of each feature's first threshold.
    codes : unsigned, (n_features, n_rows), or (n_stored,) by column
        The codes of all entries, or of the stored entries of a sparse matrix.
    rows : int64, (n_stored,), or None
        The row of each code of a sparse matrix.
    columns : int64, (n_features + 1,), or None
        The position of each column's first code of a sparse matrix.
    zeros : int64, (n_features,), or None
        The code of the entries of each column that a sparse matrix does not store.
    n_rows : int
        The number of rows.
    """

    thresholds: Thresholds
    starts: Offsets
    codes: Codes
    n_rows: int
    rows: RowIndex | None = None
    columns: Offsets | None = None
    zeros: RowIndex | None = None

    def best(self, potential: PerRow) -> tuple[float, int]:
        """Return the sum of potentials above the best threshold, and the threshold's position.

        The best threshold has the largest absolute sum. Of equal sums (up to rounding), it is the
        highest threshold of the first feature. The position is -1 if there is no threshold.
        """
        from podium_studies.xia2009.rankboost import threshold_kernels

        if self.rows is None:
            best_threshold = threshold_kernels.best_of_dense(self.codes, self.starts, potential)
        else:
            stored = (self.codes, self.rows, self.columns, self.zeros)
            best_threshold = threshold_kernels.best_of_sparse(*stored, self.starts, potential)
        return float(best_threshold[0]), int(best_threshold[1])

    def feature(self, place: int) -> int:
        """Return the feature of the threshold at this position."""
        return int(np.searchsorted(self.starts, place, side="right")) - 1

    def above(self, place: int) -> Mask:
        """Return the mask of rows above the threshold at this position."""
        f = self.feature(place)
        n_below = place - int(self.starts[f])
        if self.rows is None or self.columns is None or self.zeros is None:
            return self.codes[f] > n_below
        is_above = np.full(self.n_rows, bool(self.zeros[f] > n_below))
        stored_entries = slice(self.columns[f], self.columns[f + 1])
        is_above[self.rows[stored_entries]] = self.codes[stored_entries] > n_below
        return is_above


def coded(features: Any, n_thresholds: int | None) -> Coded:
    """Choose the thresholds of each feature, and code the rows of a finite dense or CSR matrix."""
    if hasattr(features, "tocsc"):
        return _coded_sparse(features.tocsc(), n_thresholds)
    n_rows, n_features = features.shape
    thresholds_by_feature = [
        _cuts(*np.unique(features[:, f], return_counts=True), n_thresholds)
        for f in range(n_features)
    ]
    thresholds, starts, narrowest = _layout(thresholds_by_feature)
    codes = np.empty((n_features, n_rows), narrowest)
    for f, feature_thresholds in enumerate(thresholds_by_feature):
        codes[f] = np.searchsorted(feature_thresholds, features[:, f], side="left")
    return Coded(thresholds, starts, codes, n_rows)


def _coded_sparse(matrix: Any, n_thresholds: int | None) -> Coded:
    n_rows, n_features = matrix.shape
    matrix.sum_duplicates()
    columns = matrix.indptr.astype(np.int64)
    stored = [matrix.data[columns[f] : columns[f + 1]] for f in range(n_features)]
    thresholds_by_feature = [_cuts(*_with_zeros(values, n_rows), n_thresholds) for values in stored]
    thresholds, starts, narrowest = _layout(thresholds_by_feature)
    codes = np.empty(int(columns[-1]), narrowest)
    for f, values in enumerate(stored):
        codes[columns[f] : columns[f + 1]] = np.searchsorted(
            thresholds_by_feature[f], values, side="left"
        )
    zeros = np.array(
        [
            np.searchsorted(feature_thresholds, 0.0, side="left")
            for feature_thresholds in thresholds_by_feature
        ],
        np.int64,
    )
    rows = matrix.indices.astype(np.int64)
    return Coded(thresholds, starts, codes, n_rows, rows, columns, zeros)


def _with_zeros(stored: PerRow, n_rows: int) -> tuple[PerRow, RowIndex]:
    """Return the distinct values and their counts, including zeros that are not stored."""
    values = np.append(stored, np.zeros(min(1, n_rows - stored.size)))
    distinct, counts = np.unique(values, return_counts=True)
    counts[distinct == 0.0] += max(0, n_rows - stored.size - 1)
    return distinct, counts


def _cuts(distinct: PerRow, counts: RowIndex, n_thresholds: int | None) -> PerRow:
    """Return all thresholds halfway between neighbours, or n_thresholds of them by quantiles."""
    chosen: RowIndex = np.arange(distinct.size - 1)
    if n_thresholds is not None and n_thresholds < chosen.size:
        cumulative_counts = np.cumsum(counts, dtype=np.int64)
        quantile_counts = (
            np.arange(1, n_thresholds + 1) * int(cumulative_counts[-1]) / (n_thresholds + 1)
        )
        quantile_positions = np.searchsorted(cumulative_counts, quantile_counts)
        chosen = np.unique(np.minimum(quantile_positions, chosen.size - 1))
    low, high = distinct[chosen], distinct[chosen + 1]
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)  # low for adjacent floats


def _layout(cuts: list[PerRow]) -> tuple[Thresholds, Offsets, Any]:
    """Return all thresholds, the position of each feature's first, and the smallest code type."""
    sizes = [cut.size for cut in cuts]
    narrowest = np.min_scalar_type(max(sizes, default=0))
    thresholds = np.concatenate([np.empty(0), *cuts])
    return thresholds, np.cumsum([0, *sizes], dtype=np.int64), narrowest
