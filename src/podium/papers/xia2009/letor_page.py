"""What the page of the LETOR study shows beside its figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured
from podium.papers.xia2009.letor_figures import (
    FAMILIES,
    LISTMLE,
    OVER_MEASURES,
    RIVALS,
    TOP_10,
    Values,
    Z,
    by_draw,
    collections,
    pairs,
    spread,
)
from podium.papers.xia2009.letor_methods import CUTOFFS, METHODS, PAPER, PODIUM
from podium.report import Figure, Table


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return, by collection, the paper's methods by measure, and the differences."""
    found: list[Figure] = []
    there = [name for name in recipe.parameters["methods"] if METHODS[name].kind == PAPER]
    modified = [name for name in there if name.endswith(LISTMLE)]
    compared = [name for name in there if name in (*RIVALS, TOP_10)]
    for values in collections(recipe, cells):
        before = values.before
        found += [
            _levels(recipe, figures, before, modified, "ListMLE at the top k"),
            _levels(recipe, figures, before, compared, f"{TOP_10} and others"),
            *_gains(recipe, figures, before),
            *_rivals(recipe, figures, before),
        ]
    return found


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return, by collection, all methods and differences, what draws do, and what was chosen."""
    return [table for v in collections(recipe, cells) for table in _tables(recipe, figures, v)]


def _tables(recipe: Recipe, figures: Figures, values: Values) -> Iterator[Table]:
    names: Sequence[str] = recipe.parameters["methods"]
    measures, before = [*recipe.parameters["measures"]], values.before
    whose = f"{values.data}: mean of five folds ± its standard error over folds (printed)"
    yield {
        "caption": whose,
        "columns": ["method", "whose", *measures],
        "rows": [
            [n, METHODS[n].kind, *(_cell(recipe, figures, f"{before}{n} {m}") for m in measures)]
            for n in names
        ],
    }
    yield {
        "caption": f"{values.data}: differences on the same queries, with intervals of 95 %",
        "columns": ["difference", *measures, "mean"],
        "rows": [
            [label, *(interval(figures[f"{before}{label}{end}"]) for end in _ends(measures))]
            for label in (f"{one} − {other}" for one, other in pairs(recipe))
        ],
    }
    yield {
        "caption": f"{values.data}: standard deviation of a five-fold mean over draws, by which "
        "one run differs from the next",
        "columns": ["method", *measures],
        "rows": [
            [name, *(f"{spread(values.of(name, measure), values):.4f}" for measure in measures)]
            for name in names
            if len(values.draws(name)) > 1
        ],
    }
    yield {
        "caption": f"{values.data}: what single draws would have shown, least to greatest",
        "columns": ["difference", *measures],
        "rows": [
            [f"{one} − {other}", *(_range(values, one, other, measure) for measure in measures)]
            for one, other in pairs(recipe)
            if len(values.draws(one)) > 1 and not _own(one)
        ],
    }
    yield {
        "caption": f"{values.data}: options chosen on validation: median over draws and "
        "folds (least to greatest), or how often",
        "columns": ["method", "options"],
        "rows": [[name, chosen(values, name)] for name in names],
    }


def _ends(measures: Sequence[str]) -> list[str]:
    return [*(f" {measure}" for measure in measures), OVER_MEASURES]


def _levels(
    recipe: Recipe, figures: Figures, before: str, names: Sequence[str], title: str
) -> Figure:
    measures: Sequence[str] = [*recipe.parameters["measures"]]
    return {
        "kind": "grouped_intervals",
        "title": before + title,
        "panels": [
            {
                "title": measure,
                "rows": [
                    each
                    for name in names
                    for each in _both(recipe, figures, f"{before}{name} {measure}", name)
                ],
            }
            for measure in measures
        ],
        "share_axis": False,
        "digits": 3,
        "caption": "Mean of five folds ± 1.96 standard errors over folds; then the printed figure.",
    }


def _both(recipe: Recipe, figures: Figures, key: str, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield our figure as a row, and the printed one."""
    yield {"series": "podium", **row(name, figures[key])}
    if key in recipe.printed:
        printed = recipe.printed[key]
        yield {"label": "  printed", "series": "paper", "value": printed, "low": None, "high": None}


def _gains(recipe: Recipe, figures: Figures, before: str) -> Iterator[Figure]:
    """Yield what the top-k modification changes, for each of the three losses."""
    measures: Sequence[str] = [*recipe.parameters["measures"]]
    for name in FAMILIES:
        labels = [f"Top-{k} {name} − {name}" for k in CUTOFFS]
        there = [label for label in labels if f"{before}{label}{OVER_MEASURES}" in figures]
        if there:
            yield {
                "kind": "grouped_intervals",
                "title": f"{before}{name}: gain by the top-k modification",
                "panels": [
                    {
                        "title": measure,
                        "rows": [
                            row(label.partition(" − ")[0], figures[f"{before}{label} {measure}"])
                            for label in there
                        ],
                    }
                    for measure in measures
                ],
                "axis_label": "difference",
                "digits": 3,
                "caption": f"Difference from {name} on the same queries; intervals of 95 %.",
            }


def _rivals(recipe: Recipe, figures: Figures, before: str) -> Iterator[Figure]:
    """Yield top-10 ListMLE against the methods of Table 4, and podium's methods against it."""
    compared = {
        f"{TOP_10} above others": [pair for pair in pairs(recipe) if pair[1] in RIVALS],
        f"podium's choices above {TOP_10}": [pair for pair in pairs(recipe) if _own(pair[0])],
    }
    measures: Sequence[str] = [*recipe.parameters["measures"]]
    for title, found in compared.items():
        of_all = title.startswith(TOP_10)
        chosen = [(one, other) for one, other in found if not of_all or one == TOP_10]
        if chosen:
            yield {
                "kind": "grouped_intervals",
                "title": before + title,
                "panels": [
                    {
                        "title": measure,
                        "rows": [
                            row(
                                other if of_all else one,
                                figures[f"{before}{one} − {other} {measure}"],
                            )
                            for one, other in chosen
                        ],
                    }
                    for measure in measures
                ],
                "axis_label": "difference",
                "digits": 3,
                "caption": "Differences on the same queries; intervals of 95 %.",
            }


def _own(name: str) -> bool:
    return METHODS[name].kind == PODIUM


def row(label: str, found: Measured) -> Mapping[str, Any]:
    """Return a figure's row: a value and its interval of 95 %."""
    margin = 0.0 if math.isnan(found.std_error) else Z * found.std_error
    low, high = found.value - margin, found.value + margin
    return {"label": label, "value": found.value, "low": low, "high": high}


def _cell(recipe: Recipe, figures: Figures, name: str) -> str:
    found, printed = figures[name], recipe.printed.get(name)
    text = f"{found.value:.3f} ± {found.std_error:.3f}"
    return text if printed is None else f"{text} ({printed:.3f})"


def interval(found: Measured) -> str:
    """Return a difference and its interval of 95 % in words."""
    margin = Z * found.std_error
    return f"{found.value:+.3f} [{found.value - margin:+.3f}, {found.value + margin:+.3f}]"


def _range(values: Values, one: str, other: str, measure: str) -> str:
    gaps = by_draw(values.of(one, measure) - values.of(other, measure), values)
    return f"{gaps.min():+.3f} to {gaps.max():+.3f}"


def chosen(values: Values, name: str) -> str:
    """Return which options of a method were chosen, over draws and folds."""
    found = [*values.chosen(name)]
    return "; ".join(f"{option} {_of([each[option] for each in found])}" for option in found[0])


def _of(column: Sequence[Any]) -> str:
    """Return what was chosen in words: the median and the range of numbers, or how often what."""
    if isinstance(column[0], str):
        counts = Counter(column).most_common()
        return ", ".join(f"{value} ({times})" for value, times in counts)
    low, middle, high = np.quantile(column, [0.0, 0.5, 1.0], method="nearest").tolist()
    return f"{middle:g} ({low:g} to {high:g})"
