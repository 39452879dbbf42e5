"""Errors of estimates from samples, by the size of the sample and by processor seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from podium.report import Figure, Table
from podium.sampled import Estimator, LinearEstimator, SampledRanks, sample_ranks
from podium_studies import views
from podium_studies.cells import key, repeats, results, sweep
from podium_studies.jin2021 import evaluations
from podium_studies.jin2021.evaluations import Evaluations, Floats, estimates
from podium_studies.study import Cells, Figures, Measured, Recipe, Result, Study

_TIMES = 3  # the number of runs, of which the shortest counts


def designs(recipe: Recipe) -> dict[str, int]:
    """Return the sizes of samples by name, in rising order."""
    return {str(size): size for size in recipe.parameters["sizes"]}


def seconds(recipe: Recipe, context: Evaluations, method: str) -> dict[str, Any]:
    """Return times on one thread: ranking all items, scoring samples, and estimating, by size."""
    measures = recipe.parameters["measures"]
    with threadpool_limits(1):
        model, targets = evaluations.fitted(context, method), context.targets
        scores = model.as_scores()
        all_seconds = _shortest_time(lambda: model.ranks(targets, exclude_seen=False))
        scoring: dict[str, float] = {}
        estimating: dict[str, dict[str, float]] = {}
        for name, size in designs(recipe).items():
            if isinstance(scores, tuple):  # factors, of which a sample needs the drawn items' only
                scoring[name] = _shortest_time(partial(sample_ranks, scores, targets, size))
            seed = evaluations.sample_seed(recipe, method, size, 0)
            for label, estimator, ranks in context.readings(method, size, seed):
                share = (1.0 + size) / context.n_items
                scoring.setdefault(name, all_seconds * share)
                work = partial(_estimated, estimator, ranks, measures)
                estimating.setdefault(label, {})[name] = _shortest_time(work)
    return {"all": all_seconds, "scoring": scoring, "estimating": estimating}


def _estimated(estimator: Estimator, ranks: SampledRanks, measures: list[str]) -> Any:
    """Estimate all measures, without the results of linear estimators that `estimates` caches."""
    if isinstance(estimator, LinearEstimator):
        return [estimator.estimate(ranks, measure) for measure in measures]
    return estimates(estimator, ranks, measures)


def _shortest_time(work: Callable[[], Any]) -> float:
    """Return the processor seconds of the shortest run, after one run that fills caches."""
    work()
    times: list[float] = []
    while len(times) < _TIMES and max(times, default=0.0) < 1.0:
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


ERRORS, SECONDS = "errors", "seconds"
"""The two kinds of cells: estimates from one sample of each size, and processor times."""

_SQUARE = 1e-30  # a lower bound of squared errors, before the logarithm
_DRAWN = "items drawn per user"


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the samples of each recommender, and the times of the timed recommenders."""
    for method in recipe.parameters["methods"]:
        yield from sweep(part=[ERRORS], method=[method], repeat=repeats(recipe))
        if method in recipe.parameters["timed"]:
            yield key(part=SECONDS, method=method)


def run(recipe: Recipe, context: Evaluations, part: str, method: str, repeat: int = 0) -> Result:
    """Compute the estimates from one sample of each size, or the time that they take."""
    measures = recipe.parameters["measures"]
    if part == SECONDS:
        return seconds(recipe, context, method)
    estimates_by_label: dict[str, dict[str, list[float]]] = {}
    for name, size in designs(recipe).items():
        seed = evaluations.sample_seed(recipe, method, size, repeat)
        for label, estimator, ranks in context.readings(method, size, seed):
            estimates_by_label.setdefault(label, {})[name] = estimates(estimator, ranks, measures)
    exact = [context.exact(method).expect(measure) for measure in measures]
    return {"exact": exact, "estimates": estimates_by_label}


def errors(recipe: Recipe, cells: Cells) -> dict[tuple[str, str], Floats]:
    """Return the estimates divided by the exact values, minus 1, by estimator and size.

    Returns
    -------
    dict of float64, (n_repeats, n_methods, n_measures)
    """
    by_method = _by_method(recipe, cells)
    exact = np.array([samples[0]["exact"] for samples in by_method])
    relative: dict[tuple[str, str], Floats] = {}
    for label, by_design in by_method[0][0]["estimates"].items():
        for design in by_design:
            values = [[one["estimates"][label][design] for one in samples] for samples in by_method]
            relative[label, design] = np.swapaxes(np.array(values), 0, 1) / exact - 1.0
    return relative


def _by_method(recipe: Recipe, cells: Cells) -> list[list[Result]]:
    return [results(cells, part=ERRORS, method=name) for name in recipe.parameters["methods"]]


def times(recipe: Recipe, cells: Cells) -> dict[str, Result]:
    """Return the times of each timed method."""
    timed = recipe.parameters["timed"]
    return {name: results(cells, part=SECONDS, method=name)[0] for name in timed}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return errors of the judged measure at two sizes, ratios of errors, and times."""
    relative, measure = errors(recipe, cells), recipe.parameters["judged"]
    small, large = str(recipe.parameters["few"]), [*designs(recipe)][-1]

    def statistics(squares: Floats) -> dict[str, float | Measured]:
        logs = dict(zip(relative, _logs(squares), strict=True))
        root = {pair: math.exp(0.5 * log.mean()) for pair, log in logs.items()}
        figures: dict[str, float | Measured] = {}
        for label in recipe.parameters["estimators"]:
            figures[f"{measure}: {label} at {small}"] = root[label, small]
            ratio = root[label, large] / root[label, small]
            figures[f"{measure}: {label} at {large} / at {small}"] = ratio
        for one, other in recipe.parameters["compared"]:
            ratio = root[one, small] / root[other, small]
            figures[f"{measure}: {one} / {other} at {small}"] = ratio
        return figures

    judged = recipe.parameters["measures"].index(measure)
    squares = np.stack([by_pair[..., judged] ** 2 for by_pair in relative.values()], axis=1)
    figures = evaluations.jackknife(squares, statistics)
    for method, result in times(recipe, cells).items():
        all_seconds, sample_seconds = result["all"], result["scoring"][small]
        figures |= {
            f"{method}: seconds of all items": Measured(all_seconds),
            f"{method}: seconds of {small} items": Measured(sample_seconds),
            f"{method}: seconds of all items / of {small}": Measured(all_seconds / sample_seconds),
        }
    return figures


def _logs(squares: Floats) -> Floats:
    return np.log(np.maximum(squares, _SQUARE))


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure | Table]:
    """Yield errors by design, and times."""
    relative, labels = errors(recipe, cells), recipe.parameters["estimators"]
    methods = [*recipe.parameters["methods"]]
    n_repeats = len(next(iter(relative.values())))
    means = f"Geometric mean over {', '.join(methods)}, of {n_repeats} samples each."
    for k, measure in enumerate(recipe.parameters["measures"]):
        squares = {pair: (by_pair[..., k] ** 2).mean(axis=0) for pair, by_pair in relative.items()}
        root = {pair: math.exp(0.5 * _logs(square).mean()) for pair, square in squares.items()}

        def error(label: str, name: str, root: Mapping[Any, float] = root) -> str:
            return views.fixed(root.get((label, name), np.nan), 3)

        title = (
            f"{measure}: root-mean-square error divided by the exact value, by {_DRAWN}. {means}"
        )
        yield views.table(title, "estimator", labels, designs(recipe).keys(), error)
        yield views.lines(
            f"Error of {measure} by {_DRAWN}",
            (_DRAWN, "root-mean-square error / exact value"),
            [
                views.curve(
                    label,
                    designs(recipe).values(),
                    [root[label, name] for name in designs(recipe)],
                )
                for label in labels
            ],
            log_x=True,
            log_y=True,
            caption=means,
        )

    for method, timing in times(recipe, cells).items():
        by_row = {"scoring": timing["scoring"], **timing["estimating"]}

        def seconds_of(row: str, name: str, by_row: Mapping[str, Any] = by_row) -> str:
            return views.fixed(by_row[row].get(name, np.nan), 3)

        title = f"{method}: processor seconds. Ranking all items takes {timing['all']:.3f}. "
        title += "Without factors, the time to score a sample is a share of it."
        yield views.table(title, "", by_row, designs(recipe).keys(), seconds_of)


STUDY = Study(cells, run, fold, evaluations.prepare, shown)
"""The study of errors by cost. Times differ between runs; errors do not."""
