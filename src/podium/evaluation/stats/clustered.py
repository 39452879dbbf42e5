"""Means of weighted values, with errors over clusters, or over users and splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats import intervals
from podium.evaluation.stats.intervals import Interval
from podium.groups import encode
from podium.types import PerGroup, PerRow

_PROBABILITY = 0.975  # of the quantile that the degrees of freedom reproduce exactly


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
        labels = _check.one_dimensional(_check.array(clusters, "clusters"), "clusters")
        _check.equal_length(values=is_used, clusters=labels)
        codes = encode(labels[is_used])[0]
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


def crossed_mean(values: ArrayLike, users: ArrayLike, splits: ArrayLike) -> ClusteredMean:
    """Return the mean of values of users in several splits, with an error that includes both.

    Splits are several truths, such as divisions of the data or seeds of a model. The same users may
    be in every split, or each split may have its own users.

    Parameters
    ----------
    values : float, (n_rows,)
        One value per user and split, in any unit; nan is undefined and left out.
    users, splits : (n_rows,)
        The labels of the user and of the split of each row, integers or strings.

    Returns
    -------
    ClusteredMean
        The mean over all defined rows. `n_clusters` is the effective degrees of freedom + 1. The
        standard error is nan with fewer than two users or fewer than two splits.

    Raises
    ------
    ArgumentError
        If a value is infinite, or if there is not one user and one split per value.

    Notes
    -----
    Variance: V = max(V_users + V_splits - V_rows, V_users, V_splits), where each term is the
    squared standard error of `clustered_mean` with this kind of clusters.
    Degrees of freedom: the squared t quantile is a weighted mean of the squared quantiles of the
    two levels. The weight of the level with fewer labels is its share of V. Satterthwaite's degrees
    of freedom are not used: in simulations with two splits, their 95 % intervals covered the mean
    in as few as 90 % of samples. The intervals of this function covered it in 95 % or more. They
    are wide with two splits, because two splits hardly determine a variance.
    Confidence level: the quantiles are averaged at 0.975, and the same degrees of freedom are used
    for all confidence levels. With two splits, 99 % intervals cover 98 % or more.
    Cost: two sorts of the labels. Integer labels are faster than strings.

    References
    ----------
    cameron2011 for the variance; owen2007 for crossed levels; banerjee1960 for the quantile.

    Examples
    --------
    >>> estimate = crossed_mean([0.1, 0.3, 0.2, 0.6], ["u", "v", "u", "v"], [1, 1, 2, 2])
    >>> round(estimate.mean, 3), round(estimate.std_error, 3), round(estimate.n_clusters, 3)
    (0.3, 0.15, 2.0)
    """
    row_values = intervals.values(values, "values")
    _check.equal_length(values=row_values, users=users, splits=splits)
    by_user, by_split, by_row = (
        clustered_mean(row_values, clusters=clusters) for clusters in (users, splits, None)
    )
    if np.isnan(by_user.std_error + by_split.std_error):
        return ClusteredMean(by_row.mean, np.nan, min(by_user.n_clusters, by_split.n_clusters))
    fewer, more = sorted((by_split, by_user), key=lambda level: level.n_clusters)
    variances = (fewer.std_error**2, more.std_error**2)
    variance = max(sum(variances) - by_row.std_error**2, *variances)
    if not variance > 0:
        return ClusteredMean(by_row.mean, variance, more.n_clusters)
    dof = _degrees_of_freedom(fewer.n_clusters, more.n_clusters, variances[0] / variance)
    return ClusteredMean(by_row.mean, float(np.sqrt(variance)), dof + 1)


def estimate(values: PerRow, users: ArrayLike | None, splits: ArrayLike | None) -> ClusteredMean:
    """Return the mean over rows, or `crossed_mean` if users and splits are given."""
    if (users is None) != (splits is None):
        raise ArgumentError("users and splits must be passed together.")
    if users is not None and splits is not None:
        return crossed_mean(values, users, splits)
    column, _ = intervals.defined(values)
    return ClusteredMean(intervals.mean(column), intervals.std_error(column), float(column.size))


def _degrees_of_freedom(n_few: float, n_many: float, share_of_few: float) -> float:
    """Return the degrees of freedom of which the t quantile is between those of two levels."""
    from scipy.special import stdtridf

    squares = [intervals.t_quantile(_PROBABILITY, n) ** 2 for n in (n_few, n_many)]
    quantile = np.sqrt(share_of_few * squares[0] + (1 - share_of_few) * squares[1])
    dof = float(stdtridf(_PROBABILITY, quantile))  # pyright: ignore[reportUnknownArgumentType]
    return min(max(dof, n_few - 1), n_many - 1)
