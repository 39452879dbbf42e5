"""What the page of errors by size and by seconds shows beside its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from podium.papers.jin2021.error_figures import (
    Errors,
    errors,
    items_for,
    root,
    times,
)
from podium.papers.jin2021.error_runs import (
    Floats,
    designs,
    estimators,
    fixed,
    growing,
)
from podium.papers.jin2021.error_seconds import FACTORS
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Result
from podium.report import Figure, Table

_DRAWN = "items drawn a user"
_LEAST = 0.001  # seconds that a logarithmic axis begins at


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return errors by size, those of samples that grow beside them, and by seconds."""
    read = errors(recipe, cells)
    measures: Sequence[str] = recipe.parameters["measures"]
    return [
        *(_by_size(recipe, read, measure) for measure in measures),
        *(_by_growth(recipe, read, measure) for measure in measures),
        *(
            _by_seconds(recipe, read, method, found)
            for method, found in times(recipe, cells).items()
        ),
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return errors by design, their parts for each method, growth's worth, and seconds."""
    return [*_tables(recipe, cells)]


def _tables(recipe: Recipe, cells: Cells) -> Iterator[Table]:
    read = errors(recipe, cells)
    names = [*designs(recipe)]
    for measure in recipe.parameters["measures"]:
        yield {
            "caption": f"{measure}: root-mean-square error over exact, geometric mean over "
            f"{', '.join(read.methods)}; by {_DRAWN}",
            "columns": ["estimator", *names],
            "rows": [
                [label, *(_error(read, label, name, measure) for name in names)]
                for label, _ in estimators(recipe)
            ],
        }
    few = str(recipe.parameters["few"])
    for measure in recipe.parameters["measures"]:
        yield {
            "caption": f"{measure} at {few}: bias and standard deviation over exact",
            "columns": ["estimator", *read.methods],
            "rows": [
                [label, *_parts(read, label, few, measure)] for label, _ in estimators(recipe)
            ],
        }
    yield {
        "caption": "Items a user with which samples of one size keep to the error of growing ones",
        "columns": ["estimator", "design", _DRAWN, *recipe.parameters["measures"]],
        "rows": [*_growth(recipe, read)],
    }
    for method, found in times(recipe, cells).items():
        yield _seconds(recipe, method, found)


def _error(read: Errors, label: str, design: str, measure: str) -> str:
    if (label, design) not in read.found:
        return ""
    return f"{root(read.squares(label, design, measure).mean(axis=0)):.3f}"


def _parts(read: Errors, label: str, design: str, measure: str) -> Iterator[str]:
    values = read.found[label, design][:, :, list(read.measures).index(measure)]
    spreads = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1], np.nan)
    for bias, spread in zip(values.mean(axis=0), spreads, strict=True):
        yield f"{bias:+.3f} ± {spread:.3f}"


def _growth(recipe: Recipe, read: Errors) -> Iterator[list[str]]:
    for label, _ in estimators(recipe, grow=True):
        for design in growing(recipe):
            needed = [
                _needed(recipe, read, label, design, m) for m in recipe.parameters["measures"]
            ]
            yield [label, design, f"{read.cost[design].mean():.0f}", *needed]


def _needed(recipe: Recipe, read: Errors, label: str, design: str, measure: str) -> str:
    sizes = np.array([*fixed(recipe).values()], np.float64)
    error = root(read.squares(label, design, measure).mean(axis=0))
    found = items_for(error, sizes, _roots(read, label, [*fixed(recipe)], measure))
    return f"above {sizes[-1]:.0f}" if np.isnan(found) else f"{found:.0f}"


def _roots(read: Errors, label: str, names: Sequence[str], measure: str) -> Floats:
    return np.array([root(read.squares(label, name, measure).mean(axis=0)) for name in names])


def _by_size(recipe: Recipe, read: Errors, measure: str) -> Figure:
    names = [*fixed(recipe)]
    return {
        "kind": "line_plot",
        "title": f"Error of {measure} by the size of samples",
        "series": [
            _line(label, fixed(recipe).values(), _roots(read, label, names, measure))
            for label, _ in estimators(recipe)
        ],
        "x_label": _DRAWN,
        "y_label": "root-mean-square error / exact",
        "log_x": True,
        "log_y": True,
        "caption": f"{_means(read)} Samples of one size.",
    }


def _by_growth(recipe: Recipe, read: Errors, measure: str) -> Figure:
    series: list[Mapping[str, Any]] = []
    for label in recipe.parameters["grown"]:
        for names, said in ((fixed(recipe), "one size"), (growing(recipe), "growing")):
            cost = [float(read.cost[name].mean()) for name in names]
            series.append(_line(f"{label}, {said}", cost, _roots(read, label, [*names], measure)))
    first = recipe.parameters["growing"][0][0]
    return {
        "kind": "line_plot",
        "title": f"Error of {measure} with samples that grow while the target comes first",
        "series": series,
        "x_label": f"{_DRAWN}, on average",
        "y_label": "root-mean-square error / exact",
        "log_x": True,
        "log_y": True,
        "caption": f"{_means(read)} Growing samples begin with {first} items; a point for each "
        f"size at which they end: {', '.join(growing(recipe))}.",
    }


def _by_seconds(recipe: Recipe, read: Errors, method: str, found: Result) -> Figure:
    measure = recipe.parameters["judged"]
    place, own = list(read.measures).index(measure), list(read.methods).index(method)
    series: list[Mapping[str, Any]] = []
    for label in recipe.parameters["timed_estimators"]:
        names = [*fixed(recipe)]
        errors_ = [
            float(np.sqrt((read.found[label, name][:, own, place] ** 2).mean())) for name in names
        ]
        series.append(_line(label, [_total(found, label, name) for name in names], errors_))
    heights = [y for line in series for y in line["y"]]
    whole = max(found["all"], _LEAST)
    series.append(_line("all items: no error", [whole] * 2, [min(heights), max(heights)]))
    return {
        "kind": "line_plot",
        "title": f"{method}: error of {measure} against seconds",
        "series": series,
        "x_label": "processor seconds of scoring and estimating",
        "y_label": "root-mean-square error / exact",
        "log_x": True,
        "log_y": True,
        "caption": f"Samples of {', '.join(fixed(recipe))} items a user. {_how(found)}",
    }


def _how(found: Result) -> str:
    if found["kind"] == FACTORS:
        return "Scores are products of factors, of the drawn items alone where a sample is drawn."
    return "A sample's scoring is reckoned: its share of what scoring all items takes."


def _total(found: Result, label: str, design: str) -> float:
    return max(found["scoring"][design] + found["estimating"][label][design], _LEAST)


def _means(read: Errors) -> str:
    n_repeats = next(iter(read.found.values())).shape[0]
    return f"Geometric mean over {', '.join(read.methods)}, of {n_repeats} samples each."


def _line(label: str, x: Any, y: Any) -> Mapping[str, Any]:
    return {"label": label, "x": [float(v) for v in x], "y": [round(float(v), 6) for v in y]}


def _seconds(recipe: Recipe, method: str, found: Result) -> Table:
    names = [*designs(recipe)]
    taken = found["estimating"]
    return {
        "caption": f"{method}: processor seconds; ranking all items takes {found['all']:.3f}. "
        f"{_how(found)}",
        "columns": ["", *names],
        "rows": [
            ["scoring", *(f"{found['scoring'][name]:.3f}" for name in names)],
            *(
                [label, *(f"{taken[label][n]:.3f}" if n in taken[label] else "" for n in names)]
                for label, _ in estimators(recipe)
            ),
        ],
    }
