"""Proposition 10 of xia2009 as a curve: how far object 1 leads on a space of three objects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.losses import Loss
from podium_studies.recipe import Recipe
from podium_studies.xia2009.consistency import Space, minimise

_BISECTIONS = 30  # number of bisections of p1, for a precision of 1e-9


def curve(recipe: Recipe, loss: Loss) -> dict[str, Any]:
    """Return the lead of object 1 on a grid of p1, and the p1 from which it comes first."""
    low, high, n_points = recipe.parameters["p1"]
    grid: list[float] = [low + (high - low) * i / (n_points - 1) for i in range(n_points)]
    leads = [lead(loss, p1) for p1 in grid]
    return {"p1": grid, "lead": leads, "first from": _first_from(loss, grid, leads)}


def lead(loss: Loss, p1: float) -> float:
    """Return the lead of object 1 over the best other object, as a share of the scores' spread."""
    p2 = (1.0 - p1) / 2.0
    space = Space.from_orders({(0, 1, 2): p1, (1, 0, 2): p2, (2, 1, 0): p2})
    minimum = minimise(space, loss)
    spread = float(np.ptp(minimum.scores))
    return float(minimum.gaps[0, 1:].min()) / spread if spread > 0.0 else 0.0


def _first_from(loss: Loss, grid: Sequence[float], leads: Sequence[float]) -> float:
    """Return the least p1 from which object 1 comes first up to the end of the grid.

    The value is 1/3 if object 1 comes first on the whole grid, and nan if it does not at the end.
    """
    behind_positions = [i for i, lead_at_p1 in enumerate(leads) if lead_at_p1 <= 0.0]
    if not behind_positions:
        return 1.0 / 3.0
    if behind_positions[-1] == len(grid) - 1:
        return math.nan
    low, high = grid[behind_positions[-1]], grid[behind_positions[-1] + 1]
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if lead(loss, middle) > 0.0 else (middle, high)
    return high
