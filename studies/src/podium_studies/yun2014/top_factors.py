"""podium's factorization and other recommenders, tuned with equal budgets, on one data set."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from podium import recommenders, tuning
from podium.catalogue import rank_blocks
from podium.data import splits
from podium.data.archive import members, required
from podium.errors import DataError
from podium.evaluation import evaluate
from podium.report import Figure, Table
from podium_studies import interactions, views
from podium_studies.interactions import Pairs
from podium_studies.recipe import DataSet, Recipe
from podium_studies.study import (
    Cells,
    Figures,
    Measured,
    Result,
    Study,
    key,
    mean,
    methods,
    parts,
    seed_of,
)
from podium_studies.yun2014.ml1m import read_ids

PODIUM, DEFAULTS = "podium's factorization", "its defaults"

METHODS: dict[str, Callable[[], Any]] = {
    PODIUM: recommenders.Factorization,
    DEFAULTS: recommenders.Factorization,
    "EASE": recommenders.EASE,
    "iALS": lambda: recommenders.ALS(l2_power=1.0, alpha=10.0, l2=0.003),
    "ItemKNN": recommenders.ItemKNN,
    "BPR": recommenders.BPR,
    "WARP": recommenders.WARP,
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
    user, item = interactions.numbered(*FORMATS[settings["format"]](place, source))
    is_kept = np.bincount(user)[user] >= settings["least"]
    user, item = interactions.numbered(user[is_kept], item[is_kept])
    shape = int(user.max()) + 1, int(item.max()) + 1
    split = splits.random(user.size, user=user, test=settings["test"], seed=settings["split_seed"])
    train, test = (
        interactions.matrix(user[rows], item[rows], shape) for rows in (split.train, split.test)
    )
    return Context(train, test)


def _published(place: Path, source: DataSet) -> Context:
    """Return the published parts; test pairs that are also training pairs are left out."""
    files = members(place, source.title, source.url)
    rows = [
        interactions.lists(required(files, [name], place, source.url))
        for name in ("train.txt", "test.txt")
    ]
    users, items = (np.unique(np.concatenate(ids)) for ids in zip(*rows, strict=True))
    train, test = (
        interactions.matrix(
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
    return interactions.columns(required(files, ["ratings.dat"], place, source.url), b"::")


FORMATS: dict[str, Callable[[Path, DataSet], Pairs]] = {
    "movielens-1m": read_ids,
    "citeulike-a": interactions.counted,
    "movietweetings": _movietweetings,
}
"""Readers of pairs without a published split, by name."""


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield one key per method: it is tuned, fitted with each seed, and measured."""
    for name in methods(recipe, METHODS):
        yield key(method=name)


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Tune a method on a part of the training pairs, and measure its fits on the test pairs."""
    name, settings = parts(cell)["method"], recipe.parameters
    model, trials = METHODS[name]().for_data(context.train), ()
    if name != DEFAULTS:
        search = tuning.search_recommender(
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
    gaps = gaps[np.isfinite(gaps)]
    variance = float(gaps.var(ddof=1)) / gaps.size
    for result in (one, other):
        means = result["means"][measure]
        variance += float(np.var(means, ddof=1)) / len(means) if len(means) > 1 else 0.0
    return Measured(float(gaps.mean()), variance**0.5, int(gaps.size))


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield the differences of podium's factorization from the nearest other methods."""
    del cells
    others = views.falling(_others(recipe), figures, recipe.parameters["validation"])
    caption = "podium's factorization less the other method, same users, with 95 % intervals."
    title = "Gain of podium's factorization over other recommenders"
    nearest = [name for name in others if name != "popularity"]
    yield views.gaps(
        title, figures, PODIUM, nearest, recipe.parameters["measures"], caption=caption
    )


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield tables of levels and seconds, of differences, and of every trial of the searches."""
    measures, validation = [*recipe.parameters["measures"]], recipe.parameters["validation"]
    falling = views.falling(recipe.parameters["methods"], figures, validation)

    def level(name: str, end: str) -> str:
        result = figures[f"{name}{end}"]
        return views.level(result, 4) if end.strip() in measures else f"{result.value:.1f}"

    yield views.table(
        f"Mean over seeds on the test pairs ± standard error, best first by {validation}; "
        "processor seconds of a fit",
        "method",
        falling,
        {**{m: f" {m}" for m in measures}, "seconds": ", seconds"},
        level,
    )
    yield views.table(
        f"{PODIUM} less another method for the same users, with intervals of 95 %",
        "other",
        [name for name in falling if name != PODIUM],
        measures,
        lambda name, measure: views.gap(figures[f"{PODIUM} − {name} {measure}"], 4),
    )
    yield {
        "caption": f"Every fit of the searches: {validation} on validation, processor seconds",
        "columns": ["method", "options", "value", "seconds"],
        "rows": [*_trials(recipe, cells)],
    }
    yield {
        "caption": "The options of the final fits",
        "columns": ["method", "options"],
        "rows": [
            [name, _listed(cells[key(method=name)]["options"])]
            for name in recipe.parameters["methods"]
        ],
    }


def _trials(recipe: Recipe, cells: Cells) -> Iterator[Sequence[str]]:
    for name in recipe.parameters["methods"]:
        result = cells[key(method=name)]
        for trial, seconds in zip(result["trials"], result["trial_seconds"], strict=True):
            yield [name, _listed(trial["options"]), f"{trial['mean']:.4f}", f"{seconds:.1f}"]


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{option} {value}" for option, value in options.items())


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""The study of all methods in a recipe's parameters, on one data set."""
