"""What the page of learned rank distributions shows beside its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from podium.papers.jin2021.figures_figures import (
    CDF,
    CHANCE,
    ONE,
    PMF,
    Curves,
    Floats,
    curves,
)
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures
from podium.report import Figure, Table

_EXACT = "exact"


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return, by recommender, the chance of each rank, recall, and recall over the exact one."""
    return [
        figure
        for method in recipe.parameters["methods"]
        for figure in _plots(recipe, method, curves(recipe, cells, method))
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return, by recommender, recall at a few ranks and the distances of whole curves."""
    return [
        _table(recipe, figures, method, curves(recipe, cells, method))
        for method in recipe.parameters["methods"]
    ]


def _plots(recipe: Recipe, method: str, read: Curves) -> Iterator[Figure]:
    apart: Sequence[str] = recipe.parameters["apart"]
    mean = {label: runs.mean(axis=0) for label, runs in read.runs.items()}
    near = {label: curve for label, curve in mean.items() if label not in apart}
    said = _said(recipe, read)
    far = "; ".join(f"{label} begins at {mean[label][0]:.3f}" for label in apart)
    yield {
        "kind": "line_plot",
        "title": f"{method}: chance of each rank",
        "series": [_line(_EXACT, _shares(read.exact)), *_lines(near, _shares)],
        "x_label": "rank R among all items",
        "y_label": "share of users whose target has rank R",
        "caption": f"{said} Not shown: {far}." if far else said,
    }
    yield {
        "kind": "line_plot",
        "title": f"{method}: chance of a rank of at most R, which is recall@R",
        "series": [_line(_EXACT, read.exact), *_lines(mean, np.asarray)],
        "x_label": "rank R among all items",
        "y_label": "share of users whose target has rank R or better",
        "caption": said,
    }
    yield {
        "kind": "line_plot",
        "title": f"{method}: estimated recall@R over the exact one",
        "series": [_line(_EXACT, np.ones(read.exact.size)), *_lines(near, _over(read.exact))],
        "x_label": "rank R among all items",
        "y_label": "estimate / exact",
        "log_x": True,
        "caption": said if not apart else f"{said} Not shown: {', '.join(apart)}, far above.",
    }


def _said(recipe: Recipe, read: Curves) -> str:
    n_runs = next(iter(read.runs.values())).shape[0]
    return (
        f"Each curve is the mean over {n_runs} samples of {recipe.parameters['n_negatives']} "
        f"items a user; exact: the ranks of {read.users:,} users among all items."
    )


def _lines(curves_: Mapping[str, Floats], shown: Any) -> list[Mapping[str, Any]]:
    return [_line(label, shown(curve)) for label, curve in curves_.items()]


def _line(label: str, values: Floats) -> Mapping[str, Any]:
    return {
        "label": label,
        "x": list(range(1, values.size + 1)),
        "y": [round(value, 7) if np.isfinite(value) else None for value in values.tolist()],
    }


def _shares(curve: Floats) -> Floats:
    return np.diff(curve, prepend=0.0)


def _over(exact: Floats) -> Any:
    def ratio(curve: Floats) -> Floats:
        """Leave out ranks that no user's target reaches."""
        return np.divide(curve, exact, out=np.full(exact.size, np.nan), where=exact > 0)

    return ratio


def _table(recipe: Recipe, figures: Figures, method: str, read: Curves) -> Table:
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    noise = figures[f"{method}, {CHANCE} {PMF}"].value
    exact = [_EXACT, *(f"{read.exact[k - 1]:.4f}" for k in cutoffs), "", "", f"{noise:.3f}"]
    return {
        "caption": f"{method}: recall, mean ± standard deviation of one sample; and distances from "
        "the exact curve, in parts of its mean, of recall and of the shares at each rank (exact: "
        "how far these are from the shares of infinitely many users)",
        "columns": [
            "",
            *(f"recall@{k}" for k in cutoffs),
            "recall, one sample",
            "recall, mean of all",
            "shares, mean of all",
        ],
        "rows": [exact, *(_row(figures, method, label, read, cutoffs) for label in read.runs)],
    }


def _row(
    figures: Figures, method: str, label: str, read: Curves, cutoffs: Sequence[int]
) -> list[str]:
    at = [read.runs[label][:, k - 1] for k in cutoffs]
    levels = [f"{values.mean():.4f} ± {_spread(values)}" for values in at]
    far = [figures[f"{method}, {label} {name}"].value for name in (ONE, CDF, PMF)]
    return [label, *levels, *(f"{value:.3f}" for value in far)]


def _spread(values: Floats) -> str:
    return f"{values.std(ddof=1):.4f}" if values.size > 1 else "–"
