"""Metrics that count correctly ordered pairs of a positive and a negative.

Each metric counts the pairs of the `top_pos` best positives and the `top_neg` best negatives of
each group. The metrics differ in these two numbers.
"""

from __future__ import annotations

import numpy as np

from podium import _check
from podium.errors import arg
from podium.metrics import _passes
from podium.metrics._registry import Places, register
from podium.ranking import Ranking
from podium.types import Counts, Mask, PerGroup, PerRow

_K_NEGATIVES = "k = {k} negatives (a smaller k or {name}(clip=true)@{k} needs fewer)"


def _top_negatives(ranking: Ranking, k: int, *, clip: bool) -> Counts:
    """Return k or, for a group that is known to have fewer negatives, n_neg if clip, else 0."""
    has_enough = (ranking.n_neg < 0) | (ranking.n_neg >= k)
    return np.where(has_enough, k, ranking.n_neg if _check.flag(clip, "clip") else 0)


def _lacks_negatives(ranking: Ranking, *, k: int, clip: bool = False) -> Mask:
    return _top_negatives(ranking, k, clip=clip) == 0


def _lacks_pairs(ranking: Ranking, *, k: int = 2) -> Mask:
    return (ranking.n_neg == 0) | (k < 2)


def _pap_pairs(ranking: Ranking, *, k: int, clip: bool = False) -> PerGroup:
    top_neg = _top_negatives(ranking, k, clip=clip)
    return (np.minimum(ranking.n_pos, k) * top_neg).astype(np.float64)


def _pauc_pairs(ranking: Ranking, *, k: int, clip: bool = False) -> PerGroup:
    return (ranking.n_pos * _top_negatives(ranking, k, clip=clip)).astype(np.float64)


def _auc_pairs(ranking: Ranking) -> PerGroup:
    return (ranking.n_pos * np.maximum(ranking.n_neg, 0)).astype(np.float64)


def _pauc_terms(places: Places, *, k: int, clip: bool) -> PerRow:
    n_neg = places.n_items - places.n_pos
    if n_neg < k and not clip:
        return np.full(places.above.size, np.nan)  # undefined: the list has fewer than k negatives
    n_top = min(k, n_neg)
    return np.maximum(n_top - places.above, 0.0) / n_top / places.n_pos


def _pap_terms(places: Places, *, k: int, clip: bool) -> PerRow:
    n_top = places.reachable(k)
    if places.position > n_top:
        return np.zeros(places.above.size)
    return _pauc_terms(places, k=k, clip=clip) * (places.n_pos / n_top)


def _auc_terms(places: Places) -> PerRow:
    n_neg = float(places.n_items - places.n_pos)
    with np.errstate(invalid="ignore"):  # without a negative, 0 / 0: auc is undefined
        return (n_neg - places.above) / n_neg / places.n_pos


@register(
    "pap",
    cutoff="required",
    half_pairs=True,
    needs=_K_NEGATIVES,
    undefined=_lacks_negatives,
    weights=_pap_pairs,
    rank_weights=_pap_terms,
)
def pap(ranking: Ranking, *, k: int, clip: bool = False) -> PerGroup:
    """Return the share of correctly ordered pairs of top positives and top negatives.

    Each pair consists of one of the min(k, n_pos) best-scored positives and one of the k
    best-scored negatives of a group.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists of any length, with their min_relevance and ties.
    k : int
        The cutoff in items, at least 1.
    clip : bool
        Whether a group with fewer than k negatives is measured on all its negatives. By default,
        the value of such a group is nan.

    Returns
    -------
    float64, (n_groups,)
        Values in [0, 1]; nan without a positive or with fewer than k negatives (clip=False).

    Raises
    ------
    UnsettledError
        If a list has neither min(k, n_pos) positives nor k negatives. A list of 2k - 1 items is
        always long enough.

    Notes
    -----
    Ties: a tied pair counts 0 with ``ties="worst"`` (the paper's definition) and one half with
    ``ties="average"``, as in the area under a ROC curve. The latter is not the mean over the
    orders of equal scores: a group in which all scores are equal has the value 1/2, for any number
    of negatives.
    If the number of items is unknown, a list is assumed to continue with negatives.
    Cost: one pass over the top 2k - 1 items of each list.

    References
    ----------
    hiranandani2020, definition 1.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1], qid=[7, 7, 7])
    >>> pap(r, k=1)
    array([1.])
    """
    top_pos, top_neg = np.minimum(ranking.n_pos, k), _top_negatives(ranking, k, clip=clip)
    correct, settled = _passes.ordered_pairs(ranking, top_pos, top_neg)
    _passes.require_settled(
        ranking,
        settled,
        f"pap@{k} needs min(k, n_pos) positives or k negatives in each list",
        f"List at least 2k - 1 = {2 * k - 1} items, or use a smaller k.",
    )
    return correct / (top_pos * top_neg)


@register(
    "pauc",
    cutoff="required",
    aliases=("partialauc",),
    half_pairs=True,
    needs=_K_NEGATIVES,
    undefined=_lacks_negatives,
    weights=_pauc_pairs,
    rank_weights=_pauc_terms,
)
def pauc(ranking: Ranking, *, k: int, clip: bool = False) -> PerGroup:
    """Return the share of correctly ordered pairs of all positives and the k top negatives.

    This is the partial area under the ROC curve up to the false positive rate k / n_neg, scaled
    to [0, 1].

    Parameters
    ----------
    ranking : Ranking
        n_groups lists of any length.
    k : int
        The cutoff in negatives, at least 1.
    clip : bool
        Whether a group with fewer than k negatives is measured on all its negatives. By default,
        the value of such a group is nan.

    Returns
    -------
    float64, (n_groups,)
        Values in [0, 1]; nan without a positive or with fewer than k negatives (clip=False).

    Raises
    ------
    UnsettledError
        If a list has neither all positives nor k negatives.

    References
    ----------
    narasimhan2017; hiranandani2020, section 3.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1], qid=[7, 7, 7])
    >>> pauc(r, k=1)
    array([0.5])
    """
    top_neg = _top_negatives(ranking, k, clip=clip)
    correct, settled = _passes.ordered_pairs(ranking, ranking.n_pos, top_neg)
    _passes.require_settled(
        ranking,
        settled,
        f"pauc@{k} needs all positives or k negatives in each list",
        "List more items, or use a smaller k.",
    )
    return correct / (ranking.n_pos * top_neg)


@register(
    "auc",
    cutoff="none",
    aliases=("roc_auc", "roc_auc_score", "gauc"),
    linear=True,
    needs="a negative",
    undefined=_lacks_pairs,
    weights=_auc_pairs,
    rank_weights=_auc_terms,
)
def auc(ranking: Ranking) -> PerGroup:
    """Return the share of correctly ordered pairs of all positives and all negatives.

    Parameters
    ----------
    ranking : Ranking
        n_groups whole lists, or lists that hold all positives and have a known n_items.

    Returns
    -------
    float64, (n_groups,)
        Values in [0, 1]; nan without a positive or without a negative.

    Raises
    ------
    UnsettledError
        If the number of negatives is unknown, or a list has neither all positives nor all
        negatives.

    Notes
    -----
    Ties: a tied pair counts 0 with ``ties="worst"``, and one half with ``ties="average"``, as in
    scikit-learn.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1], qid=[7, 7, 7])
    >>> auc(r)
    array([0.5])
    """
    correct, settled = _passes.ordered_pairs(ranking, ranking.n_pos, np.maximum(ranking.n_neg, 0))
    _passes.require_settled(
        ranking,
        settled & (ranking.n_neg >= 0),
        "auc needs the whole list",
        f"Rank all items, pass {arg.n_items} if all relevant items are in the run, "
        "or use pauc@k or pap@k.",
    )
    return correct / _auc_pairs(ranking)


@register(
    "auc@k",
    cutoff="required",
    monotone=False,
    ideal_defined=False,
    needs="both a positive and a negative among its first k = {k} items",
    undefined=_lacks_pairs,
)
def auc_at(ranking: Ranking, *, k: int) -> PerGroup:
    """Return the share of correctly ordered pairs among the k top items.

    This metric describes the order within the top k. Use it to compare lists with the same number
    of positives in the top k.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists of at least k items (or of all their items).
    k : int
        The cutoff in items, at least 1.

    Returns
    -------
    float64, (n_groups,)
        Values in [0, 1]; nan if the top k holds only positives or only negatives.

    Raises
    ------
    UnsettledError
        If a list has fewer than k items and is not known to be whole.

    Notes
    -----
    The metric is not monotone: a further positive at rank k lowers the value.

    References
    ----------
    hiranandani2020, table 2 ("AUC@k").

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1], qid=[7, 7, 7])
    >>> auc_at(r, k=2), auc_at(r, k=1)
    (array([1.]), array([nan]))
    """
    sizes = ranking.groups.sizes
    _passes.require_settled(
        ranking,
        (sizes >= k) | ranking.whole | _lacks_pairs(ranking, k=k),
        f"auc@{k} needs k items in each list",
        "List more items, or use a smaller k.",
    )
    depths = np.minimum(sizes, k)
    n_pos = _passes.hits(ranking, depths).astype(np.int64)
    correct, _ = _passes.ordered_pairs(ranking, n_pos, depths - n_pos)
    return correct / (n_pos * (depths - n_pos))
