"""Maximum likelihood over all users, or over weighted users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium import _check
from podium.errors import ArgumentError, ConvergenceWarning, arg, warn
from podium.sampled.design import Floats
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators import Estimator, register
from podium.sampled.estimators.newton import Maximum, maximise
from podium.sampled.likelihood import Likelihood, em, likelihood
from podium.sampled.ranks import SampledRanks

TOLERANCE = 1e-8
"""The gap in mean log likelihood at which a fit without a number of steps has converged."""

_ROWS = 2**13  # the number of ranks whose chances are in memory at the same time

Weight = Callable[[Floats], Floats]

WEIGHTS: dict[str, Weight] = {
    "ndcg": lambda ranks: 1.0 / np.log2(ranks + 1.0),
    "ap": lambda ranks: 1.0 / ranks,
}
"""Functions of a sampled rank divided by `scale` that give its weight, by name."""


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

    n_steps: int | None = 100

    def __post_init__(self) -> None:
        n_steps = _check.cutoff(self.n_steps, name="n_steps", required=False)
        object.__setattr__(self, "n_steps", n_steps)

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

    weight: str | Weight = "ndcg"
    scale: float = 10.0
    n_steps: int | None = 100

    def __post_init__(self) -> None:
        if not callable(self.weight):
            _check.choice(self.weight, "weight", list(WEIGHTS))
        object.__setattr__(self, "scale", _check.positive(self.scale, "scale"))
        n_steps = _check.cutoff(self.n_steps, name="n_steps", required=False)
        object.__setattr__(self, "n_steps", n_steps)

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
