"""Rankers: scikit-learn estimators that learn to score rows from losses in score space.

`objective` turns scores into parameters, `solvers` minimise it, `linear` is the estimator,
`neural` the one with hidden units, `boosting` hands losses to LightGBM and XGBoost, `baselines`
are the methods to compare with, and `save` and `load` keep a fitted one in a file that holds no
code.
"""

from podium.rankers._threads import idle_threads_sleep

with idle_threads_sleep():  # scikit-learn brings the OpenMP that XGBoost then shares
    from podium.rankers.baselines import GreedyPAp, LogisticRanker, SelectPAp, SGDAtK, SVMpAUC
    from podium.rankers.boosting import LightGBMRanker, XGBoostRanker
    from podium.rankers.linear import LinearRanker
    from podium.rankers.model_io import load, save
    from podium.rankers.neural import NeuralRanker
    from podium.rankers.solvers import SOLVERS

__all__ = [
    "SOLVERS",
    "GreedyPAp",
    "LightGBMRanker",
    "LinearRanker",
    "LogisticRanker",
    "NeuralRanker",
    "SGDAtK",
    "SVMpAUC",
    "SelectPAp",
    "XGBoostRanker",
    "load",
    "save",
]
