"""Boundaries and intervals for looks at accumulating data, with a planned final sample size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats.intervals import Interval

# A look closer than 0.005 to the last one spends nothing, unless it is the final one. Steps of
# exactly 1/200 spend, although their differences are rounded.
_MIN_STEP = 0.005 * (1 - 1e-9)
_MIN_SPENT = 1e-12  # a look that would spend less spends nothing: its boundary would exceed 7
_DEPTH = 6.5  # standard deviations below 0 that the integrals include
_PANEL = 2.0  # width of a panel of integration, in standard deviations of an increment
_N_FINE = 6  # panels next to the boundary that are not widened
_ORDER = 8  # Gauss-Legendre points per panel
_N_HALVINGS = 60


def spending_boundaries(
    fractions: ArrayLike, alpha: float, *, counts: ArrayLike | None = None
) -> NDArray[np.float64]:
    """One-sided normal boundaries for repeated looks, by error spending of O'Brien-Fleming type.

    Z_j is the z statistic of all data up to look j. If the true effect is 0, the probability that
    Z_i >= c_i for some look i <= j equals the spent error f(t_j) = 2 (1 - Phi(z / sqrt(t_j))),
    where Phi(z) = 1 - alpha / 2. Early looks spend little, and f(1) = alpha.

    Parameters
    ----------
    fractions : float, (n_looks,)
        The share of the final information at each look, such as the number of users over the
        planned number; > 0 and increasing. At the first look with 1 or more, the rest of alpha is
        spent.
    alpha : float
        The one-sided error, such as 0.025 for each end of a 95 % interval.
    counts : float, (n_looks,), optional
        The information at each look, >= 0 and not decreasing, if it is not in proportion to the
        fractions: such as the number of users of a segment. A look without new information spends
        nothing.

    Returns
    -------
    float64, (n_looks,)
        The boundaries c_j; infinite for a look that spends nothing.

    Raises
    ------
    ArgumentError
        If the fractions do not increase or are not > 0, counts have another length, or alpha is
        not in (0, 1).

    Notes
    -----
    Later looks: a boundary depends on its own look and on earlier ones. The number and the times of
    looks need not be planned, but the times must not depend on the results.
    Looks that spend nothing: a look spends nothing if it is less than 0.005 after the last look
    that spent, or after 0, unless its fraction is 1 or more. It also spends nothing if it would
    spend less than 1e-12. Its boundary is infinite, and its error is left to the next look that
    spends.
    Precision: boundaries are accurate to about 1e-8.
    Cost: a few hundred integration points per look, and a square matrix of their densities; 100
    looks take 0.2 seconds.

    References
    ----------
    lan1983; armitage1969 for the recursion over looks.

    Examples
    --------
    >>> spending_boundaries([0.2, 0.4, 0.6, 0.8, 1.0], 0.025).round(4)
    array([4.8769, 3.357 , 2.6803, 2.2898, 2.031 ])
    """
    looks = _check.column(fractions, "fractions")
    if not ((np.diff(looks, prepend=0.0) > 0) & (looks < np.inf)).all():
        raise ArgumentError(f"fractions must increase and be > 0, got {looks.tolist()}.")
    spent = _spent(np.minimum(looks, 1.0), _check.open_fraction(alpha, "alpha"))
    information = looks
    if counts is not None and looks.size:
        reached_counts = _check.column(counts, "counts")
        _check.equal_length(fractions=looks, counts=reached_counts)
        information = reached_counts * (looks[-1] / max(reached_counts[-1], 1.0))
    boundaries = np.full(looks.size, np.inf)
    last_fraction = last_information = last_spent = 0.0
    paths = _Paths(np.zeros(1), np.ones(1))
    for look, (fraction, reached) in enumerate(zip(looks, information, strict=True)):
        step = reached - last_information
        is_near = min(fraction - last_fraction, step) < _MIN_STEP and fraction < 1
        if is_near or step <= 0 or spent[look] - last_spent < _MIN_SPENT:
            continue
        paths = _continued(paths, last_information, step)
        paths = _stopped(paths, reached, spent[look] - last_spent)
        boundaries[look] = paths.boundary / np.sqrt(reached)
        last_fraction, last_information, last_spent = fraction, reached, spent[look]
    return boundaries


def repeated_interval(mean: float, std_error: float, dof: float, boundary: float) -> Interval:
    """Confidence interval for a mean at one of several looks, from the look's boundary.

    The interval is mean ± t quantile × standard error. A t variable exceeds the t quantile with the
    same probability as a normal variable exceeds the boundary. With the boundaries of
    `spending_boundaries` at alpha, the intervals at all looks contain the true mean with
    probability about 1 - 2 alpha or more.

    Parameters
    ----------
    mean, std_error : float
        The mean of the values up to the look, and its standard error, >= 0.
    dof : float
        The degrees of freedom of the standard error, > 0; the number of values less 1.
    boundary : float
        The one-sided normal boundary of the look, >= 0; may be infinite.

    Returns
    -------
    Interval
        The interval in the unit of the mean; (-inf, inf) for an infinite boundary.

    Raises
    ------
    ArgumentError
        If an argument is nan or outside its range, or if mean, std_error or dof is infinite.

    References
    ----------
    jennison1989.

    Examples
    --------
    >>> low, high = repeated_interval(0.5, 0.1, 400, 2.2898)
    >>> round(low, 3), round(high, 3)
    (0.27, 0.73)
    """
    centre = _check.number(mean, "mean", low=-np.inf)
    error = _check.number(std_error, "std_error", low=0)
    limit = np.inf if boundary == np.inf else _check.number(boundary, "boundary", low=0)
    quantile = _t_boundary(limit, _check.positive(dof, "dof"))
    half = quantile * error if quantile < np.inf else np.inf
    return Interval(centre - half, centre + half)


def _t_boundary(boundary: float, dof: float) -> float:
    """Return the t quantile with the upper tail probability of a normal quantile."""
    from scipy.special import ndtr, stdtrit

    tail = float(ndtr(-boundary))
    return -float(stdtrit(dof, tail)) if tail > 0 else np.inf  # stdtrit(dof, 0) has the wrong sign


def _spent(fractions: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Return the error that is spent at each fraction."""
    from scipy.special import ndtr, ndtri

    return np.asarray(2 * ndtr(ndtri(alpha / 2) / np.sqrt(fractions)), np.float64)


class _Paths(NamedTuple):
    """The sum S = Z sqrt(t) on paths that crossed no boundary, as point masses before an increment.

    S is the sum of one of the points and a normal variable of standard deviation `spread`. Paths
    with S >= boundary have stopped.
    """

    points: NDArray[np.float64]
    masses: NDArray[np.float64]
    spread: float = 0.0
    boundary: float = np.inf


def _continued(paths: _Paths, fraction: float, step: float) -> _Paths:
    """Integrate the density of the sum at the last look, and add the next increment."""
    spread = float(np.sqrt(step))
    if paths.spread == 0:  # the start, where the sum is 0
        return paths._replace(spread=spread)
    edges = _edges(paths, fraction, spread)
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    half_widths = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half_widths * (nodes + 1)).ravel()
    masses = (half_widths * weights).ravel() * _density(paths, points)
    return _Paths(points, masses, spread)


def _edges(paths: _Paths, fraction: float, spread: float) -> NDArray[np.float64]:
    """Return the edges of the panels of integration, up to the boundary.

    The density varies on the scale of its last increment, the integrand also on the scale of the
    next one. The latter can be tiny at the final look only. Then panels may widen away from the
    boundary, as the integrand is the density alone where the next increment cannot reach it.
    """
    finest = _PANEL * min(paths.spread, spread)
    widest = _PANEL * min(paths.spread, max(spread, _MIN_STEP**0.5))
    depth = paths.boundary + _DEPTH * fraction**0.5
    distances, width = [0.0], finest
    while distances[-1] < depth:
        distances.append(distances[-1] + width)
        width = min(2 * width, widest) if len(distances) > _N_FINE else finest
    return paths.boundary - np.array(distances[::-1])


def _density(paths: _Paths, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the density of the sum."""
    z = (points[:, None] - paths.points) / paths.spread
    return np.exp(-0.5 * z * z) @ paths.masses / (paths.spread * np.sqrt(2 * np.pi))


def _stopped(paths: _Paths, fraction: float, error: float) -> _Paths:
    """Set the boundary that the sum reaches with probability `error`, by bisection."""
    from scipy.special import ndtr

    low, high = (sign * 10 * fraction**0.5 for sign in (-1, 1))
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        if ndtr((paths.points - middle) / paths.spread) @ paths.masses > error:
            low = middle
        else:
            high = middle
    return paths._replace(boundary=high)
