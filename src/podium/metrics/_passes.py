"""The compiled passes that metrics call, one function per pass, with allocated output arrays."""

from __future__ import annotations

import numpy as np

from podium import _check
from podium.discounts import MetricGain as Gain
from podium.discounts import gains
from podium.errors import UnsettledError
from podium.metrics import _kernels
from podium.ranking import Ranking
from podium.types import Counts, Mask, PerGroup, PerRow

_MODES = {"linear": _kernels.LINEAR, "exp2": _kernels.EXP2, "binary": _kernels.BINARY}


def depths(ranking: Ranking, k: int | None) -> Counts:
    """Return the number of ranks of each list that count."""
    return ranking.groups.sizes if k is None else np.full(ranking.n_groups, k)


def best_depths(ranking: Ranking, k: int | None) -> Counts:
    """Return the number of ranks of each best list that count."""
    return ranking.n_relevant if k is None else np.full(ranking.n_groups, k)


def graded(ranking: Ranking, values: PerRow, gain: Gain) -> PerRow:
    """Return the gains of relevances, of which positives have 1 under gain="binary"."""
    if gain == "binary":
        return (values >= ranking.min_relevance).astype(np.float64)
    return gains(values, gain)


def hits(ranking: Ranking, depth: Counts) -> PerGroup:
    """Count the positives in the first depth[g] ranks of each list."""
    if ranking.ties == "average":
        out = np.empty(ranking.n_groups)
        offsets, values, least = ranking.groups.offsets, ranking.relevance, ranking.min_relevance
        _kernels.hits_of_ties(offsets, values, ranking.tied, least, depth, out)
        return out
    longest = int(np.minimum(depth, ranking.groups.sizes).max(initial=0))
    return weighted_hits(ranking, depth, np.ones(longest))


def weighted_hits(ranking: Ranking, depth: Counts, weights: PerRow) -> PerGroup:
    """Sum the weights of the first depth[g] ranks that hold a positive."""
    values, mode = ranking.relevance, _kernels.BINARY
    if ranking.ties == "average":
        flags = (ranking.relevance >= ranking.min_relevance).astype(np.float64)
        values, mode = ranking.averaged(flags), _kernels.LINEAR
    return _discounted(ranking.groups.offsets, values, mode, ranking.min_relevance, weights, depth)


def discounted_gain(ranking: Ranking, depth: Counts, weights: PerRow, gain: Gain) -> PerGroup:
    """Sum gain x weight over the first depth[g] ranks."""
    if ranking.ties == "average":
        values, mode = ranking.averaged(graded(ranking, ranking.relevance, gain)), _kernels.LINEAR
    else:
        values, mode = ranking.relevance, _MODES[gain]
    least = ranking.min_relevance
    return _discounted(ranking.groups.offsets, values, mode, least, weights, depth)


def ideal_gain(ranking: Ranking, depth: Counts, weights: PerRow, gain: Gain) -> PerGroup:
    """Sum gain x weight over the first depth[g] ranks of the best list."""
    least = ranking.min_relevance
    return _discounted(ranking.ideal_offsets, ranking.ideal, _MODES[gain], least, weights, depth)


def hit_precisions(ranking: Ranking, depth: Counts) -> tuple[PerGroup, PerGroup]:
    """Return the sum of precisions at the positives of the first depth[g] ranks, and count them."""
    total, n_hits = np.empty(ranking.n_groups), np.empty(ranking.n_groups)
    offsets, values, least = ranking.groups.offsets, ranking.relevance, ranking.min_relevance
    tied = ranking.tied if ranking.ties == "threshold" else np.empty(0, np.bool_)
    _kernels.hit_precisions(offsets, values, tied, least, depth, total, n_hits)
    return total, n_hits


def first_hit(ranking: Ranking, depth: Counts) -> PerGroup:
    """Return the rank of the first positive among the first depth[g] ranks, inf without one."""
    out = np.empty(ranking.n_groups)
    _kernels.first_hit(ranking.groups.offsets, ranking.relevance, ranking.min_relevance, depth, out)
    return out


def ordered_pairs(ranking: Ranking, top_pos: Counts, top_neg: Counts) -> tuple[PerGroup, Mask]:
    """Return the number of correct pairs per group, and whether each list was long enough."""
    correct = np.empty(ranking.n_groups)
    settled = np.empty(ranking.n_groups, np.bool_)
    halved = ranking.tied if ranking.ties == "average" else np.empty(0, np.bool_)
    _kernels.ordered_pairs(
        ranking.groups.offsets,
        ranking.relevance,
        halved,
        ranking.min_relevance,
        top_pos,
        top_neg,
        correct,
        settled,
    )
    return correct, settled


def require_settled(ranking: Ranking, settled: Mask, need: str, advice: str) -> None:
    """Raise if a list of a group with positives is too short for its value to be settled."""
    is_unsettled = ~settled & (ranking.n_pos > 0)
    if ranking.absent is not None:
        is_unsettled &= ~ranking.absent
    if not is_unsettled.any():
        return
    first = int(np.argmax(is_unsettled))
    label, length = _check.label(ranking.groups.labels[first]), ranking.groups.sizes[first]
    raise UnsettledError(
        f"{need}. This does not hold for {int(is_unsettled.sum())} of {ranking.n_groups} groups, "
        f"first group {label} (a list of length {length}). {advice}"
    )


def longest_depth(ranking: Ranking, k: int | None) -> int:
    """Return the number of ranks that need a weight: at most k, over lists and best lists."""
    longest = int(max(ranking.groups.sizes.max(initial=0), ranking.n_relevant.max(initial=0)))
    return longest if k is None else min(k, longest)


def _discounted(
    offsets: Counts, values: PerRow, mode: int, threshold: float, weights: PerRow, depth: Counts
) -> PerGroup:
    out = np.empty(offsets.size - 1)
    _kernels.discounted_gain(offsets, values, mode, threshold, weights, depth, out)
    return out
