"""Means over users and splits, with a standard error that includes the variation of both."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats import intervals
from podium.evaluation.stats.clustered import ClusteredMean, clustered_mean
from podium.types import PerRow

_PROBABILITY = 0.975  # of the quantile that the degrees of freedom reproduce exactly


@intervals.rescaled(1)
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
    for labels, name in ((users, "users"), (splits, "splits")):
        shape = _check.array(labels, name).shape
        if shape != row_values.shape:
            raise ArgumentError(
                f"{name} must have one label per value ({row_values.size}), got shape {shape}."
            )
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
        passed, lacking = ("users", "splits") if splits is None else ("splits", "users")
        raise ArgumentError(f"{passed} needs {lacking}, the labels of the other level of each row.")
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
