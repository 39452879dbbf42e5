"""Losses of podium as objectives, and measures as metrics, of LightGBM and XGBoost."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss
from podium.metrics import Measure
from podium.metrics.measures import parse_relevance
from podium.rankers import fitting, inputs
from podium.rankers.objective import Labels, defined_mean
from podium.rankers.validation import MeasureOnRows
from podium.types import PerRow

T = TypeVar("T")
GradHess: TypeAlias = tuple[PerRow, PerRow]  # gradient and Hessian by row, for one boosting round

_KEPT = 4  # number of cached data sets: training and a few for validation
_BITS = 23  # fraction bits of float32, in which the libraries store gradients


class ScoreSpace:
    """A loss on fixed rows, as gradient and Hessian for boosting.

    Both are those of the mean over groups times the sum of the row weights, or without weights
    times the number of rows. Each row then has a weight of about 1, as the libraries'
    regularisation assumes. The logistic loss gives exactly weight * (p - y) and weight * p (1 - p).

    Gradients are rounded to float32 on one grid for all rows. Sums of up to 2^29 of them are
    then exact in float64, so trees depend neither on threads nor on the order of rows.

    Parameters
    ----------
    loss : Loss
    rows : Labels

    Attributes
    ----------
    objective : float
        The mean loss at the scores of the last call; nan before the first.

    Raises
    ------
    ArgumentError
        If the loss is defined on no group.
    """

    def __init__(self, loss: Loss, rows: Labels) -> None:
        self.loss = loss
        weights, drawn = rows.weights, rows.drawn
        self.target: Any = (
            loss.prepare(rows.relevance, rows.groups, weights=weights)
            if drawn is None
            else rows.target(loss, 0)
        )
        self.scale = float(rows.relevance.size if weights is None else weights.sum())
        self.objective = np.nan
        fitting.require_trainable(loss, self.target, rows.groups)

    def __call__(self, scores: Any, data: Any = None) -> GradHess:
        """Return the gradient and the positive Hessian, float64, (n_rows,), at these scores.

        The libraries also pass their data set, which has no effect.
        """
        del data
        scores = np.asarray(scores, dtype=np.float64).reshape(-1)
        values, grad, hess = self.loss.value_grad_and_curvature(scores, self.target)
        self.objective = defined_mean(values)
        return _on_grid(grad * self.scale), _on_grid(hess * self.scale, positive=True)


@dataclass(frozen=True, eq=False)
class DataLabels:
    """The labels of a library's rows, in the library's own form.

    Attributes
    ----------
    relevance : (n_rows,)
    weights : (n_rows,) or (n_groups,), or None
    sizes : (n_groups,), or None
        The sizes of consecutive groups; None if the library has no groups.
    """

    relevance: NDArray[Any]
    weights: NDArray[Any] | None = None
    sizes: NDArray[Any] | None = None

    @classmethod
    def of(cls, data: Any) -> DataLabels:
        """Read the labels of a lightgbm.Dataset or an xgboost.DMatrix."""
        relevance, weights, sizes = data.get_label(), data.get_weight(), data.get_group()
        return cls(np.asarray(relevance), _array_or_none(weights), _array_or_none(sizes))

    def rows(self, qid: Any, reader: str, *, one_group: bool = False) -> Labels:
        """Return relevance, groups and weights by row; qid takes precedence over sizes.

        Without both, all rows are one group, or an error names the objective or metric, `reader`.
        """
        n_rows = self.relevance.size
        if qid is not None:
            groups = Groups.from_qid(qid)
        elif self.sizes is not None:
            groups = Groups.from_sizes(self.sizes.astype(np.int64))
        elif one_group:
            groups = Groups.single(n_rows)
        else:
            raise ArgumentError(
                f"{reader} needs groups, but the data set has none. Set group or qid in the data "
                "set, or pass qid= to the objective or metric, with one label per row."
            )
        if qid is not None and groups.n_rows != n_rows:
            raise ArgumentError(
                f"qid of {reader} must have one label for each of the {n_rows} rows of the data "
                f"set, got {groups.n_rows}."
            )
        weights = inputs.row_weights(self.weights, groups)
        return Labels(self.relevance.astype(np.float64), groups, weights)

    def same_as(self, other: DataLabels) -> bool:
        """Return whether both are equal, at a cost far below that of a tree."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return all(one is another or np.array_equal(one, another) for one, another in pairs)


class OnData(abc.ABC, Generic[T]):
    """A callback of either library, and a cache of what it prepares from the last few data sets.

    Labels are compared by value, so a data set whose labels changed counts as a new one. Copies
    and pickles start with an empty cache. LightGBM passes as many arguments as the call has, and
    XGBoost reads the name `sample_weight`, so that one call serves both.
    """

    def __init__(self, qid: ArrayLike | None) -> None:
        self.qid: NDArray[Any] | None = None if qid is None else np.asarray(qid)
        self._kept: list[tuple[DataLabels, T]] = []

    @abc.abstractmethod
    def _prepare(self, labels: DataLabels) -> T:
        """Return a function of the scores of rows with these labels."""

    def _read(
        self, y_true: Any, y_pred: Any, sample_weight: Any, group: Any
    ) -> tuple[T, PerRow, bool]:
        """Return the function, the scores, and whether the call was ``(preds, data set)``."""
        is_native = hasattr(y_pred, "get_label")  # a library's data set rather than an array
        if is_native:
            scores, labels = y_true, DataLabels.of(y_pred)
        else:
            scores, labels = y_pred, DataLabels(np.asarray(y_true), sample_weight, group)
        prepared = next((value for earlier, value in self._kept if earlier.same_as(labels)), None)
        if prepared is None:
            prepared = self._prepare(labels)
            self._kept = [(labels, prepared), *self._kept[: _KEPT - 1]]
        return prepared, np.asarray(scores, dtype=np.float64).reshape(-1), is_native

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": []}


def _array_or_none(values: Any) -> NDArray[Any] | None:
    """Return an array, or None if the library has none (XGBoost: an empty one)."""
    array = None if values is None else np.asarray(values)
    return array if array is not None and array.size else None


class Objective(OnData[ScoreSpace]):
    """A podium loss as an objective of LightGBM and of XGBoost, which call it alike."""

    def __init__(self, loss: str | Loss, qid: ArrayLike | None) -> None:
        super().__init__(qid)
        self.loss = losses.as_loss(loss)

    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None, group: Any = None
    ) -> GradHess:
        """Evaluate ``(preds, data set)`` or scikit-learn's ``(y_true, y_pred, …)``."""
        objective, scores, _ = self._read(y_true, y_pred, sample_weight, group)
        return objective(scores)

    def _prepare(self, labels: DataLabels) -> ScoreSpace:
        rows = labels.rows(self.qid, repr(self), one_group=not self.loss.reads_groups)
        return ScoreSpace(self.loss, rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loss!r})"


def lightgbm_objective(loss: str | Loss, *, qid: ArrayLike | None = None) -> Objective:
    """Return any podium loss as an objective of LightGBM.

    Parameters
    ----------
    loss : str or Loss
        A loss or its name, such as ``"pap-ramp@10"``.
    qid : (n_rows,), optional
        The group of each row of the training data, in any order, if LightGBM gets no `group`.

    Returns
    -------
    callable
        An objective for ``lgb.train({"objective": ...}, ...)`` and every estimator of LightGBM.

    Raises
    ------
    ArgumentError
        If the loss is unknown; in training, if the data have no groups, or the loss is defined
        on none of them.

    Notes
    -----
    LightGBM starts at score 0 unless the data set has an `init_score`. Scales and rounding are
    those of `ScoreSpace`. Predict with ``raw_score=True``; the estimators do so automatically.

    Examples
    --------
    >>> lightgbm_objective("pap-ramp@10")
    Objective(PApRamp(k=10, clip=False, min_relevance=1.0))
    """
    return Objective(loss, qid)


def xgboost_objective(loss: str | Loss, *, qid: ArrayLike | None = None) -> Objective:
    """Return any podium loss as an objective of XGBoost.

    Parameters
    ----------
    loss : str or Loss
        A loss or its name, such as ``"pap-ramp@10"``.
    qid : (n_rows,), optional
        The group of each row of the training data, in any order, if the DMatrix has none. The
        estimators need it: XGBRanker refuses callables, and XGBRegressor passes no groups on.

    Returns
    -------
    callable
        An objective for ``xgb.train(..., obj=...)`` and ``xgb.XGBRegressor(objective=...)``.

    Raises
    ------
    ArgumentError
        If `lightgbm_objective` would raise it.

    Notes
    -----
    With a callable, XGBoost starts at a score of 0.5. Pass ``base_score=0`` for a loss that a shift
    of all scores changes, such as the logistic loss.

    Examples
    --------
    >>> xgboost_objective("logistic")
    Objective(Logistic(min_relevance=1.0))
    """
    return Objective(loss, qid)


def _on_grid(values: PerRow, *, positive: bool = False) -> PerRow:
    """Round to multiples of the largest value's float32 spacing; at least one if positive."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return values
    step = 2.0 ** (np.floor(np.log2(largest)) - _BITS)
    values /= step
    np.rint(values, out=values)
    if positive:
        np.maximum(values, 1.0, out=values)
    values *= step
    return values


class _Metric(OnData[MeasureOnRows]):
    """Base of both libraries' metrics."""

    def __init__(self, measure: str | Measure, qid: ArrayLike | None, min_relevance: float) -> None:
        super().__init__(qid)
        self.measure = parse_relevance(measure)
        self.min_relevance = min_relevance
        self.__name__ = str(self.measure)

    def _prepare(self, labels: DataLabels) -> MeasureOnRows:
        rows = labels.rows(self.qid, self.__name__)
        return MeasureOnRows(self.measure, rows, min_relevance=self.min_relevance)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__name__!r})"


class LightGBMMetric(_Metric):
    """A podium measure as a metric of LightGBM; `lightgbm_metric` returns it."""

    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        """Evaluate ``(preds, dataset)`` or scikit-learn's ``(y_true, y_pred, weight, group)``."""
        mean, scores, _ = self._read(y_true, y_pred, sample_weight, group)
        return self.__name__, mean(scores), self.measure.metric.higher_is_better


class XGBoostMetric(_Metric):
    """A podium measure as a metric of XGBoost; `xgboost_metric` returns it."""

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Evaluate ``(preds, dmatrix)`` or scikit-learn's ``(y_true, y_pred, sample_weight)``."""
        mean, scores, is_native = self._read(y_true, y_pred, sample_weight, None)
        return (self.__name__, mean(scores)) if is_native else mean(scores)


def lightgbm_metric(
    measure: str | Measure, *, qid: ArrayLike | None = None, min_relevance: float = 1.0
) -> LightGBMMetric:
    """Return any podium measure as an early-stopping metric of LightGBM.

    Parameters
    ----------
    measure : str or Measure
        A measure, such as ``"pap@10"``; its text is the metric's name.
    qid : (n_rows,), optional
        The group of each row of the validation data, in any order, if LightGBM gets no group.
    min_relevance : float
        The smallest relevance of a positive.

    Returns
    -------
    callable
        A metric for ``lgb.train(..., feval=...)`` and ``fit(..., eval_metric=...)``. Its value is
        the mean over the groups on which the measure is defined, nan if there is none; a group's
        weight is the mean weight of its rows. Ties count as errors.

    Examples
    --------
    >>> lightgbm_metric("pap@10")
    LightGBMMetric('pap@10')
    """
    return LightGBMMetric(measure, qid, min_relevance)


def xgboost_metric(
    measure: str | Measure, *, qid: ArrayLike | None = None, min_relevance: float = 1.0
) -> XGBoostMetric:
    """Return any podium measure as an early-stopping metric of XGBoost.

    Parameters
    ----------
    measure : str or Measure
        A measure, such as ``"pap@10"``; its text is the metric's name.
    qid : (n_rows,), optional
        The group of each row of the validation data, in any order, if the DMatrix has none.
    min_relevance : float
        The smallest relevance of a positive.

    Returns
    -------
    callable
        A metric for ``xgb.train(..., custom_metric=..., maximize=True)``; XGBoost's metrics
        cannot declare that higher is better. With ``xgb.XGBRegressor(eval_metric=...)`` it needs
        `qid` and ``xgb.callback.EarlyStopping(..., maximize=True)``. XGBRanker evaluates metrics
        on single groups and averages them, so use ``xgb.train`` instead. The value is that of
        `lightgbm_metric`.

    Examples
    --------
    >>> xgboost_metric("ndcg@5")
    XGBoostMetric('ndcg@5')
    """
    return XGBoostMetric(measure, qid, min_relevance)
