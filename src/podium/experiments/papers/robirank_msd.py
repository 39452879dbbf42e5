"""RoBiRank's factors of the Million Song Dataset's taste profile: quality against seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.catalogue import rank_blocks
from podium.data.archive import members, required
from podium.evaluation import evaluate
from podium.executors import Threads
from podium.experiments.papers import _robirank_msd_page as page
from podium.experiments.papers._robirank_msd_data import Split, hold_out, read
from podium.experiments.recipe import Recipe
from podium.experiments.study import Result, Study, generator, key, parts
from podium.recommenders import Factorization

FILE = "train_triplets.txt"
POPULARITY = "popularity"
"""The method that shows every user what most have heard."""


@dataclass(frozen=True, eq=False)
class Context:
    """The split, and the users who are judged, rising."""

    split: Split
    judged: NDArray[np.int64]


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Read the triplets, hold songs out and draw the users who are judged."""
    (data,) = recipe.data
    place = paths[data.folder]
    member = required(members(place, data.title, data.url), [FILE], place, data.url)
    with member.open() as lines:
        plays = read(lines, member.name)
    share = recipe.parameters["held_out"]
    split = hold_out(plays, share, lambda block: generator(recipe, "split", block))
    able = np.flatnonzero(np.diff(split.test.indptr))
    n_judged = min(recipe.parameters["judged"], able.size)
    drawn = generator(recipe, "judged").choice(able, n_judged, replace=False)
    return Context(split, np.sort(drawn).astype(np.int64))


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: each method at each number of passes, for each seed of the factors."""
    return [
        key(seed=seed, method=name, passes=passes)
        for seed in range(recipe.repeats or 1)
        for name, method in recipe.parameters["methods"].items()
        for passes in method["passes"]
    ]


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Do one cell: fit, and measure the judged users by what was held out."""
    asked = parts(cell)
    began = time.perf_counter(), time.process_time()
    if asked["method"] == POPULARITY:
        factors = _popularity(context.split.train)
    else:
        factors = _fitted(recipe, context.split.train, asked)
    seconds, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    return {"seconds": seconds, "cpu": cpu, **measured(recipe, context, factors)}


def _fitted(
    recipe: Recipe, train: csr_array[Any], asked: Mapping[str, str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    options: Mapping[str, Any] = recipe.parameters["methods"][asked["method"]]["options"]
    model = Factorization(
        **{**recipe.parameters["model"], **options},
        n_epochs=int(asked["passes"]),
        random_state=int(asked["seed"]),
    )
    model.fit(train, executor=Threads(recipe.parameters["threads"]))
    ones = np.ones((train.shape[0], 1), np.float32)
    return (
        np.hstack([model.user_factors_, ones]),
        np.hstack([model.item_factors_, model.item_bias_[:, None]]),
    )


def _popularity(train: csr_array[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    n_users, n_items = train.shape
    heard = np.bincount(train.indices, minlength=n_items).astype(np.float32)
    return np.ones((n_users, 1), np.float32), heard[:, None]


def measured(
    recipe: Recipe, context: Context, factors: tuple[NDArray[np.float32], NDArray[np.float32]]
) -> dict[str, Any]:
    """Return each measure's values, one a judged user, songs that were learned from left out."""
    users, items = factors
    judged, split = context.judged, context.split
    lists = rank_blocks(
        (users[judged], items),
        split.test[judged],
        exclude=split.train[judged],
        depth=recipe.parameters["depth"],
    )
    found = evaluate(lists, recipe.parameters["measures"])
    return {name: np.round(found.values[name], 6) for name in recipe.parameters["measures"]}


STUDY = Study(
    cells=cells, run=run, fold=page.fold, prepare=prepare, plots=page.plots, tables=page.tables
)
"""Quality against seconds; seconds are results here, and differ from run to run."""
