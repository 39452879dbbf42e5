"""Cutting planes for a convex function with kinks: its minimum, and how wide the minimum is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Scores = NDArray[np.float64]
Objective = Callable[[Scores], tuple[float, Scores]]

BOX = 50.0
"""Scores are looked for between -BOX and BOX."""

_CLOSE = 1e-9
_SLACK = 1e-8  # above the least value, by it: what still counts as least
_GRAIN = 1e-4  # score units that the slack may stand for: smaller gaps are none
_MAX_PLANES = 1000
_EXACT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Planes:
    """The largest of all tangents taken so far: never above the function."""

    def __init__(self, objective: Objective, n: int, *, centred: bool) -> None:
        self._objective, self._n, self._centred = objective, n, centred
        self._slopes: list[Scores] = []
        self._heights: list[float] = []
        self.cut(np.zeros(n))

    def cut(self, scores: Scores) -> float:
        """Add the tangent at these scores, and return the function's value."""
        value, slope = self._objective(scores)
        self._slopes.append(slope)
        self._heights.append(value - float(slope @ scores))
        return value

    def minimum(self) -> tuple[Scores, float]:
        """Return a minimiser and the least value, exact for a function of flat pieces."""
        best, least = np.zeros(self._n), np.inf
        while len(self._slopes) < _MAX_PLANES:
            scores, height = self._solved(np.append(np.zeros(self._n), 1.0), np.inf)
            value = self.cut(scores)
            if value < least:
                best, least = scores, value
            if least - height <= _CLOSE * max(1.0, abs(least)):
                break
        return best, least

    def least_gap(self, i: int, j: int, least: float) -> float:
        """Return the least s_i - s_j over all scores where the function has its least value."""
        aim = np.zeros(self._n + 1)
        aim[i], aim[j] = 1.0, -1.0
        slack = _SLACK * max(1.0, abs(least))
        gap = -2.0 * BOX
        while len(self._slopes) < _MAX_PLANES:
            scores, _ = self._solved(aim, least + slack)
            gap = float(scores[i] - scores[j])
            if self.cut(scores) <= least + 3.0 * slack:
                break
        return 0.0 if abs(gap) <= _GRAIN else gap

    def _solved(self, aim: NDArray[np.float64], highest: float) -> tuple[Scores, float]:
        """Return scores and height with the least aim, above all planes and no higher."""
        slopes = np.array(self._slopes)
        rows = np.hstack([slopes, -np.ones((len(slopes), 1))])
        equal = np.append(np.ones(self._n), 0.0)[None] if self._centred else None
        found: Any = linprog(
            aim,
            A_ub=rows,
            b_ub=-np.array(self._heights),
            A_eq=equal,
            b_eq=None if equal is None else np.zeros(1),
            bounds=[(-BOX, BOX)] * self._n + [(None, None if np.isinf(highest) else highest)],
            method="highs",
            options=_EXACT,
        )
        x = np.asarray(found.x, np.float64)
        return x[:-1], float(x[-1])
