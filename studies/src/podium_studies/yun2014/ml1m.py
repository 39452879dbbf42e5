"""RoBiRank's factorization on MovieLens-1M: quality and times, compared with other recommenders."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium import data
from podium.catalogue import rank_blocks
from podium.data import splits
from podium.data.archive import members, pick
from podium.errors import DataError
from podium.evaluation import evaluate
from podium.report import Figure, Table
from podium_studies import views
from podium_studies.interactions import Ints, columns
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
    product,
    seed_of,
)
from podium_studies.views import select
from podium_studies.yun2014.ml1m_methods import METHODS, ROBIRANK, Pairs, load

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
        for point in range(len(points(recipe, name))):
            yield key(part=TUNING, method=name, point=point)
        for seed in range(recipe.repeats or 1 if METHODS[name].passes else 1):
            yield key(part=TEST, method=name, seed=seed)
        for n in fewer_passes(recipe, name):
            yield key(part=PASSES, method=name, passes=n)


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Fit a method to the pairs of one part, and measure it on the pairs that were left out."""
    key_parts = parts(cell)
    name, part = key_parts["method"], key_parts["part"]
    settings = recipe.parameters["methods"][name]
    chosen, pairs, left_out = settings["chosen"], context.train, context.test
    if part == TUNING:
        chosen = points(recipe, name)[int(key_parts["point"])]
        pairs, left_out = context.learn, context.valid
    options = {**settings["fixed"], **chosen}
    if part == PASSES:
        options["n_epochs"] = int(key_parts["passes"])
    seed = seed_of(recipe, TUNING if part == TUNING else TEST, int(key_parts.get("seed", 0)))
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
        ratings = data.movielens(path, "1m")
        return np.asarray(ratings.user), np.asarray(ratings.item)
    return columns(file, b",", skip=1)


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
        results = [result for _, result in select(cells, part=TEST, method=name)]
        for measure in recipe.parameters["measures"]:
            figures[f"{name} {measure}"] = mean(fitted["means"][measure] for fitted in results)
        figures[f"{name}, seconds"] = mean(fitted["seconds"] for fitted in results)
        figures[f"{name}, seconds on the clock"] = mean(fitted["clock"] for fitted in results)
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
    """Return the mean difference RoBiRank − `other` over users, each averaged over its seeds.

    The squared standard error is the sum of the variances over users and over the seeds of both
    methods.
    """
    robirank_values, other_values = (_by_user(cells, name, measure) for name in (ROBIRANK, other))
    gaps = robirank_values.mean(axis=0) - other_values.mean(axis=0)
    gaps = gaps[np.isfinite(gaps)]
    user_variance = float(gaps.var(ddof=1)) / gaps.size
    error = math.sqrt(
        user_variance + _seed_variance(robirank_values) + _seed_variance(other_values)
    )
    return Measured(float(gaps.mean()), error, int(gaps.size))


def best(recipe: Recipe, cells: Cells, name: str) -> Mapping[str, Any]:
    """Return the best options on validation; among equal ones, the first."""
    results = [result for _, result in select(cells, part=TUNING, method=name)]
    measure = recipe.parameters["validation"]
    if not results:
        return {}
    return max(results, key=lambda result: result["means"][measure])["options"]


def fewer_passes(recipe: Recipe, name: str) -> list[int]:
    """Return the numbers of passes of additional fits, which are below a method's own number."""
    if not METHODS[name].passes:
        return []
    return [n for n in recipe.parameters["passes"] if n < _passes(recipe, name)]


def by_passes(recipe: Recipe, cells: Cells, name: str) -> Iterator[tuple[int, Result]]:
    """Yield a method's numbers of passes and the result of each, for its first seed."""
    for key_parts, result in select(cells, part=PASSES, method=name):
        yield int(key_parts["passes"]), result
    yield _passes(recipe, name), select(cells, part=TEST, method=name)[0][1]


def in_passes(recipe: Recipe) -> list[str]:
    """Return the methods that learn in passes."""
    return [name for name in recipe.parameters["methods"] if METHODS[name].passes]


def _passes(recipe: Recipe, name: str) -> int:
    return int(recipe.parameters["methods"][name]["fixed"]["n_epochs"])


def _chosen(recipe: Recipe, name: str) -> Mapping[str, Any]:
    return recipe.parameters["methods"][name]["chosen"]


def _by_user(cells: Cells, name: str, measure: str) -> NDArray[np.float64]:
    """Return the values of users, (n_seeds, n_users)."""
    rows = [result["values"][measure] for _, result in select(cells, part=TEST, method=name)]
    return np.array(rows, np.float64)


def _seed_variance(values: NDArray[np.float64]) -> float:
    """Return the variance of the mean over seeds; 0 if there is only one."""
    means = np.nanmean(values, axis=1)
    return float(means.var(ddof=1)) / means.size if means.size > 1 else 0.0


_LEAST = 0.01  # the lower end of the logarithmic axis, in seconds
_NEAREST = 6  # methods per figure; worse ones would compress the scale


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield plots of quality against seconds, of rivals and of forms, and of differences."""
    forms = [name for name in recipe.parameters["methods"] if METHODS[name].form]
    rivals = [ROBIRANK, *(name for name in recipe.parameters["methods"] if name not in forms)]
    validation, measures = recipe.parameters["validation"], recipe.parameters["measures"]
    for names, measure, title in (
        (rivals, validation, "RoBiRank and other recommenders"),
        (rivals, measures[0], "RoBiRank and other recommenders"),
        (forms, validation, "RoBiRank and its other losses"),
    ):
        yield _curves(recipe, cells, figures, names, measure, title)
    nearest = views.falling(compared(recipe), figures, validation)[:_NEAREST]
    caption = "RoBiRank less the other method for the same users, with 95 % intervals."
    title = "Gain of RoBiRank over the best other methods"
    yield views.gaps(title, figures, ROBIRANK, nearest, measures, caption=caption)


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield tables of levels and seconds, differences, quality by passes, and grids."""
    measures = [*recipe.parameters["measures"]]
    validation, passes = recipe.parameters["validation"], recipe.parameters["passes"]
    falling = views.falling(recipe.parameters["methods"], figures, validation)
    seconds = {"processor": ", seconds", "clock": ", seconds on the clock"}

    def level(name: str, end: str) -> str:
        result = figures[f"{name}{end}"]
        return f"{result.value:.1f}" if end in seconds.values() else views.level(result, 4)

    yield views.table(
        f"Mean over seeds on the test pairs ± standard error, best first by {validation}, and "
        "seconds of training",
        "method",
        falling,
        {**{m: f" {m}" for m in measures}, **seconds},
        level,
    )
    yield views.table(
        "RoBiRank less another method for the same users, with intervals of 95 %",
        "other",
        [name for name in falling if name != ROBIRANK],
        measures,
        lambda name, measure: views.gap(figures[f"{ROBIRANK} − {name} {measure}"]),
    )
    reached = {name: dict(by_passes(recipe, cells, name)) for name in in_passes(recipe)}

    def by_number(name: str, n: int | None) -> str:
        last = max(reached[name])
        result = reached[name].get(last if n is None else n) if n is None or n < last else None
        return (
            "" if result is None else f"{result['means'][validation]:.3f} ({result['seconds']:.1f})"
        )

    yield views.table(
        f"Quality and processor seconds by number of passes, first seed: {validation} (seconds)",
        "method",
        reached,
        {**{str(n): n for n in passes}, "all": None},
        by_number,
    )
    yield {
        "caption": f"Every point of the grids: {validation} on validation, and processor seconds",
        "columns": ["method", "options", "value", "seconds", "chosen"],
        "rows": [*_grid(recipe, cells)],
    }


def _grid(recipe: Recipe, cells: Cells) -> Iterator[list[str]]:
    measure = recipe.parameters["validation"]
    for name in recipe.parameters["methods"]:
        chosen = best(recipe, cells, name)
        for _, result in select(cells, part=TUNING, method=name):
            text = ", ".join(f"{option} {value}" for option, value in result["options"].items())
            value, seconds = result["means"][measure], result["seconds"]
            mark = "✓" if result["options"] == chosen else ""
            yield [name, text, f"{value:.4f}", f"{seconds:.1f}", mark]


def _curves(
    recipe: Recipe,
    cells: Cells,
    figures: Figures,
    names: Sequence[str],
    measure: str,
    title: str,
) -> Figure:
    def curve(name: str) -> views.Row:
        if name not in in_passes(recipe):
            x, y = figures[f"{name}, seconds"].value, figures[f"{name} {measure}"].value
            return views.curve(name, [max(x, _LEAST)], [y])
        results = [result for _, result in by_passes(recipe, cells, name)]
        seconds = (max(result["seconds"], _LEAST) for result in results)
        return views.curve(name, seconds, (result["means"][measure] for result in results))

    counts = ", ".join(map(str, recipe.parameters["passes"]))
    return views.lines(
        f"{title}: {measure} against seconds of training",
        map(curve, names),
        "processor seconds of training",
        measure,
        log_x=True,
        caption=f"Each point is a separate fit, with {counts} or all passes. A method without "
        "passes has a single point.",
    )


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""The study of all methods in a recipe's parameters, on one split of its pairs."""
