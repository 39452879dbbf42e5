"""RoBiRank's factorization at scale: seconds per pass and memory, varying one setting at a time."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from podium.report import Figure, Table
from podium_studies import views
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Measured, Result, Study, key, mean, parts
from podium_studies.yun2014.scale_fit import FitSettings, in_process

_AUTO = "auto"  # the number of blocks follows from the data's shape


def cells(recipe: Recipe) -> Iterable[str]:
    """Return the keys: fits that vary one setting at a time; workers only if Ray is installed."""
    keys = [
        key(repeat=repeat, **fit)
        for repeat in range(recipe.repeats or 1)
        for fit in _varied(recipe.parameters)
    ]
    return dict.fromkeys(keys)


def _usual(parameters: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name: parameters[name] for name in ("fraction", "factors")}
    return {**settings, "blocks": _AUTO, "threads": 1}


def _varied(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    usual, vary = _usual(parameters), parameters["vary"]
    yield usual
    for name in ("threads", "blocks", "factors"):
        for value in vary[name]:
            yield usual | {name: value}
    for share in vary["shares"]:
        yield usual | {"fraction": share * parameters["fraction"]}
    if importlib.util.find_spec("ray") is not None:
        del usual["threads"]
        for workers in vary["workers"]:
            yield usual | {"workers": workers}


def run(recipe: Recipe, context: Any, cell: str) -> Result:
    """Compute one cell, which is one fit."""
    return in_process(asked(recipe, cell))


def asked(recipe: Recipe, cell: str) -> FitSettings:
    """Return the settings of a cell's fit."""
    key_parts = parts(cell)
    on_ray = "workers" in key_parts
    return FitSettings(
        fraction=float(key_parts["fraction"]),
        n_factors=int(key_parts["factors"]),
        n_negatives=recipe.parameters["negatives"],
        n_passes=recipe.parameters["passes"],
        n_blocks=None if key_parts["blocks"] == _AUTO else int(key_parts["blocks"]),
        executor="ray" if on_ray else "threads",
        n_workers=int(key_parts["workers" if on_ray else "threads"]),
        seeds=(recipe.seed, int(key_parts["repeat"])),
    )


DIFFERING = "fits by other threads or workers whose factors differ in a bit"
"""The name of the figure that counts fits that the number of workers changed."""

_AXES = {
    "threads": "threads",
    "workers": "Ray workers",
    "blocks": "blocks of items",
    "factors": "factors",
    "pairs": "million pairs",
}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the seconds, memory and speed of each kind of fit, averaged over repeats.

    The CPU seconds of Ray workers are not known, and left out.
    """
    kinds: dict[str, list[Result]] = {}
    for key_parts, result in views.select(cells):
        kinds.setdefault(_name(key_parts), []).append(result)
    figures: dict[str, Measured] = {}
    for name, results in kinds.items():
        figures[f"{name}: seconds a pass"] = mean(r["seconds"] for r in results)
        figures[f"{name}: CPU seconds a pass"] = mean(r["cpu"] for r in results)
        figures[f"{name}: million updates a CPU second"] = mean(
            recipe.parameters["negatives"] * r["pairs"] / r["cpu"] / 1e6 for r in results
        )
        figures[f"{name}: peak memory, MiB"] = mean(r["memory"] for r in results)
    figures[DIFFERING] = Measured(float(n_differing(cells)))
    return {name: figure for name, figure in figures.items() if np.isfinite(figure.value)}


def n_differing(cells: Cells) -> int:
    """Return the number of fits whose factors differ from those of an otherwise equal fit."""
    sums: dict[tuple[str, ...], set[str]] = {}
    for cell, result in cells.items():
        key_parts = parts(cell)
        settings = tuple(key_parts[name] for name in ("repeat", "fraction", "factors", "blocks"))
        sums.setdefault(settings, set()).add(result["factors"])
    return sum(len(checksums) - 1 for checksums in sums.values())


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield plots of seconds per pass and of memory against each varied setting."""
    for axis in _AXES:
        yield from _plots(_along(recipe, cells, axis), axis)


def _plots(points: Sequence[tuple[float, Result]], axis: str) -> Iterator[Figure]:
    def curve(label: str, quantity: str) -> views.Row:
        heights = (float(r[quantity]) if np.isfinite(r[quantity]) else None for _, r in points)
        return views.curve(label, (x for x, _ in points), heights)

    if len(points) < 2:
        return
    yield views.lines(
        f"Seconds per pass against {_AXES[axis]}",
        [curve("wall clock", "seconds"), curve("CPU", "cpu")],
        _AXES[axis],
        "seconds per pass",
        log_x=True,
        caption="First repeat. All other settings have their usual values.",
    )
    yield views.lines(
        f"Peak memory against {_AXES[axis]}",
        [curve("with the fit", "memory"), curve("before the fit", "before")],
        _AXES[axis],
        "MiB",
        log_x=True,
        caption="Memory of the complete process with the interpreter"
        + (", without the memory of the workers." if axis == "workers" else "."),
    )


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield a table of all fits."""
    numbers = {
        "users": ("users", ","),
        "pairs": ("pairs", ","),
        "blocks": ("blocks", ""),
        "s per pass": ("seconds", ".2f"),
        "s of the first": ("first", ".2f"),
        "CPU s per pass": ("cpu", ".2f"),
        "peak MiB": ("memory", ",.0f"),
        "MiB before the fit": ("before", ",.0f"),
        "cost": ("cost", ".4f"),
    }
    yield {
        "columns": ["fit", *numbers],
        "rows": [
            [
                _name(key_parts),
                *(
                    format(r[quantity], form) if form else r[quantity]
                    for quantity, form in numbers.values()
                ),
            ]
            for key_parts, r in views.select(cells)
        ],
        "align": ["left", *["right"] * len(numbers)],
        "caption": "One fit per row. Before the fit: peak memory after the data were drawn. "
        "Cost: the mean cost of a pair in the last pass.",
    }


def _along(recipe: Recipe, cells: Cells, axis: str) -> list[tuple[float, Result]]:
    """Return the fits of the first repeat with only one varied setting, sorted by it."""
    usual = {name: str(value) for name, value in _usual(recipe.parameters).items()}
    varied = "fraction" if axis == "pairs" else axis
    if axis == "workers":
        del usual["threads"]
    fixed = {name: value for name, value in usual.items() if name != varied} | {"repeat": "0"}
    points = [
        (_place(axis, key_parts, result), result)
        for key_parts, result in views.select(cells)
        if varied in key_parts and fixed == {k: v for k, v in key_parts.items() if k != varied}
    ]
    return sorted(points, key=lambda point: point[0])


def _place(axis: str, key_parts: Mapping[str, str], result: Result) -> float:
    if axis == "pairs":
        return result["pairs"] / 1e6
    return float(result["blocks"] if axis == "blocks" else key_parts[axis])


def _name(key_parts: Mapping[str, str]) -> str:
    axis = "workers" if "workers" in key_parts else "threads"
    return ", ".join(
        [
            f"users × {key_parts['fraction']}",
            f"{key_parts['factors']} factors",
            f"blocks {key_parts['blocks']}",
            f"{_AXES[axis]} {key_parts[axis]}",
        ]
    )


STUDY = Study(cells, run, fold, plots=plots, tables=tables)
"""The study of speed and memory. Times are results here, and differ between runs."""
