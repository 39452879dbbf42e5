"""How far estimates from samples are from the exact measures, by the sample's size and seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.papers import views
from podium.papers.jin2021.error_runs import FACTORS, designs, fixed, growing, seconds
from podium.papers.jin2021.evaluations import Evaluations, estimates, prepare
from podium.papers.jin2021.figures import of_mean
from podium.papers.jin2021.protocol import Floats
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, Study, key, parts
from podium.papers.views import select
from podium.report import Figure, Table
from podium.sampled import get

ERRORS, SECONDS = "errors", "seconds"
"""What a cell has: the estimates of one sample of each design, or how long things take."""

_SQUARE = 1e-30  # of a squared error, whose logarithm is taken
_LEAST = 0.001  # seconds that a logarithmic axis begins at
_DRAWN = "items drawn a user"


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each recommender's samples, and the seconds of those that are timed."""
    for method in recipe.parameters["methods"]:
        for repeat in range(recipe.repeats or 1):
            yield key(part=ERRORS, method=method, repeat=repeat)
        if method in recipe.parameters["timed"]:
            yield key(part=SECONDS, method=method)


def run(recipe: Recipe, context: Evaluations, cell: str) -> Result:
    """Draw one sample of each design and estimate from it, or measure how long that takes."""
    asked, measures = parts(cell), recipe.parameters["measures"]
    method = asked["method"]
    if asked["part"] == SECONDS:
        return seconds(recipe, context, method)
    cost: dict[str, float] = {}
    found: dict[str, dict[str, list[float]]] = {}
    for name, size in designs(recipe).items():
        samples = context.sample(method, size, int(asked["repeat"]))
        cost[name] = float(np.mean(samples[0].n_negatives))
        for label, estimator, ranks in context.readings(samples):
            found.setdefault(label, {})[name] = estimates(estimator, ranks, measures)
    exact = [context.exact(method).expect(each) for each in measures]
    return {"exact": exact, "cost": cost, "estimates": found}


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

    def root(self, label: str, design: str, measure: str) -> float:
        """Return the geometric mean, over methods, of the root of the mean squared error."""
        return root(self.squares(label, design, measure).mean(axis=0))

    def roots(self, label: str, names: Iterable[str], measure: str) -> Floats:
        """Return `root` for each of these designs."""
        return np.array([self.root(label, name, measure) for name in names])


def errors(recipe: Recipe, cells: Cells) -> Errors:
    """Collect the cells of all methods."""
    methods = [*recipe.parameters["methods"]]
    done = [_of(cells, ERRORS, method) for method in methods]
    cost = {
        name: np.mean([[each["cost"][name] for each in mine] for mine in done], axis=1)
        for name in done[0][0]["cost"]
    }
    exact = np.array([mine[0]["exact"] for mine in done], np.float64)
    found: dict[tuple[str, str], Floats] = {}
    for label, by_design in done[0][0]["estimates"].items():
        for name in by_design:
            values = [[each["estimates"][label][name] for each in mine] for mine in done]
            found[label, name] = np.array(values, np.float64).swapaxes(0, 1) / exact - 1.0
    return Errors(methods, recipe.parameters["measures"], cost, found)


def times(recipe: Recipe, cells: Cells) -> dict[str, Result]:
    """Return the seconds of each method that is timed."""
    return {each: _of(cells, SECONDS, each)[0] for each in recipe.parameters["timed"]}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the judged measure's errors at two designs, those over others', and seconds."""
    read, measure = errors(recipe, cells), recipe.parameters["judged"]
    few, many = str(recipe.parameters["few"]), [*fixed(recipe)][-1]
    grown = [*growing(recipe)][-1]

    def squares(label: str, design: str) -> Floats:
        return read.squares(label, design, measure)

    found: dict[str, Measured] = {}
    for label, text in recipe.parameters["estimators"].items():
        own = squares(label, few)
        found[f"{measure}: {label} at {few}"] = of_mean(own, root)
        found[f"{measure}: {label} at {many} / at {few}"] = _ratio(squares(label, many), own)
        if get(text).grows:
            found[f"{measure}: {label} at {grown}"] = of_mean(squares(label, grown), root)
            over = _at_cost(recipe, read, label, measure, grown)
            found[f"{measure}: {label} at {grown} / fixed at its cost"] = over
    for one, other in recipe.parameters["compared"]:
        ratio = _ratio(squares(one, few), squares(other, few))
        found[f"{measure}: {one} / {other} at {few}"] = ratio
    for method, each in times(recipe, cells).items():
        whole, drawn = each["all"], each["scoring"][few]
        found[f"{method}: seconds of all items"] = Measured(whole)
        found[f"{method}: seconds of {few} items"] = Measured(drawn)
        found[f"{method}: seconds of all items / of {few}"] = Measured(whole / drawn)
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
    return [found for _, found in select(cells, part=part, method=method)]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield errors by design, their parts for each method, growth's worth, and seconds."""
    read = errors(recipe, cells)
    names, labels = [*designs(recipe)], recipe.parameters["estimators"]
    measures, few = recipe.parameters["measures"], str(recipe.parameters["few"])
    for measure in measures:
        yield views.table(
            f"{measure}: root-mean-square error over exact, geometric mean over "
            f"{', '.join(read.methods)}; by {_DRAWN}",
            "estimator",
            labels,
            {name: (name, measure) for name in names},
            lambda label, at: _text(read, label, *at),
        )
    for place, measure in enumerate(measures):
        yield views.table(
            f"{measure} at {few}: bias and standard deviation over exact",
            "estimator",
            labels,
            {method: (i, place) for i, method in enumerate(read.methods)},
            lambda label, at: _moments(read.found[label, few][:, at[0], at[1]]),
        )
    yield {
        "caption": "Items a user with which samples of one size keep to the error of growing ones",
        "columns": ["estimator", "design", _DRAWN, *measures],
        "rows": [
            [
                label,
                design,
                f"{read.cost[design].mean():.0f}",
                *(_needed(recipe, read, label, design, measure) for measure in measures),
            ]
            for label, text in labels.items()
            if get(text).grows
            for design in growing(recipe)
        ],
    }
    for method, found in times(recipe, cells).items():
        seconds = {"scoring": found["scoring"], **found["estimating"]}
        yield views.table(
            f"{method}: processor seconds; ranking all items takes {found['all']:.3f}. "
            f"{_how(found)}",
            "",
            ["scoring", *labels],
            {name: (seconds, name) for name in names},
            lambda row, at: f"{at[0][row][at[1]]:.3f}" if at[1] in at[0][row] else "",
        )


def _text(read: Errors, label: str, design: str, measure: str) -> str:
    return f"{read.root(label, design, measure):.3f}" if (label, design) in read.found else ""


def _moments(values: Floats) -> str:
    """Write the bias and the standard deviation of what a method's samples are off by."""
    spread = values.std(ddof=1) if values.size > 1 else float("nan")
    return f"{values.mean():+.3f} ± {spread:.3f}"


def _needed(recipe: Recipe, read: Errors, label: str, design: str, measure: str) -> str:
    sizes = np.array([*fixed(recipe).values()], np.float64)
    error = read.root(label, design, measure)
    found = items_for(error, sizes, read.roots(label, fixed(recipe), measure))
    return f"above {sizes[-1]:.0f}" if np.isnan(found) else f"{found:.0f}"


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield errors by size, those of samples that grow beside them, and by seconds."""
    read = errors(recipe, cells)
    n_repeats = next(iter(read.found.values())).shape[0]
    means = f"Geometric mean over {', '.join(read.methods)}, of {n_repeats} samples each."
    first, measures = recipe.parameters["growing"][0][0], recipe.parameters["measures"]
    kinds = {"one size": [*fixed(recipe)], "growing": [*growing(recipe)]}
    for measure in measures:
        yield _plot(
            f"Error of {measure} by the size of samples",
            [
                _line(label, fixed(recipe).values(), read.roots(label, fixed(recipe), measure))
                for label in recipe.parameters["estimators"]
            ],
            _DRAWN,
            f"{means} Samples of one size.",
        )
    for measure in measures:
        yield _plot(
            f"Error of {measure} with samples that grow while the target comes first",
            [
                _line(
                    f"{label}, {said}",
                    [float(read.cost[name].mean()) for name in names],
                    read.roots(label, names, measure),
                )
                for label in recipe.parameters["grown"]
                for said, names in kinds.items()
            ],
            f"{_DRAWN}, on average",
            f"{means} Growing samples begin with {first} items; a point for each size at which "
            f"they end: {', '.join(growing(recipe))}.",
        )
    for method, found in times(recipe, cells).items():
        yield _by_seconds(recipe, read, method, found)


def _by_seconds(recipe: Recipe, read: Errors, method: str, found: Result) -> Figure:
    measure, names = recipe.parameters["judged"], [*fixed(recipe)]
    own = list(read.methods).index(method)

    def line(label: str) -> views.Row:
        taken = (found["scoring"][n] + found["estimating"][label][n] for n in names)
        squares = (read.squares(label, name, measure)[:, own] for name in names)
        roots = [float(np.sqrt(each.mean())) for each in squares]
        return _line(label, [max(each, _LEAST) for each in taken], roots)

    series = [line(label) for label in recipe.parameters["timed_estimators"]]
    heights = [y for each in series for y in each["y"]]
    whole = max(found["all"], _LEAST)
    series.append(_line("all items: no error", [whole] * 2, [min(heights), max(heights)]))
    return _plot(
        f"{method}: error of {measure} against seconds",
        series,
        "processor seconds of scoring and estimating",
        f"Samples of {', '.join(names)} items a user. {_how(found)}",
    )


def _plot(title: str, series: Sequence[views.Row], x_label: str, caption: str) -> Figure:
    y_label = "root-mean-square error / exact"
    return views.lines(title, series, x_label, y_label, log_x=True, log_y=True, caption=caption)


def _line(label: str, x: Iterable[float], y: Iterable[float]) -> views.Row:
    return views.curve(label, map(float, x), (round(float(each), 6) for each in y))


def _how(found: Result) -> str:
    if found["kind"] == FACTORS:
        return "Scores are products of factors, of the drawn items alone where a sample is drawn."
    return "A sample's scoring is reckoned: its share of what scoring all items takes."


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Seconds differ from run to run; errors do not."""
