"""Studies on LETOR collections: five folds read, methods tuned on each, values by query.

A method is tuned on a fold's validation queries and measured on its test queries. Each query's
values are kept, so that what is claimed of two methods is tested on the same queries.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data import Features, Letor, letor
from podium.errors import DataError
from podium.evaluation.evaluation import fill
from podium.losses import Loss
from podium.metrics import parse
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts, Rows
from podium.papers.study import Cells, Figures, Measured, Result, key, product
from podium.papers.views import paired
from podium.rankers import LinearRanker
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow

N_FOLDS = 5
FOLDS = range(1, N_FOLDS + 1)
OVER_MEASURES = ", mean over measures"

_DECIMALS = 6
_parsed = functools.cache(parse)

Options: TypeAlias = Mapping[str, Any]
MakeLoss: TypeAlias = Callable[..., Loss]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model's scores of the validation and the test rows, and the options that gave them."""

    options: Options
    valid: PerRow
    test: PerRow


Candidates: TypeAlias = Callable[[Parts, Options, int], Iterator[Candidate]]


@dataclass(frozen=True)
class Method:
    """A method and how it is tuned.

    Attributes
    ----------
    kind : str
        Whose it is, in the words of its study.
    candidates : (fold, parameters, seed) -> iterator of Candidate
        Everything that is tried.
    draws : bool
        It depends on drawn orders of equally graded rows, or on other random numbers.
    """

    kind: str
    candidates: Candidates
    draws: bool = False


def read(path: Path, *, within: str = "", n_queries: int | None = None) -> tuple[Parts, ...]:
    """Read a collection's five folds.

    Parameters
    ----------
    path : Path
        Folder that holds Fold1 … Fold5, or the five parts S1.txt … S5.txt that they are made of;
        see `podium.data.letor`.
    within : str
        A folder in it, where there are several forms of the same rows; left out if it has none
        of that name (in any case).
    n_queries : int, optional
        Queries that the collection has.

    Returns
    -------
    tuple of Parts
        ``y`` are grades, 0 for what is not relevant; ``X`` is dense and as published, since the
        usual form has each feature in [0, 1] by query.

    Raises
    ------
    DataError
        If a fold is missing or malformed, the test parts share a query, or the number of queries
        is another: then it is another collection.
    """
    place = _inner(path, within)
    read = tuple(_parts(letor(place, fold)) for fold in FOLDS)
    tested = np.concatenate([np.unique(parts.test.qid) for parts in read])
    if np.unique(tested).size != tested.size:
        raise DataError(f"{place}: a query is in the test rows of two folds. Get the folds again.")
    if n_queries is not None and tested.size != n_queries:
        raise DataError(
            f"{place} has {tested.size} queries, not {n_queries}: it is another collection, or a "
            "part of this one."
        )
    return read


def _inner(path: Path, within: str) -> Path:
    """Return the folder of that name in `path`, in whatever case, or `path` itself."""
    if not path.is_dir():
        raise DataError(f"{path} is no folder. Unpack the collection and pass its folder.")
    named = [each for each in path.iterdir() if each.is_dir() and each.name.lower() == within]
    return named[0] if named else path


def _parts(fold: Letor) -> Parts:
    return Parts(*(_rows(part) for part in (fold.train, fold.valid, fold.test)))


def _rows(part: Features) -> Rows:
    X: Any = part.X
    return Rows(
        X.toarray() if hasattr(X, "toarray") else X,
        np.asarray(part.y, np.float64),
        np.asarray(part.qid),
    )


def linear(protocol: str, loss: MakeLoss) -> Candidates:
    """Fit one linear ranker per point of the protocol's grid; the iterate is chosen too.

    Parameters
    ----------
    protocol : str
        A table of the recipe's parameters: "fixed" options of the ranker, and a "grid" of others.
    loss : callable
        What makes the loss, of those options that are in its "of_loss" grid.
    """

    def candidates(parts: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
        given = parameters[protocol]
        valid = (parts.valid.X, parts.valid.y, parts.valid.qid)
        for of_loss in product(given.get("of_loss", {})):
            for options in product(given["grid"]):
                ranker = LinearRanker(
                    loss(**of_loss),
                    random_state=seed,
                    eval_metric=parameters["validation"],
                    **given["fixed"],
                    **options,
                )
                ranker.fit(parts.train.X, parts.train.y, parts.train.qid, eval_set=valid)
                chosen = {**of_loss, **options, "iterations": ranker.best_iteration_}
                yield scored(chosen, ranker, parts)

    return candidates


def scored(options: Options, ranker: Any, parts: Parts) -> Candidate:
    """Return what a fitted ranker gives the rows to choose by and those to test on."""
    return Candidate(options, ranker.predict(parts.valid.X), ranker.predict(parts.test.X))


def draws(recipe: Recipe, method: Method) -> Sequence[int]:
    """Return the numbers of a method's draws: one where it draws nothing."""
    return range((recipe.repeats or 1) if method.draws else 1)


def tuned(method: Method, parts: Parts, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Try all that a method tries, keep the best on validation, and test it.

    Returns
    -------
    dict
        "chosen", the options; "valid", the mean on validation that they were chosen by; "query",
        the test queries' ids; and "values", what each has by the measures' names.
    """
    measure = parameters["validation"]
    tried = (
        (float(values(found.valid, parts.valid, measure).mean()), found)
        for found in method.candidates(parts, parameters, seed)
    )
    value, best = max(tried, key=itemgetter(0))  # the first of equal ones
    return {
        "chosen": dict(best.options),
        "valid": value,
        "query": np.unique(parts.test.qid).tolist(),
        "values": {
            name: values(best.test, parts.test, text).round(_DECIMALS).tolist()
            for name, text in parameters["measures"].items()
        },
    }


def values(scores: PerRow, rows: Rows, measure: str) -> PerGroup:
    """Return each query's value as LETOR's script counts: 0 for one without relevant rows.

    Of equally scored rows any order is as likely as any other: the value is the mean over them.
    """
    ranking = Ranking.from_scores(scores, rows.y, qid=rows.qid, ties="average")
    return fill(_parsed(measure)(ranking), "zero")


class Values:
    """All values of one collection: by measure, method and draw a number for each test query.

    Parameters
    ----------
    recipe : Recipe
    cells : mapping
        With keys of data, method, draw and fold, and what `tuned` returns.
    data : str
        The collection's name.
    methods : mapping of str to Method

    Attributes
    ----------
    before : str
        What its figures' names begin with: nothing where the recipe has one collection.
    """

    def __init__(
        self, recipe: Recipe, cells: Cells, data: str, methods: Mapping[str, Method]
    ) -> None:
        self._recipe, self._cells, self.data, self._methods = recipe, cells, data, methods
        self.before = f"{data} " if len(recipe.parameters["collections"]) > 1 else ""
        first = recipe.parameters["methods"][0]
        sizes = [len(self._cell(first, 0, fold)["query"]) for fold in FOLDS]
        self._fold = np.repeat(np.arange(N_FOLDS), sizes)  # of each query
        # A weighted sum over queries is the mean of the folds' means.
        self._weights = 1.0 / (N_FOLDS * np.array(sizes, np.float64)[self._fold])

    def of(self, method: str, measure: str) -> NDArray[np.float64]:
        """Return what each query has under each draw, (n_draws, n_queries)."""
        return np.array([self._of_draw(method, measure, draw) for draw in self.draws(method)])

    def _of_draw(self, method: str, measure: str, draw: int) -> NDArray[np.float64]:
        found = [self._cell(method, draw, fold)["values"][measure] for fold in FOLDS]
        return np.concatenate(found)

    def draws(self, method: str) -> Sequence[int]:
        """Return the numbers of the method's draws."""
        return draws(self._recipe, self._methods[method])

    def chosen(self, method: str) -> list[Mapping[str, Any]]:
        """Return what was chosen, by draw and fold."""
        every = itertools.product(self.draws(method), FOLDS)
        return [self._cell(method, draw, fold)["chosen"] for draw, fold in every]

    def level(self, method: str, measure: str) -> Measured:
        """Return the mean of the five folds' means, and its standard error over folds."""
        by_query = self.of(method, measure).mean(axis=0)
        by_fold = np.bincount(self._fold, by_query * self._weights) * N_FOLDS
        error = float(by_fold.std(ddof=1)) / math.sqrt(N_FOLDS)
        return Measured(float(by_fold.mean()), error, N_FOLDS)

    def by_draw(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of the five folds' means under each draw."""
        return (values * self._weights).sum(axis=1)

    def differences(self, one: str, other: str) -> Figures:
        """Return how far one method is above another, by measure and over all of them."""
        gaps = {
            f" {measure}": self.of(one, measure) - self.of(other, measure)
            for measure in self._recipe.parameters["measures"]
        }
        gaps[OVER_MEASURES] = np.mean([*gaps.values()], axis=0)
        label = f"{self.before}{one} − {other}"
        return {f"{label}{end}": paired(gap, self._weights) for end, gap in gaps.items()}

    def _cell(self, method: str, draw: int, fold: int) -> Result:
        return self._cells[key(data=self.data, method=method, draw=draw, fold=fold)]
