"""Evaluation of rankings: per group, as a mean with an interval, by segment, and compared.

`evaluate` reads a Ranking; `measure` and `compare` read a truth and runs. All reductions of
values over groups are here, so metrics only return values per group.
"""

from podium.evaluation.comparison import Comparison, align, compare, compare_evaluations
from podium.evaluation.evaluation import Evaluation, fill, per_user
from podium.evaluation.from_runs import divide, evaluate, measure
from podium.evaluation.segments import BUILT_IN, Segment
from podium.evaluation.shown import SHOWN, Shown, coverage_and_novelty, shown_per_user

__all__ = [
    "BUILT_IN",
    "SHOWN",
    "Comparison",
    "Evaluation",
    "Segment",
    "Shown",
    "align",
    "compare",
    "compare_evaluations",
    "coverage_and_novelty",
    "divide",
    "evaluate",
    "fill",
    "measure",
    "per_user",
    "shown_per_user",
]
