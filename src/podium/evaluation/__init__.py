"""Evaluation of rankings: per group, as a mean with an interval, by segment, and compared.

`evaluate` reads a Ranking; `measure` and `compare` read a truth and runs. All reductions of
values over groups are here, so metrics only return values per group.
"""

from podium.evaluation.alignment import merge
from podium.evaluation.comparison import Comparison, Difference, compare_evaluations
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_rankings import evaluate
from podium.evaluation.from_runs import measure
from podium.evaluation.in_parts import measure_part
from podium.evaluation.scorer import make_scorer
from podium.evaluation.segments import Segment
from podium.evaluation.unjudged import (
    DifferenceBounds,
    UnjudgedRange,
    difference_bounds,
    judgement_bounds,
    labels_to_settle,
)
from podium.evaluation.users import divide

__all__ = [
    "Comparison",
    "Difference",
    "DifferenceBounds",
    "Evaluation",
    "Segment",
    "UnjudgedRange",
    "compare_evaluations",
    "difference_bounds",
    "divide",
    "evaluate",
    "judgement_bounds",
    "labels_to_settle",
    "make_scorer",
    "measure",
    "measure_part",
    "merge",
]
