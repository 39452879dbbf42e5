"""Metrics of the ranks that hold a positive, an item with relevance >= min_relevance."""

from __future__ import annotations

from typing import Literal

import numpy as np

from podium import _check
from podium.discounts import persistence
from podium.errors import ArgumentError
from podium.metrics import _passes
from podium.metrics._registry import Places, register
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow


def _precision_divisors(ranking: Ranking, *, k: int, norm: str = "k") -> PerGroup:
    if norm == "min":
        return _reachable(ranking, k=k, norm=norm)
    if norm == "list":
        return np.clip(ranking.groups.sizes, 1, k).astype(np.float64)
    return np.full(ranking.n_groups, float(k))


def _f1_divisors(ranking: Ranking, *, k: int) -> PerGroup:
    return (k + ranking.n_pos) / 2


def _reachable(ranking: Ranking, *, k: int | None = None, norm: str = "n_pos") -> PerGroup:
    """Return n_pos, or min(k, n_pos) if norm="min"."""
    if norm == "min" and k is not None:
        return np.minimum(ranking.n_pos, k).astype(np.float64)
    return ranking.n_pos.astype(np.float64)


def _precision_terms(places: Places, *, k: int, norm: str) -> PerRow:
    divisors = {"k": k, "min": places.reachable(k), "list": min(k, places.n_items)}
    return places.within(k) / divisors[norm]


def _f1_terms(places: Places, *, k: int) -> PerRow:
    return places.within(k) * (2.0 / (k + places.n_pos))


def _recall_terms(places: Places, *, k: int | None, norm: str) -> PerRow:
    return places.within(k) / (places.reachable(k) if norm == "min" else places.n_pos)


def _r_precision_terms(places: Places) -> PerRow:
    return places.within(places.n_pos) / places.n_pos


def _first_hit(places: Places, *, k: int | None) -> PerRow:
    return places.within(k) * float(places.position == 1)


def _first_reciprocal(places: Places, *, k: int | None) -> PerRow:
    return _first_hit(places, k=k) / places.ranks


def _ap_terms(places: Places, *, k: int | None, norm: str) -> PerRow:
    if norm == "retrieved" and places.n_pos > 1:
        raise ArgumentError(
            "ap(norm=retrieved) is not a sum over the positives of a list, because its divisor "
            "counts the positives among the first k. Use norm=n_pos or norm=min."
        )
    precisions = places.within(k) * (places.position / places.ranks)
    return precisions / (places.n_pos if norm == "n_pos" else places.reachable(k))


def _rbp_terms(places: Places, *, k: int | None, p: float) -> PerRow:
    n_ranks = int(places.ranks.max(initial=0))
    return places.within(k) * persistence(n_ranks, p)[places.ranks - 1]


@register(
    "precision",
    cutoff="required",
    aliases=("p", "prec"),
    exceptions={"ideal_defined": {"norm": ("k", "list")}},
    linear=True,
    weights=_precision_divisors,
    rank_weights=_precision_terms,
)
def precision(ranking: Ranking, *, k: int, norm: Literal["k", "min", "list"] = "k") -> PerGroup:
    """Return the share of the k top ranks that hold a positive.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists. Ranks below a list's end count as not relevant.
    k : int
        The cutoff in items, at least 1.
    norm : {"k", "min", "list"}
        The divisor: k; min(k, n_pos), as in implicit; or min(k, length of the list).

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
    _check.choice(norm, "norm", ("k", "min", "list"))
    n_hits = _passes.hits(ranking, _passes.depths(ranking, k))
    return n_hits / _precision_divisors(ranking, k=k, norm=norm)


@register(
    "f1",
    cutoff="required",
    ideal_defined=False,
    linear=True,
    weights=_f1_divisors,
    rank_weights=_f1_terms,
)
def f1(ranking: Ranking, *, k: int) -> PerGroup:
    """Return the harmonic mean of precision and recall at k: 2 x hits / (k + n_pos).

    Parameters
    ----------
    ranking : Ranking
        n_groups lists. Ranks below a list's end count as not relevant.
    k : int
        The cutoff in items, at least 1.

    Returns
    -------
    float64, (n_groups,)
        In [0, 1]; 0 if the k top ranks hold no positive; nan without a positive.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1])
    >>> f1(r, k=2)
    array([0.5])
    """
    return _passes.hits(ranking, _passes.depths(ranking, k)) / _f1_divisors(ranking, k=k)


@register(
    "recall",
    cutoff="optional",
    aliases=("r",),
    linear=True,
    weights=_reachable,
    rank_weights=_recall_terms,
    exceptions={"ideal_defined": {"norm": ("n_pos",)}},
)
def recall(
    ranking: Ranking, *, k: int | None = None, norm: Literal["n_pos", "min"] = "n_pos"
) -> PerGroup:
    """Return the share of the positives that are among the k top ranks.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists.
    k : int, optional
        The cutoff in items. By default, the whole list counts.
    norm : {"n_pos", "min"}
        The divisor: all positives, or min(k, n_pos), with which the best list has the value 1.

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
    return _passes.hits(ranking, _passes.depths(ranking, k)) / _reachable(ranking, k=k, norm=norm)


@register(
    "r_precision",
    cutoff="none",
    aliases=("rprec", "r-precision"),
    linear=True,
    rank_weights=_r_precision_terms,
)
def r_precision(ranking: Ranking) -> PerGroup:
    """Return the share of the n_pos top ranks that hold a positive.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists. Ranks below a list's end count as not relevant.

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


@register(
    "hit_rate",
    cutoff="optional",
    aliases=("hr", "hit", "hitrate", "success"),
    rank_weights=_first_hit,
)
def hit_rate(ranking: Ranking, *, k: int | None = None) -> PerGroup:
    """Return 1 for each group with at least one positive among the k top ranks, else 0.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists.
    k : int, optional
        The cutoff in items. By default, the whole list counts.

    Returns
    -------
    float64, (n_groups,)
        Values 0 or 1; nan without a positive.

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
    aliases=("mrr", "recip_rank", "reciprank", "reciprocal_rank"),
    rank_weights=_first_reciprocal,
)
def rr(ranking: Ranking, *, k: int | None = None) -> PerGroup:
    """Return 1 / rank of the first positive, or 0 if none is among the k top ranks.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists.
    k : int, optional
        The cutoff in items. By default, the whole list counts.

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
    aliases=("map", "average_precision", "average_precision_score"),
    exceptions={"ideal_defined": {"norm": ("n_pos",)}, "monotone": {"norm": ("retrieved",)}},
    thresholds=True,
    rank_weights=_ap_terms,
)
def ap(
    ranking: Ranking,
    *,
    k: int | None = None,
    norm: Literal["n_pos", "min", "retrieved"] = "n_pos",
) -> PerGroup:
    """Return the average precision: the mean precision at the ranks of the positives.

    The precision is computed at the rank of each positive among the k top ranks. The value is the
    sum of these precisions over the divisor that `norm` selects.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists.
    k : int, optional
        The cutoff in items. By default, the whole list counts.
    norm : {"n_pos", "min", "retrieved"}
        The divisor of the sum: all positives (as in trec_eval); min(k, n_pos), with which the
        best list has the value 1; or the positives among the k top ranks. With "retrieved", a
        group without such a positive has the value 0, and the metric is not monotone.

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
    return total / _reachable(ranking, k=k, norm=norm)


@register("rbp", cutoff="optional", ideal_defined=False, linear=True, rank_weights=_rbp_terms)
def rbp(ranking: Ranking, *, k: int | None = None, p: float = 0.8) -> PerGroup:
    """Return the rank-biased precision.

    The reader goes on from each rank to the next with probability p. The value is the sum of
    (1 - p) p ** (rank - 1) over the positives among the k top ranks.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists. Ranks below a list's end count as not relevant.
    k : int, optional
        The cutoff in items. By default, the whole list counts.
    p : float
        The persistence of the reader, strictly between 0 and 1.

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
