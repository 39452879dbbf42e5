"""Measures of one target's rank, and the distribution of that rank in the whole catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from podium import _check, metrics
from podium.errors import ArgumentError, arg
from podium.metrics import Measure, parse
from podium.metrics.measures import listed_measures, parse_relevance
from podium.sampled.design import Floats, Ints

RANK_AUC = "rank_auc"
"""The measure (n_items - rank) / (n_items - 1) down to the cutoff; `auc@k` is another metric."""

_SUM_TOLERANCE = 1e-6  # the tolerance of the sum of the probabilities
_VALUE_TOLERANCE = 0.02  # `Smooth` rounds sizes of catalogues by as much
_NEGATIVE = -1e-12  # lower values are negative probabilities, and not rounding errors


def read_measure(measure: str | Measure) -> Measure:
    """Read a measure that ranks alone determine.

    Raises
    ------
    ArgumentError
        If the measure is unknown, or if it needs more than ranks.
    """
    name, at_sign, cutoff = str(measure).strip().partition("@")
    if name.strip() == RANK_AUC:
        return Measure(RANK_AUC, parse(f"recall{at_sign}{cutoff}").k)
    parsed = parse_relevance(measure)
    if parsed.metric.rank_weights is None:  # raises if ranks do not determine the measure
        metrics.rank_weights(parsed, 2 * (parsed.k or 1) + 1)
    return parsed


def read_measures(measures: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Return measures that ranks determine: at least one, and none of them twice."""
    parsed = [read_measure(measure) for measure in listed_measures(measures)]
    if not parsed:
        raise ArgumentError(f"{arg.measures} must name at least one measure, such as ['ndcg@10'].")
    for i, measure in enumerate(parsed):
        if measure in parsed[:i]:
            raise ArgumentError(f"{arg.measures} names {measure} twice. Keep one.")
    return parsed


def rank_weights(measure: Measure, n_items: int) -> Floats:
    """Return the value of a target at each rank: float64, (min(k, n_items),); 0 below."""
    if measure.name != RANK_AUC:
        return metrics.rank_weights(measure, n_items)
    return metrics.rank_weights(parse("auc"), n_items)[: measure.k]


def all_rank_weights(measure: Measure, n_items: int) -> Floats:
    """Return `rank_weights` for every rank: float64, (n_items,)."""
    top = rank_weights(measure, n_items)
    return np.pad(top, (0, n_items - top.size))


def require_defined(measures: Iterable[Measure], n_items: int, ranked: str = "a catalogue") -> None:
    """Raise for a measure that is undefined in a catalogue, or other list, of this size."""
    for measure in measures:
        if np.isnan(rank_weights(measure, n_items)).any():
            raise ArgumentError(
                f"{measure} is undefined in {ranked} of {n_items} items. Lower its cutoff."
            )


def values_of(weights: Floats, above: Ints) -> Floats:
    """Return the value of targets with some numbers of items above them.

    `weights` are the values at ranks 1, 2, …; the value at ranks beyond is 0.
    """
    return np.append(weights, 0.0)[np.minimum(above, weights.size)]


def depends_on_order(measure: Measure, n_items: int, depth: int) -> bool:
    """Return whether a measure depends on the order of the weighted ranks among the first ones."""
    first_weights = rank_weights(measure, n_items)[:depth]
    return bool(np.unique(first_weights[first_weights != 0.0]).size > 1)


@dataclass(frozen=True, eq=False)
class RankDistribution:
    """The probability of each rank of the target among all items.

    Parameters
    ----------
    probabilities : float64, (n_items,)
        The probabilities of ranks 1 .. n_items; they sum to 1. Estimators that solve linear
        equations may give negative ones. Such a distribution is not `proper`, but its
        expectations are the estimates of that estimator.
    fewest_items : int, optional
        The number of items of the smallest catalogue, if users' catalogues differ in size. n_items
        is then that of the largest one, which is the default.

    Raises
    ------
    ArgumentError
        If a value is not finite, or if the values do not sum to 1.

    Examples
    --------
    >>> found = RankDistribution([0.5, 0.25, 0.0, 0.25])
    >>> found.expect("recall@2"), found.expect("ap@10")
    (0.75, 0.6875)
    """

    probabilities: Floats
    fewest_items: int

    def __init__(self, probabilities: ArrayLike, *, fewest_items: int | None = None) -> None:
        values = _check.column(probabilities, "probabilities")
        _check.finite(values, "probabilities", advice="Fit again.")
        if abs(values.sum() - 1.0) > _SUM_TOLERANCE:
            raise ArgumentError(f"probabilities must sum to 1, got {values.sum():.9g}.")
        smallest = _check.cutoff(fewest_items, name="fewest_items", required=False)
        vars(self).update(probabilities=values, fewest_items=smallest or values.size)

    @classmethod
    def of_ranks(cls, ranks: ArrayLike, n_items: int) -> RankDistribution:
        """Return the distribution of known ranks from 1 to n_items.

        Parameters
        ----------
        ranks : int, (n,)
            Ranks among all items, such as those of `podium.catalogue.target_ranks`. A rank that
            ends in one half (ties="average") counts one half at each neighbouring rank.
        n_items : int
            The number of items of the catalogue.

        Returns
        -------
        RankDistribution

        Raises
        ------
        ArgumentError
            If there are no ranks, or if a rank is not between 1 and n_items.
        """
        full_ranks = _check.column(ranks, "ranks")
        n_ranks = _check.cutoff(n_items, name="n_items")
        if not full_ranks.size or not (full_ranks >= 1).all() or not (full_ranks <= n_ranks).all():
            raise ArgumentError(
                f"ranks must be one or more ranks from 1 to {arg.n_items} = {n_ranks}."
            )
        places = np.concatenate([np.floor(full_ranks), np.ceil(full_ranks)]).astype(np.int64) - 1
        counts = np.bincount(places, minlength=n_ranks)
        return cls(counts / counts.sum())

    def __repr__(self) -> str:
        kind = "" if self.proper else ", not proper"
        return f"RankDistribution(n_items={self.n_items}{kind})"

    @property
    def n_items(self) -> int:
        """The number of items of the catalogue, which is the largest rank."""
        return self.probabilities.size

    @property
    def proper(self) -> bool:
        """Whether no probability is negative."""
        return bool(self.probabilities.min() >= _NEGATIVE)

    @cached_property
    def cdf(self) -> Floats:
        """The probability of a rank of at most r, for r = 1 .. n_items; recall@r: (n_items,)."""
        return np.cumsum(self.probabilities)

    def expect(self, measure: str | Measure) -> float:
        """Return the mean of a measure over users whose target's rank has this distribution.

        Parameters
        ----------
        measure : str or Measure
            A measure such as ``ndcg@10``. Supported are recall, precision, hit_rate, ndcg, dcg,
            ap, rr, rbp, r_precision, auc, pap and pauc, with their options, and rank_auc, the
            weight (n_items - rank) / (n_items - 1) down to the cutoff.

        Returns
        -------
        float

        Raises
        ------
        ArgumentError
            If the measure is unknown or needs more than the target's rank. If users' catalogues
            differ in size, and the value of a rank depends on this size, as in auc.

        Notes
        -----
        There is one relevant item, of grade 1: the value is that of the measure on a whole ranking
        of such a user.

        References
        ----------
        jin2021, equation 14.
        """
        measure = read_measure(measure)
        weights = rank_weights(measure, self.n_items)
        if self.fewest_items < self.n_items:
            smallest = rank_weights(measure, self.fewest_items)
            excess = np.abs(smallest - weights[: smallest.size])
            if excess.max() > _VALUE_TOLERANCE * np.abs(weights).max():
                raise ArgumentError(
                    f"{measure} of a rank depends on the number of items, which differs between "
                    f"users (from {self.fewest_items} to {self.n_items}), so that a distribution "
                    "of ranks does not determine it. Use a method that gives each user a value, "
                    "such as bv."
                )
        return float(self.probabilities[: weights.size] @ weights)
