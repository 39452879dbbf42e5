"""Parameter search over a grid or random draws, by a measure on validation rows.

`search` is the entry point. `candidates` lists the parameters to try, `folds` divides the rows,
`fitting` does one fit (also of pipelines), `running` runs fits in parallel, and `results` holds
the trials.
"""

from podium.tuning.candidates import Integers, LogUniform, Uniform, parse_values
from podium.tuning.defaults import default_grid
from podium.tuning.fitting import fit, last_step
from podium.tuning.folds import SPLITS
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
    "fit",
    "last_step",
    "parse_values",
    "plan",
    "rehearse",
    "search",
]
