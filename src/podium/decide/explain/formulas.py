"""Deviations of formulas and of means. Those that are sums over sums lie in `formulas.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np

from podium.decide.explain.deviation import Case, register
from podium.ranking import kept_offsets
from podium.types import Mask, PerGroup, PerRow

CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
OTHERS = ("hit_rate", "recall", "precision", "f1", "rr", "ap", "r_precision", "ndcg", "dcg")
_HITS = ("precision", "recall", "f1", "ap")

# --- Formulas of formulas.toml --------------------------------------------------------------------

_QUANTITIES: dict[str, Callable[[Case], Any]] = {
    "k": lambda case: case.k,
    "all": lambda case: np.inf,
    "length": lambda case: case.lengths,
    "hits": lambda case: case.n_hits,
    "positives": lambda case: case.ranking.n_pos,
    "positives to k": lambda case: np.minimum(case.ranking.n_pos, case.k),
    "all found": lambda case: case.n_hits == case.ranking.n_pos,
    "grades": lambda case: case.total(case.ranking.relevance * case.within),
    "all grades": lambda case: case.best(depth=np.inf, gain="linear", discount="none"),
    "first": lambda case: case.first,
    "first from 0": lambda case: np.maximum(case.first - 1, 1),
    "first or after k": lambda case: np.minimum(case.first, case.k + 1),
    "log2 after first": lambda case: np.log2(case.first + 1),
    "last": lambda case: case.last,
    "reciprocals": lambda case: case.total(case.hit / case.rank),
    "precisions": lambda case: case.total(case.precision * case.hit),
    "precisions of all ranks": lambda case: case.total(case.precision * case.within),
    "precisions to k": lambda case: case.total(case.precision * case.within) + _beyond(case),
    "precisions of next ranks": lambda case: case.total(
        case.precision * case.rank / (case.rank + 1) * case.hit
    ),
    "precisions before": lambda case: case.total((case.precision - 1 / case.rank) * case.hit),
    "best precisions": lambda case: case.total(_best_precision(case) * case.hit),
}
"""The quantities of formulas, by user."""


def _sum(case: Case, terms: str) -> Any:
    """Return a sum such as "4 k + positives" or "k + -1"."""
    total: Any = 0
    for term in terms.split(" + "):
        number, space, name = term.partition(" ") if term[0] in "-0123456789" else ("1", " ", term)
        total = total + float(number) * (_QUANTITIES[name](case) if space else 1)
    return total


def _formula(parts: Mapping[str, Any]) -> Callable[[Case], PerGroup]:
    """Return the function of an entry of formulas.toml."""

    def formula(case: Case) -> PerGroup:
        if "ratio" in parts:
            above, below = (_sum(case, terms) for terms in parts["ratio"])
            return np.divide(above, below)
        gained = case.dcg(**parts.get("list", {}))
        if "divisor" in parts:
            return gained / _sum(case, parts["divisor"])
        ideal = {"depth": "k", **parts.get("ideal", {})}
        ideal["depth"] = _sum(case, ideal["depth"])
        return gained if case.measure.name == "dcg" else gained / case.best(**ideal)

    formula.__doc__ = f"{parts['sentence']}\n\n{parts['remedy']}"
    return formula


for _name, _entry in tomllib.loads(
    files("podium.decide.explain").joinpath("formulas.toml").read_text("utf-8")
).items():
    _kept = {name: _entry[name] for name in ("cutoffs", "odds") if name in _entry}
    _packages = tuple(_entry.get("packages", ()))
    register(_name, *_entry["measures"], packages=_packages, **_kept)(_formula(_entry))


def _beyond(case: Case) -> PerGroup:
    """Return the sum of precisions at the ranks to k that a short list lacks."""
    harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1, min(case.k, 100_000) + 1)))
    return case.n_hits * (harmonic[-1] - harmonic[case.lengths])


def _best_precision(case: Case) -> PerRow:
    """Return the best precision at each rank and those after it, of hits."""
    last = case.user[::-1].astype(np.float64)
    best = np.maximum.accumulate((case.precision * case.hit)[::-1] - 2 * last) + 2 * last
    return best[::-1]


# --- The ideal list of ndcg -----------------------------------------------------------------------


@register("ideal-of-top-k", "ndcg", odds=0.03)
def ideal_of_top_k(case: Case) -> PerGroup:
    """The ideal list has only the items among the top k, sorted.

    Sort all relevant items of the user for the ideal, retrieved or not.
    """
    return _with_ideal(case, case.within)


@register("ideal-of-list", "ndcg", whole=True, odds=0.03)
def ideal_of_list(case: Case) -> PerGroup:
    """The ideal list has only the retrieved items.

    Sort all relevant items of the user for the ideal, retrieved or not.
    """
    return _with_ideal(case, np.ones(case.rank.size, np.bool_))


def _with_ideal(case: Case, counts: Mask) -> PerGroup:
    """Return the value with an ideal of some of the ranks."""
    ranking = case.ranking
    flags = counts & (ranking.relevance > 0)
    keep = np.flatnonzero(flags)
    order = keep[np.lexsort((-ranking.relevance[keep], case.user[keep]))]
    offsets = kept_offsets(flags, ranking.groups.offsets)
    return case.of(replace(ranking, ideal=ranking.relevance[order], ideal_offsets=offsets))


@register("ideal-ascending", "ndcg", odds=0.005)
def ideal_ascending(case: Case) -> PerGroup:
    """The ideal list has the least relevant items first.

    Sort the ideal list by decreasing relevance.
    """
    ranking = case.ranking
    ends, starts = ranking.ideal_offsets[1:], ranking.ideal_offsets[:-1]
    user = np.repeat(np.arange(ends.size), ends - starts)
    reverse = (starts + ends)[user] - 1 - np.arange(user.size)
    return case.of(replace(ranking, ideal=ranking.ideal[reverse]))


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
register("cutoff-k-minus-1", cutoffs=True, odds=0.015)(_cut(-1, relative=True))
register("cutoff-k-plus-1", cutoffs=True, odds=0.015)(_cut(1, relative=True))
_UNCUT = ("recall", "hit_rate", "rr", "ap", "ndcg", "dcg")
register("cutoff-none", *_UNCUT, cutoffs=True, whole=True, odds=0.02)(_cut(None))


@register("cutoff-mean", cutoffs=True, odds=0.005)
def cutoff_mean(case: Case) -> PerGroup:
    """It is the mean of the measure at the cutoffs from 1 to k.

    Compare measures with the same k.
    """
    return np.mean([case.cut(k) for k in range(1, min(case.k, 20) + 1)], axis=0)


@register("cutoff-length", "precision", "f1", cutoffs=True, whole=True)
def cutoff_length(case: Case) -> PerGroup:
    """The whole list counts, and its length takes the place of k.

    Cut the list at k.
    """
    sizes, n_pos = case.ranking.groups.sizes, case.ranking.n_pos
    hits = case.total(case.ranking.relevance >= case.ranking.min_relevance)
    return hits / sizes if case.measure.name == "precision" else 2 * hits / (sizes + n_pos)


@register("list-cut-at-k-minus-1", *_HITS, "ndcg", cutoffs=True)
def list_cut_at_k_minus_1(case: Case) -> PerGroup:
    """The list is cut one rank off, while the rest of the formula has k.

    Cut the list at k: its first k items.
    """
    return _with_ranks(case, case.rank < case.k)


@register("first-rank-ignored", cutoffs=True)
def first_rank_ignored(case: Case) -> PerGroup:
    """The first item of each list has no effect.

    Start at the first item: index 0.
    """
    return _with_ranks(case, case.rank > 1)


def _with_ranks(case: Case, counts: Mask) -> PerGroup:
    """Return the value if other ranks have nothing relevant."""
    relevance = np.where(counts, case.ranking.relevance, 0.0)
    return case.of(replace(case.ranking, relevance=relevance))


@register("first-rank-removed", cutoffs=True)
def first_rank_removed(case: Case) -> PerGroup:
    """The list starts at its second item.

    Start at the first item: index 0.
    """
    ranking = case.ranking
    moved = np.append(ranking.relevance[1:], 0.0)
    moved[ranking.groups.offsets[1:][ranking.groups.sizes > 0] - 1] = 0.0
    return case.of(replace(ranking, relevance=moved))


# --- Another measure, or the mean of others -------------------------------------------------------


def _as(name: str) -> Callable[[Case], PerGroup]:
    def another(case: Case) -> PerGroup:
        """The number is {name}, under another name.

        Report it under its own name.
        """
        return case.value(name)

    return another


for _name in OTHERS:
    register(f"as-{_name}", *OTHERS)(_as(_name))


@register("f1-arithmetic", "f1", odds=0.005)
def f1_arithmetic(case: Case) -> PerGroup:
    """It is the arithmetic mean of precision and recall.

    Take the harmonic mean.
    """
    return (case.value("precision") + case.value("recall")) / 2


@register("f1-of-means", "f1", odds=0.02)
def f1_of_means(case: Case) -> float:
    """It is the harmonic mean of the mean precision and the mean recall.

    Take the harmonic mean for each user, and then the mean.
    """
    means = [float(np.nanmean(case.value(name))) for name in ("precision", "recall")]
    return 2 * means[0] * means[1] / sum(means) if any(means) else 0.0


@register("rr-of-mean-rank", "rr", odds=0.005)
def rr_of_mean_rank(case: Case) -> float:
    """It is one over the mean rank of the first hits.

    Take the mean of 1 / rank.
    """
    return float(1 / np.mean(case.first[np.isfinite(case.first)]))


# --- Users and means ------------------------------------------------------------------------------


@register("users-with-a-hit", keeps_nan=True, odds=0.03)
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


@register("users-with-low-grades", stage="mean", odds=0.1)
def users_with_low_grades(values: PerGroup, case: Case) -> float:
    """Users count 0 if their relevant items lie below the threshold, or are left out.

    Leave out users without a relevant item.
    """
    offsets = (
        case.ranking.ideal_offsets if case.ranking.of_truth is None else case.ranking.of_truth[0]
    )
    return float(np.nanmean(np.where(np.isnan(values) & (np.diff(offsets) > 0), 0.0, values)))


@register("divided-by-one-less", stage="mean", odds=0.005)
def divided_by_one_less(values: PerGroup, case: Case) -> float:
    """The sum over users is divided by their number, minus 1.

    Divide by the number of users.
    """
    return float(np.nansum(values) / max(np.sum(~np.isnan(values)) - 1, 1))


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
