"""From estimates to their errors over exact values, and how these change with the sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.papers.jin2021.error_runs import Floats, estimators, fixed, growing
from podium.papers.jin2021.figures_figures import of_mean
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, parts

ERRORS, SECONDS = "errors", "seconds"
"""What a cell has: the estimates of one sample of each design, or how long things take."""

_LEAST = 1e-30  # of a squared error, whose logarithm is taken


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
    return np.log(np.maximum(squares, _LEAST))


def _of(cells: Cells, part: str, method: str) -> list[Result]:
    asked = ((parts(cell), found) for cell, found in cells.items())
    return [found for told, found in asked if (told["part"], told["method"]) == (part, method)]
