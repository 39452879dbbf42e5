"""Features as a network reads them: dense, float64 and standardised, some rows at a time."""

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

_BLOCK = 4096  # rows that are dense at a time

PerFeature = NDArray[np.float64]  # (n_features,)


@dataclass(frozen=True, eq=False)
class Standard:
    """What each feature has subtracted and is then divided by."""

    mean: PerFeature
    scale: PerFeature

    @classmethod
    def none(cls, n_features: int) -> Standard:
        """Return one that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def of(cls, features: Any, weights: PerRow | None, places: RowIndex) -> Standard:
        """Return that which gives features mean 0 and variance 1, rows weighed by `weights`.

        `places` are the rows, in the order of the weights. A feature of one value keeps its
        unit and becomes 0.

        Raises
        ------
        ArgumentError
            If the square of a feature overflows.
        """
        share = np.ones(places.size) if weights is None else weights
        share = share / share.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = transposed_times(features, share, places)
            counted = np.flatnonzero(share)
            spread, low, high = _spread(features, share[counted], places[counted], mean)
        if not np.isfinite(spread).all():
            column = int(np.argmin(np.isfinite(spread)))
            raise ArgumentError(
                f"X has values in column {column} whose squares overflow. Divide that column."
            )
        return cls(mean, np.where((low == high) | (spread == 0.0), 1.0, spread))

    def dense(self, features: Any, rows: RowIndex | slice) -> NDArray[np.float64]:
        """Return some rows of dense or CSR features."""
        chosen = features[rows]
        if _check.is_sparse(chosen):
            chosen = chosen.toarray()
        return (chosen.astype(np.float64) - self.mean) / self.scale


def _spread(
    features: Any, share: PerRow, places: RowIndex, mean: PerFeature
) -> tuple[PerFeature, PerFeature, PerFeature]:
    """Return the standard deviation, the least and the largest value, by feature."""
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
    """Yield slices that cover all rows, few enough to be dense at a time."""
    for start in range(0, n_rows, _BLOCK):
        yield slice(start, min(start + _BLOCK, n_rows))
