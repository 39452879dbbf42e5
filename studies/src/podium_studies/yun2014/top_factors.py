"""podium's factorization and other recommenders, tuned with equal budgets, on one data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from podium import tuning
from podium.recommenders import EASE, Factorization, ItemKNN, Popularity
from podium.report import Table
from podium_studies import rivals, views
from podium_studies.archive import Context
from podium_studies.cells import key, methods, seed_of, sweep
from podium_studies.rivals.with_implicit import ALS, BPR
from podium_studies.rivals.with_lightfm import WARP
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study
from podium_studies.yun2014 import fits

PODIUM, DEFAULTS = "podium's factorization", "its defaults"

METHODS: dict[str, Callable[[], Any]] = {
    PODIUM: lambda: Factorization(prior=0.0),  # the tables are older than the prior
    DEFAULTS: lambda: Factorization(prior=0.0),
    "EASE": EASE,
    "iALS": lambda: ALS(l2_power=1.0, alpha=10.0, l2=0.003),
    "ItemKNN": ItemKNN,
    "BPR": BPR,
    "WARP": WARP,
    "popularity": Popularity,
}
"""Every method by its name in tables. All but the defaults are tuned."""

_TIMES = {"seconds": "seconds"}
_DEPTH = 40  # the length of recommended lists: twice the largest cutoff


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Load every method, and read or draw the two parts of the pairs."""
    rivals.load(METHODS[name]() for name in methods(recipe, METHODS))
    return fits.read(recipe, paths)


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield one key per method: it is tuned, fitted with each seed, and measured."""
    return sweep(method=methods(recipe, METHODS))


def run(recipe: Recipe, context: Context, method: str) -> Result:
    """Tune a method on a part of the training pairs, and measure its fits on the test pairs."""
    name, settings = method, recipe.parameters
    model, trials = METHODS[name]().for_data(context.train), ()
    if name != DEFAULTS:
        options = {"measure": settings["validation"], "seed": seed_of(recipe, "search")}
        options |= settings["search"]
        search = tuning.search(METHODS[name](), context.train, refit=False, **options)
        model.set_params(**search.best_params)
        trials = [trial for trial in search.trials if not trial.error]
    is_seeded, measures = "random_state" in model.get_params(), settings["measures"]
    runs: list[dict[str, Any]] = []
    for seed in range(settings["seeds"] if is_seeded else 1):
        fitted = deepcopy(model)
        if is_seeded:
            fitted.set_params(random_state=seed_of(recipe, "test", seed))
        runs.append(fits.measured(fitted.fit, context.train, context.test, measures, _DEPTH))
    values = {m: np.mean([run["values"][m] for run in runs], axis=0) for m in measures}
    means = {m: [float(run["means"][m]) for run in runs] for m in measures}
    return {
        "options": _texts(model.get_params()),
        "trials": [{"options": _texts(trial.params), "mean": trial.mean} for trial in trials],
        "trial_seconds": [trial.seconds for trial in trials],
        "values": {m: mean.round(5).tolist() for m, mean in values.items()},
        "means": means,
        "seconds": [run["seconds"] for run in runs],
    }


def _texts(options: Mapping[str, Any]) -> dict[str, Any]:
    plain = int, float, str, bool, type(None)
    return {n: v if isinstance(v, plain) else str(v) for n, v in options.items()}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return levels, seconds, podium's differences from others, and the defaults' share."""
    measures, figures = recipe.parameters["measures"], dict[str, Measured]()
    results = {name: cells[key(method=name)] for name in recipe.parameters["methods"]}
    for name, result in results.items():
        figures |= fits.levels({name: result}, measures, _TIMES)
        figures[f"{name}, fits of the search"] = Measured(float(len(result["trials"])))
    figures |= fits.differences(results, PODIUM, measures)
    for measure in measures:
        default, tuned = (figures[f"{name} {measure}"].value for name in (DEFAULTS, PODIUM))
        figures[f"defaults / tuned {measure}"] = Measured(default / tuned)
    return figures


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield levels and seconds, differences, and chosen options."""
    yield from fits.grids(recipe, figures, PODIUM, _TIMES)
    chosen = {n: [cells[key(method=n)]["options"]] for n in recipe.parameters["methods"]}
    yield views.chosen("Final fits", chosen)


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of all methods in a recipe's parameters, on one data set."""
