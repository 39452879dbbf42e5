"""The rounds of RankBoost: the best threshold for the pairs as weighted, then new weights.

Rows have potentials; no pair is ever stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import PairTarget, PairwiseExponential
from podium.losses.inputs import group_weights
from podium.papers.xia2009.rankboost.thresholds import Coded
from podium.rankers import inputs
from podium.types import Mask, PerGroup, PerRow, Progress, RowIndex

_SURE = 1.0 - 1e-9  # correlations are held here, which bounds a weight by 10.7
_NOTHING = 1e-9  # a correlation that is none

_EMPTY = np.empty(0)

Above = Callable[[int, float], Mask]  # which rows of an eval_set exceed a feature's threshold


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


@dataclass
class Course:
    """What was learned: a weak ranker, and figures, of each round.

    Attributes
    ----------
    feature, threshold, alpha : list
        Weak rankers and their weights.
    correlation : list of float
        How much each raises upper rows above lower ones, in [-1, 1].
    objective : list of float
        Mean exponential loss of the pairs after each round.
    validation : list of float
        After each round, where there is an eval_set; higher is better.
    stop_reason : str
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
        """The first of the best validations; without them the last round; -1 where none ran."""
        return int(np.argmax(self.validation)) if self.validation else self.n_rounds - 1

    @property
    def histories(self) -> dict[str, NDArray[np.float64]]:
        """What there is to tell of each round."""
        known = {"objective": self.objective, "correlation": self.correlation}
        known |= {"validation": self.validation} if self.validation else {}
        return {name: np.array(values, np.float64) for name, values in known.items()}

    @property
    def note(self) -> str:
        if not self.objective:
            return "no threshold helps"
        text = f"objective {self.objective[-1]:.4g}"
        return text + (f", validation {self.validation[-1]:.4f}" if self.validation else "")


@dataclass(frozen=True, eq=False)
class Judge:
    """Rows that rounds are chosen by: `above` compares them, `measure` is higher for better."""

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
    """Add weak rankers until there are enough, or validation no longer rises, or none helps."""
    course = Course()
    scores = np.zeros(rows.n_rows)
    judged = np.zeros(judge.n_rows if judge else 0)
    _, potential = pairs.potentials(scores)
    while course.n_rounds < n_rounds and course.stop_reason == "n_rounds":
        correlation, place = rows.best(potential)
        if abs(correlation) <= _NOTHING:
            course.stop_reason = "converged"
            break
        feature, threshold = rows.feature(place), float(rows.thresholds[place])
        # alpha = ln((1 + r) / (1 - r)) / 2, which minimises freund2003's bound on the round's loss.
        alpha = float(np.arctanh(np.clip(correlation, -_SURE, _SURE)))
        course.feature.append(feature)
        course.threshold.append(threshold)
        course.alpha.append(alpha)
        course.correlation.append(correlation)
        scores += alpha * rows.above(place)
        objective, potential = pairs.potentials(scores)
        course.objective.append(objective)
        if judge is not None:
            judged += alpha * judge.above(feature, threshold)
            course.validation.append(judge.measure(judged))
        course.stop_reason = _reason(course, patience)
        progress(course.n_rounds, n_rounds, course.note)
    progress(n_rounds, n_rounds, course.note)
    return course


def _reason(course: Course, patience: int | None) -> str:
    if abs(course.correlation[-1]) >= _SURE:
        return "separated"
    stale = course.n_rounds - 1 - course.best
    return "patience" if patience is not None and stale >= patience else "n_rounds"
