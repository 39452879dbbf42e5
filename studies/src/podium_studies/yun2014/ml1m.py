"""RoBiRank's factorization on MovieLens-1M: quality and times, compared with other recommenders."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium import recommenders
from podium.catalogue import rank_blocks
from podium.data import splits
from podium.errors import DataError
from podium.evaluation import evaluate
from podium.executors import Threads
from podium.report import Figure, Table
from podium_studies import archive, views
from podium_studies.archive import Ints, members, movielens, pick
from podium_studies.cells import mean, methods, product, repeats, results, seed_of, select, sweep
from podium_studies.recipe import DataSet, Recipe
from podium_studies.rivals.with_implicit import ALS, BPR
from podium_studies.rivals.with_lightfm import WARP
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study

Options: TypeAlias = Mapping[str, Any]
Pairs: TypeAlias = "sparse.csr_array[Any]"

ROBIRANK = "RoBiRank"


@dataclass(frozen=True)
class Method:
    """A recommender.

    Attributes
    ----------
    fit : (pairs, seed, threads, options) -> fitted model
    form : bool
        Whether it is RoBiRank or podium's factorization with another loss.
    passes : bool
        Whether it uses a seed, and as many passes as the option n_epochs.
    """

    fit: Callable[[Pairs, int, int, Options], Any]
    form: bool = False
    passes: bool = True


def load(name: str) -> None:
    """Fit a method to small data, to load its code; raise an error if an extra is missing."""
    METHODS[name].fit(_SMALL, 0, 1, {"n_epochs": 1} if METHODS[name].passes else {})


def _robirank(loss: str) -> Method:
    def fitted(pairs: Pairs, seed: int, threads: int, options: Options) -> Any:
        model = recommenders.Factorization(loss=loss, random_state=seed, **options)
        return model.fit(pairs, executor=Threads(threads))

    return Method(fitted, form=True)


def _factors(make: Callable[..., Any], *, same_by_threads: bool) -> Method:
    def fitted(pairs: Pairs, seed: int, threads: int, options: Options) -> Any:
        n_threads = threads if same_by_threads else 1
        return make(random_state=seed, n_threads=n_threads, **options).fit(pairs)

    return Method(fitted)


def _fixed(make: Callable[..., Any]) -> Method:
    def fitted(pairs: Pairs, seed: int, threads: int, options: Options) -> Any:
        del seed, threads  # these methods draw nothing, and BLAS sets its own threads
        return make(**options).fit(pairs)

    return Method(fitted, passes=False)


_SMALL = sparse.csr_array(np.kron(np.eye(8), np.ones((8, 8))))

METHODS: dict[str, Method] = {
    ROBIRANK: _robirank("robirank"),
    "RoBiRank, no rho": _robirank("identity"),
    "RoBiRank, type II": _robirank("type2"),
    "podium's BPR": _robirank("bpr"),
    "ALS": _factors(ALS, same_by_threads=True),
    "BPR": _factors(BPR, same_by_threads=False),
    "WARP": _factors(WARP, same_by_threads=False),
    "EASE": _fixed(recommenders.EASE),
    "ItemKNN": _fixed(recommenders.ItemKNN),
    "popularity": _fixed(recommenders.Popularity),
}
"""Every method by its name in tables."""


_DEPTH = 20  # the length of recommended lists: as much as pap@10 uses


@dataclass(frozen=True, eq=False)
class Context:
    """Parts of the pairs, (n_users, n_items) each; `train` is the union of `learn` and `valid`."""

    train: Pairs
    test: Pairs
    learn: Pairs
    valid: Pairs


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Load every method, read the pairs, and divide them as the recipe says."""
    settings = recipe.parameters
    for name in settings["methods"]:
        load(name)  # a missing extra must raise before any cell is computed
    user, item = _pairs(recipe, paths[settings["folder"]])
    shape = int(user.max()) + 1, int(item.max()) + 1
    split = splits.random(user.size, user=user, test=settings["test"], seed=settings["split_seed"])
    validation_seed = seed_of(recipe, "validation")
    inner_split = splits.random(
        split.train.size, user=user[split.train], test=settings["valid"], seed=validation_seed
    )

    def part(rows: Ints) -> Pairs:
        table = (np.ones(rows.size, np.float32), (user[rows], item[rows]))
        return sparse.csr_array(table, shape=shape)

    learn, valid = split.train[inner_split.train], split.train[inner_split.test]
    return Context(part(split.train), part(split.test), part(learn), part(valid))


TUNING, TEST, PASSES = "tuning", "test", "passes"
"""The kinds of cells: one point of a grid, one seed, or one number of passes."""

OTHER_CHOICE = "methods whose grid chose other options"


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the grid, the seeds and the numbers of passes of each method."""
    for name in methods(recipe, METHODS):
        yield from sweep(part=[TUNING], method=[name], point=range(len(points(recipe, name))))
        seeds = repeats(recipe) if METHODS[name].passes else [0]
        yield from sweep(part=[TEST], method=[name], seed=seeds)
        yield from sweep(part=[PASSES], method=[name], passes=fewer_passes(recipe, name))


def run(recipe: Recipe, context: Context, part: str, method: str, **cell: int) -> Result:
    """Fit a method to the pairs of one part, and measure it on the pairs that were left out."""
    name = method
    settings = recipe.parameters["methods"][name]
    chosen, pairs, left_out = settings["chosen"], context.train, context.test
    if part == TUNING:
        chosen = points(recipe, name)[cell["point"]]
        pairs, left_out = context.learn, context.valid
    options = {**settings["fixed"], **chosen}
    if part == PASSES:
        options["n_epochs"] = cell["passes"]
    seed = seed_of(recipe, TUNING if part == TUNING else TEST, cell.get("seed", 0))
    cpu, clock = time.process_time(), time.perf_counter()
    model = METHODS[name].fit(pairs, seed, recipe.parameters["threads"], options)
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    lists = rank_blocks(model.as_scores(), left_out, exclude=pairs, depth=_DEPTH)
    evaluation = evaluate(lists, recipe.parameters["measures"])
    result = {"seconds": cpu, "clock": clock, "means": evaluation.means}
    if part == TUNING:
        return {**result, "options": chosen}
    if part == PASSES:
        return result
    return {
        **result,
        "values": {measure: row.round(6) for measure, row in evaluation.values.items()},
    }


def _pairs(recipe: Recipe, path: Path) -> tuple[Ints, Ints]:
    """Return the users and items numbered from 0, sorted by user id and then by item id."""
    user, item = read_ids(path, recipe.data[0])
    order = np.lexsort((item, user))
    user, item = user[order], item[order]
    checksum = recipe.parameters["sha256"]
    if checksum and _checksum(user, item) != checksum:
        raise DataError(
            f"{path} has {user.size} pairs, which are not those of {recipe.data[0].title}. "
            f"Download it from {recipe.data[0].url}."
        )
    return np.unique(user, return_inverse=True)[1], np.unique(item, return_inverse=True)[1]


def read_ids(path: Path, source: DataSet) -> tuple[Ints, Ints]:
    """Return the ids of the users and items of MovieLens 1M, in any order.

    Read the publisher's files, or a file that contains only the pairs.
    """
    file = pick(members(path, source.title, source.url), ["pairs.csv"])
    if file is None:
        ratings = movielens(path, "1m")
        return np.asarray(ratings.user), np.asarray(ratings.item)
    return archive.pairs(file, b",", skip=1)


def _checksum(user: Ints, item: Ints) -> str:
    lines = "".join(f"{u},{i}\n" for u, i in zip(user.tolist(), item.tolist(), strict=True))
    return hashlib.sha256(f"user_id,item_id\n{lines}".encode()).hexdigest()


def points(recipe: Recipe, name: str) -> list[dict[str, Any]]:
    """Return every point of a method's grid; [] if it has no grid."""
    grid: Mapping[str, Any] = recipe.parameters["methods"][name]["grid"]
    return [*product(grid)] if grid else []


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return levels, times, RoBiRank's differences from others, and the number of wrong choices."""
    figures: dict[str, Measured] = {}
    names = [*recipe.parameters["methods"]]
    for name in names:
        fits = results(cells, part=TEST, method=name)
        for measure in recipe.parameters["measures"]:
            figures[f"{name} {measure}"] = mean(fitted["means"][measure] for fitted in fits)
        figures[f"{name}, seconds"] = mean(fitted["seconds"] for fitted in fits)
        figures[f"{name}, seconds on the clock"] = mean(fitted["clock"] for fitted in fits)
    for name in compared(recipe):
        for measure in recipe.parameters["measures"]:
            figures[f"{ROBIRANK} − {name} {measure}"] = difference(cells, name, measure)
    differing = [name for name in names if best(recipe, cells, name) != _chosen(recipe, name)]
    figures[OTHER_CHOICE] = Measured(float(len(differing)), n=len(names))
    return figures


def compared(recipe: Recipe) -> list[str]:
    """Return the methods that RoBiRank is compared with: all others."""
    return [name for name in recipe.parameters["methods"] if name != ROBIRANK]


def difference(cells: Cells, other: str, measure: str) -> Measured:
    """Return the mean difference RoBiRank − `other` over users, each averaged over its seeds."""
    one, two = (
        np.array([r["values"][measure] for r in results(cells, part=TEST, method=name)], np.float64)
        for name in (ROBIRANK, other)
    )
    seeds = [np.nanmean(values, axis=1) for values in (one, two)]
    return mean_gap(one.mean(axis=0) - two.mean(axis=0), seeds)


def mean_gap(gaps: NDArray[np.float64], seeds: Iterable[Any]) -> Measured:
    """Return the mean of the users' gaps that are defined.

    The squared standard error is the sum of the variances over users and over the seeds of both
    methods; `seeds` has the means of each method by seed.
    """
    gaps = gaps[np.isfinite(gaps)]
    variance = float(gaps.var(ddof=1)) / gaps.size
    for means in seeds:
        variance += float(np.var(means, ddof=1)) / len(means) if len(means) > 1 else 0.0
    return Measured(float(gaps.mean()), math.sqrt(variance), int(gaps.size))


def best(recipe: Recipe, cells: Cells, name: str) -> Mapping[str, Any]:
    """Return the best options on validation; among equal ones, the first."""
    trials, measure = results(cells, part=TUNING, method=name), recipe.parameters["validation"]
    if not trials:
        return {}
    return max(trials, key=lambda result: result["means"][measure])["options"]


def fewer_passes(recipe: Recipe, name: str) -> list[int]:
    """Return the numbers of passes of additional fits, which are below a method's own number."""
    if not METHODS[name].passes:
        return []
    return [n for n in recipe.parameters["passes"] if n < _passes(recipe, name)]


def by_passes(recipe: Recipe, cells: Cells, name: str) -> Iterator[tuple[int, Result]]:
    """Yield a method's numbers of passes and the result of each, for its first seed."""
    for key_parts, result in select(cells, part=PASSES, method=name):
        yield key_parts["passes"], result
    if METHODS[name].passes:
        yield _passes(recipe, name), results(cells, part=TEST, method=name)[0]


def _passes(recipe: Recipe, name: str) -> int:
    return int(recipe.parameters["methods"][name]["fixed"]["n_epochs"])


def _chosen(recipe: Recipe, name: str) -> Mapping[str, Any]:
    return recipe.parameters["methods"][name]["chosen"]


_LEAST = 0.01  # the lower end of the logarithmic axis, in seconds
_NEAREST = 6  # methods per figure; worse ones would compress the scale


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Figure | Table]:
    """Yield levels and seconds, differences, quality by passes and by seconds, and grids."""
    names, validation = recipe.parameters["methods"], recipe.parameters["validation"]
    measures, falling = [*recipe.parameters["measures"]], views.falling(names, figures, validation)
    seconds = {"processor": ", seconds", "clock": ", seconds on the clock"}
    title = f"Mean over seeds on the test pairs, best first by {validation}; seconds of training"
    yield Grid(title, falling, {**{m: f" {m}" for m in measures}, **seconds}, "{}{}", digits=4)
    title = "RoBiRank less another method for the same users, with 95 % intervals"
    others = [name for name in falling if name != ROBIRANK]
    gaps = Grid(title, others, measures, f"{ROBIRANK} − {{}} {{}}", text="gap", head="other")
    yield gaps
    yield replace(gaps, rows=others[:_NEAREST], text="", plot="intervals", axis="difference")
    reached = {name: dict(by_passes(recipe, cells, name)) for name in names}
    yield {
        "caption": f"Quality and processor seconds by number of passes, first seed: {validation}",
        "columns": ["method", "passes", validation, "seconds"],
        "rows": [
            [name, n, f"{fit['means'][validation]:.3f}", f"{fit['seconds']:.1f}"]
            for name, fits in reached.items()
            for n, fit in fits.items()
        ],
    }
    forms = [name for name in names if METHODS[name].form]
    rivals = [ROBIRANK, *(name for name in names if name not in forms)]
    for title, chosen, measure in (
        ("RoBiRank and other recommenders", rivals, validation),
        ("RoBiRank and other recommenders", rivals, measures[0]),
        ("RoBiRank and its other losses", forms, validation),
    ):
        series: list[views.Row] = []
        for name in chosen:
            fits = [*reached[name].values()] or results(cells, part=TEST, method=name)[:1]
            x = [max(fit["seconds"], _LEAST) for fit in fits]
            series.append(views.curve(name, x, [fit["means"][measure] for fit in fits]))
        yield views.lines(
            f"{title}: {measure} against seconds of training",
            series,
            "processor seconds of training",
            measure,
            log_x=True,
            caption="Each point is a separate fit with a number of passes.",
        )
    best_of = {name: best(recipe, cells, name) for name in names}
    yield {
        "caption": f"Every point of the grids: {validation} on validation, and processor seconds",
        "columns": ["method", "options", "value", "seconds", "chosen"],
        "rows": [
            [
                name,
                views.listed(fit["options"]),
                f"{fit['means'][validation]:.4f}",
                f"{fit['seconds']:.1f}",
                "✓" if fit["options"] == best_of[name] else "",
            ]
            for name in names
            for fit in results(cells, part=TUNING, method=name)
        ],
    }


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of all methods in a recipe's parameters, on one split of its pairs."""
