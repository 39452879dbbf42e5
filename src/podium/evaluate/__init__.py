"""Measures over rankings: per group, in the mean with an interval, by segment, and compared.

`evaluate` reads a Ranking; `measure` and `compare` start from a truth and runs. Everything that
reduces values over groups is here, so that a metric never has to.
"""

from podium.evaluate.comparison import Comparison, compare, compare_evaluations
from podium.evaluate.evaluation import Evaluation
from podium.evaluate.measuring import evaluate, measure
from podium.evaluate.segments import Segment

__all__ = [
    "Comparison",
    "Evaluation",
    "Segment",
    "compare",
    "compare_evaluations",
    "evaluate",
    "measure",
]
