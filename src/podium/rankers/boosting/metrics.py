"""Any measure as an early-stopping metric of LightGBM and XGBoost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.metrics import Measure
from podium.metrics.measures import parse_relevance
from podium.rankers.boosting.objectives import DataLabels, OnData
from podium.rankers.validation import MeasureOnRows


class _Metric(OnData[MeasureOnRows]):
    """Base of both libraries' metrics."""

    def __init__(self, measure: str | Measure, qid: ArrayLike | None, min_relevance: float) -> None:
        super().__init__(qid)
        self.measure = parse_relevance(measure)
        self.min_relevance = min_relevance
        self.__name__ = str(self.measure)

    def _prepare(self, labels: DataLabels) -> MeasureOnRows:
        groups = labels.groups(self.qid, self.__name__)
        return MeasureOnRows(
            self.measure,
            labels.relevance.astype(np.float64),
            groups,
            labels.row_weights(groups),
            min_relevance=self.min_relevance,
        )

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
