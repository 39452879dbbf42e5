"""RoBiRank's factors at scale: seconds a pass and memory, as one thing after another changes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

from podium.papers.recipe import Recipe
from podium.papers.study import Result, Study, key, parts
from podium.papers.yun2014 import scale_page as page
from podium.papers.yun2014.scale_cell import Asked, in_process

_AUTO = "auto"  # blocks as the data's shape tells


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: all at their usual values but for one; workers where Ray is installed."""
    found = [
        key(repeat=repeat, **fit)
        for repeat in range(recipe.repeats or 1)
        for fit in _fits(recipe.parameters)
    ]
    return list(dict.fromkeys(found))


def _fits(parameters: Any) -> Iterator[dict[str, Any]]:
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


STUDY = Study(cells=cells, run=run, fold=page.fold, plots=page.plots, tables=page.tables)
"""The study of speed and memory; seconds are results here, and differ from run to run."""
