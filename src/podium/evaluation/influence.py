"""Values per user of measures that are not means over users: coverage and Gini coefficient.

The mean of the values is the measure, and the standard error of their mean is a jackknife standard
error of the measure. Intervals and paired tests of means then apply to these measures too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.groups import encode
from podium.types import Labels, PerGroup


def coverage_values(
    users: NDArray[np.int64],
    items: NDArray[Any],
    n_users: int,
    n_items: int,
    clusters: Labels | None = None,
) -> PerGroup:
    """Return jackknife values of the coverage, one value per user.

    Parameters
    ----------
    users : int64, (n_rows,)
        The user to whom an item is shown, from 0 to n_users - 1.
    items : (n_rows,)
        The id of the item.
    n_users, n_items : int
        The number of all users, and of the items of the catalogue.
    clusters : (n_users,), optional
        The label of the cluster of each user. Default: each user is a cluster.

    Returns
    -------
    float64, (n_users,)
        The values, which can lie outside of [0, 1]. Their mean is the coverage. The standard error
        of this mean over clusters is exactly that of leaving out one cluster at a time. It tends to
        be too large.

    References
    ----------
    efron1981.

    Examples
    --------
    >>> coverage_values(np.array([0, 1, 2]), np.array([7, 7, 8]), 3, 4)
    array([0.33333333, 0.33333333, 0.83333333])
    """
    item_codes, distinct = encode(items)
    if clusters is None:
        codes, sizes = np.arange(n_users), np.ones(n_users)
        showing = users
    else:
        _, codes, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
        # An item that one cluster shows to several users is still in its lists only.
        pairs = np.unique(codes[users] * max(distinct.size, 1) + item_codes)
        showing, item_codes = np.divmod(pairs, max(distinct.size, 1))
    is_alone = np.bincount(item_codes)[item_codes] == 1
    # Without a cluster, the coverage loses the items that are in no list of the others.
    n_lost = np.bincount(showing, is_alone, minlength=sizes.size).astype(np.float64)
    n_others = n_users - sizes
    n_lost -= np.average(n_lost, weights=n_others) if n_others.any() else n_lost.mean()
    return (distinct.size + (n_others / sizes * n_lost)[codes]) / n_items


def gini_values(
    users: NDArray[np.int64], items: NDArray[Any], n_users: int, n_items: int
) -> PerGroup:
    """Return values of the Gini coefficient of the items shown, one value per user.

    The value of a user is the coefficient plus n_users times its derivative with respect to the
    weight of the user (the infinitesimal jackknife).

    Parameters
    ----------
    users : int64, (n_rows,)
        The user to whom an item is shown, from 0 to n_users - 1.
    items : (n_rows,)
        The id of the item.
    n_users, n_items : int
        The number of all users, and of the items of the catalogue.

    Returns
    -------
    float64, (n_users,)
        The values, which can lie outside of [0, 1]; nan if no item is shown. Their mean is the
        coefficient. The standard error of this mean, over users or over any clusters of them, is
        about that of leaving out one user or cluster at a time.

    Notes
    -----
    For counts c of items, gini = D / (n_items C) with D = sum of abs(c_i - c_j) over pairs of items
    and C = sum of counts. The derivative of D with respect to c_i is the number of items with
    smaller counts minus the number of those with larger ones. For ties, 0 is one of its
    subgradients.

    References
    ----------
    efron1982, the infinitesimal jackknife.

    Examples
    --------
    >>> from podium import metrics
    >>> values = gini_values(np.array([0, 1, 2]), np.array([7, 7, 8]), 3, 4)
    >>> float(values.mean()) == metrics.gini([7, 7, 8], 4)
    True
    """
    codes, distinct = encode(items)
    counts = np.bincount(codes, minlength=distinct.size)
    total = counts.sum()
    if not total:
        return np.full(n_users, np.nan)
    ordered = np.sort(counts)
    n_hidden = n_items - counts.size
    n_smaller = np.searchsorted(ordered, counts, "left") + n_hidden
    n_larger = counts.size - np.searchsorted(ordered, counts, "right")
    slopes = n_smaller - n_larger
    coefficient = (slopes * counts).sum() / (n_items * total)
    # The derivative of D / (n_items C) is (dD / n_items - coefficient dC) / C. dD and dC are
    # integers, so that the order of the items of a list has no effect on their sums.
    d_slopes = np.bincount(users, slopes[codes], minlength=n_users)
    d_counts = np.bincount(users, minlength=n_users)
    moves = (d_slopes / n_items - coefficient * d_counts) / total
    return coefficient + n_users * moves
