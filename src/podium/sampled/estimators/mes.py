"""Maximal entropy with minimal squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium import _check
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators.base import Estimator
from podium.sampled.estimators.entropy import flattest
from podium.sampled.estimators.registry import register
from podium.sampled.likelihood import likelihood
from podium.sampled.ranks import SampledRanks


@register
@dataclass(frozen=True)
class MES(Estimator):
    """The flattest distribution of ranks that gives about the observed sampled ranks.

    It minimises ``n E - eta H``: E is the squared error of the probabilities of the sampled
    ranks, each weighted by its observed share p, ``sum_r p_r (q_r - p_r)**2``; H is the entropy;
    n is the number of outcomes, n_negatives + 1.

    Parameters
    ----------
    eta : float
        Weight of the entropy, above 0. The paper's text has no factor n, and its eta is this one
        over n; its printed figures need the factor and 0.01.

    Notes
    -----
    Samples of several sizes add their errors, weighted by the share of users.
    Cost: some ten Newton steps in n_outcomes variables, each of some 200 ranks that stand for
    all: milliseconds, and memory for the result, whatever n_items.

    References
    ----------
    jin2021, equation 26.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 2, 5], 9, 1000)
    >>> [round(MES(eta).estimate(ranks, "recall@10"), 3) for eta in (0.01, 1.0, 100.0)]
    [0.046, 0.054, 0.01]
    """

    name: ClassVar[str] = "mes"
    label: ClassVar[str] = "MES"
    consistent: ClassVar[bool] = False

    eta: float = 0.01

    def __post_init__(self) -> None:
        _check.number(self.eta, "eta", low=0.0, strict=True)

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Solve for the chance of each rank; see `Estimator.fit`."""
        found = flattest(likelihood(self.check(ranks)), float(self.eta))
        return RankDistribution(found.probabilities)
