"""RoBiRank's factors on MovieLens-1M: quality and seconds, beside those of other recommenders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium import _check, data
from podium.catalogue import rankings
from podium.data import splits
from podium.data.archive import members, pick
from podium.errors import DataError
from podium.evaluation import Evaluation, evaluate
from podium.experiments.papers import _robirank_ml1m_figures, _robirank_ml1m_page
from podium.experiments.papers._robirank_ml1m_figures import (
    PASSES,
    TEST,
    TUNING,
    fewer_passes,
    points,
)
from podium.experiments.papers._robirank_ml1m_methods import METHODS, Pairs, fit, load
from podium.experiments.recipe import DataSet, Recipe
from podium.experiments.study import Result, Study, generator, key, parts
from podium.recommenders import scores_of

_DEPTH = 20  # of a list: what pap@10 reads of it

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Context:
    """Pairs of all users x all items, in parts: those of `train` are `learn` and `valid`."""

    train: Pairs
    test: Pairs
    learn: Pairs
    valid: Pairs


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Load every method, read the pairs, and divide them as the recipe says."""
    given = recipe.parameters
    for name in given["methods"]:
        load(name)  # what is not installed shall not be told after half of the cells
    user, item = _pairs(recipe, paths[given["folder"]])
    shape = int(user.max()) + 1, int(item.max()) + 1
    split = splits.random(user.size, user=user, test=given["test"], seed=given["split_seed"])
    seed = int(generator(recipe, "validation").integers(2**31))
    again = splits.random(split.train.size, user=user[split.train], test=given["valid"], seed=seed)

    def part(rows: Ints) -> Pairs:
        table = (np.ones(rows.size, np.float32), (user[rows], item[rows]))
        return sparse.csr_array(table, shape=shape)

    learn, valid = split.train[again.train], split.train[again.test]
    return Context(part(split.train), part(split.test), part(learn), part(valid))


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: each method's grid, its seeds, and its seconds by passes."""
    return [*_cells(recipe)]


def _cells(recipe: Recipe) -> Iterator[str]:
    for name in recipe.parameters["methods"]:
        method = METHODS[_check.choice(name, "methods", list(METHODS))]
        for point in range(len(points(recipe, name))):
            yield key(part=TUNING, method=name, point=point)
        for seed in range(recipe.repeats or 1 if method.draws else 1):
            yield key(part=TEST, method=name, seed=seed)
        for n in fewer_passes(recipe, name):
            yield key(part=PASSES, method=name, passes=n)


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Fit a method to the pairs of a part, and measure it on those that were left out."""
    asked = parts(cell)
    name, part = asked["method"], asked["part"]
    options = dict(recipe.parameters["methods"][name]["fixed"])
    if part == TUNING:
        chosen = points(recipe, name)[int(asked["point"])]
        seed = _seed(recipe, TUNING, 0)
        found = _measured(recipe, name, {**options, **chosen}, seed, context.learn, context.valid)
        return found.means() | {"options": chosen}
    options |= recipe.parameters["methods"][name]["chosen"]
    if part == PASSES:
        options["n_epochs"] = int(asked["passes"])
    seed = _seed(recipe, TEST, int(asked.get("seed", 0)))
    found = _measured(recipe, name, options, seed, context.train, context.test)
    return found.means() if part == PASSES else found.means() | {"values": found.by_user()}


@dataclass(frozen=True, eq=False)
class _Measured:
    """A fitted model's values for each user, and the seconds of its training."""

    evaluation: Evaluation
    seconds: float
    clock: float

    def means(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "clock": self.clock,
            "means": self.evaluation.means,
        }

    def by_user(self) -> dict[str, Any]:
        return {each: values.round(6) for each, values in self.evaluation.values.items()}


def _measured(
    recipe: Recipe,
    name: str,
    options: Mapping[str, Any],
    seed: int,
    pairs: Pairs,
    left_out: Pairs,
) -> _Measured:
    timed = fit(name, pairs, seed, recipe.parameters["threads"], options)
    lists = rankings(scores_of(timed.model), left_out, exclude=pairs, depth=_DEPTH)
    return _Measured(evaluate(lists, recipe.parameters["measures"]), timed.cpu, timed.clock)


def _seed(recipe: Recipe, purpose: str, index: int) -> int:
    return int(generator(recipe, purpose, index).integers(2**31))


def _pairs(recipe: Recipe, path: Path) -> tuple[Ints, Ints]:
    """Return numbers of users and items from 0, in rising order of user id and then item id."""
    user, item = _ids(path, recipe.data[0])
    order = np.lexsort((item, user))
    user, item = user[order], item[order]
    wanted = recipe.parameters["sha256"]
    if wanted and _sum(user, item) != wanted:
        raise DataError(
            f"{path} holds {user.size} pairs that are not those of {recipe.data[0].title}. Fetch "
            f"it from {recipe.data[0].url}."
        )
    return np.unique(user, return_inverse=True)[1], np.unique(item, return_inverse=True)[1]


def _ids(path: Path, source: DataSet) -> tuple[Ints, Ints]:
    """Read what GroupLens publishes, or a file of the pairs alone."""
    file = pick(members(path, source.title, source.url), ["pairs.csv"])
    if file is None:
        ratings = data.movielens(path, "1m")
        return np.asarray(ratings.user), np.asarray(ratings.item)
    with file.open() as stream:
        table = np.loadtxt(stream, np.int64, delimiter=",", skiprows=1)
    return table[:, 0], table[:, 1]


def _sum(user: Ints, item: Ints) -> str:
    lines = "".join(f"{u},{i}\n" for u, i in zip(user.tolist(), item.tolist(), strict=True))
    return hashlib.sha256(f"user_id,item_id\n{lines}".encode()).hexdigest()


STUDY = Study(
    cells=cells,
    run=run,
    fold=_robirank_ml1m_figures.fold,
    prepare=prepare,
    plots=_robirank_ml1m_page.plots,
    tables=_robirank_ml1m_page.tables,
)
"""All methods that a recipe's parameters name, on one split of its pairs."""
