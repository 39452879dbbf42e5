"""The baselines of pAp@k's surrogates, with the interface of `LinearRanker`.

All baselines score rows by ``X @ coef_``. They differ only in how they learn it. SGD@k-avg is
`LinearRanker` with the loss `surrogates.PrecisionAverage`, "prec-avg@k".
"""

from podium_studies.hiranandani2020.baselines.greedy import GreedyPAp
from podium_studies.hiranandani2020.baselines.select import SelectPAp
from podium_studies.hiranandani2020.baselines.svm import SVMpAUC

__all__ = ["GreedyPAp", "SVMpAUC", "SelectPAp"]
