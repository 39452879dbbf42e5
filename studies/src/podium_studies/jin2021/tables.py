"""Measures estimated by every estimator in repeated sampled evaluations, with exact values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from podium.report import Figure, Table
from podium_studies import views
from podium_studies.cells import key, repeats, seed_of
from podium_studies.jin2021.evaluations import Evaluations, estimates, prepare
from podium_studies.jin2021.tables_values import UNIT, Values, fold, paper_values
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study

_DIGITS = 7  # significant digits of stored estimates
_WORST = "CLS"  # left out of the plot of errors, where it would compress the scale


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: blocks of repeats of each method, because most of the time is its fit."""
    n, block_size = len(repeats(recipe)), recipe.parameters["block"]
    for name in recipe.parameters["methods"]:
        for first in range(0, n, block_size):
            yield key(method=name, first=first, n=min(block_size, n - first))


def run(recipe: Recipe, context: Evaluations, method: str, first: int, n: int) -> Result:
    """Compute the exact ranks of one method, then repeat the sampled evaluation."""
    name, parameters = method, recipe.parameters
    exact = context.exact(name)
    rows_by_label: dict[str, list[list[float]]] = {}
    for repeat in range(first, first + n):
        seed = seed_of(recipe, f"sample {name}", repeat)
        samples = context.drawn(name, parameters["n_negatives"], seed)
        for label, estimator, ranks in context.readings(samples):
            rows_by_label.setdefault(label, []).append(
                estimates(estimator, ranks, parameters["measures"])
            )
    return {
        "users": context.held_out.n_users,
        "items": context.held_out.n_items,
        "exact": {measure: exact.expect(measure) for measure in parameters["measures"]},
        "estimates": {label: _columns(values) for label, values in rows_by_label.items()},
    }


def _columns(values: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return a row of repeats for each measure, with few digits."""
    return [
        [float(f"{estimate:.{_DIGITS}g}") for estimate in row] for row in zip(*values, strict=True)
    ]


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Figure | Table]:
    """Yield levels with the paper's, ratios to exact values, and errors of the estimators."""
    values, parameters = Values.of(recipe, cells), recipe.parameters
    names = [*parameters["papers"], *parameters["own"]]
    plotted = [name for name in names if name not in parameters["not_plotted"]]
    for k, measure in enumerate(values.measures):
        yield {
            "caption": f"{measure} in thousandths: mean ± standard deviation over "
            f"{values.n_repeats} samples of {parameters['n_negatives']} of {values.items:,} items "
            f"for each of {values.users:,} users",
            "columns": ["estimator", *values.methods],
            "rows": [*_level_rows(recipe, values, k)],
            "align": ["left", *["right"] * len(values.methods)],
        }
        title = f"{measure}: mean estimate divided by the exact value (printed)"
        ratio = f"{{1}} {measure}: {{0}} / exact"
        yield Grid(title, names, values.methods, ratio, head="estimator")
        yield _ratios(values, plotted, measure)
    for kind in ("error", "largest error"):
        title = f"Relative {kind} over the compared methods, the root mean square over samples"
        columns = {measure: f"{kind}, {measure}" for measure in values.measures}
        yield Grid(title, names, columns, "{}: {}", head="estimator")
    best = [name for name in plotted if name != _WORST]
    columns = {measure: f"error, {measure}" for measure in values.measures}
    axis = "root-mean-square error / exact value"
    title = "Relative error of the estimators"
    yield Grid(title, best, columns, "{}: {}", text="", digits=2, plot="intervals", axis=axis)
    yield Grid("Mean absolute bias", names, ["bias"], "{}: {}", head="estimator")


def _ratios(values: Values, shown: Sequence[str], measure: str) -> Figure:
    k = values.measures.index(measure)

    def spread(name: str, i: int) -> views.Row:
        index = (i, values.estimators.index(name), k, 0)
        mean, sd = values.moments.mean[index], values.moments.sd[index]
        ends = {"low": mean - sd, "high": mean + sd} if np.isfinite(sd) else {}
        return {**views.point_row(name, mean), **ends}

    return views.intervals(
        f"{measure}: estimate divided by exact value",
        {method: [spread(name, i) for name in shown] for i, method in enumerate(values.methods)},
        axis_label="estimate / exact value",
        digits=2,
        caption=f"Mean ± standard deviation of {values.n_repeats} samples.",
    )


def _level_rows(recipe: Recipe, values: Values, k: int) -> Iterator[Sequence[Any]]:
    """Yield a row for the exact values and each estimator, with the paper's row below."""
    printed, names = paper_values(recipe), ["exact", *recipe.parameters["papers"]]
    compared = [*recipe.parameters["compared"]]
    for j, name in enumerate(["exact", *values.estimators]):
        mean, sd = UNIT * values.exact[:, k], np.full(len(values.methods), np.nan)
        if j:
            ratio = values.moments.mean[:, j - 1, k, 0], values.moments.sd[:, j - 1, k, 0]
            mean, sd = mean * ratio[0], mean * ratio[1]
        yield [name, *map(_level, mean, sd)]
        if printed is not None and name in names:
            found = [printed[part][:, names.index(name), k] for part in ("mean", "sd")]
            texts = dict(zip(compared, map(_level, *found), strict=True))
            yield [f"{name}, printed", *(texts.get(method, "") for method in values.methods)]


def _level(mean: float, sd: float) -> str:
    return views.level(Measured(mean, sd if sd else math.nan), 2)


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of means, standard deviations and errors of every estimator for every method."""
