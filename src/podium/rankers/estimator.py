"""The contract of all rankers: an estimator that scores rows and is measured per group."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from podium import _check
from podium._arrays import check_arrays
from podium.errors import ArgumentError, arg, warn
from podium.groups import Groups
from podium.losses import Loss, as_loss
from podium.metrics import Measure, parse
from podium.metrics.measures import parse_relevance
from podium.progress import or_silent
from podium.rankers import inputs
from podium.rankers.objective import Labels, Parameters, times
from podium.rankers.validation import MeasureOnRows, are_grades, validator
from podium.types import PerRow, Progress


@dataclass(frozen=True)
class FitReport:
    """The course of a fit, as far as the ranker records it.

    Each value is that of a learned attribute of the ranker with the same name and a final
    underscore, such as `n_iter_`.

    Attributes
    ----------
    n_iter : int, optional
        The number of iterations, trees or rounds.
    best_iteration : int, optional
        The iteration, from 0, whose parameters were kept.
    stop_reason : str
    objective : float
        The objective of the kept parameters; nan if unknown.
    validation : float
        The measure of the kept parameters on the `eval_set`; nan without one.
    """

    n_iter: int | None = None
    best_iteration: int | None = None
    stop_reason: str = ""
    objective: float = math.nan
    validation: float = math.nan


@dataclass(frozen=True, eq=False)
class FitData:
    """The checked parameters and data of a fit.

    Attributes
    ----------
    parameters : dict
        The parameters of the ranker by name.
    rows : Rows
        The training rows.
    valid : Rows or None
        The rows of the eval_set.
    """

    parameters: dict[str, Any]
    rows: inputs.Rows
    valid: inputs.Rows | None


class Ranker(BaseEstimator, abc.ABC):
    """Abstract base class of all rankers; a subclass learns in `_learn`."""

    default_loss: ClassVar[str | None] = None
    """The loss in use with loss=None; None for a ranker that has no choice of losses."""
    graded_loss: ClassVar[str | None] = None
    """The loss that podium train uses by default if labels have more than two grades."""
    default_grid: ClassVar[Mapping[str, Sequence[Any]] | None] = None
    """The values that a search tries by default, in addition to the k of the loss. None means the
    values of the penalty and the step length. See `tuning.default_grid`."""
    length_parameter: ClassVar[str] = "max_iter"
    """The parameter that limits the iterations, trees or rounds of a fit."""
    pools_items: bool = False
    """Whether `fit` reads the items and pools labels over them."""
    query_norm_: bool = False
    """Whether the features of training rows were normalised within each group before `fit`."""
    graded_: bool = False
    """Whether the labels of `fit` were grades, so that `score` measures ndcg@10 by default."""
    constraints: ClassVar[_check.Constraints] = {
        "l2": partial(_check.number, low=0.0),
        "fit_intercept": _check.flag,
        "learning_rate": _check.positive,
        "max_iter": _check.cutoff,
        "tol": partial(_check.number, low=0.0),
        "patience": partial(_check.cutoff, required=False),
        "batch_size": _check.cutoff,
        "random_state": _check.seed,
        "min_relevance": _check.positive,
        "one_group": _check.flag,
    }
    """The checks of parameters that several rankers have. A ranker adds its own."""
    _types: ClassVar[tuple[Any, ...]] = (np.float64,)  # of features; others become the first
    _takes_missing: ClassVar[bool] = False  # whether a feature may be nan

    eval_metric: Any
    one_group: bool
    n_features_in_: int

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        eval_set: tuple[Any, ...] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn to score rows.

        Parameters
        ----------
        X : (n_rows, n_features)
            The features, dense or sparse.
        y : (n_rows,)
            The relevance of each row, >= 0.
        qid : (n_rows,), optional
            The group of each row, in any order. A loss that uses groups needs it, unless
            one_group=True.
        sample_weight : (n_rows,) or (n_groups,), optional
            The weights, >= 0: one per row, or one per group in ascending order of labels. If every
            group has one row, they are weights of the rows.
        eval_set : (X, y, qid), optional
            The rows by which the iterate is chosen; (X, y) with one_group=True. Logistic regression
            only measures them.
        progress : callable, optional
            A function called as ``progress(done, total, note)`` after each iteration.

        Raises
        ------
        ArgumentError
            If a parameter is out of range, data are missing or not finite, lengths differ,
            relevance or weights are negative, the loss needs groups and there are none, or the
            ranker can't learn from the rows. A loss, for example, may be undefined for every
            group, and logistic regression needs both classes. A loss that is not smooth may have
            its minimum at zero coefficients. Steps may be so long that scores overflow at once.
        MissingExtraError
            If the ranker needs a library that is not installed.

        Warns
        -----
        ConvergenceWarning
            If a solver reached max_iter or stalled, if scores overflowed, or if no coefficients
            were better than zero for a smooth loss.
        """
        reader = self._loss_reader(self.loss_in_use())
        data = self._data(reader, X, (y, qid, sample_weight), eval_set)
        self._learn(data, or_silent(progress))
        return self

    def _learn(self, data: FitData, progress: Progress) -> None:
        """Keep the learned attributes; a ranker defines this method, or `fit` itself."""
        raise NotImplementedError

    def _data(self, reader: str, X: Any, labels: tuple[Any, ...], eval_set: Any) -> FitData:
        """Check the arguments of a fit; an error about missing groups names their reader."""
        parameters = _check.parameters(self)
        parse_relevance(self._measure())
        self._library()
        features = self._features(X, reset=True)
        rows = inputs.rows_of(features, *labels, reader=reader, missing=self._takes_missing)
        # Grades are labels of which no threshold makes positives.
        self.graded_ = self.min_relevance_in_use() == 1.0 and are_grades(rows.relevance)
        valid = None if eval_set is None else self._eval_rows(eval_set)
        return FitData(parameters, rows, valid)

    def _library(self) -> Any:  # most rankers need no optional library
        """Import the library that the ranker needs, or raise an error with the install command."""

    @abc.abstractmethod
    def predict(self, X: Any) -> PerRow:
        """Return the scores, float64, (n_rows,); a higher score ranks first."""

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean of `eval_metric` over groups; nan, with a warning, if it has no value.

        With eval_metric=None, it is ndcg@10 if the loss reads grades or `fit` saw grades, else
        pap@10.

        The sign is such that greater is better, as scikit-learn's searches require. A measure of
        which lower values are better, such as topk_loss@1, gives its negative mean.

        Tied scores count as errors. `sample_weight` has one value per row or per group. The weight
        of a group is the mean weight of its rows.

        Raises
        ------
        ArgumentError
            If qid is missing and one_group is False. scikit-learn's tools pass qid on after
            ``set_score_request(qid=True)``.
        """
        _check.grouped(qid, self._reader("score"), request="set_score_request")
        scores = self.predict(X)
        qid = None if qid is None else _check.array(qid, "qid")
        groups = Groups.single(scores.size) if qid is None else Groups.from_qid(qid)
        measure, low = parse(self._measure()), self.min_relevance_in_use()
        relevance = _check.relevance(_check.column(y, "y"), qid, name="y")
        _check.equal_length(X=scores, y=relevance, qid=groups.index)
        rows = Labels(relevance, groups, inputs.row_weights(sample_weight, groups))
        mean_of = MeasureOnRows(measure, rows, min_relevance=low)
        mean = mean_of(scores)
        if mean != mean:  # nan
            warn(mean_of.why_undefined())
        return measure.metric.sign * mean

    def loss_in_use(self) -> Loss | str | None:
        """Return the loss that `fit` minimises: `loss` if given, else the default.

        The result is a name if it is an objective of a boosting library, and None for a ranker
        that has no choice of losses.
        """
        if self.default_loss is None:
            return None
        loss = self.get_params(deep=False)["loss"]
        return as_loss(self.default_loss if loss is None else loss)

    def _loss(self) -> Loss:
        return cast("Loss", self.loss_in_use())

    def min_relevance_in_use(self) -> float:
        """Return the smallest relevance of a positive: that of the loss, or 1."""
        loss = self.loss_in_use()
        return loss.min_relevance if isinstance(loss, Loss) else 1.0

    @classmethod
    def library_objectives(cls) -> tuple[str, ...]:
        """Return the names of the objectives of the library that trains the ranker, if any."""
        return ()

    @classmethod
    def reads_grades(cls, loss: Loss | str | None) -> bool:
        """Return whether this ranker learns from grades with this loss, not only from positives."""
        return isinstance(loss, Loss) and loss.reads_grades

    def suited_measure(self, k: int = 10) -> str:
        """Return the measure at cutoff k that suits the loss in validation.

        It is ndcg for a loss that reads grades, else the metric of `eval_metric`, or without one
        ndcg if `fit` saw grades, or pap.

        Examples
        --------
        >>> from podium.rankers import LinearRanker
        >>> LinearRanker("listmle").suited_measure(), LinearRanker("pap-ramp@3").suited_measure(5)
        ('ndcg@10', 'pap@5')
        """
        loss = self.loss_in_use()
        suited = loss.validated_by if isinstance(loss, Loss) else None
        if isinstance(loss, str) and self.reads_grades(loss):
            suited = "ndcg"
        default = "ndcg" if self.graded_ else "pap"
        return f"{suited or str(self.eval_metric or default).partition('@')[0]}@{k}"

    def fit_report(self) -> FitReport:
        """Return the course of the fit.

        Examples
        --------
        >>> from podium.rankers import LinearRanker
        >>> LinearRanker("logistic").fit([[0.0], [1.0]], [0, 1], [0, 0]).fit_report().stop_reason
        'converged'
        """
        check_is_fitted(self)
        learned = vars(self)
        names = [field.name for field in fields(FitReport) if f"{field.name}_" in learned]
        report: dict[str, Any] = {name: learned[f"{name}_"] for name in names}
        validation = learned.get("history_", {}).get("validation")
        if validation is not None and len(validation):
            sign = parse(self._measure()).metric.sign
            report["validation"] = sign * float(validation[report.get("best_iteration", -1)])
        return FitReport(**report)

    def has_free_steps(self) -> bool:
        """Return whether `learning_rate` is a step length that the loss does not determine."""
        return True

    def _measure(self) -> str | Measure:
        """Return the measure that `score` returns and that an eval_set is measured by."""
        return self.suited_measure() if self.eval_metric is None else self.eval_metric

    def _reader(self, name: str) -> str:
        """Return the name of the reader of groups; "" if all rows may be one group."""
        return "" if _check.flag(self.one_group, "one_group") else name

    def _loss_reader(self, loss: Any) -> str:
        """Return the loss's name if it reads groups, else ""."""
        return self._reader(loss.name) if isinstance(loss, Loss) and loss.reads_groups else ""

    def _eval_rows(self, eval_set: Any) -> inputs.Rows:
        """Check the rows of an eval_set; its measure reads groups."""
        X, y, qid = inputs.unpack_eval_set(eval_set)
        features, reader = self._features(X, reset=False), self._reader(str(self._measure()))
        missing, where = self._takes_missing, "eval_set "
        return inputs.rows_of(features, y, qid, reader=reader, missing=missing, where=where)

    def _validator(self, rows: inputs.Rows) -> Callable[[PerRow], float]:
        """Return a function from scores of an eval_set to its measure; higher is better."""
        low, where = self.min_relevance_in_use(), f" of {arg.eval_set}"
        return validator(self._measure(), rows, min_relevance=low, where=where)

    def _features(self, X: Any, *, reset: bool) -> Any:
        # `inputs` checks for non-finite values; its error names the row, the group and the column.
        return inputs.features_of(self, X, reset=reset, dtype=list(self._types), order="C")

    def _features_to_score(self, X: Any) -> Any:
        check_is_fitted(self)
        features = self._features(X, reset=False)
        inputs.finite_features(features, None, "X", missing=self._takes_missing)
        return features

    @abc.abstractmethod
    def check_restored(self) -> None:
        """Raise an ArgumentError unless the attributes read from a file are consistent."""

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


class LinearScores(Ranker):
    """Abstract base of the rankers that score ``X @ coef_ + intercept_``."""

    coef_: Parameters
    intercept_: float

    def predict(self, X: Any) -> PerRow:
        """Return the scores, float64, (n_rows,); a higher score ranks first."""
        return times(self._features_to_score(X), self.coef_) + self.intercept_

    def check_restored(self) -> None:
        """Raise an ArgumentError unless there is one coefficient per feature."""
        check_arrays(self.__dict__, {"coef_": ((self.n_features_in_,), np.float64)})
        if type(self.intercept_) not in (int, float) or not np.isfinite(self.intercept_):
            raise ArgumentError(f"intercept_ is {self.intercept_!r:.80}")
