"""Maximum likelihood over all users, or over weighted users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from podium import _check
from podium.errors import ArgumentError, ConvergenceWarning, arg, warn
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators import Estimator, register
from podium.sampled.likelihood import Likelihood, em, likelihood
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import peaks, spaced_ranks

_START = 4  # ranks per standard deviation of a sampled rank at the start of the search
_DENSE = 16  # the same in the search for ranks that would increase the likelihood
_ZOOM = 16  # the number of parts into which a search between two ranks is divided
_MOST_STEPS = 500
_RISE = 1e-4  # the share of the expected gain that a step must reach
_ROUNDING = 1e-15  # the rounding error of a mean log likelihood
_SHRINK = 0.9  # the largest relative decrease of an outcome's chance in a step, to avoid zeros
_MIN_MASS = 1e-14  # smaller masses are dropped


@dataclass(frozen=True, eq=False)
class Maximum:
    """A distribution on a few ranks with the largest likelihood of all distributions.

    Attributes
    ----------
    ranks : int64, (n_support,)
        The ranks with mass, in increasing order.
    masses : float64, (n_support,)
        The probabilities of these ranks, > 0.
    n_items : int
    log_likelihood : float
        The mean over users.
    gap : float
        The largest first-order gain in mean log likelihood from moving mass to any single rank of
        the catalogue. The largest possible log likelihood is at most `gap` higher.
    n_steps : int
    """

    ranks: Ints
    masses: Floats
    n_items: int
    log_likelihood: float
    gap: float
    n_steps: int

    @property
    def probabilities(self) -> Floats:
        """The probabilities of ranks 1 .. n_items: float64, (n_items,)."""
        all_probabilities = np.zeros(self.n_items)
        all_probabilities[self.ranks - 1] = self.masses
        return all_probabilities


def maximise(likelihood: Likelihood, tolerance: float) -> Maximum:
    """Find the maximum of the likelihood.

    Parameters
    ----------
    likelihood : Likelihood
    tolerance : float
        The gap at which the search ends.

    Returns
    -------
    Maximum

    Notes
    -----
    This is Newton's method for mixtures. The quadratic model of the log likelihood is maximised
    over the masses of a few ranks, as a least-squares problem with nonnegative masses. Ranks at the
    peaks of the gain are added until no rank of the catalogue gains more than the tolerance.

    References
    ----------
    wang2007; lindsay1983 for the gap.
    """
    search = _Search(likelihood)
    n_steps = 0
    while True:
        gap = search.findpeaks()
        if gap <= tolerance or n_steps == _MOST_STEPS:
            gap = search.check_all_ranks()
            if gap <= tolerance or n_steps == _MOST_STEPS:
                order = np.argsort(search.ranks)
                value = float(likelihood.shares @ np.log(search.masses @ search.chances))
                support = search.ranks[order], search.masses[order], likelihood.n_items
                return Maximum(*support, value, gap, n_steps)
        search.step()
        n_steps += 1


class _Search:
    """Masses on a few ranks, and the steps that improve them."""

    def __init__(self, likelihood: Likelihood) -> None:
        self.likelihood = likelihood
        size = max(design.n_negatives for design, _ in likelihood.parts)
        self.grid_ranks = spaced_ranks(likelihood.n_items, size, _DENSE)
        self.grid_chances = likelihood.chances(self.grid_ranks.astype(np.float64))
        self.ranks = spaced_ranks(likelihood.n_items, size, _START)
        self.chances = likelihood.chances(self.ranks.astype(np.float64))
        self.masses = np.full(self.ranks.size, 1.0 / self.ranks.size)
        self.new_ranks = np.empty(0, np.int64)

    def ratios(self) -> Floats:
        return self.likelihood.shares / (self.masses @ self.chances)

    def findpeaks(self) -> float:
        """Find the ranks at the peaks of the gain; return the largest gain found."""
        ratios = self.ratios()
        gain = self.grid_chances @ ratios
        places = peaks(gain)
        left = self.grid_ranks[np.maximum(places - 1, 0)]
        right = self.grid_ranks[np.minimum(places + 1, self.grid_ranks.size - 1)]
        self.new_ranks, best_gains = self._zoom(left, right, ratios)
        return float(max(best_gains.max(), gain.max(), (self.chances @ ratios).max())) - 1.0

    def _zoom(self, low: Ints, high: Ints, ratios: Floats) -> tuple[Ints, Floats]:
        """Narrow the brackets of peaks to single ranks."""
        while True:
            parts = np.linspace(low, high, _ZOOM + 1)
            tried_ranks = np.rint(parts).astype(np.int64)
            gains = self.likelihood.chances(tried_ranks.ravel().astype(np.float64)) @ ratios
            gains = gains.reshape(tried_ranks.shape)
            best_part, columns = np.argmax(gains, axis=0), np.arange(low.size)
            if (high - low).max() <= _ZOOM:
                return tried_ranks[best_part, columns], gains[best_part, columns]
            low = tried_ranks[np.maximum(best_part - 1, 0), columns]
            high = tried_ranks[np.minimum(best_part + 1, _ZOOM), columns]

    def check_all_ranks(self) -> float:
        """Return the largest gain over all ranks, and add its peaks to the new ranks."""
        gain = self.likelihood.slope(self.masses @ self.chances)
        self.new_ranks = peaks(gain) + 1
        return float(gain.max()) - 1.0

    def step(self) -> None:
        """Add the new ranks, and make one Newton step of the masses."""
        new_ranks = np.setdiff1d(self.new_ranks, self.ranks)
        self.ranks = np.concatenate([self.ranks, new_ranks])
        new_chances = self.likelihood.chances(new_ranks.astype(np.float64))
        self.chances = np.concatenate([self.chances, new_chances])
        self.masses = np.concatenate([self.masses, np.zeros(new_ranks.size)])
        self._step_towards(self._newton())
        has_mass = self.masses > _MIN_MASS
        self.ranks, self.chances = self.ranks[has_mass], self.chances[has_mass]
        self.masses = self.masses[has_mass] / self.masses[has_mass].sum()

    def _newton(self) -> Floats:
        """Return the masses that maximise the quadratic model.

        The model is a sum of squares of (outcome chance after / before - 2), weighted by the
        shares. The masses sum to 1, so that the 2 can be subtracted from each chance, and the
        constraint on the sum can be dropped.
        """
        scale = np.sqrt(self.likelihood.shares)
        chances = self.chances / (self.masses @ self.chances)
        system = np.concatenate([((chances - 2.0) * scale).T, np.ones((1, self.ranks.size))])
        target = np.zeros(scale.size + 1)
        target[-1] = 1.0
        masses, _ = nnls(system, target, maxiter=100 * system.shape[1])
        return masses / masses.sum()

    def _step_towards(self, goal: Floats) -> None:
        """Step towards a goal; the step is halved until the likelihood increases enough."""
        shares, direction = self.likelihood.shares, goal - self.masses
        outcome_chances, chance_changes = self.masses @ self.chances, direction @ self.chances
        growth = chance_changes / outcome_chances
        expected_gain = float(shares @ growth)
        length = min(1.0, _SHRINK / max(float(-growth.min()), 1e-300))
        while length > 1e-12:
            gain = float(shares @ np.log1p(length * growth))
            if gain >= _RISE * length * expected_gain - _ROUNDING:
                break
            length /= 2.0
        self.masses = np.maximum(self.masses + length * direction, 0.0)


TOLERANCE = 1e-8
"""The gap in mean log likelihood at which a fit without a number of steps has converged."""

_ROWS = 2**13  # the number of ranks whose chances are in memory at the same time

Weight = Callable[[Floats], Floats]

WEIGHTS: dict[str, Weight] = {
    "ndcg": lambda ranks: 1.0 / np.log2(ranks + 1.0),
    "ap": lambda ranks: 1.0 / ranks,
}
"""Functions of a sampled rank divided by `scale` that give its weight, by name."""

_N_STEPS = partial(_check.cutoff, required=False)


def _weight(value: Any, name: str) -> Any:
    return value if callable(value) else _check.choice(value, name, list(WEIGHTS))


@register
@dataclass(frozen=True)
class MLE(Estimator):
    """The distribution of ranks that maximises the likelihood of the observed sampled ranks.

    Parameters
    ----------
    n_steps : int or None
        The number of steps of expectation maximisation from the uniform distribution. After few
        steps the distribution is still smooth, so that a limited number keeps the estimate from
        following noise. With None, the fit finds the maximum itself.

    Notes
    -----
    The maximum has all its mass on a few ranks: at most (n_negatives + 2) / 2 places of one rank or
    two neighbours. The probabilities of the sampled ranks at the maximum are unique. The places are
    unique too, unless some distribution gives exactly the observed shares; then one of many maxima
    is returned. With many users, noise in their ranks excludes this case. The value of a measure
    depends on which of the few places lie above its cutoff. As an estimate, the maximum is nearly
    unbiased, but its spread is two to four times that of 100 steps. Do not report it for a single
    model; it is the limit for a growing number of steps. `maximum_likelihood` returns it with a
    proof of optimality.

    If all items are sampled without replacement, the ranks are exact and are returned.

    Cost: n_steps times n_outcomes times about 600 nodes that represent all ranks (times
    sqrt(n_steps / 100)), and the memory of the result, for any n_items. The probabilities differ by
    less than 1e-7 in total from those with sums over every rank. With None: about 15 Newton steps
    in a few dozen masses, and one pass over all ranks.

    References
    ----------
    jin2021, equation 21; lindsay1983; wang2007.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 2, 5], 9, 1000)
    >>> round(MLE().estimate(ranks, "recall@100"), 2)
    0.73
    """

    name: ClassVar[str] = "mle"
    label: ClassVar[str] = "MLE"
    grows: ClassVar[bool] = True
    constraints: ClassVar[_check.Constraints] = {"n_steps": _N_STEPS}

    n_steps: int | None = 100

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Make the steps, or find the maximum; see `Estimator.fit`."""
        probabilities = mle_probabilities(likelihood(self.check(ranks)), self.n_steps)
        return RankDistribution(probabilities, fewest_items=ranks.fewest_items)


def mle_probabilities(observed: Likelihood, n_steps: int | None) -> Floats:
    """Return the probabilities after a number of steps, or at the maximum: (n_items,)."""
    if observed.is_exact:
        all_ranks = np.concatenate([outcomes for _, outcomes in observed.parts])
        return np.bincount(all_ranks, observed.shares, observed.n_items).astype(np.float64)
    if n_steps is not None:
        return em(observed, n_steps).probabilities
    result = maximise(observed, TOLERANCE)
    if result.gap > TOLERANCE:
        warn(
            f"MLE stopped after {result.n_steps} steps at a gap of {result.gap:.1e} in mean log "
            f"likelihood, above {TOLERANCE:g}. Pass n_steps instead.",
            ConvergenceWarning,
        )
    return result.probabilities


def maximum_likelihood(ranks: SampledRanks, tolerance: float = TOLERANCE) -> Maximum:
    """Find the distribution with the largest likelihood, and a bound on its error.

    Parameters
    ----------
    ranks : SampledRanks
        The observed ranks. All users have the same weight.
    tolerance : float
        The gap in mean log likelihood at which the search stops, above 0.

    Returns
    -------
    Maximum
        The few ranks with mass, their masses, and the gap over all ranks of the catalogue.

    References
    ----------
    lindsay1983; wang2007.

    Examples
    --------
    >>> found = maximum_likelihood(SampledRanks([1, 1, 2, 5], 9, 1000))
    >>> found.ranks.size <= 11, found.gap <= 1e-8
    (True, True)
    """
    gap = _check.positive(tolerance, "tolerance")
    return maximise(likelihood(ranks), gap)


def likelihood_gap(ranks: SampledRanks, distribution: RankDistribution) -> float:
    """Return the largest first-order gain in mean log likelihood from moving mass to one rank.

    The mean log likelihood of any distribution exceeds that of the given one by at most this gap.
    The gap is 0 at the maximum.

    Parameters
    ----------
    ranks : SampledRanks
    distribution : RankDistribution
        A distribution over the same catalogue.

    Returns
    -------
    float
        The gap; infinite if the distribution gives an observed rank no chance.

    References
    ----------
    lindsay1983.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 2, 5], 9, 1000)
    >>> steps = [likelihood_gap(ranks, MLE(n).fit(ranks)) for n in (1, 10, 100)]
    >>> steps[0] > steps[1] > steps[2] > 0
    True
    """
    observed = likelihood(ranks)
    mass = distribution.probabilities
    ranks_with_mass = np.flatnonzero(mass > 0)
    outcome_chances = np.zeros(observed.shares.size)
    for start in range(0, ranks_with_mass.size, _ROWS):
        block = ranks_with_mass[start : start + _ROWS]
        outcome_chances += mass[block] @ observed.chances((block + 1).astype(np.float64))
    if outcome_chances.min() <= 0:
        return float("inf")
    return float(observed.slope(outcome_chances).max()) - 1.0


@register
@dataclass(frozen=True)
class WMLE(Estimator):
    """Maximum likelihood in which users with small sampled ranks have larger weights.

    A user with sampled rank r has the weight ``weight(r / scale)``. The weights do not make the
    estimate of the top more precise. They give the likelihood of a different population, in which
    small ranks are more frequent, and estimates of measures of the top are too large for any number
    of users. With the paper's weights and scale they are too large by a factor of about 8: for
    MultiVAE on ml-1m, recall@10 is 178e-3, `MLE` gives 22e-3, and the exact value is 18e-3. A
    larger scale makes the weights steeper. A `PodiumWarning` reports this.

    Parameters
    ----------
    weight : {"ndcg", "ap"} or callable
        The name of a function in `WEIGHTS`, or a function from sampled ranks over scale, float64
        (n,), to their weights.
    scale : float
        The constant C of the paper, above 0.
    n_steps : int or None
        The number of steps, as in `MLE`.

    References
    ----------
    jin2021, equation 23.

    Examples
    --------
    >>> import warnings
    >>> ranks = SampledRanks([1, 1, 2, 5], 9, 1000)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tilted = WMLE().estimate(ranks, "recall@100")
    >>> tilted > MLE().estimate(ranks, "recall@100")
    True
    """

    name: ClassVar[str] = "wmle"
    label: ClassVar[str] = "WMLE (tilted)"
    consistent: ClassVar[bool] = False
    mixes_sizes: ClassVar[bool] = False
    constraints: ClassVar[_check.Constraints] = {
        "weight": _weight,
        "scale": _check.positive,
        "n_steps": _N_STEPS,
    }

    weight: str | Weight = "ndcg"
    scale: float = 10.0
    n_steps: int | None = 100

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Make the steps with weighted shares; see `Estimator.fit`.

        Warns
        -----
        PodiumWarning
            Always, because the estimate is that of a different population.
        """
        warn(
            "wmle gives users with small sampled ranks larger weights. It therefore overestimates "
            "the share of users at the top, for any number of users. Use mle."
        )
        design = self.check(ranks).design
        weighted_likelihood = likelihood(ranks, self.weights(np.arange(1.0, design.n_outcomes + 1)))
        return RankDistribution(mle_probabilities(weighted_likelihood, self.n_steps))

    def weights(self, ranks: Floats) -> Floats:
        """Return the weights of users with the given sampled ranks: float64, (n,).

        Parameters
        ----------
        ranks : float64, (n,)
            Sampled ranks, from 1.

        Raises
        ------
        ArgumentError
            If a weight is negative or not finite, or all are 0.
        """
        weight_of = self.weight if callable(self.weight) else WEIGHTS[self.weight]
        user_weights = _check.weights(
            weight_of(ranks / self.scale), ranks.size, name="weight(ranks / scale)"
        )
        if not user_weights.any():
            raise ArgumentError(
                f"{arg.weight} must be above 0 for at least one sampled rank, got 0 for all."
            )
        return user_weights
