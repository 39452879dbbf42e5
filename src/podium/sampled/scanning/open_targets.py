"""The unscored items above open targets: a beta-binomial distribution for all targets together.

The share of a target's unlisted items that are above it has a beta distribution, whose parameters
depend on c, the number of listed items above the target:

    log alpha = s0 + s1 log(1 + c),    log(alpha / beta) = w0 + w1 log(1 + c).

Draws are a uniform sample of the unlisted items, so that the number of drawn items above the
target is beta-binomial. The rule that stops the draws depends on drawn items only, and does not
change the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import values_of
from podium.sampled.scanning.ranks import ScannedRanks

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

        rows = Outcomes.of(ranks)
        optimum = minimize(rows.cost, _MEANS, jac=True, method="L-BFGS-B")
        steps = _STEP * np.eye(4)
        hessian = np.array(
            [
                (rows.cost(optimum.x + step)[1] - rows.cost(optimum.x - step)[1]) / (2 * _STEP)
                for step in steps
            ]
        )
        covariance = np.linalg.pinv((hessian + hessian.T) / 2, hermitian=True)
        return cls(optimum.x, covariance.astype(np.float64))

    def values(self, ranks: ScannedRanks, weights: Floats) -> Floats:
        """Return the expected value of each target: float64, (n_targets,).

        Parameters
        ----------
        ranks : ScannedRanks
        weights : float64, (at most ranks.k,)
            The value of a target at each rank; 0 below.
        """
        return self._values(ranks, weights, self.coefficients)

    def gradient(self, ranks: ScannedRanks, weights: Floats) -> Floats:
        """Return the derivative of the users' mean value by the coefficients: float64, (4,)."""
        ends = [
            [
                ranks.means_of_users(self._values(ranks, weights, self.coefficients + shift)).mean()
                for shift in (step, -step)
            ]
            for step in _STEP * np.eye(4)
        ]
        return np.subtract(*np.transpose(ends)) / (2 * _STEP)

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
        every = Outcomes(ranks.above_listed, ranks.above_drawn, ranks.n_drawn, ranks.counts)
        derivatives = every.densities(self.coefficients)[1] * ranks.counts[:, None]
        return ranks.is_fitted * (derivatives @ self.covariance @ gradient)

    def shapes(self, above_listed: Ints) -> tuple[Floats, Floats]:
        """Return alpha and beta of targets with some listed items above: float64, (n,) each."""
        return _shapes(np.log1p(above_listed), self.coefficients)

    def outcome_chances(self, above_listed: Ints, n_drawn: Ints, most: int) -> Floats:
        """Return the probabilities of 0 .. most drawn items above: float64, (n_cases, most + 1)."""
        from scipy.stats import betabinom

        alpha, beta = self.shapes(above_listed)
        shapes = n_drawn[:, None], alpha[:, None], beta[:, None]
        return np.asarray(betabinom.pmf(np.arange(most + 1), *shapes), np.float64)

    def _values(self, ranks: ScannedRanks, weights: Floats, coefficients: Floats) -> Floats:
        values = values_of(weights, ranks.above)
        is_open = np.flatnonzero(ranks.is_open & (ranks.above < weights.size))
        columns = (ranks.above_listed, ranks.above_drawn, ranks.n_drawn, ranks.n_rest)
        open_columns = np.stack([column[is_open] for column in columns])
        cases, case_of = np.unique(open_columns, axis=1, return_inverse=True)
        values[is_open] = _expected(_Case(*cases), weights, coefficients)[case_of]
        return values


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The distinct outcomes of draws, and the number of targets with each."""

    above_listed: Ints
    above_drawn: Ints
    n_drawn: Ints
    n_targets: Floats

    @classmethod
    def of(cls, ranks: ScannedRanks) -> Outcomes:
        """Count the outcomes of the targets that the fit uses."""
        is_used = ranks.is_fitted
        columns = np.stack([ranks.above_listed, ranks.above_drawn, ranks.n_drawn])
        (above_listed, above_drawn, n_drawn), case = np.unique(
            columns[:, is_used], axis=1, return_inverse=True
        )
        n_targets = np.bincount(case.ravel(), ranks.counts[is_used], above_listed.size)
        return cls(above_listed, above_drawn, n_drawn, n_targets.astype(np.float64))

    def cost(self, coefficients: Floats) -> tuple[float, Floats]:
        """Return the negative log posterior density and its gradient by the coefficients."""
        densities, derivatives = self.densities(coefficients)
        deviation = coefficients - _MEANS
        cost = -(densities @ self.n_targets) + (_PRECISIONS * deviation**2).sum() / 2
        return float(cost), _PRECISIONS * deviation - self.n_targets @ derivatives

    def densities(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return the log density of each outcome without a constant, and its derivatives.

        float64, (n,) and (n, 4): the derivatives are by the coefficients.
        """
        from scipy.special import digamma, gammaln

        x = np.log1p(self.above_listed)
        alpha, beta = _shapes(x, coefficients)
        b, n, total = self.above_drawn, self.n_drawn, alpha + beta
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


class _Case(NamedTuple):
    """Counts of open targets: int64, (n,) each."""

    above_listed: Ints
    above_drawn: Ints
    n_drawn: Ints
    n_rest: Ints


def _expected(case: _Case, weights: Floats, coefficients: Floats) -> Floats:
    """Return sum_j weights[c + b + j] P(j of the unscored items are above the target)."""
    from scipy.special import betaln

    alpha, beta = _shapes(np.log1p(case.above_listed), coefficients)
    a, b = alpha + case.above_drawn, beta + case.n_drawn - case.above_drawn
    probability = np.exp(betaln(a, b + case.n_rest) - betaln(a, b))
    above = case.above_listed + case.above_drawn
    value, padded = np.zeros(above.size), np.append(weights, 0.0)
    for j in range(weights.size):
        value += padded[np.minimum(above + j, weights.size)] * probability
        n_left = case.n_rest - j
        # The ratio of two probabilities; with no item left, it is 0.
        probability *= np.maximum(n_left, 0) / (j + 1) * (a + j) / np.maximum(b + n_left - 1, b)
    return value
