"""Parameter search over a grid or random draws, by a measure on validation rows or pairs.

`search` is the entry point for rankers and recommenders. `candidates` lists the parameters to try.
`trials` decides which candidate gets which fit, `running` runs fits in parallel, `resuming` keeps
finished fits in a file, and `results` holds the trials. `of_rows` fits and measures rankers on
`folds` of rows, and `of_pairs` recommenders on `pairs`; `fitting` does one fit (also of pipelines).
"""

from podium.tuning.candidates import Integers, LogUniform, Uniform, default_grid, parse_values
from podium.tuning.fitting import fit, last_step, rehearse
from podium.tuning.of_rows import SPLITS
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
    "fit",
    "last_step",
    "parse_values",
    "plan",
    "rehearse",
    "search",
]
