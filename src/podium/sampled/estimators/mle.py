"""Maximum likelihood, of the users there are or of weighted ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium import _check
from podium.errors import ArgumentError, ConvergenceWarning, PodiumWarning
from podium.sampled.design import Floats
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators import Estimator, register
from podium.sampled.estimators.newton import Maximum, maximise
from podium.sampled.likelihood import Likelihood, em, likelihood
from podium.sampled.ranks import SampledRanks

TOLERANCE = 1e-8
"""Gap in mean log likelihood at which a fit without a number of steps has converged."""

_ROWS = 2**13  # ranks whose chances are in memory at a time

Weight = Callable[[Floats], Floats]

WEIGHTS: dict[str, Weight] = {
    "ndcg": lambda ranks: 1.0 / np.log2(ranks + 1.0),
    "ap": lambda ranks: 1.0 / ranks,
}
"""What a sampled rank over `scale` counts, by name."""


@register
@dataclass(frozen=True)
class MLE(Estimator):
    """The distribution of ranks that makes the observed sampled ranks most likely.

    Parameters
    ----------
    n_steps : int or None
        Steps of expectation maximisation from the uniform distribution. Few steps leave it
        smooth: their number is what keeps the estimate from following noise. None goes to the
        maximum itself.

    Notes
    -----
    What the maximum is: a few ranks have all the mass, at most (n_negatives + 2) / 2 places of
    one rank or two neighbours. The chances of the sampled ranks at the maximum are unique. So are
    the places, unless some distribution gives exactly the observed shares, which noise in many
    users' ranks excludes; then one of many is returned. A measure reads which of the few places
    lie above its cutoff. The maximum is nearly unbiased for it, and spreads two to four times as
    much as 100 steps do: no figure to report for one model, but the end of the scale of steps.
    `maximum_likelihood` returns it with the proof of optimality.

    Without replacement, and with all items sampled, the ranks are known and are returned.

    Cost: n_steps times n_outcomes times some 600 ranks that stand for all (times
    sqrt(n_steps / 100)); memory for the result, whatever n_items. Probabilities differ by less
    than 1e-7 in total from those of sums over every rank. None: some 15 Newton steps in a few
    dozen masses, and one look at every rank.

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
        _check.cutoff(self.n_steps, name="n_steps", required=False)

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Make the steps, or find the maximum; see `Estimator.fit`."""
        return RankDistribution(climb(likelihood(self.check(ranks)), self.n_steps))


def climb(observed: Likelihood, n_steps: int | None) -> Floats:
    """Return the probabilities after a number of steps, or at the maximum: (n_items,)."""
    if observed.is_exact:
        found = np.zeros(observed.n_items)
        for _, seen in observed.parts:
            found[seen] += observed.shares
        return found
    if n_steps is not None:
        return em(observed, n_steps).probabilities
    found = maximise(observed, TOLERANCE)
    if found.gap > TOLERANCE:
        warnings.warn(
            f"MLE stopped after {found.n_steps} steps at a gap of {found.gap:.1e} in mean log "
            f"likelihood, above {TOLERANCE:g}. Give a number of steps instead.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return found.probabilities


def maximum_likelihood(ranks: SampledRanks, tolerance: float = TOLERANCE) -> Maximum:
    """Find the distribution of greatest likelihood, and show how sure that is.

    Parameters
    ----------
    ranks : SampledRanks
        Every user counts once.
    tolerance : float
        Gap in mean log likelihood to stop at, above 0.

    Returns
    -------
    Maximum
        The few ranks with mass, the mass, and the gap over all ranks of the catalogue.

    References
    ----------
    lindsay1983; wang2007.

    Examples
    --------
    >>> found = maximum_likelihood(SampledRanks([1, 1, 2, 5], 9, 1000))
    >>> found.ranks.size <= 11, found.gap <= 1e-8
    (True, True)
    """
    gap = _check.number(tolerance, "tolerance", low=0.0, strict=True)
    return maximise(likelihood(ranks), gap)


def likelihood_gap(ranks: SampledRanks, distribution: RankDistribution) -> float:
    """Return the largest first-order gain in mean log likelihood over all ranks.

    Of moving mass to one rank. No distribution is more likely than the given one by more than
    this, for each user; 0 at the maximum.

    Parameters
    ----------
    ranks : SampledRanks
    distribution : RankDistribution
        Of the same catalogue; infinite if it gives an observed rank no chance.

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
    held = np.flatnonzero(mass > 0)
    mixed = np.zeros(observed.shares.size)
    for start in range(0, held.size, _ROWS):
        some = held[start : start + _ROWS]
        mixed += mass[some] @ observed.rows((some + 1).astype(np.float64))
    if mixed.min() <= 0:
        return float("inf")
    return float(observed.slope(mixed).max()) - 1.0


@register
@dataclass(frozen=True)
class WMLE(Estimator):
    """Maximum likelihood with users of small sampled ranks counted more.

    A user of sampled rank r counts ``weight(r / scale)``. This is not a sharper look at the top:
    it is the likelihood of other users, among whom small ranks are more frequent, and every
    measure of the top comes out too large, however many users there are. With the paper's
    weights and scale it is off by a factor of about 8 (MultiVAE on ml-1m: recall@10 of 178e-3
    where `MLE` gives 22e-3 and the truth is 18e-3), and the larger the scale, the steeper the
    weights. A `PodiumWarning` says so.

    Parameters
    ----------
    weight : {"ndcg", "ap"} or callable
        The value of `WEIGHTS` at r / scale; or a function of sampled ranks over scale, float64
        (n,), that returns their weights.
    scale : float
        The paper's C, above 0.
    n_steps : int or None
        As in `MLE`.

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

    weight: str | Weight = "ndcg"
    scale: float = 10.0
    n_steps: int | None = 100

    def __post_init__(self) -> None:
        if not callable(self.weight):
            _check.choice(self.weight, "weight", list(WEIGHTS))
        _check.number(self.scale, "scale", low=0.0, strict=True)
        _check.cutoff(self.n_steps, name="n_steps", required=False)

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Make the steps with weighted shares; see `Estimator.fit`.

        Warns
        -----
        PodiumWarning
            That the estimate is of other users.
        """
        warnings.warn(
            "wmle counts users of small sampled ranks more, so that it estimates too large a "
            "share of users at the top, however many there are. Use mle.",
            PodiumWarning,
            stacklevel=2,
        )
        design = self.check(ranks).design
        counted = likelihood(ranks, self.weights(np.arange(1.0, design.n_outcomes + 1)))
        return RankDistribution(climb(counted, self.n_steps))

    def weights(self, ranks: Floats) -> Floats:
        """Return what users of sampled ranks count: float64, (n,).

        Parameters
        ----------
        ranks : float64, (n,)
            From 1.

        Raises
        ------
        ArgumentError
            If a weight is negative or not finite, or all are 0.
        """
        weigh = self.weight if callable(self.weight) else WEIGHTS[self.weight]
        found = _check.weights(weigh(ranks / self.scale), ranks.size, name="weight(ranks / scale)")
        if not found.any():
            raise ArgumentError("weight must be above 0 for some sampled rank, got 0 for all.")
        return found
