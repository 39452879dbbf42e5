"""Estimators that map a sampled rank or cutoff to a rank or cutoff in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betaln

from podium import _check
from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.sampled.design import Design, Floats, Ints, log_choices
from podium.sampled.distribution import (
    RankDistribution,
    all_rank_weights,
    rank_weights,
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
        for design, counts in self.check(ranks).designs:
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
    label: ClassVar[str] = "naive (biased)"

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
    label: ClassVar[str] = "unbiased rank"

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return the measure at each estimated rank; see `LinearEstimator.values`."""
        weights = all_rank_weights(read_measure(measure), design.n_items)
        return weights[self.places(design) - 1]

    def places(self, design: Design) -> Ints:
        """Return the estimated ranks; see `_Placing.places`."""
        return 1 + np.arange(design.n_outcomes) * (design.n_items - 1) // design.n_negatives


@register
@dataclass(frozen=True)
class RecallMap(LinearEstimator):
    """Recall at k among sampled items as recall at f(k) among all items, with interpolation.

    Parameters
    ----------
    a : float, optional
        The parameter of f, above 0. f makes the mean recall exact if the rank's share of the
        catalogue has the distribution Beta(a, 1); with a below 1, targets are nearer to the top.
        By default f is linear from f(1) = 1 to the last rank.

    Notes
    -----
    Recall is interpolated linearly between the cutoffs f(1), f(2), ..., and from 0 below f(1).
    The map gives only recall, hit_rate and precision, because it has no information about the
    order of ranks within a cutoff.

    References
    ----------
    li2020.

    Examples
    --------
    >>> RecallMap().cutoffs(Design(4, 9)).tolist()
    [1.0, 3.0, 5.0, 7.0, 9.0]
    >>> RecallMap(a=1).cutoffs(Design(2, 9)).round(9).tolist()
    [3.0, 6.0, 9.0]
    """

    name: ClassVar[str] = "recall-map"
    label: ClassVar[str] = "recall map"
    gives_distribution: ClassVar[bool] = False
    constraints: ClassVar[_check.Constraints] = {"a": _check.positive}

    a: float | None = None

    def cutoffs(self, design: Design) -> Floats:
        """Return f(1), f(2), ... of a design: float64, (n_outcomes,).

        Parameters
        ----------
        design : Design
            A design with a fixed size.
        """
        n, above = design.n_negatives, np.arange(design.n_outcomes)
        if self.a is None:
            return (1 + above * (design.n_items - 1) // n).astype(np.float64)
        chances: Floats = self.a * np.exp(
            log_choices(n, above) + betaln(above + self.a, n - above + 1)
        )
        recall = np.minimum(np.cumsum(chances), 1.0) ** (1.0 / self.a)
        return design.n_items * np.asarray(recall, dtype=np.float64)

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return the value of each sampled rank; see `LinearEstimator.values`."""
        parsed = read_measure(measure)
        weights = rank_weights(parsed, design.n_items)
        k = int(np.count_nonzero(weights))
        if (weights[:k] != weights[0]).any():
            raise ArgumentError(
                "recall-map estimates 'recall', 'hit_rate' or 'precision' only, got "
                f"{parsed}. It maps cutoffs, and does not estimate the order of ranks within a "
                "cutoff. Use another estimator."
            )
        cutoffs = np.concatenate([[0.0], self.cutoffs(design)])
        cell = min(int(np.searchsorted(cutoffs, k)), design.n_outcomes)
        share = (k - cutoffs[cell - 1]) / (cutoffs[cell] - cutoffs[cell - 1])
        recall_values = np.zeros(design.n_outcomes)
        recall_values[: cell - 1], recall_values[cell - 1] = 1.0, min(share, 1.0)
        return recall_values * weights[0]
