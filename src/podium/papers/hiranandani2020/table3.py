"""Table 3 of hiranandani2020: every method on MovieLens, citations and Behance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from podium import _check
from podium.data import movielens as read_movielens
from podium.papers.hiranandani2020 import behance, citation, movielens, table3_figures, table3_page
from podium.papers.hiranandani2020.table3_methods import METHODS, PAPER
from podium.papers.hiranandani2020.table3_runs import RANDOM, random_weights, tuned
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts, Rows, drawn
from podium.papers.study import Result, Study, generator, key, parts

_FIVE_STARS = 5.0


class Context:
    """The data, and what was made of them for the cell before, which the next often shares."""

    def __init__(self, recipe: Recipe, source: Rows | Parts, features: str) -> None:
        self._recipe, self._source, self._features = recipe, source, features
        self._scaled: tuple[int, Parts] | None = None
        self._at: tuple[tuple[int, int], Parts] | None = None

    def counts(self) -> dict[str, Any]:
        """Return rows, positives and users of all parts together, and what the features are."""
        whole = [self._source] if isinstance(self._source, Rows) else list(self._source)
        return {
            "rows": sum(part.y.size for part in whole),
            "positives": sum(int(np.count_nonzero(part.y)) for part in whole),
            "users": np.unique(np.concatenate([part.qid for part in whole])).size,
            "features": self._features,
        }

    def scaled(self, seed: int) -> Parts:
        """Return the parts of one repeat: drawn, or as they were published."""
        if self._scaled is None or self._scaled[0] != seed:
            given = self._source
            if isinstance(given, Rows):
                given = drawn(given, generator(self._recipe, "split", seed))
            self._scaled = seed, given.scaled()
        return self._scaled[1]

    def at(self, seed: int, k: int) -> Parts:
        """Return the parts of one repeat without the groups that pap at k is undefined on."""
        if self._at is None or self._at[0] != (seed, k):
            self._at = (seed, k), self.scaled(seed).for_cutoff(k)
        return self._at[1]


def _movielens(recipe: Recipe, path: Path) -> Context:
    prepared = movielens.prepare(read_movielens(path, "100k"))
    positive = (prepared.rating == _FIVE_STARS).astype(np.float64)
    features = f"{movielens.RANK} factors of the user, of the item, and their products"
    return Context(recipe, Rows(prepared.X, positive, prepared.user), features)


def _citation(recipe: Recipe, path: Path) -> Context:
    features = f"{len(citation.SIDE)} counts, both papers' embeddings and their products"
    return Context(recipe, citation.read(path), features)


def _behance(recipe: Recipe, path: Path) -> Context:
    features = f"user, image and their products; images {behance.reduction(path)}"
    return Context(recipe, behance.read(path, seed=recipe.seed), features)


SOURCES: dict[str, Callable[[Recipe, Path], Context]] = {
    "movielens": _movielens,
    "citation": _citation,
    "behance": _behance,
}
"""What reads a data set, by the name that a recipe's parameter `dataset` has."""


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Read the recipe's one data set."""
    name = _check.choice(recipe.parameters["dataset"], "dataset", list(SOURCES))
    (path,) = paths.values()
    return SOURCES[name](recipe, path)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: the data's counts; then by repeat, cutoff and method its protocols."""
    keys = [key(data="counts")]
    for seed in range(recipe.repeats or 1):
        for k in recipe.parameters["cutoffs"]:
            keys.append(key(seed=seed, k=k, method=RANDOM, protocol=PAPER))
            for name in recipe.parameters["methods"]:
                method = METHODS[_check.choice(name, "methods", list(METHODS))]
                keys += [
                    key(seed=seed, k=k, method=name, protocol=each) for each in method.protocols
                ]
    return keys


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Count the data, or tune and test one method."""
    asked = parts(cell)
    if "data" in asked:
        return context.counts()
    seed, k = int(asked["seed"]), int(asked["k"])
    at, parameters = context.at(seed, k), recipe.parameters
    if asked["method"] == RANDOM:
        rng = generator(recipe, "weights", seed)
        return random_weights(at, k, parameters["random_draws"], rng)
    start = int(generator(recipe, "start", seed).integers(2**31))
    train = context.scaled(seed).train
    return tuned(asked["method"], asked["protocol"], k, at, train, parameters, start)


STUDY = Study(
    cells=cells,
    run=run,
    fold=table3_figures.fold,
    prepare=prepare,
    plots=table3_page.plots,
    tables=table3_page.tables,
)
"""Table 3 on the data set that a recipe's parameter `dataset` names."""
