"""RoBiRank's factorization at scale: seconds per pass and memory, varying one setting at a time."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from podium_studies.cells import key, mean, repeats, select
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study
from podium_studies.yun2014.scale_fit import in_process

_AUTO = "auto"  # the number of blocks follows from the data's shape


def cells(recipe: Recipe) -> Iterable[str]:
    """Return the keys: fits that vary one setting at a time; workers only if Ray is installed."""
    fits = itertools.product(repeats(recipe), _varied(recipe.parameters))
    return dict.fromkeys(key(repeat=repeat, **fit) for repeat, fit in fits)


def _varied(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    vary = parameters["vary"]
    on_ray = {"fraction": parameters["fraction"], "factors": parameters["factors"], "blocks": _AUTO}
    usual = {**on_ray, "threads": 1}
    yield usual
    for name in ("threads", "blocks", "factors"):
        for value in vary[name]:
            yield usual | {name: value}
    for share in vary["shares"]:
        yield usual | {"fraction": share * parameters["fraction"]}
    for workers in vary["workers"] if importlib.util.find_spec("ray") else ():
        yield on_ray | {"workers": workers}


def run(recipe: Recipe, context: Any, **cell: Any) -> Result:
    """Compute one cell, which is one fit."""
    return in_process(**asked(recipe, **cell))


def asked(recipe: Recipe, **cell: Any) -> dict[str, Any]:
    """Return the settings of a cell's fit."""
    executor, axis = ("ray", "workers") if "workers" in cell else ("threads", "threads")
    return {
        "fraction": float(cell["fraction"]),
        "n_factors": cell["factors"],
        "n_negatives": recipe.parameters["negatives"],
        "n_epochs": recipe.parameters["passes"],
        "n_blocks": None if cell["blocks"] == _AUTO else cell["blocks"],
        "executor": executor,
        "n_workers": cell[axis],
        "seeds": (recipe.seed, cell["repeat"]),
    }


_QUANTITIES = {
    "users": "users",
    "pairs": "pairs",
    "blocks": "blocks",
    "seconds a pass": "seconds",
    "seconds of the first pass": "first",
    "CPU seconds a pass": "cpu",
    "peak memory, MiB": "memory",
    "memory before the fit, MiB": "before",
    "cost": "cost",
}
"""The quantities of fits that are averaged, by their names in figures."""

DIFFERING = "fits by other threads or workers whose factors differ in a bit"
"""The name of the figure that counts fits that the number of workers changed."""


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the sizes, seconds, memory and speed of each kind of fit, averaged over repeats.

    The CPU seconds of Ray workers are not known, and left out.
    """
    kinds: dict[str, list[Result]] = {}
    for key_parts, result in select(cells):
        kinds.setdefault(_name(key_parts), []).append(result)
    updates = recipe.parameters["negatives"] / 1e6
    figures: dict[str, Measured] = {}
    for name, results in kinds.items():
        for title, quantity in _QUANTITIES.items():
            figures[f"{name}: {title}"] = mean(result[quantity] for result in results)
        speeds = (updates * result["pairs"] / result["cpu"] for result in results)
        figures[f"{name}: million updates a CPU second"] = mean(speeds)
    figures[DIFFERING] = Measured(float(n_differing(cells)))
    return {name: figure for name, figure in figures.items() if np.isfinite(figure.value)}


def n_differing(cells: Cells) -> int:
    """Return the number of fits whose factors differ from those of an otherwise equal fit."""
    sums: dict[tuple[Any, ...], set[str]] = {}
    for key_parts, result in select(cells):
        settings = tuple(key_parts[name] for name in ("repeat", "fraction", "factors", "blocks"))
        sums.setdefault(settings, set()).add(result["factors"])
    return sum(len(checksums) - 1 for checksums in sums.values())


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid]:
    """Yield a table of all fits."""
    names = dict.fromkeys(_name(key_parts) for key_parts, _ in select(cells))
    title = "Means over repeats. Before the fit: peak memory after the data were drawn"
    yield Grid(title, names, [*_QUANTITIES], "{}: {}", digits=2, head="fit")


def _name(key_parts: Mapping[str, Any]) -> str:
    titles = {"threads": "threads", "workers": "Ray workers"}
    workers = (f"{title} {key_parts[axis]}" for axis, title in titles.items() if axis in key_parts)
    usual = f"users × {key_parts['fraction']}, {key_parts['factors']} factors"
    return ", ".join([usual, f"blocks {key_parts['blocks']}", *workers])


STUDY = Study(cells, run, fold, shown=shown)
"""The study of speed and memory. Times are results here, and differ between runs."""
