"""Measures estimated by every estimator in repeated sampled evaluations, with exact values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from podium.report import Figure, Table
from podium_studies import views
from podium_studies.jin2021.evaluations import Evaluations, estimates, prepare
from podium_studies.jin2021.protocol import Floats
from podium_studies.jin2021.tables_values import (
    UNIT,
    Values,
    fold,
    geometric_mean,
    paper_moments,
    paper_values,
)
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Result, Study, key, parts, seed_of

_DIGITS = 7  # significant digits of stored estimates
_WORST = "CLS"  # left out of the plot of errors, where it would compress the scale


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: blocks of repeats of each method, because most of the time is its fit."""
    repeats, block_size = recipe.repeats or 1, recipe.parameters["block"]
    for name in recipe.parameters["methods"]:
        for first in range(0, repeats, block_size):
            yield key(method=name, first=first, n=min(block_size, repeats - first))


def run(recipe: Recipe, context: Evaluations, cell: str) -> Result:
    """Compute the exact ranks of one method, then repeat the sampled evaluation."""
    key_parts, parameters = parts(cell), recipe.parameters
    name, first = key_parts["method"], int(key_parts["first"])
    exact = context.exact(name)
    rows_by_label: dict[str, list[list[float]]] = {}
    for repeat in range(first, first + int(key_parts["n"])):
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


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield a plot of the ratios by method for each measure, and one of the errors."""
    values = Values.of(recipe, cells)
    names = [*recipe.parameters["papers"], *recipe.parameters["own"]]
    plotted = [name for name in names if name not in recipe.parameters["not_plotted"]]
    for measure in values.measures:
        yield _ratios(recipe, values, plotted, measure)
    yield _errors(recipe, values, [name for name in plotted if name != _WORST])


def _ratios(recipe: Recipe, values: Values, shown: Sequence[str], measure: str) -> Figure:
    moments, k = values.moments, values.measures.index(measure)
    hidden = recipe.parameters["not_plotted"]
    left_out = f" Not plotted, far to the right: {' and '.join(hidden)}." if hidden else ""

    def spread(name: str, i: int) -> views.Row:
        index = (i, values.estimators.index(name), k, 0)
        mean, sd = moments.mean[index], moments.sd[index]
        ends = {"low": mean - sd, "high": mean + sd} if np.isfinite(sd) else {}
        return {**views.point_row(name, mean), **ends}

    return {
        "kind": "grouped_intervals",
        "title": f"{measure}: estimate divided by exact value",
        "panels": [
            {
                "title": method,
                "note": f"exact {UNIT * values.exact[i, k]:.1f}e-3",
                "rows": [spread(name, i) for name in shown],
            }
            for i, method in enumerate(values.methods)
        ],
        "axis_label": "estimate / exact value",
        "digits": 2,
        "caption": f"Mean ± standard deviation of {values.n_repeats} samples. The bar contains "
        f"68 % of the samples of a normal distribution.{left_out}",
    }


def _errors(recipe: Recipe, values: Values, shown: Sequence[str]) -> Figure:
    error = values.moments.error[values.rows(recipe.parameters["compared"]), ..., 0]
    papers, printed = recipe.parameters["papers"], paper_moments(recipe)

    def rows(k: int) -> Iterator[views.Row]:
        """Yield a row for each estimator, with the paper's value below."""
        for name in shown:
            yield _range(name, error[:, values.estimators.index(name), k])
            if printed is not None and name in papers:
                yield _range(f"{name}, printed", printed[1].error[:, papers.index(name), k, 0])

    return views.intervals(
        "Relative error of the estimators",
        {measure: rows(k) for k, measure in enumerate(values.measures)},
        axis_label="root-mean-square error / exact value",
        digits=2,
        caption="Geometric mean over the compared methods; the bar extends from the smallest to "
        f"the largest. Not plotted: {_WORST}.",
    )


def _range(label: str, errors: Floats) -> views.Row:
    ends = {"low": float(errors.min()), "high": float(errors.max())}
    return {**views.point_row(label, float(geometric_mean(errors))), **ends}


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield levels and ratios by measure, with the paper's, and the errors of all estimators."""
    values = Values.of(recipe, cells)
    mean = values.moments.mean
    right = ["left", *["right"] * len(values.methods)]
    for k, measure in enumerate(values.measures):
        yield {
            "caption": f"{measure} in thousandths: mean ± standard deviation over "
            f"{values.n_repeats} samples of {recipe.parameters['n_negatives']} of "
            f"{values.items:,} items for each of {values.users:,} users",
            "columns": ["estimator", *values.methods],
            "rows": [*_level_rows(recipe, values, k)],
            "align": right,
        }
    for k, measure in enumerate(values.measures):

        def ratio(name: str, method: str, k: int = k, measure: str = measure) -> str:
            i, j = values.methods.index(method), values.estimators.index(name)
            printed = recipe.printed.get(f"{method} {measure}: {name} / exact")
            return f"{mean[i, j, k, 0]:.3f}{views.in_brackets(printed, 3)}"

        caption = f"{measure}: mean estimate divided by the exact value (printed)"
        table = views.table(caption, "estimator", values.estimators, values.methods, ratio)
        yield {**table, "align": right}
    yield _error_table(recipe, values)


def _level_rows(recipe: Recipe, values: Values, k: int) -> Iterator[Sequence[Any]]:
    """Yield a row for the exact values and each estimator, with the paper's row below."""
    yield ["exact", *(f"{UNIT * value:.2f}" for value in values.exact[:, k])]
    yield from _printed_row(recipe, values, "exact", k)
    for j, name in enumerate(values.estimators):
        scale = UNIT * values.exact[:, k]
        mean, sd = (scale * value[:, j, k, 0] for value in (values.moments.mean, values.moments.sd))
        yield [name, *(f"{m:.2f} ± {s:.2f}" for m, s in zip(mean, sd, strict=True))]
        yield from _printed_row(recipe, values, name, k)


def _printed_row(recipe: Recipe, values: Values, name: str, k: int) -> Iterator[Sequence[Any]]:
    printed, names = paper_values(recipe), ["exact", *recipe.parameters["papers"]]
    if printed is None or name not in names:
        return
    j, compared = names.index(name), [*recipe.parameters["compared"]]
    row: list[Any] = [f"{name}, printed"]
    for method in values.methods:
        if method not in compared:
            row.append("")
            continue
        mean, sd = (printed[part][compared.index(method), j, k] for part in ("mean", "sd"))
        row.append(f"{mean:.2f}" + (f" ± {sd:.2f}" if j else ""))
    yield row


def _error_table(recipe: Recipe, values: Values) -> Table:
    moments = values.moments.of_methods(values.rows(recipe.parameters["compared"]))
    kinds = {
        "error": moments.mean_error[..., 0],
        "largest": moments.largest[..., 0],
        "bias": np.abs(moments.mean[..., 0] - 1.0).mean(axis=0),
    }
    columns = {
        f"{head} {measure}": values_of_kind[:, k]
        for k, measure in enumerate(values.measures)
        for head, values_of_kind in kinds.items()
    }
    return views.table(
        "Relative errors over the compared methods: geometric mean and largest value of the "
        "root-mean-square error, and mean absolute bias",
        "estimator",
        values.estimators,
        columns,
        lambda name, column: float(column[values.estimators.index(name)]),
    )


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""The study of means, standard deviations and errors of every estimator for every method."""
