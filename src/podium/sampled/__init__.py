"""Measures of the whole catalogue's ranking from ranks among sampled items.

`SampledRanks` holds what a sampled evaluation observed. An estimator, made with `get` from a text
such as ``bv(gamma=0.1)``, turns it into a `RankDistribution`, whose `expect` gives any measure
that the rank of the target determines, or into the estimate of one measure. `sample_ranks` makes
sampled ranks from scores, `read_ranks`, `read_candidate_scores` and `read_negatives` from files;
`read_seen` reads what users had seen before, which samples leave out.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.sampled.bounds import Bounds, identification_bounds, population_bounds
from podium.sampled.candidates import Candidates, draw_candidates
from podium.sampled.comparing import Difference, SampledComparison, compare
from podium.sampled.design import Design
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators.base import Estimator, LinearEstimator
from podium.sampled.estimators.cls import CLS
from podium.sampled.estimators.least_squares import BV, MN, BVPrior
from podium.sampled.estimators.mes import MES
from podium.sampled.estimators.mle import MLE, likelihood_gap, maximum_likelihood
from podium.sampled.estimators.naive import Naive, UnbiasedRank
from podium.sampled.estimators.recall_map import RecallMap
from podium.sampled.estimators.registry import REGISTRY, get, parse, register, text
from podium.sampled.estimators.smooth import Smooth, SmoothFit
from podium.sampled.estimators.wmle import WMLE
from podium.sampled.evaluating import Estimate, SampledEvaluation, evaluate
from podium.sampled.planning import Plan, PlannedDesign, plan
from podium.sampled.ranks import SampledRanks
from podium.sampled.sampling import sample_ranks, simulate_ranks

if TYPE_CHECKING:
    from podium.sampled.reading.ranks import read_negatives, read_ranks
    from podium.sampled.reading.scores import read_candidate_scores
    from podium.sampled.reading.seen import Seen, read_seen

_HOME = {
    "Seen": "podium.sampled.reading.seen",
    "read_candidate_scores": "podium.sampled.reading.scores",
    "read_negatives": "podium.sampled.reading.ranks",
    "read_ranks": "podium.sampled.reading.ranks",
    "read_seen": "podium.sampled.reading.seen",
}

__all__ = [
    "BV",
    "CLS",
    "MES",
    "MLE",
    "MN",
    "REGISTRY",
    "WMLE",
    "BVPrior",
    "Bounds",
    "Candidates",
    "Design",
    "Difference",
    "Estimate",
    "Estimator",
    "LinearEstimator",
    "Naive",
    "Plan",
    "PlannedDesign",
    "RankDistribution",
    "RecallMap",
    "SampledComparison",
    "SampledEvaluation",
    "SampledRanks",
    "Seen",
    "Smooth",
    "SmoothFit",
    "UnbiasedRank",
    "compare",
    "draw_candidates",
    "evaluate",
    "get",
    "identification_bounds",
    "likelihood_gap",
    "maximum_likelihood",
    "parse",
    "plan",
    "population_bounds",
    "read_candidate_scores",
    "read_negatives",
    "read_ranks",
    "read_seen",
    "register",
    "sample_ranks",
    "simulate_ranks",
    "text",
]


def __getattr__(name: str) -> Any:
    # Polars takes its time, so only who reads a table pays for it.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
