"""Evaluation of rankings: per group, as a mean with an interval, by segment, and compared.

`evaluate` reads a Ranking; `measure` and `compare` read a truth and runs. All reductions of
values over groups are here, so metrics only return values per group.
"""

from podium.evaluation.comparison import Comparison, compare, compare_evaluations
from podium.evaluation.evaluation import Evaluation, per_user
from podium.evaluation.from_runs import divide, evaluate, measure
from podium.evaluation.segments import BUILT_IN, Segment
from podium.evaluation.shown import coverage_and_novelty

__all__ = [
    "BUILT_IN",
    "Comparison",
    "Evaluation",
    "Segment",
    "compare",
    "compare_evaluations",
    "coverage_and_novelty",
    "divide",
    "evaluate",
    "measure",
    "per_user",
]
