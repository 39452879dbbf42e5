"""Compare the studies with their record; `--write` replaces it."""

from __future__ import annotations

import sys
from pathlib import Path

from studies.tests.record import names, recipes
from tests.record import fits, scores
from tests.record.__main__ import main
from tests.record.parts import Parts

from podium import losses

list(losses.REGISTRY)  # imports the plugins


def rankers() -> fits.Entries:
    """Yield the baselines, and rankers with the losses of the studies."""
    yield from fits.with_losses("podium_studies")
    baselines = names.baselines
    yield fits.fit(baselines.SVMpAUC, {"k": 3, "max_iter": 30})
    for solver in ("subgradient", "stochastic"):
        options = {"k": 3, "max_iter": 12, "solver": solver}
        yield fits.fit(baselines.SGDAtK, options, validate=True)
    yield fits.fit(baselines.GreedyPAp, {"k": 3})
    yield fits.fit(baselines.SelectPAp, {"k": 3, "max_rounds": 4})
    for per in ("pair", "group"):
        options = {"n_rounds": 10, "per": per}
        yield fits.fit(names.RankBoost, options, validate=True)
        yield fits.fit(names.RankBoost, {**options, "n_thresholds": 5})


def losses_of_studies() -> scores.Entries:
    """Yield the losses of the studies."""
    return scores.losses("podium_studies")


PARTS: Parts = {"losses": losses_of_studies, "rankers": rankers, "recipes": recipes.recipes}

if __name__ == "__main__":
    sys.exit(main(PARTS, Path(__file__).resolve().parent))
