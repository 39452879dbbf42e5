"""The rounds of RankBoost: the best threshold for the pairs as weighted, then new weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from podium.papers.xia2009.rankboost.pairs import Pairs
from podium.papers.xia2009.rankboost.thresholds import Coded
from podium.types import Mask, PerRow, Progress

_SURE = 1.0 - 1e-9  # correlations are held here, which bounds a weight by 10.7
_NOTHING = 1e-9  # a correlation that is none

Above = Callable[[int, float], Mask]  # which rows of an eval_set exceed a feature's threshold


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
        feature, alpha = _add(course, rows, correlation, place)
        scores += alpha * rows.above(place)
        objective, potential = pairs.potentials(scores)
        course.objective.append(objective)
        if judge is not None:
            judged += alpha * judge.above(feature, course.threshold[-1])
            course.validation.append(judge.measure(judged))
        course.stop_reason = _reason(course, patience)
        progress(course.n_rounds, n_rounds, course.note)
    progress(n_rounds, n_rounds, course.note)
    return course


def _add(course: Course, rows: Coded, correlation: float, place: int) -> tuple[int, float]:
    feature = rows.feature(place)
    # alpha = ln((1 + r) / (1 - r)) / 2, which minimises freund2003's bound on the round's loss.
    alpha = float(np.arctanh(np.clip(correlation, -_SURE, _SURE)))
    course.feature.append(feature)
    course.threshold.append(float(rows.thresholds[place]))
    course.alpha.append(alpha)
    course.correlation.append(correlation)
    return feature, alpha


def _reason(course: Course, patience: int | None) -> str:
    if abs(course.correlation[-1]) >= _SURE:
        return "separated"
    stale = course.n_rounds - 1 - course.best
    return "patience" if patience is not None and stale >= patience else "n_rounds"
