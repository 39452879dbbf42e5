"""RoBiRank's factors at scale: seconds a pass and memory, as one thing after another changes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from podium.papers import views
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, Study, key, mean, parts
from podium.papers.yun2014.scale_fit import Asked, in_process
from podium.report import Figure, Table

_AUTO = "auto"  # blocks as the data's shape tells


def cells(recipe: Recipe) -> Iterable[str]:
    """Return the keys: all at their usual values but for one; workers where Ray is installed."""
    found = [
        key(repeat=repeat, **fit)
        for repeat in range(recipe.repeats or 1)
        for fit in _varied(recipe.parameters)
    ]
    return dict.fromkeys(found)


def _usual(parameters: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: parameters[name] for name in ("fraction", "factors")}
    return {**kept, "blocks": _AUTO, "threads": 1}


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
    """Do one cell: one fit."""
    return in_process(asked(recipe, cell))


def asked(recipe: Recipe, cell: str) -> Asked:
    """Read what a cell wants."""
    told = parts(cell)
    on_ray = "workers" in told
    return Asked(
        fraction=float(told["fraction"]),
        n_factors=int(told["factors"]),
        n_negatives=recipe.parameters["negatives"],
        n_passes=recipe.parameters["passes"],
        n_blocks=None if told["blocks"] == _AUTO else int(told["blocks"]),
        executor="ray" if on_ray else "threads",
        n_workers=int(told["workers" if on_ray else "threads"]),
        seeds=(recipe.seed, int(told["repeat"])),
    )


DIFFERING = "fits by other threads or workers whose factors differ in a bit"
"""The figure that says whether the number of workers changed anything."""

_AXES = {
    "threads": "threads",
    "workers": "Ray workers",
    "blocks": "blocks of items",
    "factors": "factors",
    "pairs": "million pairs",
}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return seconds, memory and speed of each kind of fit, means over repeats."""
    kinds: dict[str, list[Result]] = {}
    for told, result in views.select(cells):
        kinds.setdefault(_name(told), []).append(result)
    found: dict[str, Measured] = {}
    for name, results in kinds.items():
        found[f"{name}: seconds a pass"] = mean(r["seconds"] for r in results)
        found[f"{name}: CPU seconds a pass"] = mean(r["cpu"] for r in results)
        found[f"{name}: million updates a CPU second"] = mean(
            recipe.parameters["negatives"] * r["pairs"] / r["cpu"] / 1e6 for r in results
        )
        found[f"{name}: peak memory, MiB"] = mean(r["memory"] for r in results)
    found[DIFFERING] = Measured(float(n_differing(cells)))
    return found


def n_differing(cells: Cells) -> int:
    """Count fits whose factors are not those of the same fit by one thread."""
    sums: dict[tuple[str, ...], set[str]] = {}
    for cell, result in cells.items():
        asked = parts(cell)
        same = tuple(asked[name] for name in ("repeat", "fraction", "factors", "blocks"))
        sums.setdefault(same, set()).add(result["factors"])
    return sum(len(each) - 1 for each in sums.values())


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure]:
    """Yield seconds a pass and memory against each thing that was varied."""
    for axis in _AXES:
        yield from _plots(_along(recipe, cells, axis), axis)


def _plots(points: Sequence[tuple[float, Result]], axis: str) -> Iterator[Figure]:
    def curve(label: str, what: str) -> views.Row:
        heights = (float(r[what]) if np.isfinite(r[what]) else None for _, r in points)
        return views.curve(label, (x for x, _ in points), heights)

    if len(points) < 2:
        return
    yield views.lines(
        f"Seconds a pass against {_AXES[axis]}",
        [curve("wall clock", "seconds"), curve("CPU", "cpu")],
        _AXES[axis],
        "seconds a pass",
        log_x=True,
        caption="Everything else at its usual value; of several repeats, the first.",
    )
    yield views.lines(
        f"Peak memory against {_AXES[axis]}",
        [curve("with the fit", "memory"), curve("data drawn", "before")],
        _AXES[axis],
        "MiB",
        log_x=True,
        caption="Of the whole process, interpreter and all"
        + ("; workers' memory is not in it." if axis == "workers" else "."),
    )


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield all fits."""
    numbers = {
        "users": ("users", ","),
        "pairs": ("pairs", ","),
        "blocks": ("blocks", ""),
        "s a pass": ("seconds", ".2f"),
        "the first": ("first", ".2f"),
        "CPU s a pass": ("cpu", ".2f"),
        "peak MiB": ("memory", ",.0f"),
        "before the fit": ("before", ",.0f"),
        "cost": ("cost", ".4f"),
    }
    yield {
        "columns": ["fit", *numbers],
        "rows": [
            [
                _name(asked),
                *(format(r[what], form) if form else r[what] for what, form in numbers.values()),
            ]
            for asked, r in views.select(cells)
        ],
        "align": ["left", *["right"] * len(numbers)],
        "caption": "One fit a row. Before the fit: peak memory when the data had been drawn. "
        "Cost: the mean cost of a pair in the last pass.",
    }


def _along(recipe: Recipe, cells: Cells, axis: str) -> list[tuple[float, Result]]:
    """Return the first repeat's fits that differ in one thing alone, by that thing, rising."""
    usual = {name: str(value) for name, value in _usual(recipe.parameters).items()}
    varied = "fraction" if axis == "pairs" else axis
    if axis == "workers":
        del usual["threads"]
    fixed = {name: value for name, value in usual.items() if name != varied} | {"repeat": "0"}
    points = [
        (_place(axis, asked, result), result)
        for asked, result in views.select(cells)
        if varied in asked and fixed == {k: v for k, v in asked.items() if k != varied}
    ]
    return sorted(points, key=lambda point: point[0])


def _place(axis: str, asked: Mapping[str, str], result: Result) -> float:
    if axis == "pairs":
        return result["pairs"] / 1e6
    return float(result["blocks"] if axis == "blocks" else asked[axis])


def _name(asked: Mapping[str, str]) -> str:
    who = "workers" if "workers" in asked else "threads"
    return ", ".join(
        [
            f"users × {asked['fraction']}",
            f"{asked['factors']} factors",
            f"blocks {asked['blocks']}",
            f"{_AXES[who]} {asked[who]}",
        ]
    )


STUDY = Study(cells, run, fold, plots=plots, tables=tables)
"""The study of speed and memory; seconds are results here, and differ from run to run."""
