"""Errors of estimates from samples, by the size of the sample and by processor seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from podium.report import Figure, Table
from podium.sampled import Estimator, LinearEstimator, SampledRanks, get, sample_ranks
from podium_studies import views
from podium_studies.cells import key, repeats, results, sweep
from podium_studies.jin2021.evaluations import Evaluations, estimates, prepare
from podium_studies.jin2021.figures import statistic_of_mean
from podium_studies.jin2021.protocol import Floats
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Measured, Result, Study

Size: TypeAlias = "int | tuple[int, ...]"

FACTORS, SHARE = "factors", "share"
"""The origin of a sample's scoring time: measured with products of the drawn items' factors, or
computed as a share of the time for all items."""

_TIMES = 3  # the number of runs, of which the shortest counts


def fixed(recipe: Recipe) -> dict[str, int]:
    """Return the designs of one size by name, in rising order."""
    return {str(size): size for size in recipe.parameters["fixed"]}


def growing(recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """Return the designs that grow while the target ranks first, by name, in rising order."""
    return {f"{sizes[0]} to {sizes[-1]}": tuple(sizes) for sizes in recipe.parameters["growing"]}


def designs(recipe: Recipe) -> dict[str, Size]:
    """Return all designs by name, those of one size first."""
    return {**fixed(recipe), **growing(recipe)}


def seconds(recipe: Recipe, context: Evaluations, method: str) -> dict[str, Any]:
    """Return times on one thread: ranking all items, scoring samples, and estimating, by design."""
    measures = recipe.parameters["measures"]
    with threadpool_limits(1):
        model, targets = context.models.fitted(method), context.held_out.targets
        scores = model.as_scores()
        kind = FACTORS if isinstance(scores, tuple) else SHARE
        all_seconds = _shortest_time(lambda: model.ranks(targets, exclude_seen=False))
        scoring: dict[str, float] = {}
        estimating: dict[str, dict[str, float]] = {}
        for name, size in designs(recipe).items():
            samples = context.sample(method, size, 0)
            share = (1.0 + float(np.mean(samples[0].n_negatives))) / context.held_out.n_items
            scoring[name] = (
                _scoring(scores, targets, size) if kind == FACTORS else all_seconds * share
            )
            for label, estimator, ranks in context.readings(samples):
                estimating_seconds = _estimating(estimator, ranks, measures)
                estimating.setdefault(label, {})[name] = estimating_seconds
    return {"kind": kind, "all": all_seconds, "scoring": scoring, "estimating": estimating}


def _scoring(factors: Any, targets: Any, size: Size) -> float:
    return _shortest_time(lambda: sample_ranks(factors, targets, size))


def _estimating(estimator: Estimator, ranks: SampledRanks, measures: list[str]) -> float:
    """Return the time of estimating all measures from a second sample of the same design.

    The time excludes quantities that estimators cache per design, such as the matrix of CLS.
    """
    if isinstance(estimator, LinearEstimator):
        return _shortest_time(lambda: [estimator.estimate(ranks, measure) for measure in measures])
    return _shortest_time(lambda: estimates(estimator, ranks, measures))


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
"""The two kinds of cells: estimates from one sample of each design, and processor times."""

_SQUARE = 1e-30  # a lower bound of squared errors, before the logarithm
_LEAST = 0.001  # the lower end of the logarithmic axis, in seconds
_DRAWN = "items drawn per user"


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the samples of each recommender, and the times of the timed recommenders."""
    for method in recipe.parameters["methods"]:
        yield from sweep(part=[ERRORS], method=[method], repeat=repeats(recipe))
        if method in recipe.parameters["timed"]:
            yield key(part=SECONDS, method=method)


def run(recipe: Recipe, context: Evaluations, part: str, method: str, repeat: int = 0) -> Result:
    """Compute the estimates from one sample of each design, or the time that they take."""
    measures = recipe.parameters["measures"]
    if part == SECONDS:
        return seconds(recipe, context, method)
    cost: dict[str, float] = {}
    estimates_by_label: dict[str, dict[str, list[float]]] = {}
    for name, size in designs(recipe).items():
        samples = context.sample(method, size, repeat)
        cost[name] = float(np.mean(samples[0].n_negatives))
        for label, estimator, ranks in context.readings(samples):
            estimates_by_label.setdefault(label, {})[name] = estimates(estimator, ranks, measures)
    exact = [context.exact(method).expect(measure) for measure in measures]
    return {"exact": exact, "cost": cost, "estimates": estimates_by_label}


@dataclass(frozen=True, eq=False)
class Errors:
    """The relative errors of all samples of all methods.

    Attributes
    ----------
    methods : sequence of str
    measures : sequence of str
    cost : dict of str to float64, (n_methods,)
        The mean number of items drawn per user in each design.
    relative_errors : dict of (estimator, design) to float64, (n_repeats, n_methods, n_measures)
        The estimate divided by the exact value, minus 1.
    """

    methods: Sequence[str]
    measures: Sequence[str]
    cost: Mapping[str, Floats]
    relative_errors: Mapping[tuple[str, str], Floats]

    def squares(self, label: str, design: str, measure: str) -> Floats:
        """Return squared errors: float64, (n_repeats, n_methods)."""
        return self.relative_errors[label, design][:, :, self.measures.index(measure)] ** 2

    def root(self, label: str, design: str, measure: str) -> float:
        """Return the geometric mean, over methods, of the root of the mean squared error."""
        return root(self.squares(label, design, measure).mean(axis=0))


def errors(recipe: Recipe, cells: Cells) -> Errors:
    """Collect the cells of all methods."""
    methods = [*recipe.parameters["methods"]]
    found = [results(cells, part=ERRORS, method=method) for method in methods]
    cost = {
        name: np.mean(
            [[result["cost"][name] for result in method_results] for method_results in found],
            axis=1,
        )
        for name in found[0][0]["cost"]
    }
    exact = np.array([method_results[0]["exact"] for method_results in found], np.float64)
    relative_errors: dict[tuple[str, str], Floats] = {}
    for label, by_design in found[0][0]["estimates"].items():
        for name in by_design:
            values = [
                [result["estimates"][label][name] for result in method_results]
                for method_results in found
            ]
            relative_errors[label, name] = np.array(values, np.float64).swapaxes(0, 1) / exact - 1.0
    return Errors(methods, recipe.parameters["measures"], cost, relative_errors)


def times(recipe: Recipe, cells: Cells) -> dict[str, Result]:
    """Return the times of each timed method."""
    return {
        method: results(cells, part=SECONDS, method=method)[0]
        for method in recipe.parameters["timed"]
    }


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return errors of the judged measure at two sizes, ratios of errors, and times."""
    all_errors, measure = errors(recipe, cells), recipe.parameters["judged"]
    small, large = str(recipe.parameters["few"]), [*fixed(recipe)][-1]
    growing_design = [*growing(recipe)][-1]

    def squares(label: str, design: str) -> Floats:
        return all_errors.squares(label, design, measure)

    figures: dict[str, Measured] = {}
    for label, text in recipe.parameters["estimators"].items():
        small_squares = squares(label, small)
        figures[f"{measure}: {label} at {small}"] = statistic_of_mean(small_squares, root)
        figures[f"{measure}: {label} at {large} / at {small}"] = _ratio(
            squares(label, large), small_squares
        )
        if get(text).grows:
            figures[f"{measure}: {label} at {growing_design}"] = statistic_of_mean(
                squares(label, growing_design), root
            )
            error_ratio = _at_cost(recipe, all_errors, label, measure, growing_design)
            figures[f"{measure}: {label} at {growing_design} / fixed at its cost"] = error_ratio
    for one, other in recipe.parameters["compared"]:
        ratio = _ratio(squares(one, small), squares(other, small))
        figures[f"{measure}: {one} / {other} at {small}"] = ratio
    for method, result in times(recipe, cells).items():
        all_seconds, sample_seconds = result["all"], result["scoring"][small]
        figures[f"{method}: seconds of all items"] = Measured(all_seconds)
        figures[f"{method}: seconds of {small} items"] = Measured(sample_seconds)
        figures[f"{method}: seconds of all items / of {small}"] = Measured(
            all_seconds / sample_seconds
        )
    return figures


def root(squares: Floats) -> float:
    """Return the geometric mean over methods of their root-mean-square errors."""
    return float(np.exp(0.5 * _logs(squares).mean()))


def items_for(error: float, sizes: Floats, roots: Floats) -> float:
    """Return the size from which fixed-size samples have at most this error, or nan.

    Parameters
    ----------
    error : float
        The error not to exceed.
    sizes, roots : float64, (n_sizes,)
        The sizes, rising, and the error of each. The interpolation is linear in logarithms.

    Returns
    -------
    float
        The first size if no error is above `error`; nan if that of the last size is.
    """
    larger = np.flatnonzero(roots > error)
    if not larger.size:
        return float(sizes[0])
    last = int(larger[-1])
    pair = slice(last, last + 2)
    if roots[pair].size < 2:
        return float("nan")
    log_roots, log_sizes = (np.log(values[pair])[::-1] for values in (roots, sizes))
    return float(np.exp(np.interp(math.log(error), log_roots, log_sizes)))


def _at_cost(recipe: Recipe, all_errors: Errors, label: str, measure: str, design: str) -> Measured:
    """Return the error of a growing design divided by that of fixed-size samples of equal cost."""
    sizes = np.array([*fixed(recipe).values()], np.float64)
    all_squares = [all_errors.squares(label, name, measure) for name in (*fixed(recipe), design)]

    def ratio_to_fixed(squares: Floats) -> float:
        # Errors are interpolated on logarithmic scales, for each method at its cost.
        logs, costs = _logs(squares[:-1]), np.log(all_errors.cost[design]).tolist()
        log_fixed: list[float] = [
            np.interp(cost, np.log(sizes), logs[:, i]) for i, cost in enumerate(costs)
        ]
        return root(squares[-1]) / float(np.exp(0.5 * float(np.mean(log_fixed))))

    return statistic_of_mean(np.stack(all_squares, axis=1), ratio_to_fixed)


def _ratio(one: Floats, other: Floats) -> Measured:
    return statistic_of_mean(
        np.stack([one, other], axis=1), lambda both: root(both[0]) / root(both[1])
    )


def _logs(squares: Floats) -> Floats:
    return np.log(np.maximum(squares, _SQUARE))


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure | Table]:
    """Yield errors by design, biases and deviations by method, and times."""
    all_errors, small = errors(recipe, cells), str(recipe.parameters["few"])
    methods, relative = all_errors.methods, all_errors.relative_errors
    n_repeats = next(iter(relative.values())).shape[0]
    means = f"Geometric mean over {', '.join(methods)}, of {n_repeats} samples each."
    for k, measure in enumerate(recipe.parameters["measures"]):
        roots = {pair: all_errors.root(*pair, measure) for pair in relative}
        yield views.table(
            f"{measure}: root-mean-square error divided by the exact value, by {_DRAWN}. {means}",
            "estimator",
            recipe.parameters["estimators"],
            [*designs(recipe)],
            lambda label, name, roots=roots: views.fixed(roots.get((label, name), np.nan), 3),
        )
        yield views.table(
            f"{measure} at {small}: bias ± standard deviation, divided by the exact value",
            "estimator",
            recipe.parameters["estimators"],
            {method: i for i, method in enumerate(methods)},
            lambda label, i, k=k: _moments(relative[label, small][:, i, k]),
        )
        series = {
            label: (fixed(recipe).values(), [roots[label, name] for name in fixed(recipe)])
            for label in recipe.parameters["estimators"]
        }
        yield _plot(f"Error of {measure} by the size of samples", series, _DRAWN, means)
        series = {
            f"{label}, {kind}": (
                [float(all_errors.cost[name].mean()) for name in names],
                [roots[label, name] for name in names],
            )
            for label in recipe.parameters["grown"]
            for kind, names in {"one size": fixed(recipe), "growing": growing(recipe)}.items()
        }
        yield _plot(
            f"Error of {measure} with samples that grow while the target ranks first",
            series,
            f"{_DRAWN}, on average",
            f"{means} Each point is a design: {', '.join(growing(recipe))}.",
        )
    sizes = np.array([*fixed(recipe).values()], np.float64)

    def same_error(pair: tuple[str, str], measure: str) -> str:
        roots = np.array([all_errors.root(pair[0], name, measure) for name in fixed(recipe)])
        n = items_for(all_errors.root(*pair, measure), sizes, roots)
        return f"above {sizes[-1]:.0f}" if np.isnan(n) else f"{n:.0f}"

    grown = {
        f"{label}, {name}": (label, name) for label, name in relative if name in growing(recipe)
    }
    yield views.table(
        "Items per user with which samples of one size have the error of growing ones",
        "estimator, design",
        grown,
        recipe.parameters["measures"],
        lambda label, measure: same_error(grown[label], measure),
    )
    for method, timing in times(recipe, cells).items():
        yield from _by_seconds(recipe, all_errors, method, timing)


def _by_seconds(
    recipe: Recipe, all_errors: Errors, method: str, timing: Result
) -> Iterator[Figure | Table]:
    measure, names = recipe.parameters["judged"], [*fixed(recipe)]
    index = list(all_errors.methods).index(method)
    note = "The time to score a sample is computed as a share of the time to score all items."
    if timing["kind"] == FACTORS:
        note = "Scores are products of factors. A sample needs only those of the drawn items."
    by_row = {"scoring": timing["scoring"], **timing["estimating"]}
    yield views.table(
        f"{method}: processor seconds. Ranking all items takes {timing['all']:.3f}. {note}",
        "",
        by_row,
        [*designs(recipe)],
        lambda row, name: views.fixed(by_row[row].get(name, np.nan), 3),
    )
    series = {
        label: (
            [max(timing["scoring"][n] + timing["estimating"][label][n], _LEAST) for n in names],
            [float(all_errors.squares(label, n, measure)[:, index].mean()) ** 0.5 for n in names],
        )
        for label in recipe.parameters["timed_estimators"]
    }
    heights = [y for _, column in series.values() for y in column]
    ends = [min(heights), max(heights)]
    series["all items: no error"] = [max(timing["all"], _LEAST)] * 2, ends
    x_label = "processor seconds of scoring and estimating"
    yield _plot(f"{method}: error of {measure} against seconds", series, x_label, note)


def _plot(title: str, series: Mapping[str, Any], x_label: str, caption: str) -> Figure:
    curves = [views.curve(label, map(float, x), y) for label, (x, y) in series.items()]
    y_label = "root-mean-square error / exact value"
    return views.lines(title, curves, x_label, y_label, log_x=True, log_y=True, caption=caption)


def _moments(values: Floats) -> str:
    """Format the mean and the standard deviation of a method's relative errors."""
    spread = values.std(ddof=1) if values.size > 1 else float("nan")
    return f"{values.mean():+.3f} ± {spread:.3f}"


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of errors by cost. Times differ between runs; errors do not."""
