"""Estimators that map a sampled rank to a rank in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.metrics import Measure
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import (
    RankDistribution,
    all_rank_weights,
    read_measure,
    require_defined,
)
from podium.sampled.estimators import LinearEstimator, register
from podium.sampled.ranks import SampledRanks


class _Placing(LinearEstimator):
    """An estimator that maps each sampled rank to one rank in the whole catalogue."""

    def places(self, design: Design) -> Ints:
        """Return the rank in the catalogue for each outcome of a design: int64, (n_outcomes,)."""
        raise NotImplementedError

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Place each user at the rank of the user's outcome; see `Estimator.fit`."""
        mass = np.zeros(ranks.most_items)
        for design, counts in ranks.designs:
            np.add.at(mass, self.places(design) - 1, counts)
        return RankDistribution(mass / ranks.n_users, fewest_items=ranks.fewest_items)


@register
@dataclass(frozen=True)
class Naive(_Placing):
    """The measure of the sampled ranking itself, as if the sampled items were the catalogue.

    Evaluations with sampled candidates usually report this value. It is too high as an estimate
    for the whole catalogue, and the more so the smaller the sample is.

    References
    ----------
    krichene2020; jin2021, equation 4.

    Examples
    --------
    >>> Naive().estimate(SampledRanks([1, 2], 99, 3706), "rr")
    0.75
    """

    name: ClassVar[str] = "naive"

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return the measure of each sampled rank; see `LinearEstimator.values`."""
        parsed = read_measure(measure)
        require_defined([parsed], design.n_outcomes, "a sampled list")
        return all_rank_weights(parsed, design.n_outcomes)

    def places(self, design: Design) -> Ints:
        """Return the sampled ranks; see `_Placing.places`."""
        return np.arange(1, design.n_outcomes + 1)


@register
@dataclass(frozen=True)
class UnbiasedRank(_Placing):
    """The measure at an unbiased estimate of the target's rank.

    The estimate is ``1 + (n_items - 1) (r - 1) / n_negatives``, rounded down. It is unbiased for
    the rank but not for a measure of the rank: a target that is first among the sampled items
    counts as first in the catalogue.

    References
    ----------
    krichene2020.

    Examples
    --------
    >>> UnbiasedRank().fit(SampledRanks([1, 2], 2, 9)).probabilities.nonzero()[0] + 1
    array([1, 5])
    """

    name: ClassVar[str] = "unbiased-rank"

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return the measure at each estimated rank; see `LinearEstimator.values`."""
        weights = all_rank_weights(read_measure(measure), design.n_items)
        return weights[self.places(design) - 1]

    def places(self, design: Design) -> Ints:
        """Return the estimated ranks; see `_Placing.places`."""
        return 1 + np.arange(design.n_outcomes) * (design.n_items - 1) // design.n_negatives
