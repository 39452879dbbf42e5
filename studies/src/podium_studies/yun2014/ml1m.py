"""RoBiRank's factorization on MovieLens-1M: quality and times, compared with other recommenders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from podium.executors import Threads
from podium.recommenders import EASE, Factorization, ItemKNN, Popularity
from podium.report import Table
from podium_studies import archive, rivals
from podium_studies.archive import Matrix
from podium_studies.cells import methods, product, repeats, results, seed_of, select, sweep
from podium_studies.rivals.with_implicit import ALS, BPR
from podium_studies.rivals.with_lightfm import WARP
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study
from podium_studies.yun2014 import fits

ROBIRANK = "RoBiRank"
METHODS: dict[str, Callable[..., Any]] = {
    ROBIRANK: partial(Factorization, loss="robirank"),
    "RoBiRank, no rho": partial(Factorization, loss="identity"),
    "RoBiRank, type II": partial(Factorization, loss="type2"),
    "podium's BPR": partial(Factorization, loss="bpr"),
    "ALS": ALS,
    "BPR": BPR,
    "WARP": WARP,
    "EASE": EASE,
    "ItemKNN": ItemKNN,
    "popularity": Popularity,
}
"""Every method by its name in tables."""

_DEPTH = 20  # the length of recommended lists: as much as pap@10 uses


Context: TypeAlias = tuple[archive.Context, archive.Context]
"""The parts of all pairs, and those of the training pairs."""


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Load every method, read the pairs, and divide them as the recipe says."""
    rivals.load(METHODS[name]() for name in recipe.parameters["methods"])
    outer = fits.read(recipe, paths)
    pairs = outer.train.tocoo()
    seed = seed_of(recipe, "validation")
    rows = pairs.row.astype(np.int64), pairs.col.astype(np.int64)
    inner = fits.split(*rows, recipe.parameters["valid"], seed, outer.train.shape)
    return outer, inner


def fit(pairs: Matrix, make: Callable[..., Any], options: Any, seed: int, threads: int) -> Any:
    """Fit a method. Those whose results depend on the number of threads use one thread."""
    model = make(**options)
    if isinstance(model, Factorization):
        return model.set_params(random_state=seed).fit(pairs, executor=Threads(threads))
    if "n_epochs" in model.get_params():
        n_threads = threads if make is ALS else 1
        model.set_params(random_state=seed, n_threads=n_threads)
    return model.fit(pairs)


TUNING, TEST, PASSES = "tuning", "test", "passes"
"""The kinds of cells: one point of a grid, one seed, or one number of passes."""

_TIMES = {"seconds": "seconds", "seconds on the clock": "clock"}
OTHER_CHOICE = "methods whose grid chose other options"


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the grid, the seeds and the numbers of passes of each method."""
    for name in methods(recipe, METHODS):
        yield from sweep(part=[TUNING], method=[name], point=range(len(points(recipe, name))))
        seeds = repeats(recipe) if _passes(recipe, name) else [0]
        yield from sweep(part=[TEST], method=[name], seed=seeds)
        fewer = [n for n in recipe.parameters["passes"] if n < _passes(recipe, name)]
        yield from sweep(part=[PASSES], method=[name], passes=fewer)


def run(recipe: Recipe, context: Context, part: str, method: str, **cell: int) -> Result:
    """Fit a method to the pairs of one part, and measure it on the pairs that were left out."""
    settings = recipe.parameters["methods"][method]
    (outer, inner), chosen = context, settings["chosen"]
    pairs = inner if part == TUNING else outer
    if part == TUNING:
        chosen = points(recipe, method)[cell["point"]]
    options = {**settings["fixed"], **chosen}
    if part == PASSES:
        options["n_epochs"] = cell["passes"]
    seed = seed_of(recipe, TUNING if part == TUNING else TEST, cell.get("seed", 0))
    n_threads, measures = recipe.parameters["threads"], recipe.parameters["measures"]
    fitted = partial(fit, make=METHODS[method], options=options, seed=seed, threads=n_threads)
    result = fits.measured(fitted, pairs.train, pairs.test, measures, _DEPTH)
    values = result.pop("values")
    if part == TUNING:
        return {**result, "options": chosen}
    if part == TEST:
        result["values"] = {measure: row.round(6) for measure, row in values.items()}
    return result


def points(recipe: Recipe, name: str) -> list[dict[str, Any]]:
    """Return every point of a method's grid; [] if it has no grid."""
    grid = recipe.parameters["methods"][name]["grid"]
    return [*product(grid)] if grid else []


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return levels, times, RoBiRank's differences from others, and the number of wrong choices."""
    names, measures = [*recipe.parameters["methods"]], recipe.parameters["measures"]
    runs = {name: _over_seeds(results(cells, part=TEST, method=name), measures) for name in names}
    figures = {**fits.levels(runs, measures, _TIMES), **fits.differences(runs, ROBIRANK, measures)}
    chosen = {name: recipe.parameters["methods"][name]["chosen"] for name in names}
    differing = [name for name in names if best(recipe, cells, name) != chosen[name]]
    figures[OTHER_CHOICE] = Measured(float(len(differing)), n=len(names))
    return figures


def _over_seeds(seeds: Sequence[Result], measures: Iterable[str]) -> dict[str, Any]:
    """Return the means and times of all seeds, and the users' values averaged over seeds."""
    values = {
        m: np.mean([np.array(s["values"][m], float) for s in seeds], axis=0) for m in measures
    }
    means = {m: [s["means"][m] for s in seeds] for m in measures}
    times = {time: [s[time] for s in seeds] for time in _TIMES.values()}
    return {"values": values, "means": means, **times}


def best(recipe: Recipe, cells: Cells, name: str) -> Mapping[str, Any]:
    """Return the best options on validation; among equal ones, the first."""
    trials, measure = results(cells, part=TUNING, method=name), recipe.parameters["validation"]
    if not trials:
        return {}
    return max(trials, key=lambda result: result["means"][measure])["options"]


def by_passes(recipe: Recipe, cells: Cells, name: str) -> dict[int, Result]:
    """Return the result of a method's first seed by its number of passes, if it has one."""
    found = {fields["passes"]: fit for fields, fit in select(cells, part=PASSES, method=name)}
    n_passes = _passes(recipe, name)
    return found | ({n_passes: results(cells, part=TEST, method=name)[0]} if n_passes else {})


def _passes(recipe: Recipe, name: str) -> int:
    """Return the number of passes of a method; 0 if it has none, and draws nothing."""
    return recipe.parameters["methods"][name]["fixed"].get("n_epochs", 0)


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield levels and seconds, differences, and quality and seconds by number of passes."""
    yield from fits.grids(recipe, figures, ROBIRANK, _TIMES)
    validation = recipe.parameters["validation"]
    yield {
        "caption": f"Quality and processor seconds by number of passes, first seed: {validation}",
        "columns": ["method", "passes", validation, "seconds"],
        "rows": [
            [name, n, f"{fit['means'][validation]:.3f}", f"{fit['seconds']:.1f}"]
            for name in recipe.parameters["methods"]
            for n, fit in by_passes(recipe, cells, name).items()
        ],
    }


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of all methods in a recipe's parameters, on one split of its pairs."""
