"""Losses of podium and LightGBM's own objectives, tuned alike, on several collections.

A task is a collection with its grades, or with binary labels made from them. Each task has five
folds of queries. A method is a model with a loss, named "model, loss". To add a loss, add its text
to the recipe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from podium.rankers import LinearRanker, NeuralRanker
from podium.rankers.boosting import LightGBMRanker
from podium.report import Table
from podium_studies import views
from podium_studies.cells import product, seed_of, sweep
from podium_studies.folds import FOLDS, Candidate, Method, Options, Values, scored, tuned
from podium_studies.recipe import DataSet, Recipe
from podium_studies.rows import Parts
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study
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


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the folds by task and method."""
    for labels in (GRADES, BINARY):
        chosen = all_names(recipe, labels)
        yield from sweep(data=tasks_of(recipe, labels), method=chosen, draw=[0], fold=FOLDS)


def all_names(recipe: Recipe, labels: str) -> list[str]:
    """Return the methods of all models for a kind of labels."""
    models = recipe.parameters["models"]
    return [name for model in models for name in names(recipe, labels, model)]


def run(recipe: Recipe, context: Context, data: str, method: str, draw: int, fold: int) -> Result:
    """Tune a method on a fold's validation queries and measure it on its test queries."""
    seed = seed_of(recipe, "fold", fold)
    return tuned(_method(method), context[data][fold - 1], recipe.parameters, seed)


def values_of(recipe: Recipe, cells: Cells, task: str) -> Values:
    """Return the values of one task."""
    labels = recipe.parameters["collections"][task]["labels"]
    return Values(recipe, cells, task, {n: _method(n) for n in all_names(recipe, labels)})


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the levels and their means over tasks, and differences from LightGBM's best.

    LightGBM's best objective is that of the highest mean over the tasks of a kind of labels.
    """
    figures: dict[str, Measured] = {}
    for labels in (GRADES, BINARY):
        tasks = {task: values_of(recipe, cells, task) for task in tasks_of(recipe, labels)}
        ends = [*tasks, f"{labels}, mean"]
        for measure in recipe.parameters["measures"]:
            for name in all_names(recipe, labels):
                levels = [values.level(name, measure) for values in tasks.values()]
                for end, level in zip(ends, [*levels, _mean(levels)], strict=True):
                    figures[f"{end} {name} {measure}"] = level
            best = best_own(recipe, labels, figures, measure)
            for name in all_names(recipe, labels):
                if name != best:
                    gaps = [
                        v.differences(name, best)[f"{v.prefix}{name} − {best} {measure}"]
                        for v in tasks.values()
                    ]
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


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Table]:
    """Yield levels and differences by task, and then the chosen options."""
    measure = recipe.parameters["shown"]
    for labels in (GRADES, BINARY):
        tasks = [*tasks_of(recipe, labels), f"{labels}, mean"]
        level = {
            name: figures[f"{tasks[-1]} {name} {measure}"] for name in all_names(recipe, labels)
        }
        falling = sorted(level, key=lambda name: -level[name].value)
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
        yield views.chosen(task, {name: values.chosen(name) for name in all_names(recipe, labels)})


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of losses by model, on the recipe's tasks."""
