"""Intervals of paired differences: for one look, for looks at any time, and until a horizon."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from podium.decide.pairs import Paired
from podium.decide.rules import Rules, width
from podium.evaluation.stats import (
    ClusteredMean,
    Interval,
    betting_interval,
    repeated_interval,
    spending_boundaries,
)
from podium.evaluation.stats.clustered import running_means
from podium.metrics import Measure
from podium.types import PerGroup


def interval(
    pairs: Paired,
    arrival: NDArray[np.int64],
    estimate: ClusteredMean,
    measure: Measure,
    rules: Rules,
    level: float,
    looks: Sequence[int],
) -> Interval:
    """Return the interval of the mean difference.

    Parameters
    ----------
    pairs : Paired
        Some or all users, in the order of arrival.
    arrival : int64, (n_users,)
        The position of each of these users among all users in the order of arrival.
    estimate : ClusteredMean
        The mean difference of these users.
    measure : Measure
    rules : Rules
    level : float
        The level of the interval.
    looks : sequence of int
        The number of all users at each look, increasing.

    Returns
    -------
    Interval
        Its low end exceeds its high end if the intervals of two looks contradict each other.
    """
    if rules.looks == "any time":
        bounds = (-width(measure), width(measure))
        return betting_interval(_by_cluster(pairs), bounds, level=level)
    if rules.looks == "once":
        return estimate.interval(level, width(measure), widened=_widening(measure))
    horizon = rules.horizon or looks[-1]
    counts = np.searchsorted(arrival, looks)
    fractions = tuple(n / horizon for n in looks)
    boundaries = _boundaries(fractions, (1 - level) / 2, tuple(counts.tolist()))
    estimates = _estimates(pairs, counts)
    low, high = -width(measure), width(measure)
    for estimate, boundary in zip(estimates, boundaries, strict=True):
        error = estimate.error(_widening(measure))
        if np.isnan(error) or np.isinf(boundary):
            continue  # fewer than two users, or no error to spend
        repeated = repeated_interval(estimate.mean, error, estimate.n_clusters - 1, boundary)
        low, high = max(low, repeated.low), min(high, repeated.high)
    return Interval(low, high)


def _estimates(pairs: Paired, counts: NDArray[np.int64]) -> list[ClusteredMean]:
    """Return the mean differences of the first users at each look."""
    if pairs.weight is None and pairs.cluster is None:
        return running_means(pairs.differences, counts)
    return [pairs.rows(slice(count)).difference() for count in counts.tolist()]


def _widening(measure: Measure) -> float:
    """Return the size of the differences by which the variance is increased; see `gate`."""
    return width(measure) if np.isfinite(width(measure)) else 0.0


def _by_cluster(pairs: Paired) -> PerGroup:
    """Return the defined differences, or their mean per cluster, in the order of arrival."""
    values = pairs.differences
    is_defined = ~np.isnan(values)
    if pairs.cluster is None:
        return values[is_defined]
    _, first, codes = np.unique(pairs.cluster[is_defined], return_index=True, return_inverse=True)
    means = np.bincount(codes, values[is_defined]) / np.bincount(codes)
    return means[np.argsort(first)]


@lru_cache(maxsize=64)
def _boundaries(fractions: tuple[float, ...], alpha: float, counts: tuple[int, ...]) -> list[float]:
    return spending_boundaries(fractions, alpha, counts=counts).tolist()
