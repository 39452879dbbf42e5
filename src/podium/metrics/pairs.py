"""Metrics that count correctly ordered pairs of a positive and a negative.

All are the same count for other sets: the `top_pos` best positives against the `top_neg` best
negatives of each group.
"""

from __future__ import annotations

import numpy as np

from podium import _check
from podium.errors import UnsettledError
from podium.metrics import _passes
from podium.metrics._registry import register
from podium.ranking import Ranking
from podium.types import Counts, Mask, PerGroup, PerRow

_K_NEGATIVES = "k = {k} negatives (a smaller k, or {name}(clip=true)@{k}, takes fewer)"


def _top_negatives(ranking: Ranking, k: int, *, clip: bool) -> Counts:
    """Return min(k, n_neg) if clip, else k, and 0 where n_neg is known to be too small."""
    enough = (ranking.n_neg < 0) | (ranking.n_neg >= k)
    return np.where(enough, k, ranking.n_neg if _check.flag(clip, "clip") else 0)


def _pap_pairs(ranking: Ranking, *, k: int, clip: bool = False) -> PerGroup:
    top_neg = _top_negatives(ranking, k, clip=clip)
    return (np.minimum(ranking.n_pos, k) * top_neg).astype(np.float64)


def _pauc_pairs(ranking: Ranking, *, k: int, clip: bool = False) -> PerGroup:
    return (ranking.n_pos * _top_negatives(ranking, k, clip=clip)).astype(np.float64)


def _auc_pairs(ranking: Ranking) -> PerGroup:
    return (ranking.n_pos * np.maximum(ranking.n_neg, 0)).astype(np.float64)


def _first_pairs(n_ranks: int, n_items: int, *, k: int, clip: bool) -> PerRow:
    if n_items <= k and not clip:
        return np.full(n_ranks, np.nan)  # fewer than k negatives
    negatives = min(k, n_items - 1)
    return np.maximum(negatives - np.arange(n_ranks), 0.0) / negatives


def _pairs_below(n_ranks: int, n_items: int) -> PerRow:
    with np.errstate(invalid="ignore"):  # undefined in a list of one item
        return (n_items - np.arange(1.0, n_ranks + 1)) / (n_items - 1)


@register(
    "pap",
    cutoff="required",
    aliases=("pAp",),
    half_pairs=True,
    needs=_K_NEGATIVES,
    weights=_pap_pairs,
    rank_weights=_first_pairs,
)
def pap(ranking: Ranking, *, k: int, clip: bool = False) -> PerGroup:
    """Share of correctly ordered pairs between top positives and top negatives.

    Uses the min(k, n_pos) best-scored positives and the k best-scored negatives of each group.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists of any length; it carries min_relevance and ties.
    k : int
        Cutoff in items, at least 1.
    clip : bool
        Use the n_neg negatives there are in a group with fewer than k, instead of nan.

    Returns
    -------
    float64, (n_groups,)
        Unitless, in [0, 1]; nan without a positive or with fewer than k negatives.

    Raises
    ------
    UnsettledError
        If a list ends before min(k, n_pos) positives or k negatives have shown; 2k - 1 items
        always suffice.

    Notes
    -----
    Ties: a tied pair counts 0 under "worst" (the paper's definition), one half under "average",
    as in the area under a ROC curve. That is not the mean over the orders of equal scores: a
    group with one score throughout gets 1/2, however many negatives there are.
    Where the number of items is not known, a list is taken to go on with negatives.
    Cost: one pass over the top 2k - 1 of each list.

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
    _require_settled(
        ranking,
        settled,
        f"pap@{k} needs min(k, n_pos) positives or k negatives in each list",
        f"List at least 2k - 1 = {2 * k - 1} items, or use a smaller k.",
    )
    return correct / (top_pos * top_neg)


@register(
    "pauc",
    cutoff="required",
    half_pairs=True,
    needs=_K_NEGATIVES,
    weights=_pauc_pairs,
    rank_weights=_first_pairs,
)
def pauc(ranking: Ranking, *, k: int, clip: bool = False) -> PerGroup:
    """Share of correctly ordered pairs between all positives and the k top negatives.

    The partial area under the ROC curve up to the false positive rate k / n_neg, scaled to
    [0, 1].

    Parameters
    ----------
    ranking : Ranking
        n_groups lists of any length.
    k : int
        Cutoff in negatives, at least 1.
    clip : bool
        Use the n_neg negatives there are in a group with fewer than k, instead of nan.

    Returns
    -------
    float64, (n_groups,)
        nan without a positive or with fewer than k negatives.

    Raises
    ------
    UnsettledError
        If a list ends before all positives or k negatives have shown.

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
    _require_settled(
        ranking,
        settled,
        f"pauc@{k} needs all positives or k negatives in each list",
        "List more items, or use a smaller k.",
    )
    return correct / (ranking.n_pos * top_neg)


@register(
    "auc",
    cutoff="none",
    aliases=("roc_auc",),
    linear=True,
    needs="a negative",
    weights=_auc_pairs,
    rank_weights=_pairs_below,
)
def auc(ranking: Ranking) -> PerGroup:
    """Share of correctly ordered pairs between all positives and all negatives.

    Parameters
    ----------
    ranking : Ranking
        n_groups whole lists, or lists that hold all positives and know their n_items.

    Returns
    -------
    float64, (n_groups,)
        nan without a positive or without a negative.

    Raises
    ------
    UnsettledError
        If the number of negatives is not known, or a list ends before either all positives or
        all negatives have shown.

    Notes
    -----
    Ties: a tied pair counts 0 under "worst", one half (scikit-learn's) under "average".

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1], qid=[7, 7, 7])
    >>> auc(r)
    array([0.5])
    """
    correct, settled = _passes.ordered_pairs(ranking, ranking.n_pos, np.maximum(ranking.n_neg, 0))
    _require_settled(
        ranking,
        settled & (ranking.n_neg >= 0),
        "auc needs the whole list",
        "Rank all items, pass n_items if all relevant items are in the run, "
        "or use pauc@k or pap@k.",
    )
    return correct / _auc_pairs(ranking)


@register(
    "auc@k",
    cutoff="required",
    monotone=False,
    ideal_defined=False,
    needs="both a positive and a negative among its first k = {k} items",
)
def auc_at(ranking: Ranking, *, k: int) -> PerGroup:
    """Share of correctly ordered pairs among the k items at the top.

    Compares the order of two lists with equally many hits in the top k.

    Parameters
    ----------
    ranking : Ranking
        n_groups lists of at least k items (or of all their items).
    k : int
        Cutoff in items, at least 1.

    Returns
    -------
    float64, (n_groups,)
        nan where the top k holds only positives or only negatives.

    Raises
    ------
    UnsettledError
        If a list has fewer than k items and is not known to be whole.

    Notes
    -----
    Not monotone: a further hit at rank k lowers it.

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
    _require_settled(
        ranking,
        (sizes >= k) | ranking.whole,
        f"auc@{k} needs k items in each list",
        "List more items, or use a smaller k.",
    )
    depth = np.minimum(sizes, k)
    pos = _passes.hits(ranking, depth).astype(np.int64)
    correct, _ = _passes.ordered_pairs(ranking, pos, depth - pos)
    return correct / (pos * (depth - pos))


def _require_settled(ranking: Ranking, settled: Mask, need: str, advice: str) -> None:
    """Raise if a group that has positives and a list is not settled."""
    open_ = ~settled & (ranking.n_pos > 0)
    if ranking.absent is not None:
        open_ &= ~ranking.absent
    if not open_.any():
        return
    first = int(np.argmax(open_))
    label, length = _check.label(ranking.groups.labels[first]), ranking.groups.sizes[first]
    raise UnsettledError(
        f"{need}: {int(open_.sum())} of {ranking.n_groups} groups are unsettled, first qid "
        f"{label}, a list of length {length}. {advice}"
    )
