"""Studies on LETOR collections: reading five folds, tuning on each, values per query.

A method is tuned on a fold's validation queries and measured on its test queries. The values of
every query are stored, so that two methods are compared on the same queries.
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
from scipy import sparse

from podium.data import Features, read_features
from podium.errors import DataError
from podium.evaluation.evaluation import fill
from podium.losses import Loss
from podium.metrics import parse
from podium.rankers import LinearRanker
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow
from podium_studies.archive import Member, members, pick
from podium_studies.cells import key, product
from podium_studies.rows import Parts, Rows
from podium_studies.study import Cells, Figures, Measured, Recipe, Result
from podium_studies.views import paired

N_FOLDS = 5
FOLDS = range(1, N_FOLDS + 1)
LETOR = (
    "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
)
_FOLD_FILES = (
    ("train.txt", "trainingset.txt"),
    ("vali.txt", "validationset.txt"),
    ("test.txt", "testset.txt"),
)
OVER_MEASURES = ", mean over measures"

_DECIMALS = 6
_parsed = functools.cache(parse)

Options: TypeAlias = Mapping[str, Any]
MakeLoss: TypeAlias = Callable[..., "Loss | str"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """The scores of a model for the validation and test rows, and the model's options."""

    options: Options
    valid: PerRow
    test: PerRow


Candidates: TypeAlias = Callable[[Parts, Options, int], Iterator[Candidate]]


@dataclass(frozen=True)
class Method:
    """A method and its tuning.

    Attributes
    ----------
    kind : str
        The kind of method, as named by its study.
    candidates : (fold, parameters, seed) -> iterator of Candidate
        The candidates among which tuning chooses.
    is_random : bool
        Whether the method depends on random numbers, such as random orders of equally graded
        rows.
    """

    kind: str
    candidates: Candidates
    is_random: bool = False


def read(path: Path, *, subfolder: str = "", n_queries: int | None = None) -> tuple[Parts, ...]:
    """Read a collection's five folds.

    Parameters
    ----------
    path : Path
        The folder that contains Fold1 … Fold5, or their five parts S1.txt … S5.txt; see
        `podium_studies.archive.pick`.
    subfolder : str
        The lower-case name of a subfolder, for collections with several forms of the same rows.
        It is matched in any case, and ignored if it does not exist.
    n_queries : int, optional
        The expected number of queries in the collection.

    Returns
    -------
    tuple of Parts, (5,)
        ``y`` contains grades, 0 for rows that are not relevant. ``X`` is dense and as published:
        the usual form has each feature in [0, 1] per query.

    Raises
    ------
    DataError
        If a fold is missing or malformed, or if the number of different queries in the test parts
        differs from `n_queries`.
    """
    folders = [*path.iterdir()] if path.is_dir() else []
    folder = next((f for f in folders if f.is_dir() and f.name.lower() == subfolder), path)
    files = members(folder, "LETOR", LETOR)
    collection = tuple(_parts(folder, files, fold) for fold in FOLDS)
    n_found = np.unique(np.concatenate([parts.test.qid for parts in collection])).size
    if n_queries not in (None, n_found):
        raise DataError(
            f"{folder} must have {n_queries} queries, got {n_found}. It is another collection, or "
            "only a part of this one. Pass the complete collection."
        )
    return collection


def _parts(folder: Path, files: Sequence[Member], fold: int) -> Parts:
    """Read a fold: its own three files, or those of the parts S1 … S5 from which it is made."""
    own = [pick(files, [f"Fold{fold}/{name}" for name in names]) for names in _FOLD_FILES]
    shared = [pick(files, [f"S{(fold + i - 1) % N_FOLDS + 1}.txt"]) for i in range(N_FOLDS)]
    parts = [own[:1], own[1:2], own[2:]] if all(own) else [shared[:3], shared[3:4], shared[4:]]
    names = [[file.name for file in part if file] for part in parts]
    if not all(own) and not all(shared):
        raise DataError(
            f"{folder} contains no fold {fold}: neither Fold{fold}/train.txt, vali.txt and "
            f"test.txt nor S1.txt to S5.txt. Pass the folder as downloaded from {LETOR}"
        )
    tables = [read_features(part, format="svmlight") for part in names]
    width = max(table.X.shape[1] for table in tables)
    return Parts(*(_rows(table, width) for table in tables))


def _rows(part: Features, width: int) -> Rows:
    dense: Any = part.X.toarray() if sparse.issparse(part.X) else part.X
    X = np.pad(dense, ((0, 0), (0, width - dense.shape[1])))
    return Rows(X, np.asarray(part.y, np.float64), np.asarray(part.qid))


def searched(protocol: str, loss: MakeLoss, make: Callable[..., Any] = LinearRanker) -> Candidates:
    """Fit one ranker per point of the protocol's grid, with the best iterate on validation.

    Parameters
    ----------
    protocol : str
        The name of a table in the recipe's parameters: "fixed" options of the ranker, and a
        "grid" of others.
    loss : callable
        A function that returns the loss; its arguments are the options in the "of_loss" grid.
    make : callable
        The class of the ranker.

    Returns
    -------
    callable
        The candidates of a `Method`.
    """

    def candidates(parts: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
        settings = parameters[protocol]
        valid = (parts.valid.X, parts.valid.y, parts.valid.qid)
        fixed = {"random_state": seed, "eval_metric": parameters["validation"]}
        for loss_options in product(settings.get("of_loss", {})):
            for options in product(settings["grid"]):
                given = {**fixed, **settings["fixed"], **options}
                ranker = make(loss(**loss_options), **given)
                ranker.fit(parts.train.X, parts.train.y, parts.train.qid, eval_set=valid)
                chosen = {**loss_options, **options, "iterations": ranker.best_iteration_}
                yield scored(chosen, ranker, parts)

    return candidates


def scored(options: Options, ranker: Any, parts: Parts) -> Candidate:
    """Return the scores of a fitted ranker for the validation and test rows."""
    return Candidate(options, ranker.predict(parts.valid.X), ranker.predict(parts.test.X))


def draws(recipe: Recipe, method: Method) -> Sequence[int]:
    """Return the numbers of a method's draws: only 0 if it draws nothing."""
    return range((recipe.repeats or 1) if method.is_random else 1)


def tuned(method: Method, parts: Parts, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Choose the candidate with the largest validation mean, and measure it on the test queries.

    Returns
    -------
    dict
        "chosen": the options; "valid": their mean of the validation measure; "query": the ids of
        the test queries; "values": for each measure's name, the values of these queries.
    """
    measure = parameters["validation"]
    candidates = method.candidates(parts, parameters, seed)
    judged = ((float(values(one.valid, parts.valid, measure).mean()), one) for one in candidates)
    value, best = max(judged, key=itemgetter(0))  # the first of equal ones
    found = {n: values(best.test, parts.test, text) for n, text in parameters["measures"].items()}
    return {
        "chosen": dict(best.options),
        "valid": value,
        "query": np.unique(parts.test.qid).tolist(),
        "values": {name: by_query.round(_DECIMALS).tolist() for name, by_query in found.items()},
    }


def values(scores: PerRow, rows: Rows, measure: str) -> PerGroup:
    """Return each query's value by the convention of LETOR's script: 0 without relevant rows.

    The value is the mean over all orders of equally scored rows.
    """
    ranking = Ranking.from_scores(scores, rows.y, qid=rows.qid, ties="average")
    return fill(_parsed(measure)(ranking), "zero")


class Values:
    """The values of one collection: a number per measure, method, draw and test query.

    Parameters
    ----------
    recipe : Recipe
    cells : mapping
        The results of `tuned`; a key has the parts data, method, draw and fold.
    data : str
        The name of the collection.
    methods : mapping of str to Method

    Attributes
    ----------
    prefix : str
        The prefix of the names of its figures; empty if the recipe has one collection.
    """

    def __init__(
        self, recipe: Recipe, cells: Cells, data: str, methods: Mapping[str, Method]
    ) -> None:
        self._recipe, self._cells, self.data, self._methods = recipe, cells, data, methods
        self.prefix = f"{data} " if len(recipe.parameters["collections"]) > 1 else ""
        first = recipe.parameters.get("methods", [*methods])[0]
        sizes = [len(self._cell(first, 0, fold)["query"]) for fold in FOLDS]
        self._fold = np.repeat(np.arange(N_FOLDS), sizes)
        # A weighted sum over queries is the mean of the folds' means.
        self._weights = 1.0 / (N_FOLDS * np.array(sizes, np.float64)[self._fold])

    def query_values(self, method: str, measure: str) -> NDArray[np.float64]:
        """Return the value of each query in each draw, (n_draws, n_queries)."""
        draws = ([self._cell(method, draw, fold) for fold in FOLDS] for draw in self.draws(method))
        return np.array([np.concatenate([c["values"][measure] for c in cells]) for cells in draws])

    def draws(self, method: str) -> Sequence[int]:
        """Return the numbers of the method's draws."""
        return draws(self._recipe, self._methods[method])

    def chosen(self, method: str) -> list[Mapping[str, Any]]:
        """Return the chosen options, ordered by draw and fold."""
        cells = itertools.product(self.draws(method), FOLDS)
        return [self._cell(method, *cell)["chosen"] for cell in cells]

    def level(self, method: str, measure: str) -> Measured:
        """Return the mean of the five folds' means, and its standard error over folds."""
        by_query = self.query_values(method, measure).mean(axis=0)
        by_fold = np.bincount(self._fold, by_query * self._weights) * N_FOLDS
        error = float(by_fold.std(ddof=1)) / math.sqrt(N_FOLDS)
        return Measured(float(by_fold.mean()), error, N_FOLDS)

    def draw_means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of the five folds' means for each draw, (n_draws,)."""
        return (values * self._weights).sum(axis=1)

    def differences(self, one: str, other: str) -> Figures:
        """Return the mean difference `one` − `other` by measure, and averaged over all measures."""
        gaps = {
            f" {measure}": self.query_values(one, measure) - self.query_values(other, measure)
            for measure in self._recipe.parameters["measures"]
        }
        gaps[OVER_MEASURES] = np.mean([*gaps.values()], axis=0)
        label = f"{self.prefix}{one} − {other}"
        return {f"{label}{end}": paired(gap, self._weights) for end, gap in gaps.items()}

    def _cell(self, method: str, draw: int, fold: int) -> Result:
        return self._cells[key(data=self.data, method=method, draw=draw, fold=fold)]
