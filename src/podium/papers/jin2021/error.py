"""How far estimates from samples are from the exact measures, by the sample's size and seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.papers.jin2021.error_runs import (
    FACTORS,
    Floats,
    designs,
    estimators,
    fixed,
    growing,
    repeated,
    seconds,
)
from podium.papers.jin2021.evaluations import Evaluations, prepare
from podium.papers.jin2021.figures import of_mean
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, Study, key, parts
from podium.report import Figure, Table


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: each recommender's samples, and the seconds of those that are timed."""
    return [*_cells(recipe)]


def _cells(recipe: Recipe) -> Iterator[str]:
    for method in recipe.parameters["methods"]:
        for repeat in range(recipe.repeats or 1):
            yield key(part=ERRORS, method=method, repeat=repeat)
        if method in recipe.parameters["timed"]:
            yield key(part=SECONDS, method=method)


def run(recipe: Recipe, context: Evaluations, cell: str) -> Result:
    """Draw one sample of each design and estimate from it, or measure how long that takes."""
    asked = parts(cell)
    if asked["part"] == SECONDS:
        return seconds(recipe, context, asked["method"])
    return repeated(recipe, context, asked["method"], int(asked["repeat"]))


ERRORS, SECONDS = "errors", "seconds"
"""What a cell has: the estimates of one sample of each design, or how long things take."""

_SQUARE = 1e-30  # of a squared error, whose logarithm is taken


@dataclass(frozen=True, eq=False)
class Errors:
    """What all samples of all methods say.

    Attributes
    ----------
    methods : sequence of str
    cost : dict of str to float64, (n_methods,)
        Items drawn a user under each design, on average.
    found : dict of (estimator, design) to float64, (n_repeats, n_methods, n_measures)
        Estimate over exact value, less 1.
    measures : sequence of str
    """

    methods: Sequence[str]
    measures: Sequence[str]
    cost: Mapping[str, Floats]
    found: Mapping[tuple[str, str], Floats]

    def squares(self, label: str, design: str, measure: str) -> Floats:
        """Return squared errors: float64, (n_repeats, n_methods)."""
        return self.found[label, design][:, :, self.measures.index(measure)] ** 2


def errors(recipe: Recipe, cells: Cells) -> Errors:
    """Collect the cells of all methods."""
    methods = [*recipe.parameters["methods"]]
    done = [_of(cells, ERRORS, method) for method in methods]
    names = done[0][0]["cost"]
    cost = {
        name: np.array([[each["cost"][name] for each in mine] for mine in done], np.float64)
        .mean(axis=1)
        .astype(np.float64)
        for name in names
    }
    exact = np.array([mine[0]["exact"] for mine in done], np.float64)
    found = {
        (label, name): np.array(
            [[each["estimates"][label][name] for each in mine] for mine in done], np.float64
        ).swapaxes(0, 1)
        / exact
        - 1.0
        for label, by_design in done[0][0]["estimates"].items()
        for name in by_design
    }
    return Errors(methods, recipe.parameters["measures"], cost, found)


def times(recipe: Recipe, cells: Cells) -> dict[str, Result]:
    """Return the seconds of each method that is timed."""
    return {each: _of(cells, SECONDS, each)[0] for each in recipe.parameters["timed"]}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the judged measure's errors at two designs, those over others', and seconds."""
    measure: str = recipe.parameters["judged"]
    found = {
        f"{measure}: {name}": each
        for name, each in _figures(recipe, errors(recipe, cells), measure).items()
    }
    few = str(recipe.parameters["few"])
    for method, each in times(recipe, cells).items():
        for name, taken in (("all", each["all"]), (few, each["scoring"][few])):
            found[f"{method}: seconds of {name} items"] = Measured(taken)
        ratio = each["all"] / each["scoring"][few]
        found[f"{method}: seconds of all items / of {few}"] = Measured(ratio)
    return found


def _figures(recipe: Recipe, read: Errors, measure: str) -> dict[str, Measured]:
    few, many = str(recipe.parameters["few"]), [*fixed(recipe)][-1]
    grown = [*growing(recipe)][-1]
    found: dict[str, Measured] = {}
    for label, estimator in estimators(recipe):
        own = {name: read.squares(label, name, measure) for name in fixed(recipe)}
        found[f"{label} at {few}"] = of_mean(own[few], root)
        found[f"{label} at {many} / at {few}"] = _ratio(own[many], own[few])
        if estimator.grows:
            other = read.squares(label, grown, measure)
            found[f"{label} at {grown}"] = of_mean(other, root)
            found[f"{label} at {grown} / fixed at its cost"] = _at_cost(
                recipe, read, label, measure, grown
            )
    for one, other in recipe.parameters["compared"]:
        both = (read.squares(label, few, measure) for label in (one, other))
        found[f"{one} / {other} at {few}"] = _ratio(*both)
    return found


def root(squares: Floats) -> float:
    """Return the geometric mean, over methods, of the root of their mean squared errors."""
    return float(np.exp(0.5 * _logs(squares).mean()))


def interpolated(cost: Floats, sizes: Floats, squares: Floats) -> Floats:
    """Return the log of mean squared errors that samples of one size would have at some cost.

    Parameters
    ----------
    cost : float64, (n_methods,)
    sizes : float64, (n_sizes,)
        Rising.
    squares : float64, (n_sizes, n_methods)
        Mean squared errors; between sizes, linear in logarithms.
    """
    logs = _logs(squares)
    places, known = np.log(cost), np.log(sizes)
    found = np.empty_like(places)
    for i in range(places.size):
        found[i] = np.interp(places[i], known, logs[:, i])
    return found


def items_for(error: float, sizes: Floats, roots: Floats) -> float:
    """Return the size from which samples of one size keep to an error; nan where none there does.

    Parameters
    ----------
    error : float
    sizes, roots : float64, (n_sizes,)
        Rising sizes, and the error with each: between them, linear in logarithms.
    """
    above = np.flatnonzero(roots > error)
    if not above.size:
        return float(sizes[0])
    near = int(above[-1])
    if near + 1 == roots.size:
        return float("nan")
    (more, less), (low, high) = roots[near : near + 2].tolist(), sizes[near : near + 2].tolist()
    share = math.log(more / error) / math.log(more / less)
    return float(low ** (1.0 - share) * high**share)


def _at_cost(recipe: Recipe, read: Errors, label: str, measure: str, design: str) -> Measured:
    """Return a growing design's error over that of samples of one size, of as many items."""
    sizes = np.array([*fixed(recipe).values()], np.float64)
    every = [read.squares(label, name, measure) for name in (*fixed(recipe), design)]

    def over(squares: Floats) -> float:
        beside = interpolated(read.cost[design], sizes, squares[:-1])
        return root(squares[-1]) / float(np.exp(0.5 * float(beside.mean())))

    return of_mean(np.stack(every, axis=1), over)


def _ratio(one: Floats, other: Floats) -> Measured:
    return of_mean(np.stack([one, other], axis=1), lambda both: root(both[0]) / root(both[1]))


def _logs(squares: Floats) -> Floats:
    return np.log(np.maximum(squares, _SQUARE))


def _of(cells: Cells, part: str, method: str) -> list[Result]:
    asked = ((parts(cell), found) for cell, found in cells.items())
    return [found for told, found in asked if (told["part"], told["method"]) == (part, method)]


_DRAWN = "items drawn a user"
_LEAST = 0.001  # seconds that a logarithmic axis begins at


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return errors by size, those of samples that grow beside them, and by seconds."""
    read = errors(recipe, cells)
    measures: Sequence[str] = recipe.parameters["measures"]
    return [
        *(_by_size(recipe, read, measure) for measure in measures),
        *(_by_growth(recipe, read, measure) for measure in measures),
        *(
            _by_seconds(recipe, read, method, found)
            for method, found in times(recipe, cells).items()
        ),
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return errors by design, their parts for each method, growth's worth, and seconds."""
    return [*_tables(recipe, cells)]


def _tables(recipe: Recipe, cells: Cells) -> Iterator[Table]:
    read = errors(recipe, cells)
    names = [*designs(recipe)]
    for measure in recipe.parameters["measures"]:
        yield {
            "caption": f"{measure}: root-mean-square error over exact, geometric mean over "
            f"{', '.join(read.methods)}; by {_DRAWN}",
            "columns": ["estimator", *names],
            "rows": [
                [label, *(_error(read, label, name, measure) for name in names)]
                for label, _ in estimators(recipe)
            ],
        }
    few = str(recipe.parameters["few"])
    for measure in recipe.parameters["measures"]:
        yield {
            "caption": f"{measure} at {few}: bias and standard deviation over exact",
            "columns": ["estimator", *read.methods],
            "rows": [
                [label, *_parts(read, label, few, measure)] for label, _ in estimators(recipe)
            ],
        }
    yield {
        "caption": "Items a user with which samples of one size keep to the error of growing ones",
        "columns": ["estimator", "design", _DRAWN, *recipe.parameters["measures"]],
        "rows": [*_growth(recipe, read)],
    }
    for method, found in times(recipe, cells).items():
        yield _seconds(recipe, method, found)


def _error(read: Errors, label: str, design: str, measure: str) -> str:
    if (label, design) not in read.found:
        return ""
    return f"{root(read.squares(label, design, measure).mean(axis=0)):.3f}"


def _parts(read: Errors, label: str, design: str, measure: str) -> Iterator[str]:
    values = read.found[label, design][:, :, list(read.measures).index(measure)]
    spreads = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1], np.nan)
    for bias, spread in zip(values.mean(axis=0), spreads, strict=True):
        yield f"{bias:+.3f} ± {spread:.3f}"


def _growth(recipe: Recipe, read: Errors) -> Iterator[list[str]]:
    for label, _ in estimators(recipe, grow=True):
        for design in growing(recipe):
            needed = [
                _needed(recipe, read, label, design, m) for m in recipe.parameters["measures"]
            ]
            yield [label, design, f"{read.cost[design].mean():.0f}", *needed]


def _needed(recipe: Recipe, read: Errors, label: str, design: str, measure: str) -> str:
    sizes = np.array([*fixed(recipe).values()], np.float64)
    error = root(read.squares(label, design, measure).mean(axis=0))
    found = items_for(error, sizes, _roots(read, label, [*fixed(recipe)], measure))
    return f"above {sizes[-1]:.0f}" if np.isnan(found) else f"{found:.0f}"


def _roots(read: Errors, label: str, names: Sequence[str], measure: str) -> Floats:
    return np.array([root(read.squares(label, name, measure).mean(axis=0)) for name in names])


def _by_size(recipe: Recipe, read: Errors, measure: str) -> Figure:
    names = [*fixed(recipe)]
    return {
        "kind": "line_plot",
        "title": f"Error of {measure} by the size of samples",
        "series": [
            _line(label, fixed(recipe).values(), _roots(read, label, names, measure))
            for label, _ in estimators(recipe)
        ],
        "x_label": _DRAWN,
        "y_label": "root-mean-square error / exact",
        "log_x": True,
        "log_y": True,
        "caption": f"{_means(read)} Samples of one size.",
    }


def _by_growth(recipe: Recipe, read: Errors, measure: str) -> Figure:
    series: list[Mapping[str, Any]] = []
    for label in recipe.parameters["grown"]:
        for names, said in ((fixed(recipe), "one size"), (growing(recipe), "growing")):
            cost = [float(read.cost[name].mean()) for name in names]
            series.append(_line(f"{label}, {said}", cost, _roots(read, label, [*names], measure)))
    first = recipe.parameters["growing"][0][0]
    return {
        "kind": "line_plot",
        "title": f"Error of {measure} with samples that grow while the target comes first",
        "series": series,
        "x_label": f"{_DRAWN}, on average",
        "y_label": "root-mean-square error / exact",
        "log_x": True,
        "log_y": True,
        "caption": f"{_means(read)} Growing samples begin with {first} items; a point for each "
        f"size at which they end: {', '.join(growing(recipe))}.",
    }


def _by_seconds(recipe: Recipe, read: Errors, method: str, found: Result) -> Figure:
    measure = recipe.parameters["judged"]
    place, own = list(read.measures).index(measure), list(read.methods).index(method)
    series: list[Mapping[str, Any]] = []
    for label in recipe.parameters["timed_estimators"]:
        names = [*fixed(recipe)]
        errors_ = [
            float(np.sqrt((read.found[label, name][:, own, place] ** 2).mean())) for name in names
        ]
        series.append(_line(label, [_total(found, label, name) for name in names], errors_))
    heights = [y for line in series for y in line["y"]]
    whole = max(found["all"], _LEAST)
    series.append(_line("all items: no error", [whole] * 2, [min(heights), max(heights)]))
    return {
        "kind": "line_plot",
        "title": f"{method}: error of {measure} against seconds",
        "series": series,
        "x_label": "processor seconds of scoring and estimating",
        "y_label": "root-mean-square error / exact",
        "log_x": True,
        "log_y": True,
        "caption": f"Samples of {', '.join(fixed(recipe))} items a user. {_how(found)}",
    }


def _how(found: Result) -> str:
    if found["kind"] == FACTORS:
        return "Scores are products of factors, of the drawn items alone where a sample is drawn."
    return "A sample's scoring is reckoned: its share of what scoring all items takes."


def _total(found: Result, label: str, design: str) -> float:
    return max(found["scoring"][design] + found["estimating"][label][design], _LEAST)


def _means(read: Errors) -> str:
    n_repeats = next(iter(read.found.values())).shape[0]
    return f"Geometric mean over {', '.join(read.methods)}, of {n_repeats} samples each."


def _line(label: str, x: Any, y: Any) -> Mapping[str, Any]:
    return {"label": label, "x": [float(v) for v in x], "y": [round(float(v), 6) for v in y]}


def _seconds(recipe: Recipe, method: str, found: Result) -> Table:
    names = [*designs(recipe)]
    taken = found["estimating"]
    return {
        "caption": f"{method}: processor seconds; ranking all items takes {found['all']:.3f}. "
        f"{_how(found)}",
        "columns": ["", *names],
        "rows": [
            ["scoring", *(f"{found['scoring'][name]:.3f}" for name in names)],
            *(
                [label, *(f"{taken[label][n]:.3f}" if n in taken[label] else "" for n in names)]
                for label, _ in estimators(recipe)
            ),
        ],
    }


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Seconds differ from run to run; errors do not."""
