"""Bounds on the mean of users' exact values, from the random items of a scan or from an audit.

The value of an open target is largest if none of its unscored items are above it. The difference
between this value and the exact one is the target's *loss*. Let c listed items of a target be above
it, and B of its other items, of which n are drawn: the number b of drawn items above the target is
hypergeometric. A *penalty* D(b) is chosen such that, for every B,

    E exp(theta (loss - D(b))) <= 1.                                                          (1)

By Markov's inequality, the sum of all losses is then at most the sum of the penalties plus
log(1 / alpha) / theta, with a probability of at least 1 - alpha. This holds for every distribution
of B. Several targets of a user count with their mean, which satisfies (1) by Jensen's inequality,
whatever the dependence of their draws. So does a share of the mean, of users with a lower weight.

A penalty is linear, D(b) = a + d min(b, t), where t items above the target make its value 0. Then
(1) has to be checked only for B <= t, because the expectation decreases in B beyond. It also
decreases in n, and increases in the number of items. Or the penalty is the largest loss, which
needs no draws. For each c, the smaller one is chosen, as expected from the fitted distribution, and
so is theta. Two dependences on the draws are neglected: that of the four fitted parameters, and
that of n, which in a scan follows from the number of open targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from podium.sampled.bounds import Bounds
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import values_of
from podium.sampled.scanning.open_targets import OpenTargets
from podium.sampled.scanning.ranks import ScannedRanks

_RATIOS = np.array([0.001, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
_STEPS = 30  # of bisection
_LARGEST = 60.0  # the largest exponent


def scan_bounds(ranks: ScannedRanks, weights: Floats, fit: OpenTargets, level: float) -> Bounds:
    """Return bounds that contain the mean of the users' exact values with probability `level`.

    Parameters
    ----------
    ranks : ScannedRanks
    weights : float64, (at most ranks.k,)
        The value of a target at each rank, decreasing; 0 below.
    fit : OpenTargets
        The fitted distribution, which only selects penalties.
    level : float
        The probability, which only concerns the lower bound. The upper bound always holds.
    """

    def mean(above: Ints) -> float:
        return float(ranks.means_of_users(values_of(weights, above)).mean())

    known = np.where(ranks.is_audited, ranks.above_all, ranks.above)
    low = mean(np.where(ranks.is_audited, ranks.above_all, ranks.above + ranks.n_rest))
    if not ranks.is_open.any() or not weights.size:
        return Bounds(low, mean(known))
    log_odds = -log(1.0 - level)
    if ranks.is_audited.any():  # either bound may fail
        log_odds += log(2.0)
        low = max(low, mean(ranks.above) - _audited_loss(ranks, weights, log_odds))
    low = max(low, mean(ranks.above) - _drawn_loss(ranks, weights, fit, log_odds))
    return Bounds(low, mean(known))


def _audited_loss(ranks: ScannedRanks, weights: Floats, log_odds: float) -> float:
    """Return an upper bound on the mean loss, by Chernoff's inequality for the audited targets."""
    from scipy.special import rel_entr

    scanned = values_of(weights, ranks.above)
    exact = values_of(weights, ranks.above_all.clip(0))
    largest = float((ranks.weights * scanned)[ranks.is_open].max())
    if not largest:
        return 0.0
    losses = (ranks.weights * (scanned - exact))[ranks.is_audited]
    share = float(losses.mean()) / largest
    low, high = share, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        divergence = rel_entr(share, middle) + rel_entr(1.0 - share, 1.0 - middle)
        low, high = (middle, high) if losses.size * divergence < log_odds else (low, middle)
    return high * largest * int(ranks.is_open.sum())


def _drawn_loss(ranks: ScannedRanks, weights: Floats, fit: OpenTargets, log_odds: float) -> float:
    """Return an upper bound on the mean loss by the penalties of drawn items."""
    cases = Cases.of(ranks, weights.size)
    expected = fit.outcome_chances(cases.above_listed, cases.n_drawn, cases.shares.shape[1] - 1)
    expected = cases.censored(expected) * cases.shares.sum(axis=1, keepdims=True)
    detection = float(np.median(cases.n_drawn / cases.n_unlisted))
    best, loss = np.inf, np.inf
    for ratio in _RATIOS:
        theta = float(np.log1p((1.0 - ratio) * detection / (1.0 - detection))) / weights.max()
        margin = log_odds / max(theta, 1e-300) * ranks.largest_share
        chosen = _chosen_penalties(cases, weights, theta, expected)
        planned = float((expected * chosen).sum()) + margin
        if planned < best:
            best, loss = planned, float((cases.shares * chosen).sum() + margin)
    return loss


def _chosen_penalties(cases: Cases, weights: Floats, theta: float, expected: Floats) -> Floats:
    """Return the penalties of each case, linear or the largest loss, with the smaller sum."""
    largest = cases.largest_losses(weights)
    if not theta:
        return largest
    linear = cases.linear_penalties(weights, theta)
    is_smaller = (expected * (linear - largest)).sum(axis=1, keepdims=True) < 0
    return np.where(is_smaller, linear, largest)


@dataclass(frozen=True, eq=False)
class Cases:
    """Targets that could lose value to unscored items, by their number of listed items above.

    Attributes
    ----------
    above_listed, n_drawn, n_unlisted : int64, (n_cases,)
        The number of listed items above the target, the number of draws of targets that stay open,
        and the largest number of unlisted items.
    shares : float64, (n_cases, k + 1)
        The weight of the targets by the number of drawn items above them, which counts up to the
        number that makes the value 0.
    """

    above_listed: Ints
    n_drawn: Ints
    n_unlisted: Ints
    shares: Floats

    @classmethod
    def of(cls, ranks: ScannedRanks, k: int) -> Cases:
        """Return the cases for values that are 0 with k items above the target."""
        n_unlisted = ranks.n_items - 1 - ranks.n_listed
        n_drawn = _planned_draws(ranks, n_unlisted)
        rows = np.flatnonzero((ranks.above_listed < k) & (n_drawn < n_unlisted))
        columns = np.stack([ranks.above_listed[rows], n_drawn[rows]])
        (above_listed, size), case = np.unique(columns, axis=1, return_inverse=True)
        largest, shares = np.zeros(size.size, np.int64), np.zeros((size.size, k + 1))
        np.maximum.at(largest, case, n_unlisted[rows])
        drawn_above = np.minimum(ranks.above_drawn[rows], k - ranks.above_listed[rows])
        np.add.at(shares, (case, drawn_above), ranks.weights[rows])
        return cls(above_listed, size, largest, shares)

    @property
    def _numbers(self) -> Ints:
        """The numbers of drawn items above: int64, (k + 1,)."""
        return np.arange(self.shares.shape[1], dtype=np.int64)

    @property
    def _last(self) -> Ints:
        """The number of drawn items above that makes the value 0: int64, (n_cases, 1)."""
        return self.shares.shape[1] - 1 - self.above_listed[:, None]

    def censored(self, chances: Floats) -> Floats:
        """Move the chances of larger numbers to the number that makes the value 0."""
        within: Floats = np.where(self._numbers < self._last, chances, 0.0)
        others: Floats = 1.0 - within.sum(axis=1, keepdims=True)
        return np.where(self._numbers == self._last, others, within)

    def largest_losses(self, weights: Floats) -> Floats:
        """Return the loss if all unscored items are above, by b: float64, (n_cases, k + 1)."""
        return values_of(weights, self.above_listed[:, None] + self._numbers)

    def linear_penalties(self, weights: Floats, theta: float) -> Floats:
        """Return the smallest linear penalties that satisfy (1): float64, (n_cases, k + 1)."""
        terms = np.exp(self._exponents(weights, theta))
        counts = self._n_above

        def excess(slopes: Floats) -> Floats:
            """Return the logarithm of the largest expectation in (1) over all B."""
            factors = np.exp(-theta * slopes[:, None] * counts)
            expectations = np.einsum("cij,cj->ci", terms, factors)
            with np.errstate(divide="ignore"):  # 0 with a steep penalty, which is steep enough
                return np.log(expectations).max(axis=1)

        low, high = np.zeros(self.n_drawn.size), np.full(self.n_drawn.size, _LARGEST / theta)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            is_enough = excess(middle) <= 0.0
            low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
        return np.maximum(excess(high), 0.0)[:, None] / theta + high[:, None] * counts

    def _exponents(self, weights: Floats, theta: float) -> Floats:
        """Return log P(b | B) + theta loss(B, b) for B and b up to k: (n_cases, B, b)."""
        values = self.largest_losses(weights)
        exact = np.take_along_axis(values, self._n_above, axis=1)
        losses = values[:, None, :] - exact[:, :, None]
        is_open = self._numbers < self._last
        return self._log_chances + theta * np.where(is_open[:, None, :], losses, 0.0)

    @property
    def _n_above(self) -> Ints:
        """B, up to the number that makes the value 0: beyond it, (1) holds if it does there."""
        return np.minimum(self._numbers, self._last)

    @cached_property
    def _log_chances(self) -> Floats:
        """The logarithm of P(b | B) for B and b up to k: (n_cases, B, b)."""
        from scipy.stats import hypergeom

        n_rest = self.n_unlisted[:, None, None]
        n_above = np.minimum(self._n_above[:, :, None], n_rest)
        chances = hypergeom.logpmf(self._numbers, n_rest, n_above, self.n_drawn[:, None, None])
        return np.asarray(chances, np.float64)


def _planned_draws(ranks: ScannedRanks, n_unlisted: Ints) -> Ints:
    """Return the number of draws that each target would have if it stayed open.

    In a scan, this number is the same for all targets. Without such a number, targets have the
    draws that they would have in any case.
    """
    sizes = np.unique(ranks.n_drawn[ranks.is_open])
    return np.minimum(sizes[0] if sizes.size == 1 else ranks.n_drawn, n_unlisted)
