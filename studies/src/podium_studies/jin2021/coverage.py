"""Coverage of the default estimator's intervals over a grid of populations, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import beta, norm

from podium.report import Table
from podium.sampled import RankDistribution, evaluate, get, simulate_ranks
from podium_studies import views
from podium_studies.cells import generator, repeats, results, seed_of, sweep
from podium_studies.jin2021 import evaluations
from podium_studies.jin2021.evaluations import Floats, Ints, estimates
from podium_studies.study import Cells, Figures, Measured, Recipe, Result, Study

FAMILIES: Mapping[str, Callable[[Floats, float, float], Floats]] = {
    "power": lambda ranks, exponent, shift: np.cumsum((ranks + shift) ** -exponent),
    "lognormal": lambda ranks, divisor, deviation: norm.cdf(
        np.log(ranks * divisor / ranks.size) / deviation  # the median is n_items / divisor
    ),
    "beta": lambda ranks, a, b: beta.cdf(ranks / ranks.size, a, b),
}
"""The families by name. Continuous ranks are rounded up."""


def cumulative(parts: Iterable[Sequence[Any]], n_items: int) -> Floats:
    """Return the probability of each rank or a smaller one, in a mixture: float64, (n_items,).

    A part has its weight, the name of its family, and two parameters of the family.

    Examples
    --------
    >>> cumulative([[1.0, "power", 0.0, 0.0]], 4)
    array([0.25, 0.5 , 0.75, 1.  ])
    """
    ranks = np.arange(1.0, n_items + 1)
    total = np.zeros(n_items)
    for weight, family, first, second in parts:
        values = FAMILIES[family](ranks, first, second)
        total += weight * values / values[-1]
    return total / total[-1]


def draw(
    parts: Iterable[Sequence[Any]], n_items: int, n_users: int, rng: np.random.Generator
) -> Ints:
    """Draw the ranks of users from a mixture: int64, (n_users,)."""
    places = np.searchsorted(cumulative(parts, n_items), rng.random(n_users), side="right")
    return np.minimum(places, n_items - 1) + 1


DEFAULT = "default"
"""The name of the estimator whose intervals are measured; the others are its rivals."""
_LEAST_COVERAGE = 0.9
_MOSTLY = 0.5  # the share of samples from which a member counts as not determined


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each member of the grid with each repeat."""
    return sweep(member=range(len(recipe.parameters["members"])), repeat=repeats(recipe))


def run(recipe: Recipe, context: None, member: int, repeat: int) -> Result:
    """Draw users and samples of a member; estimate the measures with intervals.

    Returns
    -------
    mapping
        By measure: the users' exact means, the ends of intervals, and whether the result is not
        determined by the samples; and the estimates by estimator.
    """
    parameters = recipe.parameters
    population, n_items, n_users = parameters["members"][member]
    parts, rng = parameters["populations"][population], generator(recipe, "users", member, repeat)
    exact_ranks = draw(parts, n_items, n_users, rng)
    seed = seed_of(recipe, "samples", member, repeat)
    ranks = simulate_ranks(exact_ranks, n_items, parameters["n_negatives"], seed=seed)
    measures = parameters["measures"]
    exact = RankDistribution.of_ranks(exact_ranks, n_items)
    with evaluations.quiet():
        default = evaluate(ranks, measures, bounds=False).estimates
    estimators = {name: get(text) for name, text in parameters["estimators"].items()}
    rivals = {name: estimates(rival, ranks, measures) for name, rival in estimators.items()}
    return {
        "exact": [exact.expect(measure) for measure in measures],
        "estimates": {DEFAULT: [default[measure].mean for measure in measures], **rivals},
        "intervals": [list(default[measure].interval) for measure in measures],
        "open": [default[measure].prior_decides for measure in measures],
    }


def summary(recipe: Recipe, cells: Cells, measure: int) -> dict[str, Floats]:
    """Return what the samples of every member say about a measure: float64, (n_members,) each.

    If the samples do not determine the measure, the interval has all values that are compatible
    with them. Errors are root mean squares, and divided by the mean exact value, as are widths
    and biases; "error / best" is the default's error divided by the least error of an estimator.
    """
    members = range(len(recipe.parameters["members"]))
    rows = [_of_member(results(cells, member=member), measure) for member in members]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _of_member(samples: list[Any], measure: int) -> dict[str, float]:
    exact = np.array([cell["exact"][measure] for cell in samples])
    low, high = np.array([cell["intervals"][measure] for cell in samples]).T
    errors = {
        name: np.array([cell["estimates"][name][measure] for cell in samples]) - exact
        for name in samples[0]["estimates"]
    }
    squares = {name: float((error**2).mean()) for name, error in errors.items()}
    scale = float(exact.mean()) or np.nan
    return {
        "coverage": float(((low <= exact) & (exact <= high)).mean()),
        "not determined": float(np.mean([cell["open"][measure] for cell in samples])),
        "width / exact": float(np.median(high - low)) / scale,
        "error / exact": squares[DEFAULT] ** 0.5 / scale,
        "error / best": (squares[DEFAULT] / min(squares.values())) ** 0.5,
        "bias / exact": float(errors[DEFAULT].mean()) / scale,
    }


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return summaries over all members for each measure."""
    figures: dict[str, Measured] = {}
    for number, measure in enumerate(recipe.parameters["measures"]):
        found = summary(recipe, cells, number)
        coverage, ratio = found["coverage"], found["error / best"]
        for name, value in {
            "mean coverage": coverage.mean(),
            "least coverage": coverage.min(),
            "members with coverage below 90 %": (coverage < _LEAST_COVERAGE).sum(),
            "share of members that are not determined": (found["not determined"] >= _MOSTLY).mean(),
            "median width / exact": np.nanmedian(found["width / exact"]),
            "error / best, geometric mean": evaluations.geometric_mean(ratio),
            "error / best, largest": ratio.max(),
        }.items():
            figures[f"{measure}: {name}"] = Measured(float(value), n=coverage.size)
    return figures


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield the results by member for each measure."""
    names = {
        f"{population}; {n_items:,} items; {n_users:,} users": i
        for i, (population, n_items, n_users) in enumerate(recipe.parameters["members"])
    }

    def text(name: str, column: Floats) -> str:
        return views.fixed(column[names[name]], 2)

    for number, measure in enumerate(recipe.parameters["measures"]):
        found = summary(recipe, cells, number)
        yield views.table(f"{measure}: intervals and errors", "member", names, found, text)


STUDY = Study(cells, run, fold, shown=shown)
"""The study of coverage by member of the grid."""
