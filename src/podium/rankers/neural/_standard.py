"""The input of a network: features made dense, float64 and standardised, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.rankers.objective import transposed_times
from podium.types import PerRow, RowIndex

_BLOCK = 4096  # rows per dense block

PerFeature = NDArray[np.float64]  # (n_features,)


@dataclass(frozen=True, eq=False)
class Standard:
    """The shift and scale of features: the network reads ``(x - mean) / scale``."""

    mean: PerFeature
    scale: PerFeature

    @classmethod
    def none(cls, n_features: int) -> Standard:
        """Return the identity."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def of(cls, features: Any, weights: PerRow | None, places: RowIndex) -> Standard:
        """Return the shift and scale that give features mean 0 and variance 1 under the weights.

        `places` are the positions of the rows, in the order of the weights. A constant feature
        keeps its scale and becomes 0.

        Raises
        ------
        ArgumentError
            If the square of a feature overflows.
        """
        row_shares = np.ones(places.size) if weights is None else weights
        row_shares = row_shares / row_shares.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = transposed_times(features, row_shares, places)
            weighted_rows = np.flatnonzero(row_shares)
            spread, low, high = _spread(
                features, row_shares[weighted_rows], places[weighted_rows], mean
            )
        if not np.isfinite(spread).all():
            column = int(np.argmin(np.isfinite(spread)))
            raise ArgumentError(
                f"X has values in column {column} whose squares overflow. Scale that column down."
            )
        return cls(mean, np.where((low == high) | (spread == 0.0), 1.0, spread))

    def dense(self, features: Any, rows: RowIndex | slice) -> NDArray[np.float64]:
        """Return the standardised values of some rows of dense or CSR features."""
        chosen = features[rows]
        if _check.is_sparse(chosen):
            chosen = chosen.toarray()
        return (chosen.astype(np.float64) - self.mean) / self.scale


def _spread(
    features: Any, share: PerRow, places: RowIndex, mean: PerFeature
) -> tuple[PerFeature, PerFeature, PerFeature]:
    """Return the standard deviation, minimum and maximum of each feature."""
    centred = Standard(mean, np.ones(mean.size))
    squares = np.zeros(mean.size)
    low, high = np.full(mean.size, np.inf), np.full(mean.size, -np.inf)
    for rows in blocks(share.size):
        values = centred.dense(features, places[rows])
        squares += np.sum(share[rows, None] * values**2, axis=0)
        np.minimum(low, values.min(axis=0), out=low)
        np.maximum(high, values.max(axis=0), out=high)
    return np.sqrt(squares), low, high


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices that cover all rows, each small enough for a dense block."""
    for start in range(0, n_rows, _BLOCK):
        yield slice(start, min(start + _BLOCK, n_rows))
