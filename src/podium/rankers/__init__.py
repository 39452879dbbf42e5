"""Rankers: scikit-learn estimators that learn to score rows from losses in score space.

`objective` turns scores into parameters, `solvers` minimise it, `linear` is the estimator, and
`save` and `load` keep one in a file that holds no code.
"""

from podium.rankers.linear import LinearRanker
from podium.rankers.model_io import load, save
from podium.rankers.solvers import SOLVERS

__all__ = ["SOLVERS", "LinearRanker", "load", "save"]
