"""Rankers: scikit-learn estimators that learn to score rows from losses in score space.

`objective` turns scores into parameters, `solvers` minimise it, `linear` is the estimator,
`neural` the one with hidden units, `boosting` hands losses to LightGBM and XGBoost, `logistic` is
the plain baseline, and `save` and `load` keep a fitted one in a file that holds no code. More
baselines are in `podium.papers`; `get` makes any of them from its name.
"""

from podium.rankers._threads import idle_threads_sleep

with idle_threads_sleep():  # scikit-learn brings the OpenMP that XGBoost then shares
    from podium.rankers.boosting import LightGBMRanker, XGBoostRanker
    from podium.rankers.linear import LinearRanker
    from podium.rankers.logistic import LogisticRanker
    from podium.rankers.model_io import load, save
    from podium.rankers.neural import NeuralRanker
    from podium.rankers.registry import REGISTRY, get, parse, register
    from podium.rankers.solvers import SOLVERS

__all__ = [
    "REGISTRY",
    "SOLVERS",
    "LightGBMRanker",
    "LinearRanker",
    "LogisticRanker",
    "NeuralRanker",
    "XGBoostRanker",
    "get",
    "load",
    "parse",
    "register",
    "save",
]
