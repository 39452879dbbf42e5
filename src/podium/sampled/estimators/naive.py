"""Estimators that put each sampled rank at one place of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Measure
from podium.sampled._measures import all_rank_weights, read_measure
from podium.sampled.design import Design
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators.base import LinearEstimator
from podium.sampled.estimators.registry import register
from podium.sampled.ranks import SampledRanks


class _Placing(LinearEstimator):
    """An estimator that reads a sampled rank as one rank in the whole catalogue."""

    def places(self, design: Design) -> NDArray[np.int64]:
        """Return the rank that each outcome of a design is read as: int64, (n_outcomes,).

        Parameters
        ----------
        design : Design
        """
        raise NotImplementedError

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Put each user at the place of the sampled rank; see `Estimator.fit`."""
        total = np.zeros(ranks.most_items)
        for design, counts in self.check(ranks).designs:
            np.add.at(total, self.places(design) - 1, counts)
        return RankDistribution(total / ranks.n_users)


@register
@dataclass(frozen=True)
class Naive(_Placing):
    """The measure of the sampled ranking itself, as if its few items were the catalogue.

    It is what evaluations with sampled candidates usually report, and no estimate of anything
    else: it is too high by as much as the sample is small.

    References
    ----------
    krichene2020; jin2021, equation 4.

    Examples
    --------
    >>> Naive().estimate(SampledRanks([1, 2], 99, 3706), "rr")
    0.75
    """

    name: ClassVar[str] = "naive"
    label: ClassVar[str] = "naive (biased)"

    def values(self, design: Design, measure: str | Measure) -> NDArray[np.float64]:
        """Return the measure of each sampled rank; see `LinearEstimator.values`."""
        return all_rank_weights(read_measure(measure), design.n_outcomes)

    def places(self, design: Design) -> NDArray[np.int64]:
        """Return the sampled ranks; see `_Placing`."""
        return np.arange(1, design.n_outcomes + 1)


@register
@dataclass(frozen=True)
class UnbiasedRank(_Placing):
    """The measure at an unbiased estimate of the target's rank.

    The estimate is ``1 + (n_items - 1) (r - 1) / n_negatives``, rounded down. It is unbiased for
    the rank, not for a measure of it: every user whose target is first among the sampled items
    counts as first of the catalogue.

    References
    ----------
    krichene2020.

    Examples
    --------
    >>> UnbiasedRank().fit(SampledRanks([1, 2], 2, 9)).probabilities.nonzero()[0] + 1
    array([1, 5])
    """

    name: ClassVar[str] = "unbiased-rank"
    label: ClassVar[str] = "unbiased rank"

    def values(self, design: Design, measure: str | Measure) -> NDArray[np.float64]:
        """Return the measure at each estimated rank; see `LinearEstimator.values`."""
        weights = all_rank_weights(read_measure(measure), design.n_items)
        return weights[self.places(design) - 1]

    def places(self, design: Design) -> NDArray[np.int64]:
        """Return the estimated ranks; see `_Placing`."""
        return 1 + np.arange(design.n_outcomes) * (design.n_items - 1) // design.n_negatives
