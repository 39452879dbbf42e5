"""Losses of podium as objectives of LightGBM and XGBoost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss
from podium.rankers import _draws, fitting
from podium.rankers.boosting._rows import Labels, OnData
from podium.rankers.objective import Labels as OnRows
from podium.rankers.objective import defined_mean
from podium.types import PerRow

GradHess: TypeAlias = tuple[PerRow, PerRow]  # gradient and Hessian by row, for one boosting round

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
        If the loss is defined on no group, or draws its target anew.
    """

    def __init__(self, loss: Loss, rows: OnRows) -> None:
        if loss.redraws:
            name = loss.name
            raise ArgumentError(
                f"boosting does not support {name}(ties=redrawn), which draws a new order in each "
                f"epoch. Use {name}(ties=fixed), or (ties=averaged)."
            )
        self.loss = loss
        weights = rows.weights
        keys = {} if rows.drawn is None else _draws.keys_option(loss, rows, 0)
        self.target: Any = loss.prepare(rows.relevance, rows.groups, weights=weights, **keys)
        self.scale = float(rows.relevance.size if weights is None else weights.sum())
        self.objective = np.nan
        fitting.require_trainable(loss, self.target, rows.groups)

    def __call__(self, scores: PerRow) -> GradHess:
        """Return the gradient and the positive Hessian, float64, (n_rows,), at these scores."""
        values, grad, hess = self.loss.value_grad_and_curvature(scores, self.target)
        self.objective = defined_mean(values)
        return _on_grid(grad * self.scale), _on_grid(hess * self.scale, positive=True)


def without_data(objective: ScoreSpace) -> Callable[[Any, Any], GradHess]:
    """Return the objective as a callback with a data set as second argument, which is unused."""

    def call(scores: Any, _: Any) -> GradHess:
        return objective(np.asarray(scores, dtype=np.float64).reshape(-1))

    return call


class _Objective(OnData[ScoreSpace]):
    """Base of both libraries' objectives."""

    def __init__(self, loss: str | Loss, qid: ArrayLike | None) -> None:
        super().__init__(qid)
        self.loss = losses.as_loss(loss)

    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None, group: Any = None
    ) -> GradHess:
        """Evaluate ``(preds, data set)`` or scikit-learn's ``(y_true, y_pred, …)``."""
        objective, scores, _ = self._read(y_true, y_pred, sample_weight, group)
        return objective(scores)

    def _prepare(self, labels: Labels) -> ScoreSpace:
        rowwise = not self.loss.reads_groups
        if rowwise and self.qid is None and labels.sizes is None:
            groups = Groups.single(labels.relevance.size)
        else:
            groups = labels.groups(self.qid, repr(self))
        relevance = labels.relevance.astype(np.float64)
        return ScoreSpace(self.loss, OnRows(relevance, groups, labels.row_weights(groups)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loss!r})"


class LightGBMObjective(_Objective):
    """A podium loss as an objective of LightGBM; `lightgbm_objective` returns it."""


class XGBoostObjective(_Objective):
    """A podium loss as an objective of XGBoost; `xgboost_objective` returns it."""


def lightgbm_objective(loss: str | Loss, *, qid: ArrayLike | None = None) -> LightGBMObjective:
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
    LightGBMObjective(PApRamp(k=10, clip=False, min_relevance=1.0))
    """
    return LightGBMObjective(loss, qid)


def xgboost_objective(loss: str | Loss, *, qid: ArrayLike | None = None) -> XGBoostObjective:
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
    XGBoostObjective(Logistic(per='row', min_relevance=1.0))
    """
    return XGBoostObjective(loss, qid)


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
