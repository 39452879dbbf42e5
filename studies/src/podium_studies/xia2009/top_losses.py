"""Losses of podium and LightGBM's own objectives, tuned alike, on several collections.

A task is a collection with its grades, or with binary labels made from them. Each task has five
folds of queries. A method is a model with a loss, named "model, loss". To add a loss, add its text
to the recipe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.rankers import LinearRanker, NeuralRanker
from podium.rankers.boosting import LightGBMRanker
from podium.report import Table
from podium_studies import folds, views
from podium_studies.archive import find, movielens, read_lines
from podium_studies.cells import seed_of, sweep
from podium_studies.hiranandani2020.movielens import prepare as movielens_rows
from podium_studies.rows import Parts, Rows
from podium_studies.study import Cells, DataSet, Figures, Grid, Measured, Recipe, Result, Study


def ohsumed(place: Path, source: DataSet, options: Mapping[str, Any]) -> tuple[Parts, ...]:
    """Return the five published folds of OHSUMED."""
    return folds.read(place, subfolder=options["within"])


def lightgbm_example(place: Path, source: DataSet, options: Mapping[str, Any]) -> tuple[Parts, ...]:
    """Return five folds of the queries of both files of LightGBM's example."""
    names = ("rank.train", "rank.train.query", "rank.test", "rank.test.query")
    train, train_sizes, test, test_sizes = find(place, source, *names)
    sizes = [*read_lines(train_sizes, int), *read_lines(test_sizes, int)]
    with train.open() as first, test.open() as second:
        reader = import_module("sklearn.datasets")
        loaded = reader.load_svmlight_files([first, second], dtype=np.float32)
    X = np.concatenate([part.toarray() for part in loaded[::2]])
    y = np.concatenate(loaded[1::2]).astype(float)
    return in_folds(Rows(X, y, _qid(sizes)), options["seed"])


def movielens_factors(
    place: Path, source: DataSet, options: Mapping[str, Any]
) -> tuple[Parts, ...]:
    """Return folds of a few users' ratings, with factors of earlier ratings as features.

    Grades are ratings less 1.
    """
    rows = movielens_rows(movielens(place, "100k"))
    users = np.unique(rows.qid)
    drawn = np.random.default_rng(options["seed"]).permutation(users)[: options["queries"]]
    rows = Rows(rows.X.astype(np.float32), rows.y - 1.0, rows.qid)
    return in_folds(rows.take(np.isin(rows.qid, drawn)), options["seed"])


def letor_like(place: Path, source: DataSet, options: Mapping[str, Any]) -> tuple[Parts, ...]:
    """Return folds of synthetic queries; nothing is read."""
    X, y, sizes = synthetic(options["seed"], options["queries"])
    return in_folds(Rows(X, y, _qid(sizes.tolist())), options["seed"])


READERS: dict[str, Callable[[Path, DataSet, Mapping[str, Any]], tuple[Parts, ...]]] = {
    "ohsumed": ohsumed,
    "lightgbm-example": lightgbm_example,
    "movielens": movielens_factors,
    "letor-like": letor_like,
}
"""Readers of collections by name."""


def in_folds(rows: Rows, seed: int) -> tuple[Parts, ...]:
    """Divide queries into five parts at random; a fold has three of them, one and one."""
    queries = np.random.default_rng(seed).permutation(np.unique(rows.qid))
    parts = [np.flatnonzero(np.isin(rows.qid, queries[n::5])) for n in range(5)]

    def joined(*numbers: int) -> Rows:
        return rows.take(np.concatenate([parts[n % 5] for n in numbers]))

    return tuple(Parts(joined(n, n + 1, n + 2), joined(n + 3), joined(n + 4)) for n in range(5))


def binary(parts: Parts, least: float) -> Parts:
    """Return the folds' rows with labels 1 from a grade on, and otherwise 0."""
    return Parts(*(Rows(rows.X, (rows.y >= least).astype(float), rows.qid) for rows in parts))


def standardized(parts: Parts) -> Parts:
    """Return features less their mean, over their standard deviation, in the training rows."""
    train: Any = parts.train.X
    mean, scale = train.mean(axis=0), train.std(axis=0)
    scale[scale == 0.0] = 1.0
    return Parts(*(Rows((rows.X - mean) / scale, rows.y, rows.qid) for rows in parts))


def _qid(sizes: list[int]) -> Any:
    return np.repeat(np.arange(len(sizes)), sizes)


def synthetic(seed: int, n_queries: int = 1000, n_features: int = 46) -> tuple[Any, Any, Any]:
    """Draw lists similar to those of LETOR: features, grades from 0 to 2, and sizes of queries.

    A query has 50 to 150 rows with eight hidden traits. Features are scaled within each query.
    8 % of the rows are relevant, one tenth of the queries have no relevant row, and no linear
    model can express the true relevance.
    """
    rng = np.random.default_rng(seed)
    shape = 8, n_features
    mixing = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    kind = rng.integers(0, 3, n_features)
    X, y = zip(*(_query(rng, mixing, kind) for _ in range(n_queries)), strict=True)
    return np.concatenate(X), np.concatenate(y), np.array([len(grades) for grades in y])


def _query(rng: np.random.Generator, mixing: Any, kind: Any) -> tuple[Any, Any]:
    n = int(rng.integers(50, 151))
    hidden: Any = rng.normal(size=(n, 8)) + 0.5 * rng.normal(size=8)
    features = _bent(hidden @ mixing + 0.7 * rng.normal(size=(n, kind.size)), kind)
    a, b, c, d, e = hidden[:, :5].T
    signal = a + 0.8 * b + 0.5 * np.maximum(c, 0) ** 2 - 0.5 * d * e
    utility = signal + 0.8 * rng.normal(size=n)
    y: Any = np.zeros(n)
    if rng.random() > 0.1:
        n_relevant = max(1, int(n * min(0.5, 0.08 * rng.lognormal(0, 0.6))))
        best = np.argsort(-utility)
        y[best[:n_relevant]] = 1
        y[best[: max(1, n_relevant // 4)]] = 2
    return features, y


def _bent(raw: NDArray[np.float64], kind: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return features of three shapes, scaled to [0, 1]."""
    bent = np.where(kind == 1, np.exp(0.5 * raw), 1 / (1 + np.exp(-raw)))
    features = np.where(kind == 0, raw, bent)
    least, most = features.min(0), features.max(0)
    return ((features - least) / np.maximum(most - least, 1e-9)).astype(np.float32)


MODELS: dict[str, Any] = {"linear": LinearRanker, "trees": LightGBMRanker, "neural": NeuralRanker}
GRADES, BINARY = "grades", "binary"
OWN = "LightGBM's "
"""The prefix of LightGBM's own objectives; without it, a name is a loss of podium."""

Context: TypeAlias = Mapping[str, tuple[Parts, ...]]


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Return the five folds of each task."""
    sources = {source.folder: source for source in recipe.data}
    folders = {t["collection"]: t["folder"] for t in recipe.parameters["collections"].values()}
    scaled: dict[str, tuple[Parts, ...]] = {}
    for name, folder in folders.items():
        source = sources.get(folder, DataSet("", "", "", ""))
        options = recipe.parameters["readers"][name]
        read = READERS[name](paths.get(folder, Path()), source, options)
        scaled[name] = tuple(map(standardized, read))
    return {
        name: tuple(binary(fold, task["least"]) for fold in scaled[task["collection"]])
        if task["labels"] == BINARY
        else scaled[task["collection"]]
        for name, task in recipe.parameters["collections"].items()
    }


@cache
def _method(name: str) -> folds.Method:
    """Return a method from its name."""
    model, _, loss = name.partition(", ")
    search = folds.searched(model, lambda: loss.removeprefix(OWN), MODELS[model])
    return folds.Method(
        model, lambda fold, given, seed: search(fold, given | given["models"], seed)
    )


def names_of(recipe: Recipe, labels: str) -> list[str]:
    """Return the methods of all models for a kind of labels."""
    by_model = recipe.parameters["losses"][labels]
    return [f"{model}, {loss}" for model in recipe.parameters["models"] for loss in by_model[model]]


def tasks_of(recipe: Recipe, labels: str) -> list[str]:
    """Return the tasks with this kind of labels."""
    tasks = recipe.parameters["collections"].items()
    return [name for name, task in tasks if task["labels"] == labels]


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the folds by task and method."""
    for labels in (GRADES, BINARY):
        names, tasks = names_of(recipe, labels), tasks_of(recipe, labels)
        yield from sweep(data=tasks, method=names, draw=[0], fold=folds.FOLDS)


def run(recipe: Recipe, context: Context, data: str, method: str, draw: int, fold: int) -> Result:
    """Tune a method on a fold's validation queries and measure it on its test queries."""
    seed = seed_of(recipe, "fold", fold)
    return folds.tuned(_method(method), context[data][fold - 1], recipe.parameters, seed)


def values_of(recipe: Recipe, cells: Cells, task: str) -> folds.Values:
    """Return the values of one task."""
    labels = recipe.parameters["collections"][task]["labels"]
    return folds.Values(recipe, cells, task, {n: _method(n) for n in names_of(recipe, labels)})


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the levels and their means over tasks, and differences from LightGBM's best.

    LightGBM's best objective is that of the highest mean over the tasks of a kind of labels.
    """
    figures: dict[str, Measured] = {}
    for labels in (GRADES, BINARY):
        tasks = {task: values_of(recipe, cells, task) for task in tasks_of(recipe, labels)}
        for measure in recipe.parameters["measures"]:
            for name in names_of(recipe, labels):
                levels = {task: values.level(name, measure) for task, values in tasks.items()}
                levels[f"{labels}, mean"] = _mean([*levels.values()])
                figures |= {f"{end} {name} {measure}": level for end, level in levels.items()}
            best = best_own(recipe, labels, figures, measure)
            for name in names_of(recipe, labels):
                if name != best:
                    pair = f"{name} − {best} {measure}"
                    gaps = {t: v.differences(name, best)[v.prefix + pair] for t, v in tasks.items()}
                    gaps[f"{labels}, mean"] = _mean([*gaps.values()])
                    label = f"{name} − LightGBM's best {measure}"
                    figures |= {f"{end} {label}": gap for end, gap in gaps.items()}
    return figures


def best_own(recipe: Recipe, labels: str, figures: Figures, measure: str) -> str:
    """Return LightGBM's own objective with the highest mean over tasks."""
    objectives = [name for name in names_of(recipe, labels) if OWN in name]
    return max(objectives, key=lambda name: figures[f"{labels}, mean {name} {measure}"].value)


def _mean(measured: Sequence[Measured]) -> Measured:
    """Return the mean over tasks, which are independent."""
    n = len(measured)
    error = math.sqrt(sum(one.std_error**2 for one in measured)) / n
    return Measured(sum(one.value for one in measured) / n, error, n)


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield levels and differences by task, and then the chosen options."""
    measure = recipe.parameters["shown"]
    for labels in (GRADES, BINARY):
        tasks = [*tasks_of(recipe, labels), f"{labels}, mean"]
        values = {n: figures[f"{tasks[-1]} {n} {measure}"].value for n in names_of(recipe, labels)}
        falling = sorted(values, key=lambda name, values=values: -values[name])
        best = best_own(recipe, labels, figures, measure)
        title = f"Labels {labels}: {measure}, mean of five folds, best first"
        yield Grid(title, falling, tasks, f"{{1}} {{0}} {measure}", text="value")
        title = f"Labels {labels}: {measure} less that of {best}, with intervals of 95 %"
        name = f"{{1}} {{0}} − LightGBM's best {measure}"
        gaps = Grid(title, falling, tasks, name, text="gap")
        yield gaps
        yield replace(gaps, columns=tasks[-1:], text="", plot="intervals", axis="difference")
    for task in recipe.parameters["collections"] if cells else ():
        values = values_of(recipe, cells, task)
        labels = recipe.parameters["collections"][task]["labels"]
        yield views.chosen(task, {name: values.chosen(name) for name in names_of(recipe, labels)})


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of losses by model, on the recipe's tasks."""
