"""Which objective is best at pAp@k on MovieLens: podium's against those that people use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.data import movielens as read_movielens
from podium.metrics import pap
from podium.papers.hiranandani2020 import movielens, objectives_figures, objectives_page
from podium.papers.hiranandani2020.objectives_methods import ABLATION, METHODS, Candidate, Split
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts, Rows, drawn
from podium.papers.study import Result, Study, generator, key, parts
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow

_FIVE_STARS = 5.0
_DECIMALS = 6


class Context:
    """The rows and their items, and the last split."""

    def __init__(self, recipe: Recipe, rows: Rows, item: NDArray[np.int64]) -> None:
        self._recipe, self._rows, self._item = recipe, rows, item
        self._last: tuple[int, Split] | None = None

    def split(self, seed: int) -> Split:
        """Return the split of one repeat: that of `pap-table3-movielens` for the same seed."""
        if self._last is None or self._last[0] != seed:
            self._last = seed, self._drawn(seed)
        return self._last[1]

    def _drawn(self, seed: int) -> Split:
        whole = self._rows
        places = np.arange(whole.y.size)
        where = [
            part.X[:, 0]
            for part in drawn(
                Rows(places[:, None], whole.y, whole.qid), generator(self._recipe, "split", seed)
            )
        ]
        train, valid, test = (self._item[rows] for rows in where)
        return Split(Parts(*(whole.take(rows) for rows in where)).scaled(), (train, valid, test))


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Prepare MovieLens-100k as hiranandani2020 did."""
    (path,) = paths.values()
    prepared = movielens.prepare(read_movielens(path, "100k"))
    positive = (prepared.rating == _FIVE_STARS).astype(np.float64)
    return Context(recipe, Rows(prepared.X, positive, prepared.user), prepared.item)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: every method on every split, for all cutoffs at once; ablations last."""
    names = [_check.choice(name, "methods", list(METHODS)) for name in recipe.parameters["methods"]]
    last = [name for name in names if METHODS[name].kind == ABLATION]
    first = [name for name in names if name not in last]
    splits = range(recipe.repeats or 1)
    return [
        key(seed=seed, method=name) for some in (first, last) for seed in splits for name in some
    ]


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Try all of a method's options on one split; for each cutoff test the best by validation.

    Returns lists with a value for each of the recipe's cutoffs: "valid" and "pap", the means;
    "user" and "gain", the test users that pap is defined on with their values; and "chosen".
    """
    asked = parts(cell)
    seed, cutoffs = int(asked["seed"]), recipe.parameters["cutoffs"]
    split = context.split(seed)
    start = int(generator(recipe, "start", seed).integers(2**31))
    tried = METHODS[asked["method"]].candidates(split, recipe.parameters, start)
    best = choose(tried, split.parts.valid, cutoffs)
    return {
        "valid": [value for value, _ in best],
        "chosen": [dict(found.options) for _, found in best],
        **_tested([found.test for _, found in best], split.parts.test, cutoffs),
    }


def choose(
    tried: Iterator[Candidate], valid: Rows, cutoffs: Sequence[int]
) -> list[tuple[float, Candidate]]:
    """Return for each cutoff the best on validation, the first of equal ones."""
    best: list[tuple[float, Candidate]] = []
    for candidate in tried:
        values = [float(np.nanmean(each)) for each in _gains(candidate.valid, valid, cutoffs)]
        if not best:
            best = [(value, candidate) for value in values]
        best = [
            (value, candidate) if value > held[0] else held
            for value, held in zip(values, best, strict=True)
        ]
    return best


def _tested(scores: Sequence[PerRow], test: Rows, cutoffs: Sequence[int]) -> dict[str, Any]:
    """Return users and values, each cutoff by its own scores."""
    labels = np.unique(test.qid)
    pairs = zip(scores, cutoffs, strict=True)
    gains = [_gains(each, test, [k])[0] for each, k in pairs]
    known = [np.isfinite(gain) for gain in gains]
    return {
        "pap": [float(gain[rows].mean()) for gain, rows in zip(gains, known, strict=True)],
        "user": [labels[rows].tolist() for rows in known],
        "gain": [
            gain[rows].round(_DECIMALS).tolist() for gain, rows in zip(gains, known, strict=True)
        ],
    }


def _gains(scores: PerRow, rows: Rows, cutoffs: Sequence[int]) -> list[PerGroup]:
    """Return pap by user, tied pairs as errors; nan for a user that a cutoff does not suit."""
    ranking = Ranking.from_scores(scores, rows.y, qid=rows.qid, ties="worst")
    return [pap(ranking, k=k) for k in cutoffs]


STUDY = Study(
    cells=cells,
    run=run,
    fold=objectives_figures.fold,
    prepare=prepare,
    plots=objectives_page.plots,
    tables=objectives_page.tables,
)
"""podium's objectives against logistic regression and LightGBM's own."""
