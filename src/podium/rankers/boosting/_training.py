"""The start of boosting, checks of labels, and the loop that grows trees, for both libraries."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.losses import Logistic, Loss
from podium.losses.inputs import RowLabels
from podium.progress import or_silent
from podium.rankers import inputs
from podium.rankers.boosting.objectives import ScoreSpace
from podium.rankers.content import by_content
from podium.rankers.fitting import untrainable
from podium.rankers.objective import Labels, LinearObjective, dot, times
from podium.rankers.solvers import LBFGS, Settings
from podium.types import PerRow, Progress

Start: TypeAlias = NDArray[np.float64]  # (n_features + 1,): the coefficients, then the constant
ModelBytes: TypeAlias = NDArray[np.uint8]  # the trees in the library's own text format

STARTS = ("zero", "log-odds", "logistic")
_L2 = 1e-4  # penalty of the logistic regression, on features of unit variance
_SETTINGS = Settings(learning_rate=1.0, max_iter=1000, tol=1e-5)
_LARGEST = float(np.finfo(np.float32).max)
_OWN_GAINS = ("label_gain", "ndcg_exp_gain")  # options that change which grades have a gain


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that a library trains on or validates with; `start` is their score before the trees."""

    features: Any
    relevance: PerRow
    groups: Groups
    start: PerRow
    weights: PerRow | None = None

    def __post_init__(self) -> None:
        for name, values in (("y", self.relevance), ("sample_weight", self.weights)):
            highest = 0.0 if values is None else float(np.max(values, initial=0.0))
            if highest > _LARGEST:
                raise ArgumentError(
                    f"{name} must be at most {_LARGEST:.2g}, the largest float32 number, got "
                    f"{highest:g}."
                )

    def by_group(self) -> Part:
        """Return the rows sorted by group, as the libraries' own ranking objectives read them."""
        order = self.groups.order
        if order is None:
            return self
        return Part(
            self.features[order],
            self.relevance[order],
            Groups(self.groups.labels, self.groups.offsets),
            self.start[order],
            None if self.weights is None else self.weights[order],
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """The settings with which a library grows trees.

    Attributes
    ----------
    objective : ScoreSpace, or str
        A podium loss on the training rows, or the name of one of the library's own objectives.
    learning_rate, n_leaves, l2, row_share, feature_share, min_hessian_in_leaf, random_state
        The parameters of the estimators with these names.
    n_threads : int, optional
        The number of threads; None for all cores.
    options : mapping
        Further parameters under the library's own names; they override the others.
    """

    objective: ScoreSpace | str
    learning_rate: float
    n_leaves: int
    l2: float
    row_share: float
    feature_share: float
    min_hessian_in_leaf: float
    random_state: int
    n_threads: int | None
    options: Mapping[str, Any]

    @property
    def seed(self) -> int:
        """The seed; both libraries accept less than 2**31."""
        return self.random_state % (2**31 - 1)


class Training(abc.ABC):
    """A booster in training."""

    @abc.abstractmethod
    def step(self) -> bool:
        """Grow one tree; return whether training has finished because nothing can be split."""

    @abc.abstractmethod
    def scores(self, *, valid: bool) -> PerRow:
        """Return the scores of the training or the validation rows, including the start."""

    @abc.abstractmethod
    def to_bytes(self, n_trees: int) -> ModelBytes:
        """Return the first n_trees trees as bytes."""


@dataclass
class Course:
    """The course of training; `objective` and `validation` have one value per tree."""

    n_trees: int = 0
    objective: list[float] = field(default_factory=list[float])
    validation: list[float] = field(default_factory=list[float])
    stop_reason: str = "max_iter"

    @property
    def best(self) -> int:
        """The first tree with the best validation; without validation the last tree."""
        return int(np.argmax(self.validation)) if self.validation else self.n_trees - 1

    @property
    def note(self) -> str:
        if self.validation:
            return f"validation {self.validation[-1]:.6g}"
        return f"objective {self.objective[-1]:.6g}" if self.objective else ""

    @property
    def histories(self) -> dict[str, NDArray[np.float64]]:
        """The arrays of values per tree, without empty ones."""
        values_by_name = {"objective": self.objective, "validation": self.validation}
        return {name: np.array(values) for name, values in values_by_name.items() if values}


def grow(
    training: Training,
    loss: ScoreSpace | str,
    validate: Callable[[PerRow], float] | None,
    n_trees: int,
    patience: int | None,
    progress: Progress,
) -> Course:
    """Grow trees until there are n_trees, validation no longer rises, or nothing can be split."""
    course = Course()
    while course.n_trees < n_trees and course.stop_reason == "max_iter":
        finished = training.step()
        course.n_trees += 1
        if course.n_trees > 1 and isinstance(loss, ScoreSpace):
            course.objective.append(loss.objective)  # a step evaluates the scores before its tree
        if validate is not None:
            course.validation.append(validate(training.scores(valid=True)))
        progress(course.n_trees, n_trees, course.note)
        if finished:
            course.stop_reason = "converged"
        elif patience is not None and course.n_trees - 1 - course.best >= patience:
            course.stop_reason = "patience"
    if isinstance(loss, ScoreSpace):
        loss(training.scores(valid=False))
        course.objective.append(loss.objective)
    return course


def score_space(loss: Loss, train: Part) -> ScoreSpace:
    """Return the loss on these rows; random orders of ties are drawn by the rows' features."""
    drawn = None
    if loss.draws:
        drawn = by_content(train.features, train.relevance, train.groups)
    return ScoreSpace(loss, Labels(train.relevance, train.groups, train.weights, drawn))


def check_labels(
    objective: str,
    highest: float,
    relevance: PerRow,
    groups: Groups,
    weights: PerRow | None,
    options: Mapping[str, Any],
) -> None:
    """Raise unless the objective reads all labels and some group has an order to learn.

    `highest` is the highest grade that the objective reads, or inf if it only compares labels.
    """
    if np.isfinite(highest) and not any(name in options for name in _OWN_GAINS):
        _check_grades(objective, int(highest), relevance, groups)
    if not _has_order(relevance, groups, weights):
        reason = (
            f"{objective} needs two rows of different relevance in a group, on rows of weight > 0. "
            "Check y and qid."
        )
        raise untrainable(groups, reason)


def _check_grades(objective: str, highest: int, relevance: PerRow, groups: Groups) -> None:
    is_read = (relevance == np.floor(relevance)) & (relevance <= highest)
    if is_read.all():
        return
    row = int(np.argmin(is_read))
    kinds = "only 0 and 1" if highest == 1 else f"integers from 0 to {highest}"
    raise ArgumentError(
        f"y must have {kinds} with the loss {objective!r}, got {relevance[row]:g} at row {row} "
        f"(qid {_check.label(RowLabels(groups)[row])}). Convert the grades, or choose a loss of "
        "podium, such as 'softmax'."
    )


def _has_order(relevance: PerRow, groups: Groups, weights: PerRow | None) -> bool:
    """Return whether two rows of a group, both with a weight, differ in relevance."""
    used = np.ones(relevance.size, np.bool_) if weights is None else weights > 0
    index = groups.index[used]
    lowest, largest = np.full(groups.n_groups, np.inf), np.full(groups.n_groups, -np.inf)
    np.minimum.at(lowest, index, relevance[used])
    np.maximum.at(largest, index, relevance[used])
    return bool(np.any(lowest < largest))


def learn_start(
    kind: str, features: Any, positive: PerRow, weights: PerRow | None, qid: Any
) -> Start:
    """Return zeros, the log-odds of a positive, or a logistic regression over all rows."""
    start = np.zeros(int(features.shape[1]) + 1)
    if kind == "log-odds":
        start[-1] = _log_odds(positive, weights)
    if kind == "logistic":
        inputs.finite_features(
            features, qid, f"{arg.start('logistic')} needs finite features, but X"
        )
        start[:] = _logistic(features, positive, weights)
    return start


def start_scores(start: Start, features: Any) -> PerRow:
    """Return the score of each row before the first tree."""
    if not start[:-1].any():  # features may be nan, and 0 * nan is not 0
        return np.full(int(features.shape[0]), start[-1])
    return times(features, start[:-1]) + start[-1]


def _log_odds(positive: PerRow, weights: PerRow | None) -> float:
    share = float(np.average(positive, weights=weights))
    if not 0.0 < share < 1.0:
        raise ArgumentError(
            f"{arg.start('log-odds')} needs rows of both classes, got {int(positive.sum())} "
            f"positives among {positive.size} rows. Use {arg.start('zero')}."
        )
    return float(np.log(share / (1.0 - share)))


def _logistic(features: Any, positive: PerRow, weights: PerRow | None) -> Start:
    """Fit standardised features, and return the coefficients of the raw features."""
    if _check.is_sparse(features):
        raise ArgumentError(
            f"{arg.start('logistic')} needs dense features. Use {arg.start('log-odds')}."
        )
    units = _units(features)
    features = features / units
    mean, spread = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    spread[spread == 0.0] = 1.0
    scaled = ((features - mean) / spread).astype(features.dtype, copy=False)
    loss = Logistic()
    target = loss.prepare(positive, Groups.single(positive.size), weights=weights)
    objective = LinearObjective(scaled, loss, target, l2=_L2, has_intercept=True)
    coef, constant = objective.split(
        LBFGS.solve(objective, _SETTINGS, None, or_silent(None)).parameters
    )
    return np.append(coef / spread / units, constant - dot(coef / spread, mean))


def _units(features: Any) -> Any:
    """Return a power of two near each feature's size; squares of huge features would overflow."""
    largest = np.maximum(features.max(axis=0), -features.min(axis=0))
    exponents = np.frexp(largest)[1] - 1
    return np.ldexp(np.ones_like(largest), np.where(largest > 0, exponents, 0))
