"""What the page of RoBiRank's study on MovieLens-1M shows beside its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Result
from podium.papers.xia2009.letor_page import interval, row
from podium.papers.yun2014.ml1m_figures import (
    TUNING,
    best,
    by_passes,
    compared,
    in_passes,
    of,
)
from podium.papers.yun2014.ml1m_methods import FORM, METHODS, ROBIRANK
from podium.report import Figure, Table

_LEAST = 0.01  # seconds that a logarithmic axis begins at
_NEAREST = 6  # others that a figure has room for before the far ones squeeze them


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return quality against seconds, of rivals and of forms, and differences."""
    names = [*recipe.parameters["methods"]]
    rivals = [ROBIRANK, *(name for name in names if METHODS[name].kind != FORM)]
    forms = [name for name in names if METHODS[name].kind == FORM]
    validation = recipe.parameters["validation"]
    first = recipe.parameters["measures"][0]
    return [
        _curves(recipe, cells, figures, rivals, validation, "RoBiRank and other recommenders"),
        _curves(recipe, cells, figures, rivals, first, "RoBiRank and other recommenders"),
        _curves(recipe, cells, figures, forms, validation, "RoBiRank and its other losses"),
        _gaps(recipe, figures),
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return levels and seconds, the differences, what was chosen, and every grid."""
    return [*_tables(recipe, cells, figures)]


def _tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    measures = [*recipe.parameters["measures"]]
    yield {
        "caption": "Mean of seeds on the test pairs ± standard error over seeds, best first by "
        f"{recipe.parameters['validation']}; seconds of training",
        "columns": ["method", *measures, "processor", "clock"],
        "rows": [_levels(recipe, figures, name) for name in _falling(recipe, figures)],
    }
    yield {
        "caption": "RoBiRank less another method for the same users, with intervals of 95 %",
        "columns": ["other", *measures],
        "rows": [
            [name, *(interval(figures[f"{ROBIRANK} − {name} {each}"]) for each in measures)]
            for name in _falling(recipe, figures)
            if name != ROBIRANK
        ],
    }
    yield {
        "caption": "Quality and processor seconds by passes, one seed: "
        f"{recipe.parameters['validation']} (seconds)",
        "columns": ["method", *(str(n) for n in recipe.parameters["passes"]), "all"],
        "rows": [_by_passes(recipe, cells, name) for name in in_passes(recipe)],
    }
    yield {
        "caption": f"Every point of the grids: {recipe.parameters['validation']} on validation, "
        "and processor seconds",
        "columns": ["method", "options", "value", "seconds", "chosen"],
        "rows": [*_grid(recipe, cells)],
    }


def _levels(recipe: Recipe, figures: Figures, name: str) -> list[Any]:
    found = [figures[f"{name} {measure}"] for measure in recipe.parameters["measures"]]
    seconds = [figures[f"{name}, seconds{end}"].value for end in ("", " on the clock")]
    return [
        name,
        *(
            f"{each.value:.4f}" + (f" ± {each.std_error:.4f}" if each.n > 1 else "")
            for each in found
        ),
        *(f"{each:.1f}" for each in seconds),
    ]


def _falling(recipe: Recipe, figures: Figures) -> list[str]:
    measure = recipe.parameters["validation"]
    names: Sequence[str] = [*recipe.parameters["methods"]]
    return sorted(names, key=lambda name: -figures[f"{name} {measure}"].value)


def _by_passes(recipe: Recipe, cells: Cells, name: str) -> list[str]:
    found = dict(by_passes(recipe, cells, name))
    last = max(found)
    shown = [found.get(n) if n < last else None for n in recipe.parameters["passes"]]
    return [name, *(_reached(recipe, each) for each in shown), _reached(recipe, found[last])]


def _reached(recipe: Recipe, found: Result | None) -> str:
    if found is None:
        return ""
    value = found["means"][recipe.parameters["validation"]]
    return f"{value:.3f} ({found['seconds']:.1f})"


def _grid(recipe: Recipe, cells: Cells) -> Iterator[list[str]]:
    measure = recipe.parameters["validation"]
    for name in recipe.parameters["methods"]:
        chosen = best(recipe, cells, name)
        for _, found in of(cells, TUNING, name):
            text = ", ".join(f"{option} {value}" for option, value in found["options"].items())
            yield [
                name,
                text,
                f"{found['means'][measure]:.4f}",
                f"{found['seconds']:.1f}",
                "✓" if found["options"] == chosen else "",
            ]


def _curves(
    recipe: Recipe,
    cells: Cells,
    figures: Figures,
    names: Sequence[str],
    measure: str,
    title: str,
) -> Figure:
    counts = ", ".join(map(str, recipe.parameters["passes"]))
    return {
        "kind": "line_plot",
        "title": f"{title}: {measure} against seconds of training",
        "series": [_curve(recipe, cells, figures, name, measure) for name in names],
        "x_label": "processor seconds of training",
        "y_label": measure,
        "log_x": True,
        "caption": f"After {counts} and all passes, each a fit of its own; a single point where a "
        "method has no passes.",
    }


def _curve(
    recipe: Recipe, cells: Cells, figures: Figures, name: str, measure: str
) -> Mapping[str, Any]:
    if name not in in_passes(recipe):
        x, y = figures[f"{name}, seconds"].value, figures[f"{name} {measure}"].value
        return {"label": name, "x": [max(x, _LEAST)], "y": [y]}
    done = [result for _, result in by_passes(recipe, cells, name)]
    return {
        "label": name,
        "x": [max(result["seconds"], _LEAST) for result in done],
        "y": [result["means"][measure] for result in done],
    }


def _gaps(recipe: Recipe, figures: Figures) -> Figure:
    shown: Sequence[str] = recipe.parameters["measures"]
    there = [name for name in _falling(recipe, figures) if name in compared(recipe)][:_NEAREST]
    return {
        "kind": "grouped_intervals",
        "title": "RoBiRank above the best of the others",
        "panels": [
            {
                "title": measure,
                "rows": [row(name, figures[f"{ROBIRANK} − {name} {measure}"]) for name in there],
            }
            for measure in shown
        ],
        "share_axis": False,
        "axis_label": "difference",
        "digits": 3,
        "caption": "RoBiRank less the method named, for the same users; intervals of 95 %.",
    }
