"""Rankers: scikit-learn estimators that learn to score rows with podium's losses.

`objective` makes the objective of a linear model from a loss of scores, and `solvers` minimise it.
`linear` is the linear estimator, `neural` the one with hidden units, `boosting` passes losses to
LightGBM and XGBoost, and `logistic` is the plain baseline. `save` and `load` keep a fitted ranker
in a file without code. `get` makes any ranker from its name.
"""

from podium.rankers._threads import idle_threads_sleep

with idle_threads_sleep():  # scikit-learn loads the OpenMP library that XGBoost then shares
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
