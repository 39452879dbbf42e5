"""The weighted pairs that RankBoost learns from: rows with potentials, no pair ever stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import PairTarget, PairwiseExponential
from podium.losses.inputs import group_weights
from podium.rankers import inputs
from podium.types import Mask, PerGroup, PerRow, RowIndex

_EMPTY = np.empty(0)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows of groups that have pairs and weight, and how much each of their pairs weighs.

    Attributes
    ----------
    kept : int64, (n_kept,)
        Positions of those rows in the caller's.
    target : PairTarget
        Of those rows.
    scale : float64, (n_groups,)
        First weight of a pair of each group; over all pairs they sum to 1.
    """

    kept: RowIndex
    target: PairTarget
    scale: PerGroup

    def potentials(self, scores: PerRow) -> tuple[float, PerRow]:
        """Return the mean exponential loss, and each row's share in the pairs as now weighted.

        A pair of rows i above j weighs as ``exp(s_j - s_i)``, by the sum of all. A row's
        potential is the weight of pairs whose upper row it is, less that of those whose lower
        one it is: the sum of a function's values by potential is how much it raises upper rows
        above lower ones. Exponents are of differences from the worst pair's, so that the
        weights stay numbers however small the loss has become.
        """
        from podium.losses.pairwise_kernels import exponential_pairs, smallest_gap

        layout = (self.target.rows, self.target.bounds, self.target.levels)
        worst = smallest_gap(scores, *layout)
        values, grad = np.zeros(self.scale.size), np.zeros(scores.size)
        exponential_pairs(scores, (*layout, self.scale, 1.0), worst, (values, grad, _EMPTY))
        total = float(values.sum())
        return total * float(np.exp(-worst)), -grad / total


def pairs_of(rows: inputs.Rows, weights: PerRow | None, per: str) -> Pairs:
    """Return the pairs of different relevance; raise where there is none."""
    groups = rows.groups
    target = PairwiseExponential().prepare(rows.relevance, groups)
    given = group_weights(weights, groups, "RankBoost")
    used = target.defined & (given > 0)
    _require(target, used)
    if not used.all():
        kept = np.flatnonzero(used[groups.index])
        part = Groups.from_qid(groups.index[kept])
        target, given = PairwiseExponential().prepare(rows.relevance[kept], part), given[used]
    else:
        kept = np.arange(groups.n_rows)
    scale = given / given.max()  # no weight is so large that a sum of them overflows
    if per == "group":
        scale /= target.n_pairs
    return Pairs(kept, target, scale / float((scale * target.n_pairs).sum()))


def _require(target: PairTarget, used: Mask) -> None:
    if used.any():
        return
    if target.defined.any():
        raise ArgumentError(
            "sample_weight: weights are zero for all groups with rows of different relevance. "
            "Give at least one of them a weight > 0."
        )
    n_groups, n_rows = target.groups.n_groups, target.groups.n_rows
    who = "The one group cannot" if n_groups == 1 else f"None of the {n_groups} groups can"
    raise ArgumentError(
        f"{who} be trained on: RankBoost needs two rows of different relevance in a group, and "
        f"all groups have one row or rows of one class (n_samples = {n_rows}). Check y and qid."
    )
