"""How often each estimator finds the best method: the counts, and differences between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.papers.jin2021.tables import cells, prepare, run
from podium.papers.jin2021.tables_values import Values
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Study
from podium.report import Figure, Table

Floats = NDArray[np.float64]

_RUNS = 100  # that counts are told of, as the paper's


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return counts by estimator and measure, of 100 runs, and differences of estimators."""
    values = Values.of(recipe, cells)
    right = wins(recipe, values)
    found: dict[str, Measured] = {}
    for j, name in enumerate(values.estimators):
        for k, measure in enumerate(values.measures):
            found[f"{name}: {measure}"] = _count(right[j, k])
        found[f"{name}: all measures"] = _count(right[j].mean(axis=0))
    for one, other in recipe.parameters["differences"]:
        first, second = (right[values.estimators.index(name)] for name in (one, other))
        found[f"{one} − {other}: all measures"] = _count((first - second).mean(axis=0))
    for k, measure in enumerate(values.measures):
        found[f"best by exact {measure} is {_best(recipe, values, k)}"] = Measured(
            float(values.exact[_compared(recipe, values), k].max()) * 1e3, n=values.users
        )
    return found


def wins(recipe: Recipe, values: Values) -> Floats:
    """Return 1 where an estimator found the best of the compared methods, else 0.

    float64, (n_estimators, n_measures, n_repeats). A draw is not won.
    """
    rows = _compared(recipe, values)
    estimates = values.estimates[rows]
    best = np.argmax(values.exact[rows], axis=0)
    won = np.take_along_axis(estimates, best[None, None, :, None], axis=0)[0]
    others = (estimates >= won).sum(axis=0) - 1
    return (others == 0).astype(np.float64)


def _compared(recipe: Recipe, values: Values) -> list[int]:
    return values.rows(recipe.parameters["compared"])


def _best(recipe: Recipe, values: Values, k: int) -> str:
    rows = _compared(recipe, values)
    return values.methods[rows[int(np.argmax(values.exact[rows, k]))]]


def _count(shares: Floats) -> Measured:
    """Return the mean over repeats as a count of 100, with its standard error."""
    n = shares.size
    error = float(shares.std(ddof=1)) / n**0.5 if n > 1 else float("nan")
    return Measured(_RUNS * float(shares.mean()), _RUNS * error, n)


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return the counts of every estimator at a cutoff of 10, the paper's below ours."""
    values = Values.of(recipe, cells)
    guessed = _RUNS // len(recipe.parameters["compared"])
    return [
        {
            "kind": "grouped_intervals",
            "title": "Runs of 100 in which the best method is found",
            "panels": [
                {"title": measure, "rows": [*_rows(recipe, figures, values.estimators, measure)]}
                for measure in values.measures
                if measure.endswith("@10")
            ],
            "axis_label": "runs of 100",
            "digits": 0,
            "caption": f"Intervals of 95 %. A guess finds it in {guessed}.",
        }
    ]


def _rows(
    recipe: Recipe, figures: Figures, names: Sequence[str], measure: str
) -> Iterator[dict[str, Any]]:
    for name in names:
        found, printed = figures[f"{name}: {measure}"], recipe.printed.get(f"{name}: {measure}")
        half = 1.96 * found.std_error
        low, high = max(0.0, found.value - half), min(float(_RUNS), found.value + half)
        known = bool(np.isfinite(half))
        yield _row(name, found.value, (low, high) if known else (None, None))
        if printed is not None:
            yield _row(f"{name}, printed", printed, (None, None))


def _row(label: str, value: float, ends: tuple[float | None, float | None]) -> dict[str, Any]:
    return {"label": label, "value": value, "low": ends[0], "high": ends[1]}


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return the paper's table with both counts, and exact values of the methods."""
    return [*_tables(recipe, Values.of(recipe, cells), figures)]


def _tables(recipe: Recipe, values: Values, figures: Figures) -> Iterator[Table]:
    yield {
        "caption": "Runs of 100 in which the estimator finds the best method (printed)",
        "columns": ["measure", "best", *values.estimators],
        "rows": [
            [
                m,
                _best(recipe, values, k),
                *(_cell(recipe, figures, f"{e}: {m}") for e in values.estimators),
            ]
            for k, m in enumerate(values.measures)
        ],
    }
    yield {
        "caption": "Exact values of the methods, in thousandths",
        "columns": ["method", *values.measures],
        "rows": [
            [name, *(float(1e3 * each) for each in values.exact[i])]
            for i, name in enumerate(values.methods)
        ],
        "digits": 2,
    }


def _cell(recipe: Recipe, figures: Figures, key: str) -> str:
    printed = recipe.printed.get(key)
    return f"{figures[key].value:.0f}" + ("" if printed is None else f" ({printed:.0f})")


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""The repeats of `tables`, and how often the method that an estimator finds best is the best."""
