"""What the page of the comparison of objectives shows beside its figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from podium.papers.hiranandani2020.objectives_figures import (
    BEST,
    BINARY,
    CHOSEN,
    LOGISTIC,
    PAP_LOGISTIC,
    Z,
)
from podium.papers.hiranandani2020.objectives_methods import METHODS, OWN, PODIUM
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, key
from podium.report import Figure, Table


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return pap against k by method, and the differences with their intervals."""
    names = recipe.parameters["methods"]
    main = [name for name in names if METHODS[name].kind in (OWN, PODIUM)]
    main = [name for name in names if name in (LOGISTIC, PAP_LOGISTIC, *main)]
    ours = [name for name in names if METHODS[name].kind == PODIUM]
    compared = [
        f"{PAP_LOGISTIC} − {LOGISTIC}",
        *(f"{name} − {other}" for name in ours for other in (BEST, CHOSEN)),
    ]
    trees = [name for name in names if f"{name} − {BINARY}{_OVER_K}" in figures]
    return [
        _levels(recipe, figures, main),
        *(_by_cutoff(recipe, figures, pair) for pair in compared if pair + _OVER_K in figures),
        *([_trees(figures, trees)] if trees else []),
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return pap by method and k, differences by k, users, and what was chosen."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    names: Sequence[str] = recipe.parameters["methods"]
    columns = [f"k={k}" for k in cutoffs]
    pairs = [label.removesuffix(_OVER_K) for label in figures if label.endswith(_OVER_K)]
    return [
        {
            "caption": "pap@k on test, per cent: mean over splits ± its standard error",
            "columns": ["method", *columns],
            "rows": [
                [name, *(_text(figures[f"{name} k={k}"], 2) for k in cutoffs)] for name in names
            ],
        },
        {
            "caption": "Differences in points, with intervals of 95 % over users",
            "columns": ["difference", *columns, "mean over k"],
            "rows": [
                [
                    pair,
                    *(_interval(figures[f"{pair} k={k}"]) for k in cutoffs),
                    _interval(figures[pair + _OVER_K]),
                ]
                for pair in pairs
            ],
        },
        {
            "caption": "Test users that pap@k is defined on, mean over splits",
            "columns": ["", *columns],
            "rows": [["users", *_users(recipe, cells)]],
        },
        {
            "caption": "Options chosen on validation in most splits (in how many)",
            "columns": ["method", *columns],
            "rows": [[name, *_chosen(recipe, cells, name)] for name in names],
        },
    ]


def _levels(recipe: Recipe, figures: Figures, names: Sequence[str]) -> Figure:
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    return {
        "kind": "line_plot",
        "title": "pap@k on test by objective",
        "x_label": "k",
        "y_label": "pap@k (%)",
        "series": [
            _line(name, cutoffs, [figures[f"{name} k={k}"] for k in cutoffs]) for name in names
        ],
        "caption": "Mean over splits; the band is its 95 % interval over splits.",
    }


def _line(label: str, cutoffs: Sequence[int], found: Sequence[Measured]) -> Mapping[str, Any]:
    return {
        "label": label,
        "x": list(cutoffs),
        "y": [each.value for each in found],
        "low": [each.value - _margin(each) for each in found],
        "high": [each.value + _margin(each) for each in found],
    }


def _by_cutoff(recipe: Recipe, figures: Figures, pair: str) -> Figure:
    rows = [_row(f"k = {k}", figures[f"{pair} k={k}"]) for k in recipe.parameters["cutoffs"]]
    one, _, other = pair.partition(" − ")
    return _differences([*rows, _row("mean", figures[pair + _OVER_K])], one, other)


def _differences(rows: Sequence[Mapping[str, Any]], one: str, other: str) -> Figure:
    return {
        "kind": "difference_plot",
        "title": f"{one} − {other}",
        "axis_label": "difference in pap@k (points)",
        "rows": rows,
        "digits": 2,
        "caption": "Paired by user; intervals of 95 % from a bootstrap over users.",
    }


def _trees(figures: Figures, names: Sequence[str]) -> Figure:
    return {
        "kind": "difference_plot",
        "title": f"Trees above {BINARY}, mean over k",
        "axis_label": "difference in pap@k (points)",
        "rows": [
            _row(name.replace(" as category", ""), figures[f"{name} − {BINARY}{_OVER_K}"])
            for name in names
        ],
        "digits": 2,
        "caption": "Paired by user; intervals of 95 % from a bootstrap over users.",
    }


def _row(label: str, found: Measured) -> Mapping[str, Any]:
    margin = _margin(found)
    return {
        "label": label,
        "value": found.value,
        "low": found.value - margin,
        "high": found.value + margin,
    }


def _margin(found: Measured) -> float:
    return 0.0 if math.isnan(found.std_error) else Z * found.std_error


def _text(found: Measured, digits: int) -> str:
    error = "" if math.isnan(found.std_error) else f" ± {found.std_error:.{digits}f}"
    return f"{found.value:.{digits}f}{error}"


def _interval(found: Measured) -> str:
    low, high = found.value - _margin(found), found.value + _margin(found)
    return f"{found.value:+.2f} [{low:+.2f}, {high:+.2f}]"


def _users(recipe: Recipe, cells: Cells) -> list[str]:
    splits = range(recipe.repeats or 1)
    found = [cells[key(seed=s, method=recipe.parameters["methods"][0])]["user"] for s in splits]
    return [
        f"{sum(len(each[at]) for each in found) / len(found):.0f}"
        for at in range(len(recipe.parameters["cutoffs"]))
    ]


def _chosen(recipe: Recipe, cells: Cells, name: str) -> list[str]:
    splits = range(recipe.repeats or 1)
    texts: list[str] = []
    for at in range(len(recipe.parameters["cutoffs"])):
        found = [cells[key(seed=seed, method=name)]["chosen"][at] for seed in splits]
        counts = Counter(
            ", ".join(f"{_SHORT.get(option, option)} {value:g}" for option, value in each.items())
            for each in ({k: v for k, v in one.items() if k != "trees"} for one in found)
        )
        (text, times), *_ = counts.most_common(1)
        trees = sorted(each["trees"] for each in found if "trees" in each)
        median = f"; median trees {trees[len(trees) // 2]}" if trees else ""
        texts.append(f"{text} ({times}){median}")
    return texts


_OVER_K = ", mean over k"
_SHORT = {
    "learning_rate": "rate",
    "num_leaves": "leaves",
    "min_data_in_leaf": "rows in leaf",
    "bagging_fraction": "share of rows",
}
