"""Means of weighted and clustered values, and intervals that hold for sparse differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats import intervals
from podium.evaluation.stats.intervals import Interval
from podium.types import PerGroup


@dataclass(frozen=True)
class ClusteredMean:
    """A weighted mean and its standard error over clusters.

    `n_clusters` is the effective number: (sum of cluster weights)² / (sum of their squares).
    """

    mean: float
    std_error: float
    n_clusters: float

    def interval(self, level: float, width: float = np.inf, *, widened: float = 0.0) -> Interval:
        """Return the t interval of the mean, cut off at -width and width.

        `widened` is the largest difference that rare clusters, missing in the sample, could have.
        The variance of the mean is increased by (widened / n_clusters)².
        """
        error = self.error(widened)
        interval = intervals.t_interval(self.mean, error, self.n_clusters, level)
        return intervals.inside(interval, (-width, width))

    def error(self, widened: float) -> float:
        """Return the standard error with the variance increased by (widened / n_clusters)²."""
        if not widened or not self.n_clusters:
            return self.std_error
        return float(np.hypot(self.std_error, widened / self.n_clusters))


@intervals.rescaled(1)
def clustered_mean(
    values: ArrayLike, weights: ArrayLike | None = None, clusters: ArrayLike | None = None
) -> ClusteredMean:
    """Return the weighted mean of values and its jackknife standard error over clusters.

    Parameters
    ----------
    values : float, (n_groups,)
        The value of each group; nan is undefined and left out.
    weights : float, (n_groups,), optional
        The weight of each group, >= 0. Default: equal weights.
    clusters : (n_groups,), optional
        The label of the cluster of each group. Values of one cluster may depend on each other;
        those of different clusters may not. Default: each group is a cluster.

    Returns
    -------
    ClusteredMean
        Its std_error is nan with fewer than two clusters, or if the weight of all other clusters is
        lost in rounding.

    Raises
    ------
    ArgumentError
        If lengths differ, a value is infinite, or a weight is negative or not finite.

    Notes
    -----
    The standard error is that of the jackknife, which leaves out one cluster at a time. With equal
    weights and one group per cluster, it is the usual standard error. The effective
    number of clusters is (sum of cluster weights)² / (sum of squared cluster weights).

    References
    ----------
    efron1981; cameron2015.

    Examples
    --------
    >>> estimate = clustered_mean([0.1, 0.3, 0.2, 0.4], clusters=["u", "u", "v", "v"])
    >>> round(estimate.mean, 3), round(estimate.std_error, 3), estimate.n_clusters
    (0.25, 0.05, 2.0)
    """
    group_values = intervals.values(values, "values")
    n_groups = group_values.size
    group_weights = np.ones(n_groups) if weights is None else _check.weights(weights, n_groups)
    _check.equal_length(values=group_values, weights=group_weights)
    is_used = ~np.isnan(group_values) & (group_weights > 0)
    group_values, group_weights = group_values[is_used], group_weights[is_used]
    if not group_values.size:
        return ClusteredMean(np.nan, np.nan, 0.0)
    group_weights = group_weights / group_weights.max()  # no sum or square may overflow
    mean = float(np.average(group_values, weights=group_weights))
    deviations = group_weights * (group_values - mean)
    if clusters is not None:
        codes = _codes(clusters, is_used)
        deviations, group_weights = (
            np.bincount(codes, column).astype(np.float64, copy=False)
            for column in (deviations, group_weights)
        )
    n_effective = float(group_weights.sum() ** 2 / (group_weights**2).sum())
    return ClusteredMean(mean, _jackknife_error(deviations, group_weights), n_effective)


def running_means(values: PerGroup, counts: ArrayLike) -> list[ClusteredMean]:
    """Return `clustered_mean` of the first counts[0], counts[1], … values, in one pass.

    Parameters
    ----------
    values : float64, (n_groups,)
        The value of each group; nan is undefined and left out.
    counts : int, (n_looks,)
        The number of groups of each mean.

    Examples
    --------
    >>> [estimate.mean for estimate in running_means(np.array([1.0, 3.0, 2.0]), [2, 3])]
    [2.0, 2.0]
    """
    scale = intervals.scale_of(values)
    if scale != 1:
        estimates = running_means(values / scale, counts)
        return [intervals.scaled(estimate, scale) for estimate in estimates]
    is_defined = ~np.isnan(values)
    centre = float(values[is_defined].mean()) if is_defined.any() else 0.0
    shifted = np.where(is_defined, values - centre, 0.0)  # centred, so that squares lose no digits
    columns = (is_defined.astype(np.float64), shifted, shifted**2)
    sums = np.stack([np.append(0.0, np.cumsum(column)) for column in columns])
    n, total, squares = sums[:, np.asarray(counts, np.int64)]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = centre + total / n
        errors = np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1) / n)
    return [
        ClusteredMean(float(mean), float(error) if size > 1 else np.nan, float(size))
        for mean, error, size in zip(means, errors, n, strict=True)
    ]


def _jackknife_error(deviations: PerGroup, weights: PerGroup) -> float:
    """Return the standard error from the sums of weighted deviations and weights of clusters."""
    n = weights.size
    if n < 2:
        return np.nan
    other_weights = weights.sum() - weights
    if not other_weights.all():  # the other weights are lost in rounding
        return np.nan
    # Without cluster c, the mean moves by -deviation_c / (total weight - weight_c).
    moves = deviations / other_weights
    return float(np.sqrt((n - 1) / n * (moves**2).sum()))


def _codes(clusters: ArrayLike, is_used: NDArray[np.bool_]) -> NDArray[np.int64]:
    labels = _check.array(clusters, "clusters")
    if labels.shape != is_used.shape:
        raise ArgumentError(
            f"clusters must have one label per group ({is_used.size}), got shape {labels.shape}."
        )
    try:
        return np.unique(labels[is_used], return_inverse=True)[1]
    except TypeError:
        raise ArgumentError(
            "Labels of clusters, users or splits must all be integers or all be strings."
        ) from None
