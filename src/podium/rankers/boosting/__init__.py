"""Boosted trees on podium's losses and measures: LightGBM and XGBoost, extra ``boosting``.

`lightgbm_objective` and `xgboost_objective` turn any loss into an objective of these libraries;
`lightgbm_metric` and `xgboost_metric` turn any measure into a metric for early stopping.
`LightGBMRanker` and `XGBoostRanker` are estimators with podium's `fit`, `predict` and files.
"""

from podium.rankers.boosting.lightgbm import LightGBMRanker
from podium.rankers.boosting.objectives import (
    lightgbm_metric,
    lightgbm_objective,
    xgboost_metric,
    xgboost_objective,
)
from podium.rankers.boosting.xgboost import XGBoostRanker

__all__ = [
    "LightGBMRanker",
    "XGBoostRanker",
    "lightgbm_metric",
    "lightgbm_objective",
    "xgboost_metric",
    "xgboost_objective",
]
