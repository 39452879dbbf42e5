"""Deviations of formulas and of means. Those that are sums over sums lie in `formulas.toml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from podium.decide.explain.deviation import Case, register_file
from podium.decide.explain.grid import pooled_mean
from podium.ranking import kept_offsets
from podium.types import Mask, PerGroup, PerRow

CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
OTHERS = ("hit_rate", "recall", "precision", "f1", "rr", "ap", "r_precision", "ndcg", "dcg")

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

    return formula


def _beyond(case: Case) -> PerGroup:
    """Return the sum of precisions at the ranks to k that a short list lacks."""
    harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1, min(case.k, 100_000) + 1)))
    return case.n_hits * (harmonic[-1] - harmonic[case.lengths])


def _best_precision(case: Case) -> PerRow:
    """Return the best precision at each rank and those after it, of hits."""
    last = case.user[::-1].astype(np.float64)
    best = np.maximum.accumulate((case.precision * case.hit)[::-1] - 2 * last) + 2 * last
    return best[::-1]


# --- Functions of formulas.toml -------------------------------------------------------------------


def _with_ideal(case: Case, counts: Mask) -> PerGroup:
    """Return the value with an ideal of some of the ranks."""
    ranking = case.ranking
    flags = counts & (ranking.relevance > 0)
    keep = np.flatnonzero(flags)
    order = keep[np.lexsort((-ranking.relevance[keep], case.user[keep]))]
    offsets = kept_offsets(flags, ranking.groups.offsets)
    return case.measure(replace(ranking, ideal=ranking.relevance[order], ideal_offsets=offsets))


def _ideal_ascending(case: Case) -> PerGroup:
    ranking, (user, rank) = case.ranking, case.best_ranks
    reverse = ranking.ideal_offsets[1:][user] - rank
    return case.measure(replace(ranking, ideal=ranking.ideal[reverse]))


def _cutoff_length(case: Case) -> PerGroup:
    sizes, n_pos = case.ranking.groups.sizes, case.ranking.n_pos
    hits = case.total(case.ranking.relevance >= case.ranking.min_relevance)
    return hits / sizes if case.measure.name == "precision" else 2 * hits / (sizes + n_pos)


def _with_ranks(case: Case, counts: Mask) -> PerGroup:
    """Return the value if other ranks have nothing relevant."""
    relevance = np.where(counts, case.ranking.relevance, 0.0)
    return case.measure(replace(case.ranking, relevance=relevance))


def _first_rank_removed(case: Case) -> PerGroup:
    ranking = case.ranking
    moved = np.append(ranking.relevance[1:], 0.0)
    moved[ranking.groups.offsets[1:][ranking.groups.sizes > 0] - 1] = 0.0
    return case.measure(replace(ranking, relevance=moved))


def _f1_of_means(case: Case) -> float:
    means = [float(np.nanmean(case.value(name))) for name in ("precision", "recall")]
    return 2 * means[0] * means[1] / sum(means) if any(means) else 0.0


_VALUES: dict[str, Callable[[Case], Any]] = {
    "ideal-of-top-k": lambda case: _with_ideal(case, case.within),
    "ideal-of-list": lambda case: _with_ideal(case, np.ones(case.rank.size, np.bool_)),
    "ideal-ascending": _ideal_ascending,
    **{f"cutoff-{k}": partial(Case.cut, k=k) for k in CUTOFFS},
    "cutoff-k-minus-1": lambda case: case.cut(case.k - 1) if case.k > 1 else 0.0 * case.lengths,
    "cutoff-k-plus-1": lambda case: case.cut(case.k + 1),
    "cutoff-none": lambda case: case.cut(None),
    "cutoff-mean": lambda case: np.mean(
        [case.cut(k) for k in range(1, min(case.k, 20) + 1)], axis=0
    ),
    "cutoff-length": _cutoff_length,
    "list-cut-at-k-minus-1": lambda case: _with_ranks(case, case.rank < case.k),
    "first-rank-ignored": lambda case: _with_ranks(case, case.rank > 1),
    "first-rank-removed": _first_rank_removed,
    **{f"as-{name}": partial(Case.value, name=name) for name in OTHERS},
    "f1-arithmetic": lambda case: (case.value("precision") + case.value("recall")) / 2,
    "f1-of-means": _f1_of_means,
    "rr-of-mean-rank": lambda case: float(1 / np.mean(case.first[np.isfinite(case.first)])),
    "users-with-a-hit": lambda case: np.where(case.n_hits > 0, case.value(), np.nan),
    "empty-lists-left-out": lambda case: np.where(
        case.ranking.groups.sizes > 0, case.value(), np.nan
    ),
    "short-lists-left-out": lambda case: np.where(case.lengths >= case.k, case.value(), np.nan),
    "sums-pooled": lambda case: float(np.sum(case.dcg()) / np.sum(case.best())),
}


def _with_low_grades(values: PerGroup, case: Case) -> float:
    of_truth = case.ranking.of_truth
    offsets = case.ranking.ideal_offsets if of_truth is None else of_truth[0]
    return float(np.nanmean(np.where(np.isnan(values) & (np.diff(offsets) > 0), 0.0, values)))


def _sum_over(values: PerGroup, n_more: int) -> float:
    """Return the sum of values over their number and that of further users."""
    return float(np.nansum(values) / max(np.sum(~np.isnan(values)) + n_more, 1))


_MEANS: dict[str, Callable[[PerGroup, Case], float]] = {
    "users-of-the-run": lambda values, case: _sum_over(values, case.n_others),
    "users-with-low-grades": _with_low_grades,
    "divided-by-one-less": lambda values, case: _sum_over(values, -1),
    "median": lambda values, case: float(np.nanmedian(values)),
    "weighted-by-positives": lambda values, case: pooled_mean(values, case.ranking.n_pos),
}

_FUNCTIONS = {**_VALUES, **_MEANS}

register_file("formulas.toml", lambda name, entry: _FUNCTIONS.get(name) or _formula(entry))
