"""What pAp@k's surrogates are compared with, all called as `LinearRanker` is.

Each scores rows by ``X @ coef_ + intercept_``, so that what differs is how it was learned.
"""

from podium.papers.hiranandani2020.baselines.greedy import GreedyPAp
from podium.papers.hiranandani2020.baselines.precision import PrecisionAverage, SGDAtK
from podium.papers.hiranandani2020.baselines.select import SelectPAp
from podium.papers.hiranandani2020.baselines.svm import SVMpAUC

__all__ = ["GreedyPAp", "PrecisionAverage", "SGDAtK", "SVMpAUC", "SelectPAp"]
