"""Estimators that read a sampled rank, or a cutoff among samples, as one of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betaln, gammaln

from podium import _check
from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import RankDistribution, all_rank_weights, read_measure
from podium.sampled.estimators import LinearEstimator, register
from podium.sampled.ranks import SampledRanks

_SHARES = ("recall", "hit_rate", "precision")


class _Placing(LinearEstimator):
    """An estimator that reads a sampled rank as one rank in the whole catalogue."""

    def places(self, design: Design) -> Ints:
        """Return the rank that each outcome of a design is read as: int64, (n_outcomes,)."""
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

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return the measure of each sampled rank; see `LinearEstimator.values`."""
        return all_rank_weights(read_measure(measure), design.n_outcomes)

    def places(self, design: Design) -> Ints:
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

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return the measure at each estimated rank; see `LinearEstimator.values`."""
        weights = all_rank_weights(read_measure(measure), design.n_items)
        return weights[self.places(design) - 1]

    def places(self, design: Design) -> Ints:
        """Return the estimated ranks; see `_Placing`."""
        return 1 + np.arange(design.n_outcomes) * (design.n_items - 1) // design.n_negatives


@register
@dataclass(frozen=True)
class RecallMap(LinearEstimator):
    """Recall at k among sampled items, read as recall at f(k) among all, and between these.

    Parameters
    ----------
    a : float, optional
        f makes the mean recall right for ranks whose share of the catalogue has the distribution
        Beta(a, 1); below 1 targets are nearer to the top. Without it f is linear from f(1) = 1
        to the last rank.

    Notes
    -----
    Between the cutoffs f(1), f(2), ... recall is interpolated linearly, and below f(1) from 0.
    Recall, hit_rate and precision are all that this gives: it says nothing of ranks in a cutoff.

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

    a: float | None = None

    def __post_init__(self) -> None:
        if self.a is not None:
            object.__setattr__(self, "a", _check.number(self.a, "a", low=0.0, strict=True))

    def cutoffs(self, design: Design) -> Floats:
        """Return f(1), f(2), ... of a design: float64, (n_outcomes,).

        Parameters
        ----------
        design : Design
            Of a fixed size.
        """
        n, above = design.n_negatives, np.arange(design.n_outcomes)
        if self.a is None:
            return (1 + above * (design.n_items - 1) // n).astype(np.float64)
        ways = gammaln(n + 1) - gammaln(above + 1) - gammaln(n - above + 1)
        chances: Floats = self.a * np.exp(ways + betaln(above + self.a, n - above + 1))
        share = np.minimum(np.cumsum(chances), 1.0) ** (1.0 / self.a)
        return design.n_items * np.asarray(share, dtype=np.float64)

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return what each sampled rank counts for; see `LinearEstimator.values`."""
        wanted = read_measure(measure)
        if wanted.name not in _SHARES:
            raise ArgumentError(
                f"recall-map estimates {_check.listed(_SHARES)} only, got {wanted}: it maps "
                "cutoffs and says nothing of ranks inside one. Use another estimator."
            )
        k = design.n_items if wanted.k is None else min(wanted.k, design.n_items)
        ends = np.concatenate([[0.0], self.cutoffs(design)])
        last = min(int(np.searchsorted(ends, k)), design.n_outcomes)
        share = (k - ends[last - 1]) / (ends[last] - ends[last - 1])
        found = np.zeros(design.n_outcomes)
        found[: last - 1], found[last - 1] = 1.0, min(share, 1.0)
        return found / (wanted.k or 1) if wanted.name == "precision" else found
