"""Likelihood of all users, or of weighted users, by expectation maximisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg, warn
from podium.sampled.design import Floats
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators import Estimator, register
from podium.sampled.likelihood import em, likelihood
from podium.sampled.ranks import SampledRanks

Weight = Callable[[Floats], Floats]

WEIGHTS: dict[str, Weight] = {
    "ndcg": lambda ranks: 1.0 / np.log2(ranks + 1.0),
    "ap": lambda ranks: 1.0 / ranks,
}
"""Functions of a sampled rank divided by `scale` that give its weight, by name."""


def _weight(value: Any, name: str) -> Any:
    return value if callable(value) else _check.choice(value, name, list(WEIGHTS))


@register
@dataclass(frozen=True)
class MLE(Estimator):
    """The distribution of ranks that maximises the likelihood of the observed sampled ranks.

    Parameters
    ----------
    n_steps : int
        The number of steps of expectation maximisation from the uniform distribution. After few
        steps the distribution is still smooth, so that a limited number keeps the estimate from
        following noise.

    Notes
    -----
    The maximum, the limit for a growing number of steps, has all its mass on a few ranks: at most
    (n_negatives + 2) / 2 places of one rank or two neighbours. The value of a measure depends on
    which of the few places lie above its cutoff. The maximum is nearly unbiased, but its spread is
    two to four times that of 100 steps.

    If all items are sampled without replacement, the ranks are exact and are returned.

    Cost: n_steps times n_outcomes times about 600 nodes that represent all ranks (times
    sqrt(n_steps / 100)), and the memory of the result, for any n_items. The probabilities differ by
    less than 1e-7 in total from those with sums over every rank.

    References
    ----------
    jin2021, equation 21; lindsay1983.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 2, 5], 9, 1000)
    >>> round(MLE().estimate(ranks, "recall@100"), 2)
    0.73
    """

    name: ClassVar[str] = "mle"
    label: ClassVar[str] = "MLE"
    grows: ClassVar[bool] = True
    constraints: ClassVar[_check.Constraints] = {"n_steps": _check.cutoff}

    n_steps: int = 100

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Make the steps; see `Estimator.fit`."""
        probabilities = em(likelihood(self.check(ranks)), self.n_steps)
        return RankDistribution(probabilities, fewest_items=ranks.fewest_items)


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
    n_steps : int
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
        "n_steps": _check.cutoff,
    }

    weight: str | Weight = "ndcg"
    scale: float = 10.0
    n_steps: int = 100

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
        ((design, _),) = self.check(ranks).designs
        weighted_likelihood = likelihood(ranks, self.weights(np.arange(1.0, design.n_outcomes + 1)))
        return RankDistribution(em(weighted_likelihood, self.n_steps))

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
