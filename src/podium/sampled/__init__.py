"""Estimates of measures over the whole catalogue, from ranks among sampled items.

`SampledRanks` holds the observations of a sampled evaluation. `get` makes an estimator from a text
such as ``bv(gamma=0.1)``. From sampled ranks, an estimator computes a `RankDistribution`, whose
method `expect` returns any measure that the rank of the target determines. Some estimators only
compute the estimate of one measure. `sample_ranks` makes sampled ranks from scores, and `read`
reads them from tables and files. `read_seen` reads the items that users had seen before, if these
were not sampled. `evaluate` estimates measures of one model. `compare` estimates measures of
several models and their differences. `plan` computes how many items to sample. `scan` ranks the
targets of an expensive model with the help of a cheap proxy. `draw_candidates` chooses the items
to score, for models that score once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.sampled.bounds import identification_bounds
from podium.sampled.candidates import Candidates, draw_candidates
from podium.sampled.design import Design
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators import REGISTRY, Estimator, LinearEstimator, get, parse, register
from podium.sampled.estimators.least_squares import BV, CLS
from podium.sampled.estimators.likeliest import MES, MLE, WMLE
from podium.sampled.estimators.smooth import Smooth, SmoothFit
from podium.sampled.evaluating import compare, evaluate
from podium.sampled.planning import Plan, plan
from podium.sampled.ranks import SampledRanks, ScannedRanks
from podium.sampled.results import Difference, Estimate, SampledComparison, SampledEvaluation
from podium.sampled.sampling import sample_ranks, simulate_ranks
from podium.sampled.scanning.scan import scan
from podium.sampled.shared import SharedRanks

if TYPE_CHECKING:
    from podium.sampled.reading import SampleReader, read
    from podium.sampled.reading.seen import read_seen

__all__ = [
    "BV",
    "CLS",
    "MES",
    "MLE",
    "REGISTRY",
    "WMLE",
    "Candidates",
    "Design",
    "Difference",
    "Estimate",
    "Estimator",
    "LinearEstimator",
    "Plan",
    "RankDistribution",
    "SampleReader",
    "SampledComparison",
    "SampledEvaluation",
    "SampledRanks",
    "ScannedRanks",
    "SharedRanks",
    "Smooth",
    "SmoothFit",
    "compare",
    "draw_candidates",
    "evaluate",
    "get",
    "identification_bounds",
    "parse",
    "plan",
    "read",
    "read_seen",
    "register",
    "sample_ranks",
    "scan",
    "simulate_ranks",
]


def __getattr__(name: str) -> Any:
    # The readers of tables import Polars, which takes time.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return vars(import_module("podium.sampled.reading"))[name]
