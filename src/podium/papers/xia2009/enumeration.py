"""The theory of xia2009 by enumeration: which losses find the best top k, on which spaces.

Three kinds of cells: each loss in each form on random spaces of a size, what the theory asks of
spaces themselves, and the three-object space of proposition 10 as its probability moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.losses import Loss
from podium.papers.recipe import Recipe
from podium.papers.study import Result, Study, generator, key, parts
from podium.papers.xia2009 import enumeration_losses as named
from podium.papers.xia2009 import enumeration_page as page
from podium.papers.xia2009.consistency import (
    Minimum,
    Space,
    agreement,
    is_order_preserving,
    meets_theorem_6,
    minimise,
    preserved_pairs,
    sensitivity,
)

_N_STARTS = 3  # for RankCosine, whose expectation falls from everywhere to one direction
_BISECTIONS = 30  # of p1: to 1e-9


def cells(recipe: Recipe) -> Sequence[str]:
    """Return a cell for each size and loss, for each size alone, and for each loss's curve."""
    sizes = [tuple(size) for size in recipe.parameters["sizes"]]
    losses = recipe.parameters["losses"]
    found = [
        key(part="loss", n=n, k=k, loss=name, form=form)
        for n, k in sizes
        for name, forms in losses.items()
        for form in forms
    ]
    found += [key(part="spaces", n=n, k=k) for n, k in sizes]
    return found + [
        key(part="proposition 10", loss=name, form=form)
        for name, form in recipe.parameters["curves"]
    ]


def run(recipe: Recipe, context: Any, cell: str) -> Result:
    """Do one cell."""
    asked = parts(cell)
    if asked["part"] == "proposition 10":
        return curve(recipe, named.made(asked["loss"], asked["form"], 1))
    n, k = int(asked["n"]), int(asked["k"])
    if asked["part"] == "spaces":
        return conditions(recipe, n, k)
    return on_spaces(recipe, named.made(asked["loss"], asked["form"], k), n, k)


def on_spaces(recipe: Recipe, loss: Loss, n: int, k: int) -> dict[str, Any]:
    """Search for counter-examples, and minimise on every drawn space."""
    searched = sensitivity(loss, n, k, n_random=recipe.parameters["n_random_scores"])
    found: dict[str, Any] = {"violated": list(searched.violated), "n_scores": searched.n_scores}
    for kind in ("preserving", "arbitrary"):
        spaces = drawn(recipe, kind, n, k)
        minima = [minimise(space, loss, n_starts=_N_STARTS) for space in spaces]
        compared = [
            agreement(space, loss, k, minimum=minimum)
            for space, minimum in zip(spaces, minima, strict=True)
        ]
        found[kind] = {
            "consistent": [float(each.consistent) for each in compared],
            "regret": [each.regret for each in compared],
            "tied": sum(each.tied for each in compared),
            "unbounded": sum(not each.minimum.finite for each in compared),
        }
        if kind == "preserving":
            found["pairs"], found["wrong pairs"] = theorem_7(spaces, minima, k)
    return found


def theorem_7(spaces: Sequence[Space], minima: Sequence[Minimum], k: int) -> tuple[int, int]:
    """Count pairs that a space is order preserving for, and those that a minimiser has wrong."""
    n_pairs = n_wrong = 0
    for space, minimum in zip(spaces, minima, strict=True):
        pairs = preserved_pairs(space, k)
        n_pairs += len(pairs)
        n_wrong += sum(bool(minimum.gaps[i, j] <= 0.0) for i, j in pairs)
    return n_pairs, n_wrong


def drawn(recipe: Recipe, kind: str, n: int, k: int) -> list[Space]:
    """Draw the spaces of one kind and size: the same for every loss."""
    rng = generator(recipe, kind, n, k)
    shape = recipe.parameters["concentration"]
    if kind == "arbitrary":
        return [
            Space.random(n, rng, concentration=shape) for _ in range(recipe.parameters["spaces"])
        ]
    return [
        Space.random_order_preserving(n, k, rng, concentration=shape)
        for _ in range(recipe.parameters["spaces"])
    ]


def conditions(recipe: Recipe, n: int, k: int) -> dict[str, Any]:
    """Measure how often arbitrary spaces meet the theory's condition, and proposition 8."""
    rng = generator(recipe, "conditions", n, k)
    arbitrary = [Space.random(n, rng) for _ in range(recipe.parameters["many_spaces"])]
    up, held = 0, 0
    deeper = min(k + 1, n)
    for space in arbitrary:
        for i, j in preserved_pairs(space, k):
            held += 1
            up += is_order_preserving(space, i, j, deeper)
    broken = n_deeper = 0
    for space in (*arbitrary, *drawn(recipe, "preserving", n, deeper)):
        for i, j in preserved_pairs(space, deeper):
            n_deeper += 1
            broken += not is_order_preserving(space, i, j, k)
    return {
        "meets": [float(meets_theorem_6(space, k)) for space in arbitrary],
        "pairs": held / (len(arbitrary) * n * (n - 1) / 2),
        "proposition 8, pairs": n_deeper,
        "proposition 8, broken": broken,
        "converse, pairs": held,
        "converse, holds": up,
    }


def curve(recipe: Recipe, loss: Loss) -> dict[str, Any]:
    """Follow the lead of object 1 as p1 grows, and find where it comes first."""
    low, high, n_points = recipe.parameters["p1"]
    grid: list[float] = [low + (high - low) * i / (n_points - 1) for i in range(n_points)]
    leads = [lead(loss, p1) for p1 in grid]
    return {"p1": grid, "lead": leads, "first from": _first_from(loss, grid, leads)}


def lead(loss: Loss, p1: float) -> float:
    """Return by how much object 1 leads the best other, as a share of the scores' spread."""
    p2 = (1.0 - p1) / 2.0
    space = Space.from_orders({(0, 1, 2): p1, (1, 0, 2): p2, (2, 1, 0): p2})
    found = minimise(space, loss)
    spread = float(np.ptp(found.scores))
    return float(found.gaps[0, 1:].min()) / spread if spread > 0.0 else 0.0


def _first_from(loss: Loss, grid: Sequence[float], leads: Sequence[float]) -> float:
    """Return the least p1 from which object 1 comes first up to the end of the grid."""
    behind = [i for i, each in enumerate(leads) if each <= 0.0]
    if not behind:
        return 1.0 / 3.0
    if behind[-1] == len(grid) - 1:
        return math.nan
    low, high = grid[behind[-1]], grid[behind[-1] + 1]
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if lead(loss, middle) > 0.0 else (middle, high)
    return high


STUDY = Study(cells, run, page.fold, plots=page.plots, tables=page.tables)
"""The printed study of top-k consistency."""
