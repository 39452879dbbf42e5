"""Deviations of formulas and of means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.decide.explain.deviation import Case, register
from podium.ranking import kept_offsets
from podium.types import Mask, PerGroup, PerRow

CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
OTHERS = ("hit_rate", "recall", "precision", "f1", "rr", "ap", "r_precision", "ndcg", "dcg")
_HITS = ("precision", "recall", "f1", "ap")

# --- The ideal list of ndcg -----------------------------------------------------------------------


@register("ideal-of-top-k", "ndcg")
def ideal_of_top_k(case: Case) -> PerGroup:
    """The ideal list has only the items among the top k, sorted.

    Sort all relevant items of the user for the ideal, retrieved or not.
    """
    return _with_ideal(case, case.within)


@register("ideal-of-list", "ndcg", whole=True)
def ideal_of_list(case: Case) -> PerGroup:
    """The ideal list has only the retrieved items.

    Sort all relevant items of the user for the ideal, retrieved or not.
    """
    return _with_ideal(case, np.ones(case.rank.size, np.bool_))


def _with_ideal(case: Case, counts: Mask) -> PerGroup:
    """Return the value with an ideal of some of the ranks."""
    ranking = case.ranking
    keep = np.flatnonzero(counts & (ranking.relevance > 0))
    order = keep[np.lexsort((-ranking.relevance[keep], case.user[keep]))]
    flags = np.zeros(case.rank.size, np.bool_)
    flags[keep] = True
    offsets = kept_offsets(flags, ranking.groups.offsets)
    return case.of(replace(ranking, ideal=ranking.relevance[order], ideal_offsets=offsets))


@register("ideal-of-hits", "ndcg")
def ideal_of_hits(case: Case) -> PerGroup:
    """The ideal list has a one for each hit among the top k.

    Sort the gains of all relevant items of the user for the ideal.
    """
    return case.dcg() / _of_ones(case, case.n_hits.astype(np.int64))


@register("ideal-not-cut", "ndcg", packages=("haystack",))
def ideal_not_cut(case: Case) -> PerGroup:
    """The ideal list is not cut at k.

    Cut both lists at k, or leave the cutoff out.
    """
    return case.dcg() / case.best(np.inf)


@register("binary-ideal-not-cut", "ndcg", packages=("llama_index",))
def binary_ideal_not_cut(case: Case) -> PerGroup:
    """Each relevant item has the gain 1, and the ideal list is not cut at k.

    Cut both lists at k, or leave the cutoff out; use the grades if there are some.
    """
    return case.dcg(gain="binary") / case.best(np.inf, gain="binary")


@register("binary-ideal-cut-at-length", "ndcg", packages=("mlflow",))
def binary_ideal_cut_at_length(case: Case) -> PerGroup:
    """Each relevant item has the gain 1, and the ideal list is cut at the length of a short list.

    Cut the ideal list at k, so that a short list pays for what it leaves out.
    """
    return case.dcg(gain="binary") / case.best(case.lengths, gain="binary")


@register("ideal-cut-at-length", "ndcg")
def ideal_cut_at_length(case: Case) -> PerGroup:
    """The ideal list is cut at the length of the list where that is below k.

    Cut the ideal list at k, so that a short list pays for what it leaves out.
    """
    return case.dcg() / case.best(case.lengths)


@register("ideal-of-k-ones", "ndcg", cutoffs=True)
def ideal_of_k_ones(case: Case) -> PerGroup:
    """The ideal list has a one at each of the k ranks.

    Use the user's own relevant items, of which there may be fewer than k.
    """
    return case.dcg() / _of_ones(case, np.full(case.lengths.size, min(case.k, 100_000)))


@register("ideal-of-length-ones", "ndcg")
def ideal_of_length_ones(case: Case) -> PerGroup:
    """The ideal list has a one at each rank of the list, to k.

    Use the user's own relevant items.
    """
    return case.dcg() / _of_ones(case, case.lengths)


@register("ideal-of-ones", "ndcg")
def ideal_of_ones(case: Case) -> PerGroup:
    """The ideal list has a one for each positive, to k, whatever its grade.

    Use the same gain in both lists.
    """
    return case.dcg() / _of_ones(case, np.minimum(case.ranking.n_pos, case.k))


def _of_ones(case: Case, depth: NDArray[np.int64]) -> PerGroup:
    """Return the discounted sum of ones to a depth."""
    weights = case.weights(np.arange(1, int(depth.max(initial=0)) + 1))
    return np.append(0.0, np.cumsum(weights))[depth]


def _unlike(gain: str) -> Callable[[Case], PerGroup]:
    def ideal_gain(case: Case) -> PerGroup:
        """The gain of the ideal list is another one than that of the list.

        Use the same gain in both lists.
        """
        return case.dcg() / case.best(gain=gain)

    return ideal_gain


for _gain in ("linear", "exp2", "binary"):
    register(f"ideal-gain-{_gain}", "ndcg")(_unlike(_gain))


# --- The discount of ndcg and dcg -----------------------------------------------------------------


def _discounted(case: Case, weigh: Callable[[Any], PerRow], *, best: Any = None) -> PerGroup:
    """Return dcg or ndcg with another discount in the list, and in the ideal one or not."""
    gained = case.dcg(weigh(case.rank))
    return gained if case.measure.name == "dcg" else gained / case.best(weigh=best)


def _shifted(rank: Any) -> PerRow:
    return 1.0 / np.log2(rank + 2.0)


@register("discount-shifted", "ndcg", "dcg")
def discount_shifted(case: Case) -> PerGroup:
    """The discount is off by one: 1 / log2(rank + 2), with ranks from 1.

    Divide by log2(rank + 1) with ranks from 1, or log2(index + 2) with indices from 0.
    """
    return _discounted(case, _shifted, best=_shifted)


@register("discount-shifted-in-list", "ndcg")
def discount_shifted_in_list(case: Case) -> PerGroup:
    """The discount is off by one in the list, but not in the ideal one.

    Use one function for both discounts.
    """
    return _discounted(case, _shifted)


@register("discount-shifted-in-ideal", "ndcg")
def discount_shifted_in_ideal(case: Case) -> PerGroup:
    """The discount is off by one in the ideal list, but not in the list.

    Use one function for both discounts.
    """
    return case.dcg() / case.best(weigh=_shifted)


@register("discount-letor-in-list", "ndcg")
def discount_letor_in_list(case: Case) -> PerGroup:
    """The first two ranks have the weight 1 and others 1 / log2(rank), but not in the ideal list.

    Use one function for both discounts.
    """
    return _discounted(case, lambda rank: 1.0 / np.log2(np.maximum(rank, 2)))


@register("discount-letor-in-ideal", "ndcg")
def discount_letor_in_ideal(case: Case) -> PerGroup:
    """The first two ranks have the weight 1 and others 1 / log2(rank), in the ideal list only.

    Use one function for both discounts.
    """
    return case.dcg() / case.best(weigh=lambda rank: 1.0 / np.log2(np.maximum(rank, 2)))


@register("discount-natural", "dcg")
def discount_natural(case: Case) -> PerGroup:
    """The discount has the natural logarithm.

    Use the logarithm of base 2.
    """
    return _discounted(case, lambda rank: 1.0 / np.log(rank + 1.0))


@register("discount-natural-in-list", "ndcg")
def discount_natural_in_list(case: Case) -> PerGroup:
    """The discount has the natural logarithm in the list, and base 2 in the ideal one.

    Use one function for both discounts.
    """
    return _discounted(case, lambda rank: 1.0 / np.log(rank + 1.0))


@register("discount-decimal", "dcg")
def discount_decimal(case: Case) -> PerGroup:
    """The discount has the logarithm of base 10.

    Use the logarithm of base 2.
    """
    return _discounted(case, lambda rank: 1.0 / np.log10(rank + 1.0))


@register("discount-reciprocal", "ndcg", "dcg")
def discount_reciprocal(case: Case) -> PerGroup:
    """The discount is 1 / rank.

    Divide by log2(rank + 1).
    """
    return _discounted(case, _reciprocal, best=_reciprocal)


@register("discount-none", "ndcg", "dcg")
def discount_none(case: Case) -> PerGroup:
    """No rank is discounted.

    Divide by log2(rank + 1).
    """
    return _discounted(case, _ones, best=_ones)


def _reciprocal(rank: NDArray[np.int64]) -> PerRow:
    return 1.0 / rank


def _ones(rank: NDArray[np.int64]) -> PerRow:
    return np.ones(rank.size)


# --- The cutoff -----------------------------------------------------------------------------------


def _cut(k: int | None, *, relative: bool = False) -> Callable[[Case], PerGroup]:
    def cutoff(case: Case) -> PerGroup:
        """The measure has another cutoff: {name}.

        Compare measures with the same k.
        """
        cut = case.k + (k or 0) if relative else k
        return np.zeros(case.lengths.size) if cut == 0 else case.cut(cut)

    return cutoff


for _k in CUTOFFS:
    register(f"cutoff-{_k}", cutoffs=True, whole=True)(_cut(_k))
register("cutoff-k-minus-1", cutoffs=True)(_cut(-1, relative=True))
register("cutoff-k-plus-1", cutoffs=True)(_cut(1, relative=True))


@register("cutoff-none", "recall", "hit_rate", "rr", "ap", "ndcg", "dcg", cutoffs=True, whole=True)
def cutoff_none(case: Case) -> PerGroup:
    """The whole list counts, not its first k items.

    Cut the list at k.
    """
    return case.cut(None)


@register("cutoff-length", "precision", "f1", cutoffs=True, whole=True)
def cutoff_length(case: Case) -> PerGroup:
    """The whole list counts, and its length takes the place of k.

    Cut the list at k.
    """
    sizes, n_pos = case.ranking.groups.sizes, case.ranking.n_pos
    hits = case.total(case.ranking.relevance >= case.ranking.min_relevance)
    return hits / sizes if case.measure.name == "precision" else 2 * hits / (sizes + n_pos)


def _list_cut(shift: int) -> Callable[[Case], PerGroup]:
    def list_cut(case: Case) -> PerGroup:
        """The list is cut one rank off, while the rest of the formula has k.

        Cut the list at k: its first k items.
        """
        return _kept(case, case.rank <= case.k + shift, case.k + max(shift, 0))

    return list_cut


register("list-cut-at-k-minus-1", *_HITS, "ndcg", cutoffs=True)(_list_cut(-1))


@register("first-rank-ignored", cutoffs=True)
def first_rank_ignored(case: Case) -> PerGroup:
    """The first item of each list has no effect.

    Start at the first item: index 0.
    """
    return _kept(case, case.rank > 1, case.k)


def _kept(case: Case, keep: Mask, k: int) -> PerGroup:
    """Return the value if other ranks have nothing relevant."""
    relevance = np.where(keep, case.ranking.relevance, 0.0)
    return replace(case.measure, k=k)(replace(case.ranking, relevance=relevance))


@register("first-rank-removed", cutoffs=True)
def first_rank_removed(case: Case) -> PerGroup:
    """The list starts at its second item.

    Start at the first item: index 0.
    """
    ranking = case.ranking
    moved = np.append(ranking.relevance[1:], 0.0)
    moved[ranking.groups.offsets[1:][ranking.groups.sizes > 0] - 1] = 0.0
    return case.of(replace(ranking, relevance=moved))


# --- Another measure, or another formula ----------------------------------------------------------


def _as(name: str) -> Callable[[Case], PerGroup]:
    def another(case: Case) -> PerGroup:
        """The number is {name}, under another name.

        Report it under its own name.
        """
        return case.value(name)

    return another


for _name in OTHERS:
    register(f"as-{_name}", *OTHERS)(_as(_name))


@register("grades-summed", "precision", "recall")
def grades_summed(case: Case) -> PerGroup:
    """Grades are summed where relevant items should be counted.

    Count items with a relevance of at least the threshold.
    """
    total = case.total(case.ranking.relevance * case.within)
    if case.measure.name == "precision":
        return total / case.k
    return total / case.best(np.inf, _ones, "linear")


@register("f1-of-means", "f1")
def f1_of_means(case: Case) -> float:
    """It is the harmonic mean of the mean precision and the mean recall.

    Take the harmonic mean for each user, and then the mean.
    """
    means = [float(np.nanmean(case.value(name))) for name in ("precision", "recall")]
    return 2 * means[0] * means[1] / sum(means) if any(means) else 0.0


@register("f1-with-recall-of-1", "f1")
def f1_with_recall_of_1(case: Case) -> PerGroup:
    """Recall is 1 wherever there is a hit, so that it only depends on precision.

    Divide the hits by all relevant items of the user for recall.
    """
    precision = case.n_hits / np.maximum(case.lengths, 1)
    return 2 * precision / (precision + 1)


@register("rr-next-rank", "rr")
def rr_next_rank(case: Case) -> PerGroup:
    """The reciprocal rank is 1 / (rank + 1).

    Count ranks from 1.
    """
    return _of_first(case, 1.0)


@register("rr-from-0", "rr")
def rr_from_0(case: Case) -> PerGroup:
    """The reciprocal rank counts ranks from 0, and the first two ranks have the value 1.

    Count ranks from 1.
    """
    return _of_first(case, -1.0)


def _of_first(case: Case, shift: float) -> PerGroup:
    value = case.value()
    return np.where(value > 0, 1 / np.maximum(1 / value + shift, 1.0), 0.0)


@register("rr-mean-of-hits", "rr", packages=("llama_index",))
def rr_mean_of_hits(case: Case) -> PerGroup:
    """It is the mean of 1 / rank over all hits, not that of the first one.

    Take the first relevant item only.
    """
    return case.total(case.hit / case.rank) / case.n_hits


@register("rr-over-positives", "rr")
def rr_over_positives(case: Case) -> PerGroup:
    """It is the sum of 1 / rank over all hits, divided by the number of relevant items.

    Take the first relevant item only.
    """
    return case.total(case.hit / case.rank) / case.ranking.n_pos


@register("rr-sum-of-hits", "rr")
def rr_sum_of_hits(case: Case) -> PerGroup:
    """It is the sum of 1 / rank over all hits.

    Take the first relevant item only.
    """
    return case.total(case.hit / case.rank)


@register("ap-over-k", "ap", cutoffs=True)
def ap_over_k(case: Case) -> PerGroup:
    """The sum of precisions is divided by k.

    Divide by the number of relevant items, or by min(k, that number).
    """
    return _precisions(case) / case.k


@register("ap-over-length", "ap")
def ap_over_length(case: Case) -> PerGroup:
    """The sum of precisions is divided by the length of the list, to k.

    Divide by the number of relevant items, or by min(k, that number).
    """
    return _precisions(case) / case.lengths


@register("ap-of-all-ranks", "ap")
def ap_of_all_ranks(case: Case) -> PerGroup:
    """It is the mean of the precisions at all ranks, not only those of hits.

    Take the precision at the ranks of relevant items only.
    """
    return case.total(_running(case) / case.rank * case.within) / case.lengths


@register("ap-of-all-k-ranks", "ap", cutoffs=True)
def ap_of_all_k_ranks(case: Case) -> PerGroup:
    """It is the mean of precision@1 to precision@k.

    Take the precision at the ranks of relevant items only.
    """
    beyond = _tail(case)
    return (case.total(_running(case) / case.rank * case.within) + beyond) / case.k


def _tail(case: Case) -> PerGroup:
    """Return the sum of precisions at the ranks to k that a short list lacks."""
    harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1, min(case.k, 100_000) + 1)))
    return case.n_hits * (harmonic[-1] - harmonic[case.lengths])


def _running(case: Case) -> PerRow:
    """Return the number of hits to each rank."""
    counts = np.cumsum(case.hit)
    before = np.append(0, counts)[case.ranking.groups.offsets[:-1]]
    return counts - before[case.user]


def _precisions(case: Case) -> PerGroup:
    return case.total(_running(case) / case.rank * case.hit)


# --- Users and means ------------------------------------------------------------------------------


@register("users-with-a-hit", keeps_nan=True)
def users_with_a_hit(case: Case) -> PerGroup:
    """Only users with a hit are in the mean.

    Count 0 for a user without a hit.
    """
    return np.where(case.n_hits > 0, case.value(), np.nan)


@register("empty-lists-left-out", keeps_nan=True)
def empty_lists_left_out(case: Case) -> PerGroup:
    """Users with an empty list, or without one, are not in the mean.

    Count 0 for an empty list.
    """
    return np.where(case.ranking.groups.sizes > 0, case.value(), np.nan)


@register("short-lists-left-out", cutoffs=True, keeps_nan=True)
def short_lists_left_out(case: Case) -> PerGroup:
    """Users with fewer than k items are not in the mean.

    Count the items that a short list has.
    """
    return np.where(case.lengths >= case.k, case.value(), np.nan)


@register("sums-pooled", "ndcg")
def sums_pooled(case: Case) -> float:
    """It is the sum of all gains over the sum of all ideal gains, not the mean of users.

    Divide for each user, and then take the mean.
    """
    return float(np.sum(case.dcg()) / np.sum(case.best()))


@register("users-of-the-run", stage="mean")
def users_of_the_run(values: PerGroup, case: Case) -> float:
    """All users of the run are in the mean, also those without judgements, with the value 0.

    Leave out users without judgements.
    """
    return float(np.nansum(values) / (np.sum(~np.isnan(values)) + case.n_others))


@register("median", stage="mean")
def median(values: PerGroup, case: Case) -> float:
    """It is the median of the users, not their mean.

    Report it as a median.
    """
    return float(np.nanmedian(values))


@register("weighted-by-positives", stage="mean")
def weighted_by_positives(values: PerGroup, case: Case) -> float:
    """Users are weighted by their number of relevant items.

    Take the plain mean over users.
    """
    weights = np.where(np.isnan(values), 0.0, case.ranking.n_pos)
    return float(np.nansum(values * weights) / weights.sum())
