"""Baselines: what pAp@k's surrogates are compared with, all called as `LinearRanker` is.

Each scores rows by ``X @ coef_ + intercept_``, so that what differs is how it was learned; but
`RankBoost` adds up thresholds on single features.
"""

from podium.rankers.baselines._descent import SGDAtK
from podium.rankers.baselines._greedy import GreedyPAp
from podium.rankers.baselines._grids import GRIDS
from podium.rankers.baselines._precision import PrecisionAverage
from podium.rankers.baselines._rankboost import RankBoost
from podium.rankers.baselines._select import SelectPAp
from podium.rankers.baselines._svm import SVMpAUC
from podium.rankers.logistic import LogisticRanker

__all__ = [
    "GRIDS",
    "GreedyPAp",
    "LogisticRanker",
    "PrecisionAverage",
    "RankBoost",
    "SGDAtK",
    "SVMpAUC",
    "SelectPAp",
]
