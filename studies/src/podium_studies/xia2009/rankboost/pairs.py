"""The weighted pairs of RankBoost, and its thresholds.

Weights of pairs are summed by row to potentials, so that pairs are not stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses.inputs import group_weights
from podium.losses.pairwise import PairTarget
from podium.rankers import inputs
from podium.types import Offsets, PerGroup, PerRow, RowIndex
from podium_studies.xia2009.exponential import PairwiseExponential

_EMPTY = np.empty(0)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The rows of groups that have pairs and a positive weight, and the weights of pairs.

    Attributes
    ----------
    rows : int64, (n_rows,)
        The positions of these rows in the caller's rows.
    target : PairTarget
        The target of these rows.
    scale : float64, (n_groups,)
        The initial weight of a pair of each group. The sum over all pairs is 1.
    """

    rows: RowIndex
    target: PairTarget
    scale: PerGroup

    def potentials(self, scores: PerRow) -> tuple[float, PerRow]:
        """Return the mean exponential loss and the potential of each row, float64 (n_rows,).

        The weight of a pair with upper row i and lower row j is proportional to
        ``exp(s_j - s_i)`` and to the pair's initial weight; all weights sum to 1. The potential of
        a row is the weight of the pairs in which it is the upper row, less the weight of those in
        which it is the lower row. The sum of potentials times the values of a function is the mean
        difference of the function between upper and lower rows. The exponents are relative to the
        worst pair, so that weights remain finite however small the loss is.
        """
        from podium_studies.xia2009.exponential_kernels import exponential_pairs, smallest_gap

        layout = (self.target.rows, self.target.bounds, self.target.levels)
        worst = smallest_gap(scores, *layout)
        values, grad = np.zeros(self.scale.size), np.zeros(scores.size)
        exponential_pairs(scores, (*layout, self.scale, 1.0), worst, (values, grad, _EMPTY))
        total = float(values.sum())
        return total * float(np.exp(-worst)), -grad / total


def pairs_of(rows: inputs.Rows, weights: PerRow | None, per: str) -> Pairs:
    """Return the pairs of rows with different relevance.

    Raises
    ------
    ArgumentError
        If there is no pair, or all groups with pairs have a weight of zero.
    """
    groups = rows.groups
    target = PairwiseExponential().prepare(rows.relevance, groups)
    weights_by_group = group_weights(weights, groups, "RankBoost")
    is_used = target.defined & (weights_by_group > 0)
    if not is_used.any():
        reason = "all weights are zero" if target.defined.any() else "no group has them"
        raise ArgumentError(
            "RankBoost needs two rows of different relevance in a group with sample_weight > 0, "
            f"and {reason} (n_samples = {groups.n_rows}). Check y, qid and sample_weight."
        )
    if not is_used.all():
        kept_rows = np.flatnonzero(is_used[groups.index])
        kept_groups = Groups.from_qid(groups.index[kept_rows])
        target, weights_by_group = (
            PairwiseExponential().prepare(rows.relevance[kept_rows], kept_groups),
            weights_by_group[is_used],
        )
    else:
        kept_rows = np.arange(groups.n_rows)
    scale = weights_by_group / weights_by_group.max()  # so that no sum of weights overflows
    if per == "group":
        scale /= target.n_pairs
    return Pairs(kept_rows, target, scale / float((scale * target.n_pairs).sum()))


@dataclass(frozen=True, eq=False)
class Coded:
    """The training rows as codes. A code is the number of the feature's thresholds below a value.

    Attributes
    ----------
    features : float64, (n_rows, n_features)
    thresholds : float64, (n_thresholds,)
        The thresholds of all features.
    starts : int64, (n_features + 1,)
        The position of each feature's first threshold.
    codes : unsigned, (n_features, n_rows)
    """

    features: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    starts: Offsets
    codes: NDArray[Any]

    @classmethod
    def of(cls, features: NDArray[np.float64], n_thresholds: int | None) -> Coded:
        """Choose the thresholds of each feature, and code the rows."""
        columns = [np.unique(column, return_counts=True) for column in features.T]
        cuts = [_cuts(*column, n_thresholds) for column in columns]
        sizes = [cut.size for cut in cuts]
        codes = np.empty(features.T.shape, np.min_scalar_type(max(sizes, default=0)))
        for f, cut in enumerate(cuts):
            codes[f] = np.searchsorted(cut, features[:, f], side="left")
        thresholds = np.concatenate([np.empty(0), *cuts])
        return cls(features, thresholds, np.cumsum([0, *sizes], dtype=np.int64), codes)

    def best(self, potential: PerRow) -> tuple[float, int, float]:
        """Return the sum of potentials above the best threshold, its feature and its value.

        The best threshold has the largest absolute sum. Of equal sums (up to rounding), it is the
        highest threshold of the first feature. The sum is 0 if there is no threshold.
        """
        from podium_studies.xia2009.rankboost.threshold_kernels import best_of_dense

        total, place = map(float, best_of_dense(self.codes, self.starts, potential))
        feature = int(np.searchsorted(self.starts, int(place), side="right")) - 1
        threshold = float(self.thresholds[int(place)]) if place >= 0 else 0.0
        return total, feature, threshold


def _cuts(distinct: PerRow, counts: RowIndex, n_thresholds: int | None) -> PerRow:
    """Return all thresholds halfway between neighbours, or n_thresholds of them by quantiles."""
    chosen: RowIndex = np.arange(distinct.size - 1)
    if n_thresholds is not None and n_thresholds < chosen.size:
        cumulative_counts = np.cumsum(counts, dtype=np.int64)
        quantile_counts = (
            np.arange(1, n_thresholds + 1) * int(cumulative_counts[-1]) / (n_thresholds + 1)
        )
        quantile_positions = np.searchsorted(cumulative_counts, quantile_counts)
        chosen = np.unique(np.minimum(quantile_positions, chosen.size - 1))
    low, high = distinct[chosen], distinct[chosen + 1]
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)  # low for adjacent floats
