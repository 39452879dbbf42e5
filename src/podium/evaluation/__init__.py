"""Evaluation of rankings: per group, as a mean with an interval, by segment, and compared.

`evaluate` reads a Ranking; `measure` and `compare` read a truth and runs. All reductions of
values over groups are here, so metrics only return values per group.
"""

from podium.evaluation.alignment import align, merge
from podium.evaluation.comparison import PAIRS, Comparison, Difference, compare_evaluations
from podium.evaluation.evaluation import Evaluation, fill, per_user_columns
from podium.evaluation.from_rankings import evaluate
from podium.evaluation.from_runs import measure, measure_runs
from podium.evaluation.of_part import measure_part
from podium.evaluation.segments import BUILT_IN, Segment, divide
from podium.evaluation.several_runs import compare
from podium.evaluation.shown import check_tables
from podium.evaluation.unjudged import (
    DifferenceBounds,
    UnjudgedRange,
    difference_bounds,
    judgement_bounds,
    labels_to_settle,
    range_of_mean,
)

__all__ = [
    "BUILT_IN",
    "PAIRS",
    "Comparison",
    "Difference",
    "DifferenceBounds",
    "Evaluation",
    "Segment",
    "UnjudgedRange",
    "align",
    "check_tables",
    "compare",
    "compare_evaluations",
    "difference_bounds",
    "divide",
    "evaluate",
    "fill",
    "judgement_bounds",
    "labels_to_settle",
    "measure",
    "measure_part",
    "measure_runs",
    "merge",
    "per_user_columns",
    "range_of_mean",
]
