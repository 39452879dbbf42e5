"""The fit to a scan: the distribution of unscored items, bounds, and the mean of users' values.

The share of a target's unlisted items that are above it has a beta distribution, whose parameters
depend on c, the number of listed items above the target:

    log alpha = s0 + s1 log(1 + c),    log(alpha / beta) = w0 + w1 log(1 + c).

Draws are a uniform sample of the unlisted items, so that the number of drawn items above the
target is beta-binomial. The rule that stops the draws depends on drawn items only, and does not
change the likelihood.

*Bounds* on the mean of users' exact values come from the random items of a scan.
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

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import ClassVar, cast

import numpy as np

from podium.evaluation.stats.intervals import inside, std_error, t_interval
from podium.metrics import Measure
from podium.sampled.bounds import Bounds
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import rank_weights, values_of
from podium.sampled.estimators import ErrorFrom
from podium.sampled.estimators.naive import Naive
from podium.sampled.fits import Fit, IntervalOf, MeanOfUsers, covering
from podium.sampled.ranks import LEAST_DEPTH, Observation, Part, ScannedRanks

NAIVE = Naive.name

_MEANS = np.array([np.log(0.5), 0.0, -4.0, 0.0])
_PRECISIONS = np.array([1.0, 1.0, 1 / 16, 1 / 9])  # of normal priors of s0, s1, w0, w1
_LIMIT = 12.0  # logarithms of alpha and beta beyond this limit make no difference
_STEP = 1e-4


@dataclass(frozen=True, eq=False)
class OpenTargets:
    """The fitted distribution of the number of unscored items above open targets.

    Attributes
    ----------
    coefficients : float64, (4,)
        s0, s1, w0 and w1.
    covariance : float64, (4, 4)
        The covariance of their errors.
    """

    coefficients: Floats
    covariance: Floats

    @classmethod
    def fit(cls, ranks: ScannedRanks) -> OpenTargets:
        """Fit the distribution to the drawn items of all targets by maximum posterior density."""
        from scipy.optimize import minimize

        columns, counts = _outcomes(ranks), ranks.counts[ranks.is_fitted]
        outcomes, case = np.unique(columns[:, ranks.is_fitted], axis=1, return_inverse=True)
        n_targets = np.bincount(case.ravel(), counts, outcomes.shape[1]).astype(np.float64)

        def cost(coefficients: Floats) -> tuple[float, Floats]:
            """Return the negative log posterior density and its gradient by the coefficients."""
            densities, derivatives = _densities(outcomes, coefficients)
            deviation = coefficients - _MEANS
            cost = -(densities @ n_targets) + (_PRECISIONS * deviation**2).sum() / 2
            return float(cost), _PRECISIONS * deviation - n_targets @ derivatives

        optimum = minimize(cost, _MEANS, jac=True, method="L-BFGS-B")
        steps = _STEP * np.eye(4)
        slopes = [cost(optimum.x + step)[1] - cost(optimum.x - step)[1] for step in steps]
        hessian = np.array(slopes) / (2 * _STEP)
        covariance = np.linalg.pinv((hessian + hessian.T) / 2, hermitian=True)
        return cls(optimum.x, covariance.astype(np.float64))

    def values(self, ranks: ScannedRanks, weights: Floats, shift: float | Floats = 0.0) -> Floats:
        """Return the expected value of each target: float64, (n_targets,).

        Parameters
        ----------
        ranks : ScannedRanks
        weights : float64, (at most ranks.k,)
            The value of a target at each rank; 0 below.
        shift : float64, (4,), optional
            A change of the coefficients.
        """
        values = values_of(weights, ranks.above)
        is_open = np.flatnonzero(ranks.is_open & (ranks.above < weights.size))
        columns = (ranks.above_listed, ranks.above_drawn, ranks.n_drawn, ranks.n_rest)
        open_columns = np.stack([column[is_open] for column in columns])
        cases, case_of = np.unique(open_columns, axis=1, return_inverse=True)
        values[is_open] = _expected(cases, weights, self.coefficients + shift)[case_of]
        return values

    def gradient(self, ranks: ScannedRanks, weights: Floats) -> Floats:
        """Return the derivative of the users' mean value by the coefficients: float64, (4,)."""
        steps = _STEP * np.concatenate([np.eye(4), -np.eye(4)])
        of_targets = (self.values(ranks, weights, step) for step in steps)
        means = np.array([ranks.means_of_users(values).mean() for values in of_targets])
        return (means[:4] - means[4:]) / (2 * _STEP)

    def influences(self, ranks: ScannedRanks, gradient: Floats) -> Floats:
        """Return the effect of each target of the fit on a value through the coefficients.

        float64, (n_targets,): to first order, the value loses this effect without the target. The
        sums over users vary like the error that the coefficients cause, whatever the dependence of
        a user's targets.

        Parameters
        ----------
        ranks : ScannedRanks
            The targets of the fit.
        gradient : float64, (4,)
            The derivative of the value by the coefficients.
        """
        derivatives = _densities(_outcomes(ranks), self.coefficients)[1] * ranks.counts[:, None]
        return ranks.is_fitted * (derivatives @ self.covariance @ gradient)

    def shapes(self, above_listed: Ints) -> tuple[Floats, Floats]:
        """Return alpha and beta of targets with some listed items above: float64, (n,) each."""
        return _shapes(np.log1p(above_listed), self.coefficients)


def _outcomes(ranks: ScannedRanks) -> Ints:
    """Return the numbers of listed and of drawn items above, and of all drawn ones, as rows."""
    return np.stack([ranks.above_listed, ranks.above_drawn, ranks.n_drawn])


def _densities(outcomes: Ints, coefficients: Floats) -> tuple[Floats, Floats]:
    """Return the log density of each outcome without a constant, and its derivatives.

    float64, (n,) and (n, 4): the derivatives are by the coefficients.
    """
    from scipy.special import digamma, gammaln

    listed, b, n = tuple[Ints, ...](outcomes)
    x = np.log1p(listed)
    alpha, beta = _shapes(x, coefficients)
    total = alpha + beta
    log_density = gammaln(total) - gammaln(total + n)
    log_density += gammaln(alpha + b) - gammaln(alpha)
    log_density += gammaln(beta + n - b) - gammaln(beta)
    common = digamma(total) - digamma(total + n)
    by_alpha = alpha * (common + digamma(alpha + b) - digamma(alpha))
    by_beta = beta * (common + digamma(beta + n - b) - digamma(beta))
    by_s, by_w = by_alpha + by_beta, -by_beta
    return log_density, np.stack([by_s, by_s * x, by_w, by_w * x], axis=1)


def _shapes(x: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """Return alpha and beta at x = log(1 + c)."""
    s0, s1, w0, w1 = coefficients
    log_alpha = s0 + s1 * x
    log_beta = log_alpha - (w0 + w1 * x)
    return np.exp(np.clip(log_alpha, -_LIMIT, _LIMIT)), np.exp(np.clip(log_beta, -_LIMIT, _LIMIT))


def _expected(cases: Ints, weights: Floats, coefficients: Floats) -> Floats:
    """Return sum_j weights[c + b + j] P(j of the unscored items are above the target).

    The rows of `cases` are c, b, and the numbers of drawn and of unscored items: int64, (4, n).
    """
    from scipy.special import betaln

    listed, drawn, n_drawn, n_rest = tuple[Ints, ...](cases)
    alpha, beta = _shapes(np.log1p(listed), coefficients)
    a, b = alpha + drawn, beta + n_drawn - drawn
    probability = np.exp(betaln(a, b + n_rest) - betaln(a, b))
    above = listed + drawn
    value, padded = np.zeros(above.size), np.append(weights, 0.0)
    for j in range(weights.size):
        value += padded[np.minimum(above + j, weights.size)] * probability
        n_left = n_rest - j
        # The ratio of two probabilities; with no item left, it is 0.
        probability *= np.maximum(n_left, 0) / (j + 1) * (a + j) / np.maximum(b + n_left - 1, b)
    return value


_RATIOS = np.array([0.001, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
_HALVINGS = 30  # of bisection
_STEEPEST = 60.0  # the largest exponent


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

    low, high = mean(ranks.above + ranks.n_rest), mean(ranks.above)
    if ranks.is_open.any() and weights.size:
        low = max(low, high - _drawn_loss(ranks, weights, fit, -log(1.0 - level)))
    return Bounds(low, high)


def _drawn_loss(ranks: ScannedRanks, weights: Floats, fit: OpenTargets, log_odds: float) -> float:
    """Return an upper bound on the mean loss by the penalties of drawn items."""
    cases = Cases.of(ranks, weights.size)
    expected = cases.expected_shares(fit)
    detection = float(np.median(cases.n_drawn / cases.n_unlisted))
    largest_share = float(np.bincount(ranks.owner, ranks.weights).max())  # of a user
    best, loss = np.inf, np.inf
    for ratio in _RATIOS:
        theta = float(np.log1p((1.0 - ratio) * detection / (1.0 - detection))) / weights.max()
        margin = log_odds / max(theta, 1e-300) * largest_share
        chosen = largest = cases.largest_losses(weights)
        if theta:  # the linear penalty of a case, or the largest loss, with the smaller sum
            linear = cases.linear_penalties(weights, theta)
            is_smaller = (expected * (linear - largest)).sum(axis=1, keepdims=True) < 0
            chosen = np.where(is_smaller, linear, largest)
        planned = float((expected * chosen).sum()) + margin
        if planned < best:
            best, loss = planned, float((cases.shares * chosen).sum() + margin)
    return loss


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
        # In a scan, targets that stay open have the same number of draws. Without such a number,
        # targets have the draws that they would have in any case.
        sizes = np.unique(ranks.n_drawn[ranks.is_open])
        n_drawn = np.minimum(sizes[0] if sizes.size == 1 else ranks.n_drawn, n_unlisted)
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

    def expected_shares(self, fit: OpenTargets) -> Floats:
        """Return the shares that the fitted distribution expects: float64, (n_cases, k + 1)."""
        from scipy.stats import betabinom

        shapes = (self.n_drawn, *fit.shapes(self.above_listed))
        chances = betabinom.pmf(self._numbers, *(column[:, None] for column in shapes))
        within: Floats = np.where(self._numbers < self._last, chances, 0.0)
        others: Floats = 1.0 - within.sum(axis=1, keepdims=True)
        chances = np.where(self._numbers == self._last, others, within)
        return chances * self.shares.sum(axis=1, keepdims=True)

    def largest_losses(self, weights: Floats) -> Floats:
        """Return the loss if all unscored items are above, by b: float64, (n_cases, k + 1)."""
        return values_of(weights, self.above_listed[:, None] + self._numbers)

    def linear_penalties(self, weights: Floats, theta: float) -> Floats:
        """Return the smallest linear penalties that satisfy (1): float64, (n_cases, k + 1)."""
        # log P(b | B) + theta loss(B, b) for B and b up to k: (n_cases, B, b).
        values, counts = self.largest_losses(weights), self._n_above
        losses = values[:, None, :] - np.take_along_axis(values, counts, axis=1)[:, :, None]
        is_open = (self._numbers < self._last)[:, None, :]
        terms = np.exp(self._log_chances + theta * np.where(is_open, losses, 0.0))

        def excess(slopes: Floats) -> Floats:
            """Return the logarithm of the largest expectation in (1) over all B."""
            factors = np.exp(-theta * slopes[:, None] * counts)
            expectations = np.einsum("cij,cj->ci", terms, factors)
            with np.errstate(divide="ignore"):  # 0 with a steep penalty, which is steep enough
                return np.log(expectations).max(axis=1)

        low, high = np.zeros(self.n_drawn.size), np.full(self.n_drawn.size, _STEEPEST / theta)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_enough = excess(middle) <= 0.0
            low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
        return np.maximum(excess(high), 0.0)[:, None] / theta + high[:, None] * counts

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


_LEVEL = 0.95  # of the bounds of means, for intervals of any level


def combined(effects: Floats, *others: float) -> tuple[float, float]:
    """Return the standard error, and the number of users that gives its t interval.

    Parameters
    ----------
    effects : float64, (n_users,)
        The effects of users, whose variation causes a part of the error.
    *others : float
        The variances of the other parts, which are known.

    Notes
    -----
    The degrees of freedom are those of Welch and Satterthwaite.
    """
    own = std_error(effects) ** 2
    variance = sum(others, own)
    if not variance > 0.0:  # no error, or nan for a single user
        return float(np.sqrt(variance)), np.inf if variance == 0.0 else 1.0
    uncertainty = own**2 / (effects.size - 1)
    return float(np.sqrt(variance)), variance**2 / uncertainty + 1.0 if uncertainty else np.inf


class ScanFit(Fit):
    """The fitted distributions of unscored items, and the expected values of users by them.

    The number of scored items above a target is known. That of unscored items above it has a
    distribution, which is fitted to each part of a measure once. `is_naive` leaves unscored items
    out of account instead.
    """

    omits_assumptions: ClassVar[bool] = True

    def __init__(self, ranks: Observation, *, is_naive: bool) -> None:
        is_biased = not ranks.is_exact
        self.targets = cast("ScannedRanks", ranks.targets)
        own = "strata" if ranks.is_shared else f"scan(k={self.targets.k})"
        method = NAIVE if is_naive else own
        source: ErrorFrom = "posterior" if is_biased and not is_naive else "users"
        interval_of: IntervalOf = "expectation" if is_biased and is_naive else "exact"
        super().__init__(ranks, method, source, (is_biased, interval_of))
        self._fits: dict[Hashable, OpenTargets] = {}

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""
        parts, total = self.observed.parts(measure), np.zeros(2)
        n_shapes = max(sum(len(part.shapes) for part in parts), 1)
        of_shape = 1.0 - (1.0 - confidence) / n_shapes if n_shapes > 1 else confidence
        for part in parts:
            fit = self._fit(part)
            for shape in part.shapes:
                ranks, weights, share = self._term(shape)
                total += share * np.array(scan_bounds(ranks, weights, fit, of_shape))
        return Bounds(*total.tolist())

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure; see `Fit.mean`."""
        observed, n = self.observed, self.n_users
        values, influences = np.zeros((2, n))
        other, largest = 0.0, 0.0
        # The covariance holds for independent targets. Those of a user depend on each other, so
        # that their effects are summed.
        is_single = not observed.is_shared and n == observed.n_rows
        for part in observed.parts(measure):
            fit, gradient = self._fit(part), np.zeros(4)
            for shape in part.shapes:
                ranks, weights, share = self._term(shape)
                of_targets = values_of(weights, ranks.above)
                if self.method != NAIVE:
                    of_targets = fit.values(ranks, weights)
                    gradient += share * fit.gradient(ranks, weights)
                np.add.at(values, observed.owner[shape.rows], shape.sizes * of_targets)
                largest += share * float(weights.max(initial=0.0))
            if is_single:
                other = float(gradient @ fit.covariance @ gradient)
            else:
                of_rows = fit.influences(part.ranks, n * gradient)
                np.add.at(influences, observed.owner[part.rows], of_rows)
        values = observed.about_mean(values)
        ends = self.bounds(measure, self._confidence(_LEVEL))
        mean = min(max(float(values.mean()), ends.low), ends.high)
        # Short lists don't settle most targets that rank far below the first k.
        are_deep = self.targets.n_listed.max() >= LEAST_DEPTH * self.targets.k
        is_unknown = not (observed.is_shared or are_deep or observed.is_exact)
        is_larger = other + std_error(influences) ** 2 > std_error(values) ** 2
        prior_decides = is_unknown or is_larger
        effects = values + influences
        error, size = combined(effects, other)
        interval = inside(t_interval(mean, error, size, level), (0.0, largest))
        limits = None
        if bounds or prior_decides:  # the exact mean can be anywhere between them
            limits = self.bounds(measure, self._confidence(level))
            interval = covering(interval, limits) if prior_decides else interval
        shown = limits if bounds else None
        return MeanOfUsers(mean, error, effects, interval, other, prior_decides, shown, largest)

    def error_of_difference(self, a: MeanOfUsers, b: MeanOfUsers) -> tuple[float, float]:
        """Return the error of a difference; see `Fit.error_of_difference`."""
        return combined(b.effects - a.effects, a.other, b.other)

    def limits(self, bounds: Bounds | None, largest: float) -> tuple[float, float]:
        """Return where intervals of differences end; see `Fit.limits`."""
        return -largest, largest

    def _confidence(self, level: float) -> float:
        """Return the confidence of the bounds of one model; those of two scans hold together."""
        return level if self.observed.is_shared else (1.0 + level) / 2

    def _term(self, shape: Part) -> tuple[ScannedRanks, Floats, float]:
        """Return the counts of a shape's targets, the values by rank, and their mean's factor."""
        weights = rank_weights(shape.measure, self.targets.most_items)
        return self.observed.at(shape), weights, float(shape.sizes.sum()) / self.n_users

    def _fit(self, part: Part) -> OpenTargets:
        if part.key not in self._fits:
            self._fits[part.key] = OpenTargets.fit(part.ranks)
        return self._fits[part.key]
