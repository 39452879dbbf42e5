"""Metrics that read which ranks hold a positive: relevance >= min_relevance."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from podium import _check
from podium.discounts import persistence
from podium.metrics import _passes
from podium.metrics._registry import register
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow


def _cutoffs(ranking: Ranking, *, k: int) -> PerGroup:
    return np.full(ranking.n_groups, float(k))


def _reachable(ranking: Ranking, k: int | None, norm: str) -> PerGroup:
    """Return n_pos, or as many of them as fit into k."""
    if norm == "min" and k is not None:
        return np.minimum(ranking.n_pos, k).astype(np.float64)
    return ranking.n_pos.astype(np.float64)


def _recall_weights(ranking: Ranking, *, k: int | None = None, norm: str = "n_pos") -> PerGroup:
    return _reachable(ranking, k, norm)


def _ones(n_ranks: int, _n_items: int, **_: Any) -> PerRow:
    return np.ones(n_ranks)


def _one_of_k(n_ranks: int, _n_items: int, *, k: int) -> PerRow:
    return np.full(n_ranks, 1.0 / k)


def _first_only(n_ranks: int, _n_items: int) -> PerRow:
    return (np.arange(n_ranks) == 0).astype(np.float64)


def _reciprocals(n_ranks: int, _n_items: int, **_: Any) -> PerRow:
    return 1.0 / np.arange(1, n_ranks + 1)


def _persistence(n_ranks: int, _n_items: int, *, p: float, **_: Any) -> PerRow:
    return persistence(n_ranks, p)


@register(
    "precision",
    cutoff="required",
    aliases=("p", "prec"),
    ideal_defined=False,
    linear=True,
    weights=_cutoffs,
    rank_weights=_one_of_k,
)
def precision(ranking: Ranking, *, k: int) -> PerGroup:
    """Share of the k top ranks that hold a positive.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists; ranks below a list's end hold nothing.
    k : int
        Cutoff in items, at least 1; always the divisor.

    Returns
    -------
    float64, (n_groups,)
        In [0, 1]; nan without a positive.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1])
    >>> precision(r, k=2)
    array([0.5])
    """
    return _passes.hits(ranking, _passes.depths(ranking, k)) / k


@register(
    "recall",
    cutoff="optional",
    aliases=("r",),
    linear=True,
    weights=_recall_weights,
    rank_weights=_ones,
    exceptions={"ideal_defined": {"norm": ("n_pos",)}},
)
def recall(
    ranking: Ranking, *, k: int | None = None, norm: Literal["n_pos", "min"] = "n_pos"
) -> PerGroup:
    """Share of the positives that are among the k top ranks.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists.
    k : int, optional
        Cutoff in items; the whole list without it.
    norm : {"n_pos", "min"}
        Divide by all positives, or by min(k, n_pos), which makes 1 reachable.

    Returns
    -------
    float64, (n_groups,)
        In [0, 1]; nan without a positive.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1])
    >>> recall(r, k=1), recall(r, k=1, norm="min")
    (array([0.5]), array([1.]))
    """
    _check.choice(norm, "norm", ("n_pos", "min"))
    return _passes.hits(ranking, _passes.depths(ranking, k)) / _reachable(ranking, k, norm)


@register("r_precision", cutoff="none", aliases=("rprec",), linear=True, rank_weights=_first_only)
def r_precision(ranking: Ranking) -> PerGroup:
    """Share of the n_pos top ranks that hold a positive.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists; ranks below a list's end hold nothing.

    Returns
    -------
    float64, (n_groups,)
        In [0, 1]; nan without a positive.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1])
    >>> r_precision(r)
    array([0.5])
    """
    return _passes.hits(ranking, ranking.n_pos) / ranking.n_pos


@register("hit_rate", cutoff="optional", aliases=("hr", "hit", "success"), rank_weights=_ones)
def hit_rate(ranking: Ranking, *, k: int | None = None) -> PerGroup:
    """1 where at least one positive is among the k top ranks, else 0.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists.
    k : int, optional
        Cutoff in items; the whole list without it.

    Returns
    -------
    float64, (n_groups,)
        0 or 1; nan without a positive.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [0, 0, 1])
    >>> hit_rate(r, k=2), hit_rate(r, k=3)
    (array([0.]), array([1.]))
    """
    return np.isfinite(_passes.first_hit(ranking, _passes.depths(ranking, k))).astype(np.float64)


@register(
    "rr",
    cutoff="optional",
    aliases=("mrr", "recip_rank", "reciprocal_rank"),
    rank_weights=_reciprocals,
)
def rr(ranking: Ranking, *, k: int | None = None) -> PerGroup:
    """1 over the rank of the first positive; 0 where none is among the k top ranks.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists.
    k : int, optional
        Cutoff in items; the whole list without it.

    Returns
    -------
    float64, (n_groups,)
        In [0, 1]; nan without a positive.

    References
    ----------
    voorhees1999.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [0, 1, 1])
    >>> rr(r)
    array([0.5])
    """
    return 1.0 / _passes.first_hit(ranking, _passes.depths(ranking, k))


@register(
    "ap",
    cutoff="optional",
    aliases=("map", "average_precision"),
    exceptions={"ideal_defined": {"norm": ("n_pos",)}, "monotone": {"norm": ("retrieved",)}},
    rank_weights=_reciprocals,
)
def ap(
    ranking: Ranking,
    *,
    k: int | None = None,
    norm: Literal["n_pos", "min", "retrieved"] = "n_pos",
) -> PerGroup:
    """Mean of the precision at the ranks of the positives among the k top ranks.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists.
    k : int, optional
        Cutoff in items; the whole list without it.
    norm : {"n_pos", "min", "retrieved"}
        Divide the sum by all positives (trec_eval), by min(k, n_pos) (1 is reachable), or by
        the positives among the k top ranks (0 without one; not monotone).

    Returns
    -------
    float64, (n_groups,)
        In [0, 1]; nan without a positive.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1])
    >>> ap(r) == (1 / 1 + 2 / 3) / 2
    array([ True])
    """
    _check.choice(norm, "norm", ("n_pos", "min", "retrieved"))
    total, n_hits = _passes.hit_precisions(ranking, _passes.depths(ranking, k))
    if norm == "retrieved":
        return total / np.maximum(n_hits, 1)
    return total / _reachable(ranking, k, norm)


@register("rbp", cutoff="optional", ideal_defined=False, linear=True, rank_weights=_persistence)
def rbp(ranking: Ranking, *, k: int | None = None, p: float = 0.8) -> PerGroup:
    """Rank-biased precision: the share of what a patient reader sees that is positive.

    The reader goes on from each rank with probability p: sum of (1 - p) p ** (rank - 1) over
    the positives among the k top ranks.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists; ranks below a list's end hold nothing.
    k : int, optional
        Cutoff in items; the whole list without it.
    p : float
        Persistence, inside (0, 1).

    Returns
    -------
    float64, (n_groups,)
        In [0, 1); nan without a positive.

    References
    ----------
    moffat2008.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1])
    >>> rbp(r, p=0.5)
    array([0.625])
    """
    _check.open_fraction(p, "p")
    weights = persistence(_passes.longest_depth(ranking, k), p)
    return _passes.weighted_hits(ranking, _passes.depths(ranking, k), weights)
