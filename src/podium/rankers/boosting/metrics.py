"""Any measure as an early-stopping metric of LightGBM and of XGBoost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.groups import Groups
from podium.metrics import Measure, parse
from podium.rankers.boosting._rows import Labels, OncePerData, is_data
from podium.rankers.objective import defined_mean
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow


class MeasureOnRows:
    """A measure's mean over the groups of fixed rows, without sorting rows into groups anew.

    Parameters
    ----------
    measure : Measure
    relevance : float64, (n_rows,)
    groups : Groups
    weights : float64, (n_rows,), optional
        A group weighs as much as the mean of its rows.
    min_relevance : float
        Relevance from which a row counts as positive.
    """

    def __init__(
        self,
        measure: Measure,
        relevance: PerRow,
        groups: Groups,
        weights: PerRow | None = None,
        *,
        min_relevance: float = 1.0,
    ) -> None:
        self._measure, self._groups = measure, groups
        self._relevance = groups.gather(relevance)
        labels = None if groups.n_groups == 1 else groups.index
        self._ranked = Ranking.from_scores(
            np.zeros(relevance.size), relevance, labels, min_relevance=min_relevance
        )
        self._share = None if weights is None else _mean_by_group(weights, groups)

    def __call__(self, scores: PerRow) -> float:
        """Return the mean over the groups where it is defined; nan where there is none."""
        known = self._ranked
        ranking = Ranking.from_grouped(
            known.groups,
            self._groups.gather(scores),
            self._relevance.copy(),
            ideal=(known.ideal_offsets, known.ideal),
            n_items=known.n_items,
            min_relevance=known.min_relevance,
        )
        values = self._measure(ranking)
        if self._share is None:
            return defined_mean(values)
        counted = ~np.isnan(values) & (self._share > 0)
        if not counted.any():
            return np.nan
        return float(np.average(values[counted], weights=self._share[counted]))


class _Metric:
    """What the metrics of both libraries share; picklable and copied without its cache."""

    def __init__(self, measure: str | Measure, qid: ArrayLike | None, min_relevance: float) -> None:
        self.measure = parse(measure)
        self.qid: NDArray[Any] | None = None if qid is None else np.asarray(qid)
        self.min_relevance = min_relevance
        self.__name__ = str(self.measure)
        self._prepared: OncePerData[MeasureOnRows] = OncePerData()

    def _at(self, scores: Any, labels: Labels) -> float:
        flat = np.asarray(scores, dtype=np.float64).reshape(-1)
        return self._prepared(labels, self._prepare)(flat)

    def _prepare(self, labels: Labels) -> MeasureOnRows:
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
    """What `lightgbm_metric` returns."""

    def __call__(
        self, y_true: Any, y_pred: Any, weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        """Serve ``(preds, dataset)`` and scikit-learn's ``(y_true, y_pred, weight, group)``."""
        if is_data(y_pred):
            value = self._at(y_true, Labels.of(y_pred))
        else:
            value = self._at(y_pred, Labels(np.asarray(y_true), weight, group))
        return self.__name__, value, self.measure.metric.higher_is_better


class XGBoostMetric(_Metric):
    """What `xgboost_metric` returns."""

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Serve ``(preds, dmatrix)`` and scikit-learn's ``(y_true, y_pred, sample_weight)``."""
        if is_data(y_pred):
            return self.__name__, self._at(y_true, Labels.of(y_pred))
        return self._at(y_pred, Labels(np.asarray(y_true), sample_weight))


def lightgbm_metric(
    measure: str | Measure, *, qid: ArrayLike | None = None, min_relevance: float = 1.0
) -> LightGBMMetric:
    """Make any podium measure an early-stopping metric of LightGBM.

    Parameters
    ----------
    measure : str or Measure
        For example ``"pap@10"``; its text is the metric's name.
    qid : (n_rows,), optional
        Group of each row of the validation data, in any order, where LightGBM has no group.
    min_relevance : float
        Relevance from which a row counts as positive.

    Returns
    -------
    callable
        For ``lgb.train(..., feval=...)`` and ``fit(..., eval_metric=...)``. The value is the
        mean over the groups where the measure is defined, nan where there is none; a group
        weighs as much as the mean weight of its rows. Ties count as errors.

    Examples
    --------
    >>> lightgbm_metric("pap@10")
    LightGBMMetric('pap@10')
    """
    return LightGBMMetric(measure, qid, min_relevance)


def xgboost_metric(
    measure: str | Measure, *, qid: ArrayLike | None = None, min_relevance: float = 1.0
) -> XGBoostMetric:
    """Make any podium measure an early-stopping metric of XGBoost.

    Parameters
    ----------
    measure : str or Measure
        For example ``"pap@10"``; its text is the metric's name.
    qid : (n_rows,), optional
        Group of each row of the validation data, in any order, where the DMatrix has none.
    min_relevance : float
        Relevance from which a row counts as positive.

    Returns
    -------
    callable
        For ``xgb.train(..., custom_metric=..., maximize=True)``: XGBoost can't be told by the
        metric that higher is better. With ``xgb.XGBRegressor(eval_metric=...)`` it needs `qid`
        and ``xgb.callback.EarlyStopping(..., maximize=True)``. XGBRanker averages metrics of
        single groups, so give those to ``xgb.train`` instead. The value is as in
        `lightgbm_metric`.

    Examples
    --------
    >>> xgboost_metric("ndcg@5")
    XGBoostMetric('ndcg@5')
    """
    return XGBoostMetric(measure, qid, min_relevance)


def _mean_by_group(weights: PerRow, groups: Groups) -> PerGroup:
    return np.bincount(groups.index, weights, groups.n_groups) / np.maximum(groups.sizes, 1)
