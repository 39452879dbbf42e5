"""Coverage of the default estimator's intervals over a grid of populations, and its errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.report import Figure, Table
from podium.sampled import RankDistribution, evaluate, get, simulate_ranks
from podium_studies import views
from podium_studies.jin2021 import populations
from podium_studies.jin2021.evaluations import estimates, quiet
from podium_studies.jin2021.protocol import Floats
from podium_studies.jin2021.tables_values import geometric_mean
from podium_studies.recipe import Recipe
from podium_studies.study import (
    Cells,
    Figures,
    Measured,
    Result,
    Study,
    generator,
    key,
    parts,
    seed_of,
)

DEFAULT = "default"
"""The name of the estimator whose intervals are measured; the others are its rivals."""
_LEAST_COVERAGE = 0.9
_MOSTLY = 0.5  # the share of samples from which a member counts as not determined


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each member of the grid with each repeat."""
    for member in range(len(recipe.parameters["members"])):
        for repeat in range(recipe.repeats or 1):
            yield key(member=member, repeat=repeat)


def run(recipe: Recipe, context: None, cell: str) -> Result:
    """Draw users and samples of a member; estimate the measures with intervals.

    Returns
    -------
    mapping
        By measure: the users' exact means, the ends of intervals, and whether the result is not
        determined by the samples; and the estimates by estimator.
    """
    place, parameters = parts(cell), recipe.parameters
    index = int(place["member"]), int(place["repeat"])
    population, n_items, n_users = parameters["members"][index[0]]
    exact_ranks = populations.draw(
        populations.mixture(parameters["populations"][population]),
        n_items,
        n_users,
        generator(recipe, "users", *index),
    )
    seed = seed_of(recipe, "samples", *index)
    ranks = simulate_ranks(exact_ranks, n_items, parameters["n_negatives"], seed=seed)
    measures = parameters["measures"]
    exact = RankDistribution.of_ranks(exact_ranks, n_items)
    with quiet():
        default = evaluate(ranks, measures, bounds=False).estimates
    rivals = {
        name: estimates(get(text), ranks, measures)
        for name, text in parameters["estimators"].items()
    }
    return {
        "exact": [exact.expect(measure) for measure in measures],
        "estimates": {DEFAULT: [default[measure].mean for measure in measures], **rivals},
        "intervals": [list(default[measure].interval) for measure in measures],
        "open": [default[measure].prior_decides for measure in measures],
    }


@dataclass(frozen=True, eq=False)
class Summary:
    """The results of every member of the grid for one measure: float64, (n_members,) each.

    Attributes
    ----------
    coverage : float64
        The share of samples whose interval contains the users' exact mean. If the samples do not
        determine the measure, the interval has all values that are compatible with them.
    not_determined : float64
        The share of samples that do not determine the measure.
    width : float64
        The median width of the intervals, divided by the mean exact value; nan if this is 0.
    error : float64
        The root mean square error of the default, divided by the mean exact value.
    ratio : float64
        The error divided by the smallest error of the estimators, the default included.
    bias : float64
        The mean error of the default, divided by the mean exact value.
    """

    coverage: Floats
    not_determined: Floats
    width: Floats
    error: Floats
    ratio: Floats
    bias: Floats


def summary(recipe: Recipe, cells: Cells, measure: int) -> Summary:
    """Return the results by member for the measure with this number."""
    rows = [
        _summary_row([cell for _, cell in views.select(cells, member=str(member))], measure)
        for member in range(len(recipe.parameters["members"]))
    ]
    return Summary(*np.array(rows).T)


def _summary_row(samples: Sequence[Mapping[str, Any]], measure: int) -> tuple[float, ...]:
    exact = np.array([cell["exact"][measure] for cell in samples])
    ends = np.array([cell["intervals"][measure] for cell in samples])
    low, high = ends.T
    errors = {
        name: np.array([cell["estimates"][name][measure] for cell in samples]) - exact
        for name in samples[0]["estimates"]
    }
    squares = {name: float((error**2).mean()) for name, error in errors.items()}
    scale = float(exact.mean()) or np.nan
    return (
        float(((low <= exact) & (exact <= high)).mean()),
        float(np.mean([cell["open"][measure] for cell in samples])),
        float(np.median(high - low)) / scale,
        squares[DEFAULT] ** 0.5 / scale,
        (squares[DEFAULT] / min(squares.values())) ** 0.5,
        float(errors[DEFAULT].mean()) / scale,
    )


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return summaries over all members for each measure."""
    figures: dict[str, Measured] = {}
    for number, measure in enumerate(recipe.parameters["measures"]):
        by_member = summary(recipe, cells, number)
        open_members = by_member.not_determined >= _MOSTLY
        for name, value in {
            "mean coverage": by_member.coverage.mean(),
            "least coverage": by_member.coverage.min(),
            "members with coverage below 90 %": (by_member.coverage < _LEAST_COVERAGE).sum(),
            "share of members that are not determined": open_members.mean(),
            "median width / exact": np.nanmedian(by_member.width),
            "error / best, geometric mean": geometric_mean(by_member.ratio),
            "error / best, largest": by_member.ratio.max(),
        }.items():
            figures[f"{measure}: {name}"] = Measured(float(value), n=len(by_member.coverage))
    return figures


def labels(recipe: Recipe) -> list[str]:
    """Return a text for each member of the grid: its population, items and users."""
    return [
        f"{population}; {n_items:,} items; {n_users:,} users"
        for population, n_items, n_users in recipe.parameters["members"]
    ]


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield a plot of the coverage by member, with a panel per measure."""
    names = labels(recipe)
    panels = {
        measure: [
            views.point_row(name, float(share))
            for name, share in zip(names, summary(recipe, cells, number).coverage, strict=True)
        ]
        for number, measure in enumerate(recipe.parameters["measures"])
    }
    yield views.intervals(
        "Share of 95 % intervals that contain the users' exact mean",
        panels,
        axis_label="coverage",
        digits=2,
    )


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield the results by member for each measure."""
    names = labels(recipe)
    columns = {
        "coverage": "coverage",
        "not determined": "not_determined",
        "width / exact": "width",
        "error / exact": "error",
        "error / best": "ratio",
        "bias / exact": "bias",
    }
    for number, measure in enumerate(recipe.parameters["measures"]):
        by_member = summary(recipe, cells, number)

        def value(name: str, column: str, by_member: Summary = by_member) -> str:
            number = float(getattr(by_member, column)[names.index(name)])
            return "" if np.isnan(number) else f"{number:.2f}"

        yield views.table(f"{measure}: intervals and errors", "member", names, columns, value)


STUDY = Study(cells, run, fold, plots=plots, tables=tables)
"""The study of coverage by member of the grid."""
