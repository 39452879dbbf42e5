"""From fits of the taste profile to figures, tables and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, mean, parts
from podium.report import Figure, Table

Fits = Mapping[str, Mapping[int, Sequence[Result]]]
"""By method and number of passes, the results of its seeds."""


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return means over judged users, and paired differences from the first method."""
    fits = _fits(cells)
    measures: Sequence[str] = recipe.parameters["measures"]
    found: dict[str, Measured] = {}
    for name, by_passes in fits.items():
        for passes, results in by_passes.items():
            label = _label(name, passes)
            found |= {f"{label}: {m}": mean(_per_user(results, m)) for m in measures}
            found[f"{label}: seconds"] = mean(result["seconds"] for result in results)
    (first, ours), *others = ((name, by[max(by)]) for name, by in fits.items())
    for name, theirs in others:
        for measure in measures:
            gaps = np.subtract(_per_user(ours, measure), _per_user(theirs, measure))
            found[f"{first} − {name}: {measure}"] = mean(gaps.tolist())
    return found


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return each measure against seconds on all threads, as the poster has it."""
    return [_curves(recipe, cells, figures, measure) for measure in recipe.parameters["measures"]]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return every fit, and the differences."""
    fits = _fits(cells)
    measures: Sequence[str] = recipe.parameters["measures"]
    first, *others = fits
    return [
        {
            "columns": ["method", "passes", *measures, "seconds", "CPU seconds"],
            "rows": [
                [
                    name,
                    passes,
                    *(_text(figures[f"{_label(name, passes)}: {m}"]) for m in measures),
                    *(f"{mean(r[what] for r in results).value:.1f}" for what in ("seconds", "cpu")),
                ]
                for name, by_passes in fits.items()
                for passes, results in by_passes.items()
            ],
            "caption": "Means over the judged users ± standard errors; seconds of the whole fit.",
        },
        {
            "columns": ["other", *measures],
            "rows": [
                [name, *(_text(figures[f"{first} − {name}: {m}"]) for m in measures)]
                for name in others
            ],
            "caption": f"{first} less another method on the same users, each after its most "
            "passes, ± standard errors.",
        },
    ]


def _curves(recipe: Recipe, cells: Cells, figures: Figures, measure: str) -> Figure:
    threads = recipe.parameters["threads"]
    return {
        "kind": "line_plot",
        "title": f"{measure} against threads × seconds",
        "x_label": "threads × seconds of a whole fit",
        "y_label": measure,
        "log_x": True,
        "series": [
            {
                "label": name,
                "x": [threads * figures[f"{_label(name, n)}: seconds"].value for n in by_passes],
                "y": [figures[f"{_label(name, n)}: {measure}"].value for n in by_passes],
            }
            for name, by_passes in _fits(cells).items()
        ],
        "caption": "A point is a fit of its own, whose step falls to zero over its passes: not "
        "what a longer fit had reached by then.",
    }


def _fits(cells: Cells) -> Fits:
    fits: dict[str, dict[int, list[Result]]] = {}
    for cell, result in cells.items():
        asked = parts(cell)
        by_passes = fits.setdefault(asked["method"], {})
        by_passes.setdefault(int(asked["passes"]), []).append(result)
    return fits


def _per_user(results: Sequence[Result], measure: str) -> list[float]:
    """Return each judged user's mean over seeds."""
    return np.mean([result[measure] for result in results], axis=0).tolist()


def _label(name: str, passes: int) -> str:
    return f"{name}, {passes} passes" if passes else name


def _text(found: Measured) -> str:
    return f"{found.value:.4f} ± {found.std_error:.4f}"
