"""Measures of sampled evaluations, estimated by every estimator over many repeats, beside exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from podium import sampled
from podium.papers.jin2021.evaluations import exact_ranks, load, quiet, told
from podium.papers.jin2021.protocol import Held, read
from podium.papers.jin2021.tables_values import (
    UNIT,
    Floats,
    Moments,
    Values,
    fold,
    paper_moments,
    paper_values,
)
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Result, Study, generator, key, parts
from podium.report import Figure, Table
from podium.sampled import RankDistribution, SampledRanks
from podium.sampled._uncertainty import estimates

_DIGITS = 7  # of an estimate that is kept


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Held:
    """Load every method, and hold one item of each user out."""
    load(recipe)
    return read(recipe, paths)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: each method with blocks of repeats, since its fit is what takes time."""
    repeats, most = recipe.repeats or 1, recipe.parameters["block"]
    return [
        key(method=name, first=first, n=min(most, repeats - first))
        for name in recipe.parameters["methods"]
        for first in range(0, repeats, most)
    ]


def run(recipe: Recipe, context: Held, cell: str) -> Result:
    """Rank the held-out items of one method exactly, then repeat the sampled evaluation."""
    asked = parts(cell)
    name, first = asked["method"], int(asked["first"])
    measures: Sequence[str] = recipe.parameters["measures"]
    ranks = exact_ranks(recipe, context, name)
    exact = RankDistribution.of_ranks(ranks, context.n_items)
    found: dict[str, list[list[float]]] = {}
    for repeat in range(first, first + int(asked["n"])):
        samples = _samples(recipe, context, name, repeat)
        for label, text in recipe.parameters["estimators"].items():
            with quiet():
                values = estimates(sampled.get(text), told(recipe, label, samples), measures)
            found.setdefault(label, []).append(values.tolist())
    return {
        "users": context.n_users,
        "items": context.n_items,
        "exact": {measure: exact.expect(measure) for measure in measures},
        "estimates": {label: _columns(values) for label, values in found.items()},
    }


def _samples(
    recipe: Recipe, held: Held, name: str, repeat: int
) -> tuple[SampledRanks, SampledRanks]:
    """Draw one repeat of a method, told nothing of the users and told their history."""
    rng = generator(recipe, f"sample {name}", repeat)
    ranks, n_negatives = exact_ranks(recipe, held, name), recipe.parameters["n_negatives"]
    return held.simulate(ranks, n_negatives, int(rng.integers(2**31)))


def _columns(values: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return a row of repeats for each measure, short enough to keep."""
    return [[float(f"{each:.{_DIGITS}g}") for each in row] for row in zip(*values, strict=True)]


_WORST = "CLS"  # whose errors would squeeze those of all others


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return the ratios by method for each measure, and the errors by estimator."""
    values = Values.of(recipe, cells)
    shown = [*recipe.parameters["papers"], *recipe.parameters["own"]]
    plotted = [name for name in shown if name not in recipe.parameters["not_plotted"]]
    found = [_ratios(recipe, values, plotted, measure) for measure in values.measures]
    return [*found, _errors(recipe, values, [name for name in plotted if name != _WORST])]


def _ratios(recipe: Recipe, values: Values, shown: Sequence[str], measure: str) -> Figure:
    moments, k = Moments.of(values.ratios), values.measures.index(measure)
    return {
        "kind": "grouped_intervals",
        "title": f"{measure}: estimate over exact",
        "panels": [
            {
                "title": method,
                "note": f"exact {UNIT * values.exact[i, k]:.1f}e-3",
                "rows": [
                    _spread(name, moments.mean[i, j, k, 0], moments.sd[i, j, k, 0])
                    for name, j in zip(shown, values.columns(shown), strict=True)
                ],
            }
            for i, method in enumerate(values.methods)
        ],
        "axis_label": "estimate / exact (1 is right)",
        "digits": 2,
        "caption": f"Mean of {values.n_repeats} samples, and what 68 % of them lie between if "
        f"they are normal: one standard deviation to each side.{_left_out(recipe)}",
    }


def _left_out(recipe: Recipe) -> str:
    names = recipe.parameters["not_plotted"]
    return f" {' and '.join(names)}: see the tables, far to the right." if names else ""


def _spread(label: str, mean: float, sd: float) -> dict[str, Any]:
    known = bool(np.isfinite(sd))
    low, high = (mean - sd, mean + sd) if known else (None, None)
    return {"label": label, "value": mean, "low": low, "high": high}


def _errors(recipe: Recipe, values: Values, shown: Sequence[str]) -> Figure:
    rows = values.rows(recipe.parameters["compared"])
    error = Moments.of(values.ratios).error[rows, ..., 0]
    return {
        "kind": "grouped_intervals",
        "title": "Relative error of the estimators",
        "panels": [
            {"title": measure, "rows": [*_error_rows(recipe, values, error[..., k], shown, k)]}
            for k, measure in enumerate(values.measures)
        ],
        "axis_label": "root mean square of what an estimate is off by, over exact",
        "digits": 2,
        "caption": "Geometric mean over the compared methods, from the least to the largest; "
        f"{_WORST} is in the table.",
    }


def _error_rows(
    recipe: Recipe, values: Values, errors: Floats, shown: Sequence[str], k: int
) -> Iterator[dict[str, Any]]:
    """Yield a row for each estimator, (n_methods, n_estimators), the paper's below ours."""
    paper = paper_moments(recipe)
    for name in shown:
        yield _range(name, errors[:, values.estimators.index(name)])
        if paper is not None and name in recipe.parameters["papers"]:
            printed = paper[1].error[:, recipe.parameters["papers"].index(name), k, 0]
            yield _range(f"{name}, printed", printed)


def _range(label: str, errors: Floats) -> dict[str, Any]:
    middle = float(np.exp(np.log(errors).mean()))
    return {
        "label": label,
        "value": middle,
        "low": float(errors.min()),
        "high": float(errors.max()),
    }


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return levels by measure with the paper's, ratios, and errors of all estimators."""
    return [*_tables(recipe, Values.of(recipe, cells))]


def _tables(recipe: Recipe, values: Values) -> Iterator[Table]:
    moments = Moments.of(values.ratios)
    for k, measure in enumerate(values.measures):
        yield {
            "caption": f"{measure} in thousandths: mean ± standard deviation of "
            f"{values.n_repeats} samples of {recipe.parameters['n_negatives']} among "
            f"{values.items:,} items, {values.users:,} users",
            "columns": ["estimator", *values.methods],
            "rows": [*_level_rows(recipe, values, moments, k)],
            "align": ["left", *["right"] * len(values.methods)],
        }
    for k, measure in enumerate(values.measures):
        yield {
            "caption": f"{measure}: mean estimate over exact (the paper's)",
            "columns": ["estimator", *values.methods],
            "rows": [*_ratio_rows(recipe, values, moments, k)],
            "align": ["left", *["right"] * len(values.methods)],
        }
    yield _error_table(recipe, values, moments)


def _level_rows(
    recipe: Recipe, values: Values, moments: Moments, k: int
) -> Iterator[Sequence[Any]]:
    """Yield a row for exact and each estimator, the paper's below ours."""
    yield ["exact", *(f"{UNIT * each:.2f}" for each in values.exact[:, k])]
    yield from _printed_row(recipe, values, "exact", k)
    for j, name in enumerate(values.estimators):
        scale = UNIT * values.exact[:, k]
        mean, sd = scale * moments.mean[:, j, k, 0], scale * moments.sd[:, j, k, 0]
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


def _ratio_rows(
    recipe: Recipe, values: Values, moments: Moments, k: int
) -> Iterator[Sequence[Any]]:
    measure = values.measures[k]
    for j, name in enumerate(values.estimators):
        row: list[Any] = [name]
        for i, method in enumerate(values.methods):
            paper = recipe.printed.get(f"{method} {measure}: {name} / exact")
            ours = f"{moments.mean[i, j, k, 0]:.3f}"
            row.append(ours + ("" if paper is None else f" ({paper:.3f})"))
        yield row


def _error_table(recipe: Recipe, values: Values, moments: Moments) -> Table:
    rows = values.rows(recipe.parameters["compared"])
    error, mean = moments.error[rows, ..., 0], moments.mean[rows, ..., 0]
    columns = [f"{head} {m}" for m in values.measures for head in ("error", "largest", "bias")]
    return {
        "caption": "Relative error over the compared methods: geometric mean and largest of the "
        "root mean square of what an estimate is off by, and the mean of what its mean is off by",
        "columns": ["estimator", *columns],
        "rows": [
            [
                name,
                *(
                    float(value)
                    for k in range(len(values.measures))
                    for value in (
                        np.exp(np.log(error[:, j, k]).mean()),
                        error[:, j, k].max(),
                        np.abs(mean[:, j, k] - 1.0).mean(),
                    )
                ),
            ]
            for j, name in enumerate(values.estimators)
        ],
    }


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Means, spreads and errors of every estimator for every method."""
