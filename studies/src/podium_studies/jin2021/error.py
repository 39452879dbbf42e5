"""Errors of estimates from samples, by the size of the sample and by processor seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.report import Figure, Table
from podium.sampled import get
from podium_studies import views
from podium_studies.jin2021.error_runs import FACTORS, designs, fixed, growing, seconds
from podium_studies.jin2021.evaluations import Evaluations, estimates, prepare
from podium_studies.jin2021.figures import statistic_of_mean
from podium_studies.jin2021.protocol import Floats
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Measured, Result, Study, key, parts
from podium_studies.views import select

ERRORS, SECONDS = "errors", "seconds"
"""The two kinds of cells: estimates from one sample of each design, and processor times."""

_SQUARE = 1e-30  # a lower bound of squared errors, before the logarithm
_LEAST = 0.001  # the lower end of the logarithmic axis, in seconds
_DRAWN = "items drawn per user"


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: the samples of each recommender, and the times of the timed recommenders."""
    for method in recipe.parameters["methods"]:
        for repeat in range(recipe.repeats or 1):
            yield key(part=ERRORS, method=method, repeat=repeat)
        if method in recipe.parameters["timed"]:
            yield key(part=SECONDS, method=method)


def run(recipe: Recipe, context: Evaluations, cell: str) -> Result:
    """Compute the estimates from one sample of each design, or the time that they take."""
    key_parts, measures = parts(cell), recipe.parameters["measures"]
    method = key_parts["method"]
    if key_parts["part"] == SECONDS:
        return seconds(recipe, context, method)
    cost: dict[str, float] = {}
    estimates_by_label: dict[str, dict[str, list[float]]] = {}
    for name, size in designs(recipe).items():
        samples = context.sample(method, size, int(key_parts["repeat"]))
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

    def roots(self, label: str, names: Iterable[str], measure: str) -> Floats:
        """Return `root` for each of these designs: float64, (n_designs,)."""
        return np.array([self.root(label, name, measure) for name in names])


def errors(recipe: Recipe, cells: Cells) -> Errors:
    """Collect the cells of all methods."""
    methods = [*recipe.parameters["methods"]]
    results = [_results(cells, ERRORS, method) for method in methods]
    cost = {
        name: np.mean(
            [[result["cost"][name] for result in method_results] for method_results in results],
            axis=1,
        )
        for name in results[0][0]["cost"]
    }
    exact = np.array([method_results[0]["exact"] for method_results in results], np.float64)
    relative_errors: dict[tuple[str, str], Floats] = {}
    for label, by_design in results[0][0]["estimates"].items():
        for name in by_design:
            values = [
                [result["estimates"][label][name] for result in method_results]
                for method_results in results
            ]
            relative_errors[label, name] = np.array(values, np.float64).swapaxes(0, 1) / exact - 1.0
    return Errors(methods, recipe.parameters["measures"], cost, relative_errors)


def times(recipe: Recipe, cells: Cells) -> dict[str, Result]:
    """Return the times of each timed method."""
    return {method: _results(cells, SECONDS, method)[0] for method in recipe.parameters["timed"]}


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


def interpolated(cost: Floats, sizes: Floats, squares: Floats) -> Floats:
    """Interpolate the logarithm of the mean squared error of fixed-size samples at a given cost.

    Parameters
    ----------
    cost : float64, (n_methods,)
        The size at which to interpolate, by method.
    sizes : float64, (n_sizes,)
        The sizes, rising.
    squares : float64, (n_sizes, n_methods)
        The mean squared errors. The interpolation is linear in logarithms.

    Returns
    -------
    float64, (n_methods,)
    """
    logs = _logs(squares)
    log_cost, log_sizes = np.log(cost), np.log(sizes)
    log_squares = np.empty_like(log_cost)
    for i in range(log_cost.size):
        log_squares[i] = np.interp(log_cost[i], log_sizes, logs[:, i])
    return log_squares


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
    if last + 1 == roots.size:
        return float("nan")
    (root_above, root_below), (low, high) = (
        roots[last : last + 2].tolist(),
        sizes[last : last + 2].tolist(),
    )
    share = math.log(root_above / error) / math.log(root_above / root_below)
    return float(low ** (1.0 - share) * high**share)


def _at_cost(recipe: Recipe, all_errors: Errors, label: str, measure: str, design: str) -> Measured:
    """Return the error of a growing design divided by that of fixed-size samples of equal cost."""
    sizes = np.array([*fixed(recipe).values()], np.float64)
    all_squares = [all_errors.squares(label, name, measure) for name in (*fixed(recipe), design)]

    def ratio_to_fixed(squares: Floats) -> float:
        log_fixed = interpolated(all_errors.cost[design], sizes, squares[:-1])
        return root(squares[-1]) / float(np.exp(0.5 * float(log_fixed.mean())))

    return statistic_of_mean(np.stack(all_squares, axis=1), ratio_to_fixed)


def _ratio(one: Floats, other: Floats) -> Measured:
    return statistic_of_mean(
        np.stack([one, other], axis=1), lambda both: root(both[0]) / root(both[1])
    )


def _logs(squares: Floats) -> Floats:
    return np.log(np.maximum(squares, _SQUARE))


def _results(cells: Cells, part: str, method: str) -> list[Result]:
    return [result for _, result in select(cells, part=part, method=method)]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield errors by design, biases and deviations by method, equivalent sizes, and times."""
    all_errors = errors(recipe, cells)
    names, labels = [*designs(recipe)], recipe.parameters["estimators"]
    measures, small = recipe.parameters["measures"], str(recipe.parameters["few"])
    for measure in measures:
        yield views.table(
            f"{measure}: root-mean-square error divided by the exact value, geometric mean over "
            f"{', '.join(all_errors.methods)}, by {_DRAWN}",
            "estimator",
            labels,
            {name: (name, measure) for name in names},
            lambda label, column: _root_text(all_errors, label, *column),
        )
    for index, measure in enumerate(measures):
        yield views.table(
            f"{measure} at {small}: bias ± standard deviation, divided by the exact value",
            "estimator",
            labels,
            {method: (i, index) for i, method in enumerate(all_errors.methods)},
            lambda label, column: _moments_text(
                all_errors.relative_errors[label, small][:, column[0], column[1]]
            ),
        )
    yield {
        "caption": "Items per user with which samples of one size have the error of growing ones",
        "columns": ["estimator", "design", _DRAWN, *measures],
        "rows": [
            [
                label,
                design,
                f"{all_errors.cost[design].mean():.0f}",
                *(
                    _equivalent_size(recipe, all_errors, label, design, measure)
                    for measure in measures
                ),
            ]
            for label, text in labels.items()
            if get(text).grows
            for design in growing(recipe)
        ],
    }
    for method, result in times(recipe, cells).items():
        seconds = {"scoring": result["scoring"], **result["estimating"]}
        yield views.table(
            f"{method}: processor seconds. Ranking all items takes {result['all']:.3f}. "
            f"{_timing_note(result)}",
            "",
            ["scoring", *labels],
            {name: (seconds, name) for name in names},
            lambda row, column: (
                f"{column[0][row][column[1]]:.3f}" if column[1] in column[0][row] else ""
            ),
        )


def _root_text(all_errors: Errors, label: str, design: str, measure: str) -> str:
    return (
        f"{all_errors.root(label, design, measure):.3f}"
        if (label, design) in all_errors.relative_errors
        else ""
    )


def _moments_text(values: Floats) -> str:
    """Format the mean and the standard deviation of a method's relative errors."""
    spread = values.std(ddof=1) if values.size > 1 else float("nan")
    return f"{values.mean():+.3f} ± {spread:.3f}"


def _equivalent_size(
    recipe: Recipe, all_errors: Errors, label: str, design: str, measure: str
) -> str:
    sizes = np.array([*fixed(recipe).values()], np.float64)
    error = all_errors.root(label, design, measure)
    size = items_for(error, sizes, all_errors.roots(label, fixed(recipe), measure))
    return f"above {sizes[-1]:.0f}" if np.isnan(size) else f"{size:.0f}"


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield errors by sample size, by the mean size of growing samples, and by seconds."""
    all_errors = errors(recipe, cells)
    n_repeats = next(iter(all_errors.relative_errors.values())).shape[0]
    means = f"Geometric mean over {', '.join(all_errors.methods)}, of {n_repeats} samples each."
    first, measures = recipe.parameters["growing"][0][0], recipe.parameters["measures"]
    kinds = {"one size": [*fixed(recipe)], "growing": [*growing(recipe)]}
    for measure in measures:
        yield _plot(
            f"Error of {measure} by the size of samples",
            [
                _line(
                    label, fixed(recipe).values(), all_errors.roots(label, fixed(recipe), measure)
                )
                for label in recipe.parameters["estimators"]
            ],
            _DRAWN,
            f"{means} Samples of one size.",
        )
    for measure in measures:
        yield _plot(
            f"Error of {measure} with samples that grow while the target ranks first",
            [
                _line(
                    f"{label}, {kind}",
                    [float(all_errors.cost[name].mean()) for name in names],
                    all_errors.roots(label, names, measure),
                )
                for label in recipe.parameters["grown"]
                for kind, names in kinds.items()
            ],
            f"{_DRAWN}, on average",
            f"{means} Growing samples begin with {first} items. Each point is a design: "
            f"{', '.join(growing(recipe))}.",
        )
    for method, result in times(recipe, cells).items():
        yield _by_seconds(recipe, all_errors, method, result)


def _by_seconds(recipe: Recipe, all_errors: Errors, method: str, timing: Result) -> Figure:
    measure, names = recipe.parameters["judged"], [*fixed(recipe)]
    index = list(all_errors.methods).index(method)

    def line(label: str) -> views.Row:
        cpu_seconds = (timing["scoring"][n] + timing["estimating"][label][n] for n in names)
        squares = (all_errors.squares(label, name, measure)[:, index] for name in names)
        roots = [float(np.sqrt(value.mean())) for value in squares]
        return _line(label, [max(value, _LEAST) for value in cpu_seconds], roots)

    series = [line(label) for label in recipe.parameters["timed_estimators"]]
    heights = [y for value in series for y in value["y"]]
    all_seconds = max(timing["all"], _LEAST)
    series.append(_line("all items: no error", [all_seconds] * 2, [min(heights), max(heights)]))
    return _plot(
        f"{method}: error of {measure} against seconds",
        series,
        "processor seconds of scoring and estimating",
        f"Samples of {', '.join(names)} items per user. {_timing_note(timing)}",
    )


def _plot(title: str, series: Sequence[views.Row], x_label: str, caption: str) -> Figure:
    y_label = "root-mean-square error / exact value"
    return views.lines(title, series, x_label, y_label, log_x=True, log_y=True, caption=caption)


def _line(label: str, x: Iterable[float], y: Iterable[float]) -> views.Row:
    return views.curve(label, map(float, x), (round(float(value), 6) for value in y))


def _timing_note(timing: Result) -> str:
    if timing["kind"] == FACTORS:
        return "Scores are products of factors. A sample needs only those of the drawn items."
    return "The time to score a sample is computed as a share of the time to score all items."


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""The study of errors by cost. Times differ between runs; errors do not."""
