"""From the curves of Figure 1 to its end values, and what the page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, parts
from podium.report import Figure, Table

_SURROGATES = ("max", "avg", "TS", "ramp")
_ZERO = {"strong": _SURROGATES, "beta": ("avg", "ramp"), "moderate": ("TS", "ramp")}
_TITLES = {"strong": "strong margin", "beta": "beta-margin", "moderate": "moderate margin"}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return each surrogate's end, and what the paper's claims are about."""
    figures: dict[str, Measured] = {}
    for cell, curves in cells.items():
        asked = parts(cell)
        for name, value in _ends(curves, asked["margin"]).items():
            figures[f"{asked['setting']}, {asked['margin']}: {name}"] = Measured(value)
    return figures


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return one plot for each setting and margin."""
    return [_plot(recipe, cell, curves) for cell, curves in cells.items()]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return which margins the rows really have, and how many rows are left."""
    rows = [
        [
            *parts(cell).values(),
            found["n_pos"],
            found["n_neg"],
            ", ".join(found["held"]) or "none",
        ]
        for cell, found in cells.items()
    ]
    return [
        {
            "columns": ["setting", "thinned for", "positives", "negatives", "margins that hold"],
            "rows": rows,
            "caption": "Margins of 1 along the direction that rows were thinned along, before "
            "features were scaled; plain is the paper's beta-margin, definition 3.",
        }
    ]


def _ends(curves: Result, margin: str) -> dict[str, float]:
    ends = {name: curves[name][-1] for name in _SURROGATES}
    zero = _ZERO[margin]
    found = {f"{name} at the end": value for name, value in ends.items()}
    found["TS at its least"] = min(curves["TS"])
    found[f"worst of {_listed(zero)}"] = max(ends[name] for name in zero)
    if margin == "beta":
        found["least of max and TS"] = min(ends["max"], ends["TS"])
        found["rise of max and TS"] = min(_rise(curves[name]) for name in ("max", "TS"))
    return found


def _plot(recipe: Recipe, cell: str, curves: Mapping[str, Any]) -> Figure:
    asked = parts(cell)
    loss = recipe.parameters["margins"][asked["margin"]]["loss"]
    return {
        "kind": "line_plot",
        "title": f"{asked['setting']}: {loss} minimised under the {_TITLES[asked['margin']]}",
        "x_label": "iteration",
        "y_label": "value of the surrogate",
        "series": [
            {"label": name, "x": list(range(len(curves[name]))), "y": curves[name]}
            for name in _SURROGATES
        ],
    }


def _rise(curve: Sequence[float]) -> float:
    """Return how far the end lies above the least value before."""
    return curve[-1] - min(curve)


def _listed(names: Sequence[str]) -> str:
    return "all" if len(names) == len(_SURROGATES) else " and ".join(names)
