"""Compare the studies with their record; `--write` replaces it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from studies.tests.record import names, recipes
from tests.record import fits, scores
from tests.record.__main__ import main
from tests.record.parts import Parts

from podium import losses
from podium.recommenders import REGISTRY

list(losses.REGISTRY)  # imports the plugins


def rankers() -> fits.Entries:
    """Yield the baselines, and rankers with the losses of the studies."""
    yield from fits.with_losses("podium_studies")
    baselines = names.baselines
    yield fits.fit(baselines.SVMpAUC, {"k": 3, "max_iter": 30})
    yield fits.fit(baselines.GreedyPAp, {"k": 3})
    yield fits.fit(baselines.SelectPAp, {"k": 3, "max_rounds": 4})
    for per in ("pair", "group"):
        options = {"n_rounds": 10, "per": per}
        yield fits.fit(names.RankBoost, options, validate=True)
        yield fits.fit(names.RankBoost, {**options, "n_thresholds": 5})


def losses_of_studies() -> scores.Entries:
    """Yield the losses of the studies."""
    return scores.losses("podium_studies")


def recommenders() -> fits.Entries:
    """Yield the rivals whose packages are installed."""
    kinds: Any = REGISTRY
    if fits.is_there("implicit"):
        yield fits.recommended("ALS", kinds["als"](8, l2=1.0, alpha=5.0))
        yield fits.recommended("BPR", kinds["bpr"](8, learning_rate=0.1, n_epochs=10))
    if fits.is_there("cornac") and fits.is_there("torch"):
        short_fit = {"learning_rate": 0.02, "n_epochs": 3}
        yield fits.recommended("MultiVAE", kinds["multi-vae"](4, 8, batch_size=20, **short_fit))
        yield fits.recommended("NeuMF", kinds["neumf"]((8, 4), batch_size=256, **short_fit))


PARTS: Parts = {
    "losses": losses_of_studies,
    "rankers": rankers,
    "recipes": recipes.recipes,
    "recommenders": recommenders,
}

if __name__ == "__main__":
    sys.exit(main(PARTS, Path(__file__).resolve().parent))
