"""What the page of Table 3 shows beside its figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium.papers.hiranandani2020.table3_figures import FROM_ZERO, PERCENT, runs
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, key
from podium.report import Figure, Table

_Z = 1.96


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return pap against k by method: as the paper's code runs them, and from zero."""
    labels = [label for label, _, _ in runs(recipe)]
    zero = [label for label in labels if label.endswith(FROM_ZERO)]
    shared = [label for label in labels if f"{label}{FROM_ZERO}" not in zero and label not in zero]
    paper = [label for label in labels if label not in zero]
    return [
        _plot(recipe, figures, paper, "The paper's protocol: random start, lowest training loss"),
        _plot(recipe, figures, [*shared, *zero], "From zero, the iterate chosen on validation"),
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return pap by method and k, the half-credit values, and what was chosen."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    return [
        {
            "caption": "pap@k, per cent: mean over splits ± standard error (printed)",
            "columns": ["method", *(f"k={k}" for k in cutoffs)],
            "rows": [
                [label, *(_cell(recipe, figures, f"{label} k={k}") for k in cutoffs)]
                for label, _, _ in runs(recipe)
            ],
        },
        {
            "caption": "The same with half of each tied pair counted, as in the paper's code",
            "columns": ["method", *(f"k={k}" for k in cutoffs)],
            "rows": _averages(recipe, cells, "half", PERCENT, 1),
        },
        {
            "caption": f"Test users that pap@k is defined on, mean over splits. {_features(cells)}",
            "columns": ["", *(f"k={k}" for k in cutoffs)],
            "rows": [["users", *_averages(recipe, cells, "users", 1.0, 0)[0][1:]]],
        },
        {
            "caption": "Options chosen at the first split",
            "columns": ["method", *(f"k={k}" for k in cutoffs)],
            "rows": _chosen(recipe, cells),
        },
    ]


def _plot(recipe: Recipe, figures: Figures, labels: Sequence[str], title: str) -> Figure:
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    series = [
        _line(label, cutoffs, [figures[f"{label} k={k}"] for k in cutoffs]) for label in labels
    ]
    return {
        "kind": "line_plot",
        "title": title,
        "x_label": "k",
        "y_label": "pap@k (%)",
        "series": series,
        "caption": "Mean over splits; the band is its 95 % interval over splits.",
    }


def _line(label: str, cutoffs: Sequence[int], found: Sequence[Measured]) -> Mapping[str, Any]:
    margin = [0.0 if math.isnan(each.std_error) else _Z * each.std_error for each in found]
    pairs = list(zip(found, margin, strict=True))
    return {
        "label": label.removesuffix(FROM_ZERO),
        "x": list(cutoffs),
        "y": [each.value for each in found],
        "low": [each.value - m for each, m in pairs],
        "high": [each.value + m for each, m in pairs],
    }


def _cell(recipe: Recipe, figures: Figures, name: str) -> str:
    found, printed = figures[name], recipe.printed.get(name)
    error = "" if math.isnan(found.std_error) else f" ± {found.std_error:.1f}"
    return f"{found.value:.1f}{error}" + ("" if printed is None else f" ({printed:.1f})")


def _averages(
    recipe: Recipe, cells: Cells, name: str, factor: float, digits: int
) -> list[list[str]]:
    rows: list[list[str]] = []
    for label, method, protocol in runs(recipe):
        means = (
            np.mean([factor * each[name] for each in _repeats(recipe, cells, method, protocol, k)])
            for k in recipe.parameters["cutoffs"]
        )
        rows.append([label, *(f"{value:.{digits}f}" for value in means)])
    return rows


def _features(cells: Cells) -> str:
    return f"Features: {cells[key(data='counts')]['features']}."


def _chosen(recipe: Recipe, cells: Cells) -> list[list[str]]:
    rows: list[list[str]] = []
    for label, method, protocol in runs(recipe):
        chosen = [
            _repeats(recipe, cells, method, protocol, k)[0]["chosen"]
            for k in recipe.parameters["cutoffs"]
        ]
        texts = [", ".join(f"{name} {value:g}" for name, value in each.items()) for each in chosen]
        rows.append([label, *texts])
    return rows


def _repeats(recipe: Recipe, cells: Cells, method: str, protocol: str, k: int) -> list[Result]:
    return [
        cells[key(seed=seed, k=k, method=method, protocol=protocol)]
        for seed in range(recipe.repeats or 1)
    ]
