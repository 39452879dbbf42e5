"""Measures of one target's rank, and the distribution of that rank in the whole catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from podium import _check, metrics
from podium.errors import ArgumentError
from podium.metrics import Measure, parse
from podium.sampled.design import Floats

RANK_AUC = "rank_auc"
"""Weight (n_items - rank) / (n_items - 1) down to the cutoff; `auc@k` is another metric."""

_FAR = 1e-6  # by which the sum may differ from 1
_BELOW = -1e-12  # rounding, not a negative probability


def read_measure(measure: str | Measure, k: int | None = None) -> Measure:
    """Read a measure that ranks alone determine, from its text, or its name and k.

    Raises
    ------
    ArgumentError
        For a measure that is not known, needs more than ranks, or is given k twice.
    """
    if k is not None:
        if "@" in str(measure):
            raise ArgumentError(f"k is given twice: in {str(measure)!r} and as {k}. Keep one.")
        measure = f"{measure}@{_check.cutoff(k)}"
    name, at, cutoff = str(measure).strip().partition("@")
    if name.strip() == RANK_AUC:
        return Measure(RANK_AUC, parse(f"recall{at}{cutoff}").k)
    found = parse(measure)
    if found.metric.rank_weights is None:
        metrics.rank_weights(
            found, 2 * (found.k or 1) + 1
        )  # raises where ranks do not determine it
    return found


def rank_weights(measure: Measure, n_items: int) -> Floats:
    """Return what a target at each rank is worth: float64, (min(k, n_items),), 0 below."""
    if measure.name != RANK_AUC:
        return metrics.rank_weights(measure, n_items)
    return metrics.rank_weights(parse("auc"), n_items)[: measure.k]


def all_rank_weights(measure: Measure, n_items: int) -> Floats:
    """Return `rank_weights` of every rank: float64, (n_items,)."""
    weights = np.zeros(n_items)
    top = rank_weights(measure, n_items)
    weights[: top.size] = top
    return weights


def orders(measure: Measure, n_items: int, depth: int) -> bool:
    """Whether a measure depends on the order of those of the first ranks that it counts."""
    first = rank_weights(measure, n_items)[:depth]
    return bool(np.unique(first[first != 0.0]).size > 1)


@dataclass(frozen=True, eq=False)
class RankDistribution:
    """How likely the target has each rank among all items.

    Parameters
    ----------
    probabilities : float64, (n_items,)
        Of ranks 1 .. n_items; the sum is 1. Some estimators solve linear equations and get
        negative ones: such a distribution is not `proper`, but its expectations are what the
        estimator says.

    Raises
    ------
    ArgumentError
        For values that are not finite, or do not sum to 1.

    Examples
    --------
    >>> found = RankDistribution([0.5, 0.25, 0.0, 0.25])
    >>> found.expect("recall@2"), found.expect("ap", 10)
    (0.75, 0.6875)
    """

    probabilities: Floats

    def __init__(self, probabilities: ArrayLike) -> None:
        values = _check.column(probabilities, "probabilities")
        _check.finite(values, "probabilities", advice="Fit again.")
        if abs(values.sum() - 1.0) > _FAR:
            raise ArgumentError(f"probabilities must sum to 1, got {values.sum():.9g}.")
        object.__setattr__(self, "probabilities", values)

    @classmethod
    def of_ranks(
        cls, ranks: ArrayLike, n_items: int, *, weights: ArrayLike | None = None
    ) -> RankDistribution:
        """Return the distribution of ranks that are known, from 1 to n_items.

        Parameters
        ----------
        ranks : int, (n,)
            Ranks among all items, as of `podium.catalogue.target_ranks`. A rank that ends in one
            half (ties="average") counts half at each of its neighbours.
        n_items : int
            Items of the catalogue.
        weights : float64, (n,), optional
            What each counts, >= 0; all the same without it.
        """
        exact = _check.column(ranks, "ranks")
        total = _check.cutoff(n_items, name="n_items")
        if not exact.size or not (exact >= 1).all() or not (exact <= total).all():
            raise ArgumentError(f"ranks must hold ranks from 1 to n_items = {total}.")
        share = np.ones(exact.size) if weights is None else _check.weights(weights, exact.size)
        both = np.concatenate([np.floor(exact), np.ceil(exact)]).astype(np.int64) - 1
        counts = np.bincount(both, np.concatenate([share, share]), total)
        return cls(counts / counts.sum())

    def __repr__(self) -> str:
        kind = "" if self.proper else ", not proper"
        return f"RankDistribution(n_items={self.n_items}{kind})"

    @property
    def n_items(self) -> int:
        return self.probabilities.size

    @property
    def proper(self) -> bool:
        """Whether no probability is negative."""
        return bool(self.probabilities.min() >= _BELOW)

    @cached_property
    def cdf(self) -> Floats:
        """Probability of a rank of at most 1 .. n_items, which is recall at it: (n_items,)."""
        return np.cumsum(self.probabilities)

    def expect(self, metric: str | Measure, k: int | None = None) -> float:
        """Return the mean of a measure over users whose target has a rank of this distribution.

        Parameters
        ----------
        metric : str or Measure
            As ``ndcg@10``, or a name together with k: recall, precision, hit_rate, ndcg, dcg,
            ap, rr, rbp, r_precision, auc, pap, pauc, with their options; and rank_auc, the
            weight (n_items - rank) / (n_items - 1) down to the cutoff.
        k : int, optional
            Cutoff in items, where the text has none.

        Raises
        ------
        ArgumentError
            For a measure that is not known or needs more than the target's rank.

        Notes
        -----
        There is one relevant item, of grade 1: the value is what the measure of that name gives
        a whole ranking of such a user.

        References
        ----------
        jin2021, equation 14.
        """
        weights = rank_weights(read_measure(metric, k), self.n_items)
        return float(self.probabilities[: weights.size] @ weights)
