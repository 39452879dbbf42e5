"""Measures of sampled evaluations, estimated by every estimator over many repeats, beside exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from podium import sampled
from podium.papers import views
from podium.papers.jin2021.evaluations import estimates, exact_ranks, load, told
from podium.papers.jin2021.protocol import Held, read
from podium.papers.jin2021.tables_values import (
    UNIT,
    Floats,
    Moments,
    Values,
    fold,
    geometric_mean,
    paper_moments,
    paper_values,
)
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Result, Study, key, parts, seed_of
from podium.report import Figure, Table
from podium.sampled import RankDistribution, SampledRanks

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
            values = estimates(sampled.get(text), told(recipe, label, samples), measures)
            found.setdefault(label, []).append(values)
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
    ranks, n_negatives = exact_ranks(recipe, held, name), recipe.parameters["n_negatives"]
    return held.simulate(ranks, n_negatives, seed_of(recipe, f"sample {name}", repeat))


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
    hidden = recipe.parameters["not_plotted"]
    left_out = f" {' and '.join(hidden)}: see the tables, far to the right." if hidden else ""

    def spread(name: str, i: int) -> views.Row:
        place = (i, values.estimators.index(name), k, 0)
        mean, sd = moments.mean[place], moments.sd[place]
        known = {"low": mean - sd, "high": mean + sd} if np.isfinite(sd) else {}
        return {**views.bare(name, mean), **known}

    return {
        "kind": "grouped_intervals",
        "title": f"{measure}: estimate over exact",
        "panels": [
            {
                "title": method,
                "note": f"exact {UNIT * values.exact[i, k]:.1f}e-3",
                "rows": [spread(name, i) for name in shown],
            }
            for i, method in enumerate(values.methods)
        ],
        "axis_label": "estimate / exact (1 is right)",
        "digits": 2,
        "caption": f"Mean of {values.n_repeats} samples, and what 68 % of them lie between if "
        f"they are normal: one standard deviation to each side.{left_out}",
    }


def _errors(recipe: Recipe, values: Values, shown: Sequence[str]) -> Figure:
    error = Moments.of(values.ratios).error[values.rows(recipe.parameters["compared"]), ..., 0]
    papers, printed = recipe.parameters["papers"], paper_moments(recipe)

    def rows(k: int) -> Iterator[views.Row]:
        """Yield a row for each estimator, the paper's below ours."""
        for name in shown:
            yield _range(name, error[:, values.estimators.index(name), k])
            if printed is not None and name in papers:
                yield _range(f"{name}, printed", printed[1].error[:, papers.index(name), k, 0])

    return views.intervals(
        "Relative error of the estimators",
        {measure: rows(k) for k, measure in enumerate(values.measures)},
        axis_label="root mean square of what an estimate is off by, over exact",
        digits=2,
        caption="Geometric mean over the compared methods, from the least to the largest; "
        f"{_WORST} is in the table.",
    )


def _range(label: str, errors: Floats) -> views.Row:
    ends = {"low": float(errors.min()), "high": float(errors.max())}
    return {**views.bare(label, float(geometric_mean(errors))), **ends}


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return levels by measure with the paper's, ratios, and errors of all estimators."""
    return [*_tables(recipe, Values.of(recipe, cells))]


def _tables(recipe: Recipe, values: Values) -> Iterator[Table]:
    moments = Moments.of(values.ratios)
    right = ["left", *["right"] * len(values.methods)]
    for k, measure in enumerate(values.measures):
        yield {
            "caption": f"{measure} in thousandths: mean ± standard deviation of "
            f"{values.n_repeats} samples of {recipe.parameters['n_negatives']} among "
            f"{values.items:,} items, {values.users:,} users",
            "columns": ["estimator", *values.methods],
            "rows": [*_level_rows(recipe, values, moments, k)],
            "align": right,
        }
    for k, measure in enumerate(values.measures):

        def ratio(name: str, method: str, k: int = k, measure: str = measure) -> str:
            i, j = values.methods.index(method), values.estimators.index(name)
            printed = recipe.printed.get(f"{method} {measure}: {name} / exact")
            return f"{moments.mean[i, j, k, 0]:.3f}{views.beside(printed, 3)}"

        caption = f"{measure}: mean estimate over exact (the paper's)"
        table = views.table(caption, "estimator", values.estimators, values.methods, ratio)
        yield {**table, "align": right}
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


def _error_table(recipe: Recipe, values: Values, moments: Moments) -> Table:
    rows = values.rows(recipe.parameters["compared"])
    error, mean = moments.error[rows, ..., 0], moments.mean[rows, ..., 0]
    kinds: dict[str, Callable[[int, int], Any]] = {
        "error": lambda j, k: geometric_mean(error[:, j, k]),
        "largest": lambda j, k: error[:, j, k].max(),
        "bias": lambda j, k: np.abs(mean[:, j, k] - 1.0).mean(),
    }
    columns = {
        f"{head} {measure}": (kind, k)
        for k, measure in enumerate(values.measures)
        for head, kind in kinds.items()
    }
    return views.table(
        "Relative error over the compared methods: geometric mean and largest of the root mean "
        "square of what an estimate is off by, and the mean of what its mean is off by",
        "estimator",
        values.estimators,
        columns,
        lambda name, at: float(at[0](values.estimators.index(name), at[1])),
    )


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""Means, spreads and errors of every estimator for every method."""
