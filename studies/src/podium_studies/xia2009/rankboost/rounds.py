"""The rounds of RankBoost: each selects the best threshold for weighted pairs, then reweights.

Weights of pairs are summed by row to potentials, so that pairs are not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import PairwiseExponential
from podium.losses.inputs import group_weights
from podium.losses.pairwise import PairTarget
from podium.rankers import inputs
from podium.types import Mask, PerGroup, PerRow, Progress, RowIndex
from podium_studies.xia2009.rankboost.thresholds import Coded

_SURE = 1.0 - 1e-9  # largest correlation in alpha, which is therefore at most 10.7
_NOTHING = 1e-9  # largest correlation that counts as zero

_EMPTY = np.empty(0)

Above = Callable[[int, float], Mask]  # mask of rows of an eval_set above a feature's threshold


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
        from podium.losses.pairwise_kernels import exponential_pairs, smallest_gap

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
    _require_pairs(target, is_used)
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


def _require_pairs(target: PairTarget, used: Mask) -> None:
    if used.any():
        return
    if target.defined.any():
        raise ArgumentError(
            "sample_weight: weights are zero for all groups with rows of different relevance. "
            "Give at least one of them a weight > 0."
        )
    n_groups, n_rows = target.groups.n_groups, target.groups.n_rows
    subject = "The one group cannot" if n_groups == 1 else f"None of the {n_groups} groups can"
    raise ArgumentError(
        f"{subject} be trained on: RankBoost needs two rows of different relevance in a group, and "
        f"all groups have one row or rows of one class (n_samples = {n_rows}). Check y and qid."
    )


@dataclass
class Course:
    """The weak ranker and the values of each round.

    Attributes
    ----------
    feature, threshold, alpha : list
        The weak rankers and their weights.
    correlation : list of float
        The weighted mean difference of each weak ranker between upper and lower rows, in [-1, 1].
    objective : list of float
        The mean exponential loss of the pairs after each round.
    validation : list of float
        The measure on the eval_set after each round; higher is better. Empty without an eval_set.
    stop_reason : str
        The reason for stopping.
    """

    feature: list[int] = field(default_factory=list[int])
    threshold: list[float] = field(default_factory=list[float])
    alpha: list[float] = field(default_factory=list[float])
    correlation: list[float] = field(default_factory=list[float])
    objective: list[float] = field(default_factory=list[float])
    validation: list[float] = field(default_factory=list[float])
    stop_reason: str = "n_rounds"

    @property
    def n_rounds(self) -> int:
        return len(self.alpha)

    @property
    def best(self) -> int:
        """The first round with the best validation, or else the last round; -1 without rounds."""
        return int(np.argmax(self.validation)) if self.validation else self.n_rounds - 1

    @property
    def histories(self) -> dict[str, NDArray[np.float64]]:
        """The values of each round, by name."""
        values_by_name = {"objective": self.objective, "correlation": self.correlation}
        values_by_name |= {"validation": self.validation} if self.validation else {}
        return {name: np.array(values, np.float64) for name, values in values_by_name.items()}

    @property
    def note(self) -> str:
        if not self.objective:
            return "no threshold improves the loss"
        text = f"objective {self.objective[-1]:.4g}"
        return text + (f", validation {self.validation[-1]:.4f}" if self.validation else "")


@dataclass(frozen=True, eq=False)
class Judge:
    """The rows on which the round is selected.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    above : callable (feature, threshold) -> bool, (n_rows,)
        The function that returns the mask of rows above a feature's threshold.
    measure : callable (scores) -> float
        The measure; higher is better.
    """

    n_rows: int
    above: Above
    measure: Callable[[PerRow], float]


def boost(
    rows: Coded,
    pairs: Pairs,
    judge: Judge | None,
    n_rounds: int,
    patience: int | None,
    progress: Progress,
) -> Course:
    """Add weak rankers up to n_rounds, until patience runs out, or until none improves the loss."""
    course = Course()
    scores = np.zeros(rows.n_rows)
    judged_scores = np.zeros(judge.n_rows if judge else 0)
    _, potential = pairs.potentials(scores)
    while course.n_rounds < n_rounds and course.stop_reason == "n_rounds":
        correlation, threshold_index = rows.best(potential)
        if abs(correlation) <= _NOTHING:
            course.stop_reason = "converged"
            break
        feature, threshold = rows.feature(threshold_index), float(rows.thresholds[threshold_index])
        # alpha = ln((1 + r) / (1 - r)) / 2 minimises freund2003's bound on the loss of the round.
        alpha = float(np.arctanh(np.clip(correlation, -_SURE, _SURE)))
        course.feature.append(feature)
        course.threshold.append(threshold)
        course.alpha.append(alpha)
        course.correlation.append(correlation)
        scores += alpha * rows.above(threshold_index)
        objective, potential = pairs.potentials(scores)
        course.objective.append(objective)
        if judge is not None:
            judged_scores += alpha * judge.above(feature, threshold)
            course.validation.append(judge.measure(judged_scores))
        course.stop_reason = _reason(course, patience)
        progress(course.n_rounds, n_rounds, course.note)
    progress(n_rounds, n_rounds, course.note)
    return course


def _reason(course: Course, patience: int | None) -> str:
    if abs(course.correlation[-1]) >= _SURE:
        return "separated"
    n_rounds_without_better = course.n_rounds - 1 - course.best
    return (
        "patience" if patience is not None and n_rounds_without_better >= patience else "n_rounds"
    )
