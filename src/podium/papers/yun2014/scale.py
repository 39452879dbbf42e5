"""RoBiRank's factors at scale: seconds a pass and memory, as one thing after another changes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, Study, key, mean, parts
from podium.papers.yun2014.scale_fit import Asked, in_process
from podium.report import Figure, Table

_AUTO = "auto"  # blocks as the data's shape tells


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: all at their usual values but for one; workers where Ray is installed."""
    found = [
        key(repeat=repeat, **fit)
        for repeat in range(recipe.repeats or 1)
        for fit in _varied(recipe.parameters)
    ]
    return list(dict.fromkeys(found))


def _varied(parameters: Any) -> Iterator[dict[str, Any]]:
    usual = {
        "fraction": parameters["fraction"],
        "factors": parameters["factors"],
        "blocks": _AUTO,
        "threads": 1,
    }
    yield usual
    for threads in parameters["vary"]["threads"]:
        yield usual | {"threads": threads}
    for blocks in parameters["vary"]["blocks"]:
        yield usual | {"blocks": blocks}
    for factors in parameters["vary"]["factors"]:
        yield usual | {"factors": factors}
    for share in parameters["vary"]["shares"]:
        yield usual | {"fraction": share * parameters["fraction"]}
    if importlib.util.find_spec("ray") is not None:
        for workers in parameters["vary"]["workers"]:
            yield {k: v for k, v in usual.items() if k != "threads"} | {"workers": workers}


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

Fits = list[tuple[Mapping[str, str], Result]]


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return seconds, memory and speed of each kind of fit, means over repeats."""
    found: dict[str, Measured] = {}
    for name, fits in _kinds(cells).items():
        results = [result for _, result in fits]
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


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return seconds a pass and memory against each thing that was varied."""
    return [
        plot
        for axis in _AXES
        if len(_along(recipe, cells, axis)) > 1
        for plot in (_seconds(recipe, cells, axis), _memory(recipe, cells, axis))
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return all fits."""
    return [
        {
            "columns": [
                "fit",
                "users",
                "pairs",
                "blocks",
                "s a pass",
                "the first",
                "CPU s a pass",
                "peak MiB",
                "before the fit",
                "cost",
            ],
            "rows": [
                [
                    _name(asked),
                    f"{r['users']:,}",
                    f"{r['pairs']:,}",
                    r["blocks"],
                    *(f"{r[what]:.2f}" for what in ("seconds", "first", "cpu")),
                    *(f"{r[what]:,.0f}" for what in ("memory", "before")),
                    f"{r['cost']:.4f}",
                ]
                for asked, r in _fits(cells)
            ],
            "align": ["left", *["right"] * 9],
            "caption": "One fit a row. Before the fit: peak memory when the data had been drawn. "
            "Cost: the mean cost of a pair in the last pass.",
        }
    ]


def _seconds(recipe: Recipe, cells: Cells, axis: str) -> Figure:
    points = _along(recipe, cells, axis)
    lines = {"wall clock": "seconds", "CPU": "cpu"}
    return {
        "kind": "line_plot",
        "title": f"Seconds a pass against {_AXES[axis]}",
        "x_label": _AXES[axis],
        "y_label": "seconds a pass",
        "log_x": True,
        "series": [
            {
                "label": label,
                "x": [x for x, _ in points],
                "y": [_or_none(r[what]) for _, r in points],
            }
            for label, what in lines.items()
        ],
        "caption": "Everything else at its usual value; of several repeats, the first.",
    }


def _memory(recipe: Recipe, cells: Cells, axis: str) -> Figure:
    points = _along(recipe, cells, axis)
    lines = {"with the fit": "memory", "data drawn": "before"}
    return {
        "kind": "line_plot",
        "title": f"Peak memory against {_AXES[axis]}",
        "x_label": _AXES[axis],
        "y_label": "MiB",
        "log_x": True,
        "series": [
            {
                "label": label,
                "x": [x for x, _ in points],
                "y": [_or_none(r[what]) for _, r in points],
            }
            for label, what in lines.items()
        ],
        "caption": "Of the whole process, interpreter and all"
        + ("; workers' memory is not in it." if axis == "workers" else "."),
    }


def _along(recipe: Recipe, cells: Cells, axis: str) -> list[tuple[float, Result]]:
    """Return the first repeat's fits that differ in one thing alone, by that thing, rising."""
    usual = {
        "fraction": str(recipe.parameters["fraction"]),
        "factors": str(recipe.parameters["factors"]),
        "blocks": "auto",
        "threads": "1",
    }
    varied = "fraction" if axis == "pairs" else axis
    if axis == "workers":
        del usual["threads"]
    fixed = {name: value for name, value in usual.items() if name != varied} | {"repeat": "0"}
    points = [
        (_place(axis, asked, result), result)
        for asked, result in _fits(cells)
        if varied in asked and fixed == {k: v for k, v in asked.items() if k != varied}
    ]
    return sorted(points, key=lambda point: point[0])


def _place(axis: str, asked: Mapping[str, str], result: Result) -> float:
    if axis == "pairs":
        return result["pairs"] / 1e6
    return float(result["blocks"] if axis == "blocks" else asked[axis])


def _kinds(cells: Cells) -> Mapping[str, Fits]:
    kinds: dict[str, Fits] = {}
    for asked, result in _fits(cells):
        kinds.setdefault(_name(asked), []).append((asked, result))
    return kinds


def _fits(cells: Cells) -> Iterator[tuple[Mapping[str, str], Result]]:
    for cell, result in cells.items():
        yield parts(cell), result


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


def _or_none(value: Any) -> float | None:
    return float(value) if value == value else None


STUDY = Study(cells, run, fold, plots=plots, tables=tables)
"""The study of speed and memory; seconds are results here, and differ from run to run."""
