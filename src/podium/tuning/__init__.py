"""Parameter search over a grid or random draws, by a measure on validation rows or pairs.

`search` is the entry point for rankers. `candidates` lists the parameters to try, `folds` divides
the rows, `fitting` does one fit (also of pipelines), `running` runs fits in parallel, and `results`
holds the trials.

`search_recommender` is the entry point for recommenders. `pairs` divides the pairs and measures on
them, `halving` decides which candidate gets which passes, and `resuming` keeps the finished fits
in a file.
"""

from podium.tuning.candidates import Integers, LogUniform, Uniform, parse_values
from podium.tuning.defaults import default_grid, default_space
from podium.tuning.fitting import fit, last_step
from podium.tuning.folds import SPLITS
from podium.tuning.recommending import search_recommender
from podium.tuning.rehearsing import rehearse
from podium.tuning.results import Interrupted, Search, Trial
from podium.tuning.searching import plan, search

__all__ = [
    "SPLITS",
    "Integers",
    "Interrupted",
    "LogUniform",
    "Search",
    "Trial",
    "Uniform",
    "default_grid",
    "default_space",
    "fit",
    "last_step",
    "parse_values",
    "plan",
    "rehearse",
    "search",
    "search_recommender",
]
