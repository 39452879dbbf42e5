"""podium's factorization and other recommenders, tuned with equal budgets, on one data set."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from podium import recommenders, tuning
from podium.catalogue import rank_blocks
from podium.data import splits
from podium.errors import DataError
from podium.evaluation import evaluate
from podium.report import Table
from podium_studies import archive, views
from podium_studies.archive import Pairs, members, required
from podium_studies.cells import key, mean, methods, seed_of, sweep
from podium_studies.recipe import DataSet, Recipe
from podium_studies.rivals.with_implicit import ALS, BPR
from podium_studies.rivals.with_lightfm import WARP
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study
from podium_studies.yun2014.ml1m import mean_gap, read_ids

PODIUM, DEFAULTS = "podium's factorization", "its defaults"

METHODS: dict[str, Callable[[], Any]] = {
    PODIUM: recommenders.Factorization,
    DEFAULTS: recommenders.Factorization,
    "EASE": recommenders.EASE,
    "iALS": lambda: ALS(l2_power=1.0, alpha=10.0, l2=0.003),
    "ItemKNN": recommenders.ItemKNN,
    "BPR": BPR,
    "WARP": WARP,
    "popularity": recommenders.Popularity,
}
"""Every method by its name in tables. All but the defaults are tuned."""

_SMALL = sparse.csr_array(np.kron(np.eye(8), np.ones((8, 8))))
_DEPTH = 40  # the length of recommended lists: twice the largest cutoff

Matrix = sparse.csr_array


@dataclass(frozen=True, eq=False)
class Context:
    """The pairs to learn from and those to measure on, (n_users, n_items) each."""

    train: Matrix[Any]
    test: Matrix[Any]


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Load every method, and read or draw the two parts of the pairs."""
    for name in methods(recipe, METHODS):
        model = METHODS[name]()
        if "n_epochs" in model.get_params():
            model.set_params(n_epochs=1)
        model.fit(_SMALL)  # a missing extra must raise before any cell is computed
    (source,) = recipe.data
    place, expected = paths[source.folder], recipe.parameters["shape"]
    context = _context(recipe.parameters, place, source)
    shape = [*context.train.shape, context.train.nnz, context.test.nnz]
    if expected and shape != expected:
        raise DataError(
            f"{place} has {shape[0]:,} users, {shape[1]:,} items, {shape[2]:,} training pairs and "
            f"{shape[3]:,} test pairs, which is not {source.title}. Download it from {source.url}."
        )
    return context


def _context(settings: Mapping[str, Any], place: Path, source: DataSet) -> Context:
    if settings["format"] == "split":
        return _published(place, source)
    user, item = archive.numbered(*FORMATS[settings["format"]](place, source))
    is_kept = np.bincount(user)[user] >= settings["least"]
    user, item = archive.numbered(user[is_kept], item[is_kept])
    shape = int(user.max()) + 1, int(item.max()) + 1
    split = splits.random(user.size, user=user, test=settings["test"], seed=settings["split_seed"])
    train, test = (
        archive.matrix(user[rows], item[rows], shape) for rows in (split.train, split.test)
    )
    return Context(train, test)


def _published(place: Path, source: DataSet) -> Context:
    """Return the published parts; test pairs that are also training pairs are left out."""
    files = members(place, source.title, source.url)
    rows = [
        archive.lists(required(files, name, place, source.url))
        for name in ("train.txt", "test.txt")
    ]
    users, items = (np.unique(np.concatenate(ids)) for ids in zip(*rows, strict=True))
    train, test = (
        archive.matrix(
            np.searchsorted(users, user), np.searchsorted(items, item), (users.size, items.size)
        )
        for user, item in rows
    )
    for part in (train, test):
        part.data[:] = 1.0  # the matrix has summed repeated pairs
    only_test = test - test.multiply(train)
    only_test.eliminate_zeros()
    return Context(train, sparse.csr_array(only_test))


def _movietweetings(place: Path, source: DataSet) -> Pairs:
    files = members(place, source.title, source.url)
    return archive.pairs(required(files, "ratings.dat", place, source.url), b"::")


FORMATS: dict[str, Callable[[Path, DataSet], Pairs]] = {
    "movielens-1m": read_ids,
    "citeulike-a": archive.counted,
    "movietweetings": _movietweetings,
}
"""Readers of pairs without a published split, by name."""


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
    fits = [
        _measured(recipe, context, model, seed_of(recipe, "test", seed) if is_seeded else None)
        for seed in range(settings["seeds"] if is_seeded else 1)
    ]
    values = {
        measure: np.mean([fit["values"][measure] for fit in fits], axis=0).round(5).tolist()
        for measure in settings["measures"]
    }
    means = {m: [float(fit["means"][m]) for fit in fits] for m in settings["measures"]}
    return {
        "options": _texts(model.get_params()),
        "trials": [{"options": _texts(trial.params), "mean": trial.mean} for trial in trials],
        "trial_seconds": [trial.seconds for trial in trials],
        "values": values,
        "means": means,
        "seconds": [fit["seconds"] for fit in fits],
    }


def _measured(recipe: Recipe, context: Context, model: Any, seed: int | None) -> dict[str, Any]:
    """Fit a method with a seed to the training pairs, and measure it on the test pairs."""
    fitted = deepcopy(model)
    if seed is not None:
        fitted.set_params(random_state=seed)
    start = time.process_time()
    fitted.fit(context.train)
    seconds = time.process_time() - start
    users = np.flatnonzero(np.diff(context.test.indptr))
    lists = rank_blocks(
        fitted.as_scores(users), context.test[users], exclude=context.train[users], depth=_DEPTH
    )
    evaluation = evaluate(lists, recipe.parameters["measures"])
    return {"values": evaluation.values, "means": evaluation.means, "seconds": seconds}


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
        "caption": f"Every fit of the searches: {validation} on validation, processor seconds",
        "columns": ["method", "options", "value", "seconds"],
        "rows": [
            [name, views.listed(trial["options"]), f"{trial['mean']:.4f}", f"{seconds:.1f}"]
            for name, result in results.items()
            for trial, seconds in zip(result["trials"], result["trial_seconds"], strict=True)
        ],
    }
    yield {
        "caption": "The options of the final fits",
        "columns": ["method", "options"],
        "rows": [[name, views.listed(result["options"])] for name, result in results.items()],
    }


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of all methods in a recipe's parameters, on one data set."""
