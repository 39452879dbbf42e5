"""podium's factorization and other recommenders, tuned with equal budgets, on one data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from podium import tuning
from podium.recommenders import EASE, Factorization, ItemKNN, Popularity
from podium.report import Table
from podium_studies import views
from podium_studies.cells import key, mean, methods, seed_of, sweep
from podium_studies.recipe import Recipe
from podium_studies.rivals.with_implicit import ALS, BPR
from podium_studies.rivals.with_lightfm import WARP
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study
from podium_studies.yun2014 import fits
from podium_studies.yun2014.fits import Context, mean_gap, measured

PODIUM, DEFAULTS = "podium's factorization", "its defaults"

METHODS: dict[str, Callable[[], Any]] = {
    PODIUM: Factorization,
    DEFAULTS: Factorization,
    "EASE": EASE,
    "iALS": lambda: ALS(l2_power=1.0, alpha=10.0, l2=0.003),
    "ItemKNN": ItemKNN,
    "BPR": BPR,
    "WARP": WARP,
    "popularity": Popularity,
}
"""Every method by its name in tables. All but the defaults are tuned."""

_DEPTH = 40  # the length of recommended lists: twice the largest cutoff


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Load every method, and read or draw the two parts of the pairs."""
    fits.load(METHODS[name]() for name in methods(recipe, METHODS))
    return fits.read(recipe, paths)


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield one key per method: it is tuned, fitted with each seed, and measured."""
    return sweep(method=methods(recipe, METHODS))


def run(recipe: Recipe, context: Context, method: str) -> Result:
    """Tune a method on a part of the training pairs, and measure its fits on the test pairs."""
    name, settings = method, recipe.parameters
    model, trials = METHODS[name]().for_data(context.train), ()
    if name != DEFAULTS:
        search = tuning.search(
            METHODS[name](),
            context.train,
            measure=settings["validation"],
            refit=False,
            seed=seed_of(recipe, "search"),
            **settings["search"],
        )
        model.set_params(**search.best_params)
        trials = [trial for trial in search.trials if not trial.error]
    is_seeded = "random_state" in model.get_params()
    runs = [
        _measured(recipe, context, model, seed_of(recipe, "test", seed) if is_seeded else None)
        for seed in range(settings["seeds"] if is_seeded else 1)
    ]
    values = {
        measure: np.mean([run["values"][measure] for run in runs], axis=0).round(5).tolist()
        for measure in settings["measures"]
    }
    means = {m: [float(run["means"][m]) for run in runs] for m in settings["measures"]}
    return {
        "options": _texts(model.get_params()),
        "trials": [{"options": _texts(trial.params), "mean": trial.mean} for trial in trials],
        "trial_seconds": [trial.seconds for trial in trials],
        "values": values,
        "means": means,
        "seconds": [run["seconds"] for run in runs],
    }


def _measured(recipe: Recipe, context: Context, model: Any, seed: int | None) -> dict[str, Any]:
    """Fit a method with a seed to the training pairs, and measure it on the test pairs."""
    fitted = deepcopy(model)
    if seed is not None:
        fitted.set_params(random_state=seed)
    measures = recipe.parameters["measures"]
    return measured(fitted.fit, context.train, context.test, measures, _DEPTH)


def _texts(options: Mapping[str, Any]) -> dict[str, Any]:
    plain = int, float, str, bool, type(None)
    return {n: v if isinstance(v, plain) else str(v) for n, v in options.items()}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return levels, seconds, podium's differences from others, and the defaults' share."""
    figures: dict[str, Measured] = {}
    results = {name: cells[key(method=name)] for name in recipe.parameters["methods"]}
    for name, result in results.items():
        for measure in recipe.parameters["measures"]:
            figures[f"{name} {measure}"] = mean(result["means"][measure])
        figures[f"{name}, seconds"] = mean(result["seconds"])
        figures[f"{name}, fits of the search"] = Measured(float(len(result["trials"])))
    for name in _others(recipe):
        for measure in recipe.parameters["measures"]:
            figures[f"{PODIUM} − {name} {measure}"] = _difference(
                results[PODIUM], results[name], measure
            )
    for measure in recipe.parameters["measures"]:
        default, tuned = (figures[f"{name} {measure}"].value for name in (DEFAULTS, PODIUM))
        figures[f"defaults / tuned {measure}"] = Measured(default / tuned)
    return figures


def _others(recipe: Recipe) -> list[str]:
    return [name for name in recipe.parameters["methods"] if name != PODIUM]


def _difference(one: Result, other: Result, measure: str) -> Measured:
    """Return the mean difference over users; its error includes the variance of the seeds."""
    gaps = np.array(one["values"][measure], float) - np.array(other["values"][measure], float)
    return mean_gap(gaps, [one["means"][measure], other["means"][measure]])


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield levels and seconds, differences, every trial of the searches, and chosen options."""
    measures, validation = [*recipe.parameters["measures"]], recipe.parameters["validation"]
    falling = views.falling(recipe.parameters["methods"], figures, validation)
    columns = {**{m: f" {m}" for m in measures}, "seconds": ", seconds"}
    title = f"Mean over seeds on the test pairs, best first by {validation}; processor seconds"
    yield Grid(title, falling, columns, "{}{}", digits=4)
    title = f"{PODIUM} less another method for the same users, with 95 % intervals"
    others = [name for name in falling if name != PODIUM]
    gaps = Grid(title, others, measures, f"{PODIUM} − {{}} {{}}", "gap", digits=4, head="other")
    yield gaps
    nearest = [name for name in others if name != "popularity"]
    yield replace(gaps, rows=nearest, text="", plot="intervals", axis="difference")
    results = {name: cells[key(method=name)] for name in recipe.parameters["methods"]}
    yield {
        "caption": "The options of the final fits",
        "columns": ["method", "options"],
        "rows": [[name, views.listed(result["options"])] for name, result in results.items()],
    }


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of all methods in a recipe's parameters, on one data set."""
