"""Parameter search over a grid or random draws, by a measure on validation rows or pairs.

`search` is the entry point for rankers and recommenders. `candidates` lists the parameters to try.
`trials` decides which candidate gets which fit; `parallel` runs fits at the same time, and
`fit_file` keeps finished ones; `results` holds the trials. `of_rows` fits and measures rankers on
folds of rows, and `of_pairs` recommenders on pairs; `fitting` does one fit (also of pipelines).
"""

from podium.tuning.candidates import Integers, LogUniform, Uniform, default_grid
from podium.tuning.fitting import fit
from podium.tuning.results import Interrupted, Search, Trial
from podium.tuning.searching import search

__all__ = [
    "Integers",
    "Interrupted",
    "LogUniform",
    "Search",
    "Trial",
    "Uniform",
    "default_grid",
    "fit",
    "search",
]
