"""Losses of podium and LightGBM's own objectives, tuned alike, on several collections.

A task is a collection with its grades, or with binary labels made from them. Each task has five
folds of queries. A method is a model with a loss, named "model, loss". To add a loss, add its text
to the recipe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from podium.rankers import LinearRanker, NeuralRanker
from podium.rankers.boosting import LightGBMRanker
from podium.report import Figure, Table
from podium_studies import views
from podium_studies.folds import FOLDS, Candidate, Method, Options, Values, scored, tuned
from podium_studies.recipe import DataSet, Recipe
from podium_studies.rows import Parts
from podium_studies.study import (
    Cells,
    Figures,
    Measured,
    Result,
    Study,
    key,
    parts,
    product,
    seed_of,
)
from podium_studies.xia2009.top_losses_data import READERS, binary, standardized

MODELS: dict[str, Any] = {"linear": LinearRanker, "trees": LightGBMRanker, "neural": NeuralRanker}
GRADES, BINARY = "grades", "binary"
OWN = "LightGBM's "
"""The prefix of LightGBM's own objectives; without it, a name is a loss of podium."""

Context: TypeAlias = Mapping[str, tuple[Parts, ...]]


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Return the five folds of each task."""
    sources = {source.folder: source for source in recipe.data}
    read: dict[str, tuple[Parts, ...]] = {}
    tasks: dict[str, tuple[Parts, ...]] = {}
    for name, task in recipe.parameters["collections"].items():
        collection, folder = task["collection"], task["folder"]
        if collection not in read:
            options = recipe.parameters["readers"][collection]
            source = sources.get(folder, DataSet("", "", "", ""))
            folds = READERS[collection](paths.get(folder, Path()), source, options)
            read[collection] = tuple(map(standardized, folds))
        tasks[name] = read[collection]
        if task["labels"] == BINARY:
            tasks[name] = tuple(binary(fold, task["least"]) for fold in tasks[name])
    return tasks


@cache
def _method(name: str) -> Method:
    """Return a method from its name."""
    model, _, loss = name.partition(", ")

    def candidates(fold: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
        settings = parameters["models"][model]
        valid = (fold.valid.X, fold.valid.y, fold.valid.qid)
        for options in product(settings["grid"]):
            ranker = MODELS[model](
                loss.removeprefix(OWN),
                random_state=seed,
                eval_metric=parameters["validation"],
                **settings["fixed"],
                **options,
            )
            ranker.fit(fold.train.X, fold.train.y, fold.train.qid, eval_set=valid)
            yield scored({**options, "iterations": ranker.best_iteration_}, ranker, fold)

    return Method(model, candidates)


def names(recipe: Recipe, labels: str, model: str) -> list[str]:
    """Return the methods of a model for a kind of labels."""
    return [f"{model}, {loss}" for loss in recipe.parameters["losses"][labels][model]]


def tasks_of(recipe: Recipe, labels: str) -> list[str]:
    """Return the tasks with this kind of labels."""
    tasks = recipe.parameters["collections"].items()
    return [name for name, task in tasks if task["labels"] == labels]


def _models(recipe: Recipe) -> list[str]:
    return [*recipe.parameters["models"]]


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the folds by task and method."""
    for labels in (GRADES, BINARY):
        for task in tasks_of(recipe, labels):
            for model in _models(recipe):
                for name in names(recipe, labels, model):
                    for fold in FOLDS:
                        yield key(data=task, method=name, draw=0, fold=fold)


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Tune a method on a fold's validation queries and measure it on its test queries."""
    key_parts = parts(cell)
    fold = int(key_parts["fold"])
    fold_parts, seed = context[key_parts["data"]][fold - 1], seed_of(recipe, "fold", fold)
    return tuned(_method(key_parts["method"]), fold_parts, recipe.parameters, seed)


class _Task:
    """The values of one task."""

    def __init__(self, recipe: Recipe, cells: Cells, task: str) -> None:
        labels = recipe.parameters["collections"][task]["labels"]
        self.names = [name for model in _models(recipe) for name in names(recipe, labels, model)]
        methods = {name: _method(name) for name in self.names}
        self._values = Values(recipe, cells, task, methods)
        self.level, self.chosen = self._values.level, self._values.chosen

    def difference(self, one: str, other: str, measure: str) -> Measured:
        label = f"{self._values.prefix}{one} − {other} {measure}"
        return self._values.differences(one, other)[label]


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the levels and their means over tasks, and differences from LightGBM's best.

    LightGBM's best objective is that of the highest mean over the tasks of a kind of labels.
    """
    figures: dict[str, Measured] = {}
    for labels in (GRADES, BINARY):
        tasks = {task: _Task(recipe, cells, task) for task in tasks_of(recipe, labels)}
        for measure in recipe.parameters["measures"]:
            figures |= _of_labels(recipe, labels, tasks, measure)
    return figures


def _of_labels(
    recipe: Recipe, labels: str, tasks: Mapping[str, _Task], measure: str
) -> dict[str, Measured]:
    figures: dict[str, Measured] = {}
    for model in _models(recipe):
        for name in names(recipe, labels, model):
            levels = {task: values.level(name, measure) for task, values in tasks.items()}
            figures |= {f"{task} {name} {measure}": level for task, level in levels.items()}
            figures[f"{labels}, mean {name} {measure}"] = _mean([*levels.values()])
    best = best_own(recipe, labels, figures, measure)
    for model in _models(recipe):
        for name in names(recipe, labels, model):
            if name == best:
                continue
            gaps = [values.difference(name, best, measure) for values in tasks.values()]
            ends = [*tasks, f"{labels}, mean"]
            for end, gap in zip(ends, [*gaps, _mean(gaps)], strict=True):
                figures[f"{end} {name} − LightGBM's best {measure}"] = gap
    return figures


def best_own(recipe: Recipe, labels: str, figures: Figures, measure: str) -> str:
    """Return LightGBM's own objective with the highest mean over tasks."""
    objectives = [name for name in names(recipe, labels, "trees") if OWN in name]
    return max(objectives, key=lambda name: figures[f"{labels}, mean {name} {measure}"].value)


def _mean(measured: Sequence[Measured]) -> Measured:
    """Return the mean over tasks, which are independent."""
    n = len(measured)
    error = math.sqrt(sum(one.std_error**2 for one in measured)) / n
    return Measured(sum(one.value for one in measured) / n, error, n)


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield the differences from LightGBM's best objective, of the means over tasks."""
    del cells
    measure = recipe.parameters["shown"]
    for labels in (GRADES, BINARY):
        best = best_own(recipe, labels, figures, measure)
        panels: dict[str, list[views.Row]] = {}
        for model in _models(recipe):
            ends = [name for name in names(recipe, labels, model) if name != best]
            rows = {n: figures[f"{labels}, mean {n} − LightGBM's best {measure}"] for n in ends}
            falling = sorted(rows, key=lambda name: -rows[name].value)
            panels[model] = [views.row(name.partition(", ")[2], rows[name]) for name in falling]
        yield views.intervals(
            f"Labels {labels}: mean {measure} less that of {best.partition(', ')[2]}",
            panels,
            axis_label="difference",
            digits=3,
            caption="Mean over the tasks, on the same queries, with 95 % intervals.",
        )


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield levels and differences by task, and then the chosen options."""
    for labels in (GRADES, BINARY):
        yield from _levels(recipe, figures, labels)
    for labels in (GRADES, BINARY):
        for task in tasks_of(recipe, labels):
            values = _Task(recipe, cells, task)
            yield views.table(
                f"{task}: options chosen on validation, median over folds (least to greatest)",
                "method",
                values.names,
                ["options"],
                lambda name, _, values=values: views.options(values.chosen(name)),
            )


def _levels(recipe: Recipe, figures: Figures, labels: str) -> Iterator[Table]:
    """Yield a table of levels, and one of differences from LightGBM's best objective."""
    measure = recipe.parameters["shown"]
    ends = [*tasks_of(recipe, labels), f"{labels}, mean"]
    all_names = [name for model in _models(recipe) for name in names(recipe, labels, model)]
    falling = sorted(all_names, key=lambda name: -figures[f"{labels}, mean {name} {measure}"].value)
    best = best_own(recipe, labels, figures, measure)

    def level(name: str, end: str) -> str:
        return f"{figures[f'{end} {name} {measure}'].value:.3f}"

    def gap(name: str, end: str) -> str:
        return views.gap(figures[f"{end} {name} − LightGBM's best {measure}"])

    yield views.table(
        f"Labels {labels}: {measure}, mean of five folds, best first",
        "method",
        falling,
        ends,
        level,
    )
    yield views.table(
        f"Labels {labels}: {measure} less that of {best}, with intervals of 95 %",
        "method",
        [name for name in falling if name != best],
        ends,
        gap,
    )


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""The study of losses by model, on the recipe's tasks."""
