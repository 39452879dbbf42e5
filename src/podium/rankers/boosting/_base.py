"""The shared base of the LightGBM and XGBoost rankers: everything that is not library-specific."""

from __future__ import annotations

import abc
import contextlib
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check, losses
from podium._arrays import check_arrays
from podium._forks import Pool
from podium.data import pooled_relevance
from podium.errors import ArgumentError, ConvergenceWarning, arg, warn
from podium.groups import Groups
from podium.losses import Loss
from podium.losses.inputs import RowLabels
from podium.metrics import Measure
from podium.progress import or_silent
from podium.rankers import inputs
from podium.rankers._threads import idle_threads_sleep
from podium.rankers.boosting.objectives import ScoreSpace
from podium.rankers.estimator import FitData, Ranker
from podium.rankers.fitting import by_content, untrainable
from podium.rankers.linear import LinearRanker
from podium.rankers.objective import Labels, times
from podium.rankers.scaling import folded, scaled
from podium.types import PerRow, Progress

Start: TypeAlias = NDArray[np.float64]  # (n_features + 1,): the coefficients, then the constant
ModelBytes: TypeAlias = NDArray[np.uint8]  # the trees in the library's own text format
Plan: TypeAlias = Mapping[str, Any]
"""The checked parameters of an estimator, and "objective": a podium loss on the training rows, or
the name of one of the library's own objectives."""

STARTS = ("zero", "logistic")
_L2 = 1e-4  # penalty of the logistic regression, on features of unit variance
_LARGEST = float(np.finfo(np.float32).max)
_OWN_GAINS = ("label_gain", "ndcg_exp_gain")  # options that change which grades have a gain


@dataclass(frozen=True, eq=False)
class Part(inputs.Rows):
    """Rows that a library trains on or validates with; `start` is their score before the trees."""

    start: PerRow

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
        return replace(
            self,
            features=self.features[order],
            relevance=self.relevance[order],
            groups=Groups(self.groups.labels, self.groups.offsets),
            weights=None if self.weights is None else self.weights[order],
            start=self.start[order],
        )


class Training(abc.ABC):
    """A booster in training."""

    def __init__(self, plan: Plan) -> None:
        objective = plan["objective"]
        self.fobj = None if isinstance(objective, str) else objective

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
    drawn = by_content(train.features, train.relevance, train.groups) if loss.draws else None
    return ScoreSpace(loss, Labels(train.relevance, train.groups, train.weights, drawn))


def check_labels(
    objective: str, highest: float, rows: inputs.Rows, options: Mapping[str, Any]
) -> None:
    """Raise unless the objective reads all labels and some group has an order to learn.

    `highest` is the highest grade that the objective reads, or inf if it only compares labels.
    """
    if not _has_order(rows.relevance, rows.groups, rows.weights):
        reason = (
            f"{objective} needs two rows of different relevance in a group, on rows of weight > 0. "
            "Check y and qid."
        )
        raise untrainable(rows.groups, reason)
    if np.isinf(highest) or any(name in options for name in _OWN_GAINS):
        return
    is_read = (rows.relevance == np.floor(rows.relevance)) & (rows.relevance <= highest)
    if is_read.all():
        return
    row = int(np.argmin(is_read))
    kinds = "only 0 and 1" if highest == 1 else f"integers from 0 to {highest:g}"
    raise ArgumentError(
        f"y must have {kinds} with the loss {objective!r}, got {rows.relevance[row]:g} at row "
        f"{row} (qid {_check.label(RowLabels(rows.groups)[row])}). Convert the grades, or choose a "
        "loss of podium, such as 'softmax'."
    )


def _has_order(relevance: PerRow, groups: Groups, weights: PerRow | None) -> bool:
    """Return whether two rows of a group, both with a weight, differ in relevance."""
    used = np.ones(relevance.size, np.bool_) if weights is None else weights > 0
    index = groups.index[used]
    lowest, largest = np.full(groups.n_groups, np.inf), np.full(groups.n_groups, -np.inf)
    np.minimum.at(lowest, index, relevance[used])
    np.maximum.at(largest, index, relevance[used])
    return bool(np.any(lowest < largest))


def learn_start(kind: str, rows: inputs.Rows, positive: PerRow) -> Start:
    """Return zeros, or the coefficients of a logistic regression over all rows."""
    features, options = rows.features, {"linearranker__sample_weight": rows.weights}
    if kind == "zero":
        return np.zeros(int(features.shape[1]) + 1)
    name = f"{arg.start('logistic')} needs finite features, but X"
    inputs.finite_features(features, RowLabels(rows.groups), name)
    linear = LinearRanker("logistic", l2=_L2, max_iter=1000, tol=1e-5)
    raw = folded(scaled(linear, features).fit(features, positive, **options))
    return np.append(raw.coef_, raw.intercept_)


def start_scores(start: Start, features: Any) -> PerRow:
    """Return the score of each row before the first tree."""
    if not start[:-1].any():  # features may be nan, and 0 * nan is not 0
        return np.full(int(features.shape[0]), start[-1])
    return times(features, start[:-1]) + start[-1]


_PLACE = re.compile(r"\[[\d:]+\] \S+:\d+: ")  # time, file and line before an error of XGBoost

_share = partial(_check.number, low=0.0, high=1.0, strict=True)


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    raise ArgumentError(f"{arg[name]} must be a mapping of names to values, got {value!r}.")


@dataclass(eq=False, repr=False)
class BoostedRanker(Ranker):
    """Abstract base of `LightGBMRanker` and `XGBoostRanker`."""

    default_loss: ClassVar[str | None] = "group-logistic"
    graded_loss: ClassVar[str | None] = "pairwise-logistic"
    default_grid: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "n_leaves": [7, 15, 31, 63],
        "learning_rate": [0.03, 0.1],
    }
    length_parameter: ClassVar[str] = "n_trees"
    constraints: ClassVar[_check.Constraints] = {
        "n_trees": _check.cutoff,
        "n_leaves": partial(_check.count, low=2),
        "row_share": _share,
        "feature_share": _share,
        "min_hessian_in_leaf": partial(_check.number, low=0.0),
        "pool_share": partial(_check.number, low=0.0, high=1.0),
        "start": partial(_check.choice, options=STARTS),
        "n_threads": _check.cutoff,
        "options": _mapping,
    }
    _package: ClassVar[str]
    _binary: ClassVar[tuple[str, ...]]  # the library's own objectives of single rows
    _ranking: ClassVar[Mapping[str, float]]  # those that read groups, with their highest grade
    _limits: ClassVar[str] = "min_hessian_in_leaf"  # the parameters that limit splits
    _takes_sparse: ClassVar[bool]
    _takes_missing: ClassVar[bool] = True
    _types: ClassVar[tuple[Any, ...]] = (np.float64, np.float32)

    loss: Loss | str | None = None
    _: KW_ONLY
    n_trees: int = 300
    learning_rate: float = 0.05
    n_leaves: int = 31
    l2: float = 0.0
    row_share: float = 1.0
    feature_share: float = 1.0
    min_hessian_in_leaf: float = 1e-3
    pool_share: float = 0.9
    start: str = "zero"
    eval_metric: str | Measure | None = None
    patience: int | None = 50
    random_state: int = 0
    n_threads: int | None = None
    options: Mapping[str, Any] | None = None
    one_group: bool = False

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        item: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: tuple[Any, ...] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : (n_rows, n_features)
            The features; nan is a missing value.
        y : (n_rows,)
            The relevance of each row, >= 0.
        qid : (n_rows,), optional
            The group of each row, in any order. A loss that uses groups needs it, unless
            one_group=True.
        item : (n_rows,), optional
            The item of each row, if items recur in many groups. The share `pool_share` of a row's
            label is then replaced by the relevance that its group and its item predict (see
            `podium.data.pooled_relevance`). Only for the loss "group-logistic".
        sample_weight : (n_rows,) or (n_groups,), optional
            The weights, >= 0, by row or by group in ascending order of labels.
        eval_set : (X, y, qid), optional
            The rows by which the number of trees is chosen; (X, y) with one_group=True.
        progress : callable, optional
            A function called as ``progress(done, total, note)`` after each tree.

        Raises
        ------
        ArgumentError
            If a parameter is out of range, features are infinite, lengths differ, relevance or
            weights are negative, there are items with another loss, the loss needs groups and
            there are none, or the loss can be trained on no group.
        MissingExtraError
            If the library is not installed.

        Warns
        -----
        ConvergenceWarning
            If no kept tree has a split, so that the model is its start.
        """
        reader, labels = self._fit_reader(item), (y, qid, sample_weight)
        self._learn(self._data(reader, X, labels, eval_set), or_silent(progress), item)
        return self

    def _learn(self, data: FitData, progress: Progress, item: ArrayLike | None = None) -> None:
        loss = self.loss_in_use()
        self._enter_threads()
        rows, checked = data.rows, data.parameters
        checked["options"] = dict(checked["options"] or {})
        checked["n_threads"] = checked["n_threads"] or 0  # all cores, for both libraries
        checked["random_state"] %= 2**31 - 1  # both accept smaller seeds only
        positive = (rows.relevance >= self.min_relevance_in_use()).astype(np.float64)
        self.start_ = learn_start(self.start, rows, positive)
        if item is not None:
            loss, rows = self._pooled(loss, rows, item)
        if isinstance(loss, str) and loss in self._ranking:
            check_labels(loss, self._ranking[loss], rows, checked["options"])
        train = self._part(rows)
        if loss in self._binary:
            train = replace(train, relevance=positive)
        if loss in self._ranking:
            train = train.by_group()
        valid = validate = None
        if data.valid is not None:
            valid, validate = self._part(data.valid), self._validator(data.valid)
            validate(valid.start)  # raises before the first tree if the measure is undefined
        objective = loss if isinstance(loss, str) else score_space(loss, train)
        with self._library_errors():
            training = self._training({**checked, "objective": objective}, train, valid)
            limits = checked["n_trees"], checked["patience"]
            course = grow(training, objective, validate, *limits, progress)
        self._keep(training, course)
        if not self._n_splits(self._booster):
            warn(
                f"{type(self).__name__} learned nothing: no tree has a split, so that all scores "
                f"are those of {arg.start(self.start)}. X has {rows.groups.n_rows} rows. Lower the "
                f"limits of leaves ({self._limits}), or check that features and labels vary.",
                ConvergenceWarning,
            )

    def predict(self, X: Any) -> PerRow:
        """Return the scores, float64, (n_rows,); a higher score ranks first."""
        features = self._features_to_score(X)
        self._enter_threads()
        start = start_scores(self.start_, features)
        return self._predict(self._booster, features, start)

    @classmethod
    def reads_grades(cls, loss: Loss | str | None) -> bool:
        """Return whether this ranker learns from grades with this loss, not only from positives."""
        is_library_objective = isinstance(loss, str)
        return loss in cls._ranking if is_library_objective else super().reads_grades(loss)

    @classmethod
    def library_objectives(cls) -> tuple[str, ...]:
        """Return the names of the library's own objectives; podium's losses yield to them."""
        return (*cls._binary, *cls._ranking)

    @property
    def pools_items(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether `fit` can pool labels over items: with the loss "group-logistic"."""
        loss = self.loss_in_use()
        return isinstance(loss, losses.GroupLogistic) and not loss.soft

    def _library(self) -> Any:
        """Import the library, or raise an error with the install command."""
        with idle_threads_sleep():
            return _check.extra(self._package, "boosting", type(self).__name__)

    @contextlib.contextmanager
    def _library_errors(self) -> Generator[None]:
        """Turn an error of the library, such as one about `options`, into a one-line error."""
        try:
            yield
        except self._errors() as error:
            line = str(error).partition("\n")[0].partition(" at /")[0]
            reason = _PLACE.sub("", line).strip(" ,.")
            raise ArgumentError(
                f"{type(self).__name__} can't be fitted because of an error in {self._package}: "
                f"{reason}. Check the parameters and options."
            ) from error

    @abc.abstractmethod
    def _training(self, plan: Plan, train: Part, valid: Part | None) -> Training: ...

    @abc.abstractmethod
    def _from_bytes(self, trees: ModelBytes) -> Any: ...

    @abc.abstractmethod
    def _n_features(self, booster: Any) -> int: ...

    @abc.abstractmethod
    def _n_splits(self, booster: Any) -> int:
        """Return the number of splits in all trees."""

    @abc.abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """Return the exceptions that the library raises for invalid models and parameters."""

    @abc.abstractmethod
    def _predict(self, booster: Any, features: Any, start: PerRow) -> PerRow: ...

    def loss_in_use(self) -> Loss | str:
        """Return the loss that `fit` minimises, or the name of one of the library's objectives."""
        if self.loss is None:
            return losses.as_loss(self.default_loss)
        if isinstance(self.loss, str):
            library_objectives = self.library_objectives()
            if self.loss in library_objectives:
                return self.loss
            names = dict.fromkeys((*losses.REGISTRY, *library_objectives))
            _check.choice(losses.split(self.loss)[0], "loss", list(names))
            return losses.get(self.loss)
        return losses.as_loss(self.loss)

    def _fit_reader(self, item: Any) -> str:
        """Return the name of the reader of groups in a fit; "" if all rows may be one group."""
        loss = self.loss_in_use()
        if item is not None:
            return self._reader("item")
        if isinstance(loss, str):
            return "" if loss in self._binary else self._reader(loss)
        return self._loss_reader(loss)

    def _pooled(
        self, loss: Loss | str, rows: inputs.Rows, item: ArrayLike
    ) -> tuple[Loss, inputs.Rows]:
        """Return the loss for soft targets, and the rows with pooled labels as relevance."""
        if not isinstance(loss, losses.GroupLogistic) or loss.soft:
            raise ArgumentError(
                f"{arg.item} requires the loss 'group-logistic', which accepts pooled labels, got "
                f"the loss {loss!r}. Leave {arg.item} out, or choose that loss."
            )
        targets = pooled_relevance(
            rows.relevance,
            rows.groups.index,
            item,
            min_relevance=loss.min_relevance,
            share=self.pool_share,
            weights=rows.weights,
        )
        return replace(loss, soft=True, min_relevance=1.0), replace(rows, relevance=targets)

    def _features(self, X: Any, *, reset: bool) -> Any:
        if _check.is_sparse(X) and not self._takes_sparse:
            raise ArgumentError(f"X is sparse, but {type(self).__name__} needs dense features.")
        return inputs.features_of(self, X, reset=reset, dtype=list(self._types))

    def _part(self, rows: inputs.Rows) -> Part:
        return Part(**vars(rows), start=start_scores(self.start_, rows.features))

    def _keep(self, training: Training, course: Course) -> None:
        self.best_iteration_ = course.best
        self.n_iter_ = course.n_trees
        self.stop_reason_ = course.stop_reason
        self.history_ = course.histories
        self.objective_ = course.objective[course.best] if course.objective else np.nan
        self.trees_ = training.to_bytes(course.best + 1)
        vars(self).pop("_booster", None)

    def check_restored(self) -> None:
        """Raise an ArgumentError unless the attributes read from a file form a valid model."""
        trees = ((self.trees_.size,), np.uint8)
        start = ((self.n_features_in_ + 1,), np.float64)
        check_arrays(self.__dict__, {"start_": start, "trees_": trees})
        try:
            n_features = self._n_features(self._booster)
        except (ValueError, RuntimeError, UnicodeDecodeError, *self._errors()) as error:
            raise ArgumentError(f"trees_ is not readable: {error}") from None
        if n_features != self.n_features_in_:
            raise ArgumentError(f"trees_ has {n_features} features")

    def _enter_threads(self) -> None:
        if self.n_threads == 1:
            _OPENMP.refuse_lost()  # lost threads are an error with one thread too
        else:
            _OPENMP.enter()

    @cached_property
    def _booster(self) -> Any:  # copies and files hold only the bytes
        return self._from_bytes(self.trees_)

    def __getstate__(self) -> dict[str, Any]:
        state = cast("dict[str, Any]", super().__getstate__())
        return {name: value for name, value in state.items() if name != "_booster"}

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = True
        return tags


_OPENMP = Pool("LightGBM or XGBoost")
