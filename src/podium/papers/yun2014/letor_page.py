"""What the page of RoBiRank's study on LETOR shows beside its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures
from podium.papers.xia2009.letor_figures import OVER_MEASURES, Values
from podium.papers.xia2009.letor_page import chosen, interval, row
from podium.papers.yun2014.letor_figures import compared, means, rivals, values_of
from podium.papers.yun2014.letor_methods import FORM, METHODS, ROBIRANK
from podium.report import Figure, Table

_LINES = 6  # what one figure can still tell apart


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return curves of ndcg by cutoff, of forms and of rivals, and differences from them all."""
    there: Sequence[str] = recipe.parameters["methods"]
    forms = [name for name in there if METHODS[name].kind == FORM]
    curves: Sequence[str] = [name for name in recipe.parameters["curves"] if name in there]
    values = values_of(recipe, cells)
    return [
        _curves(recipe, values, [ROBIRANK, *curves], "RoBiRank and others"),
        _curves(recipe, values, forms[:_LINES], "RoBiRank and what becomes of it without a part"),
        _gaps(recipe, figures, rivals(recipe), "RoBiRank above others"),
        _gaps(
            recipe,
            figures,
            [name for name in compared(recipe) if name not in rivals(recipe)],
            "RoBiRank above its own forms and the binary losses",
        ),
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return all methods at all cutoffs, the differences, and what was chosen."""
    return [*_tables(recipe, figures, values_of(recipe, cells))]


def _tables(recipe: Recipe, figures: Figures, values: Values) -> Iterator[Table]:
    names: Sequence[str] = recipe.parameters["methods"]
    measures = [*recipe.parameters["measures"]]
    shown: Sequence[str] = recipe.parameters["shown"]
    yield {
        "caption": f"{values.data}: mean of five folds, best first by {shown[-1]}",
        "columns": ["method", *measures, "standard error over folds, at most"],
        "rows": [_levels(recipe, values, name) for name in _falling(names, figures, shown[-1])],
    }
    yield {
        "caption": f"{values.data}: RoBiRank less another method on the same queries, with "
        "intervals of 95 %",
        "columns": ["other", *shown, "mean of all ten"],
        "rows": [
            [name, *(interval(figures[f"{ROBIRANK} − {name}{end}"]) for end in _ends(shown))]
            for name in _falling(compared(recipe), figures, shown[-1])
        ],
    }
    yield {
        "caption": f"{values.data}: options chosen on validation: median over folds (least to "
        "greatest), or how often",
        "columns": ["method", "options"],
        "rows": [[name, chosen(values, name)] for name in names],
    }


def _levels(recipe: Recipe, values: Values, name: str) -> list[str]:
    found = means(recipe, values, name)
    error = max(each.std_error for each in found)
    return [name, *(f"{each.value:.3f}" for each in found), f"{error:.3f}"]


def _falling(names: Sequence[str], figures: Figures, measure: str) -> list[str]:
    return sorted(names, key=lambda name: -figures[f"{name} {measure}"].value)


def _ends(measures: Sequence[str]) -> list[str]:
    return [*(f" {measure}" for measure in measures), OVER_MEASURES]


def _curves(recipe: Recipe, values: Values, names: Sequence[str], title: str) -> Figure:
    measures = [*recipe.parameters["measures"]]
    return {
        "kind": "line_plot",
        "title": title,
        "series": [
            {
                "label": name,
                "x": [int(measure.partition("@")[2]) for measure in measures],
                "y": [found.value for found in means(recipe, values, name)],
            }
            for name in names
        ],
        "x_label": "cutoff k",
        "y_label": "ndcg@k",
        "caption": "Mean of five folds. Differences are known better than their levels, whose "
        "standard errors over folds are about 0.02 and more, so read the figures below for them.",
    }


def _gaps(recipe: Recipe, figures: Figures, names: Sequence[str], title: str) -> Figure:
    shown: Sequence[str] = recipe.parameters["shown"]
    return {
        "kind": "grouped_intervals",
        "title": title,
        "panels": [
            {
                "title": measure,
                "rows": [
                    row(name, figures[f"{ROBIRANK} − {name} {measure}"])
                    for name in _falling(names, figures, shown[-1])
                ],
            }
            for measure in shown
        ],
        "share_axis": False,
        "axis_label": "difference",
        "digits": 3,
        "caption": "RoBiRank less the method named, on the same queries; intervals of 95 %.",
    }
