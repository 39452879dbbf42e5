"""Cutting planes of a convex loss, and the quadratic programme of their maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.rankers.objective import Parameters, dot, times

_ACTIVE = 1e-10  # weights below this count as 0


@dataclass(frozen=True, eq=False)
class Model:
    """The minimum of the model: the planes' maximum plus the penalty.

    Attributes
    ----------
    parameters : float64, (n_parameters,)
        The minimiser.
    lower_bound : float
        The dual objective of the weights, a lower bound of the objective of all parameters.
    """

    parameters: Parameters
    lower_bound: float


class Planes:
    """Lower bounds ``slope @ parameters + offset`` of a convex loss, at most `capacity` of them.

    New planes replace those that have not been active for long. The weighted mean of all planes
    in the last solution is kept as a plane, so that the lower bound does not fall.
    """

    def __init__(self, n_features: int, n_parameters: int, l2: float, capacity: int) -> None:
        self.n_features, self.l2, self.capacity = n_features, l2, capacity
        self.slopes = np.zeros((capacity, n_parameters))
        self.offsets = np.zeros(capacity)
        self.gram = np.zeros((capacity, capacity))
        self.weights = np.zeros(capacity)
        self.idle = np.zeros(capacity, np.int64)
        self.size = 0

    def add(self, slope: Parameters, offset: float) -> None:
        """Add a plane."""
        if self.size == self.capacity:
            self._make_room()
        m = self.size
        self.slopes[m], self.offsets[m] = slope, offset
        self.weights[m], self.idle[m] = 0.0, 0
        coefs = np.ascontiguousarray(self.slopes[: m + 1, : self.n_features])
        row = times(coefs, np.ascontiguousarray(slope[: self.n_features]))
        self.gram[m, : m + 1] = self.gram[: m + 1, m] = row
        self.size = m + 1

    @property
    def finite(self) -> bool:
        """Whether the squares of all slopes are finite."""
        return bool(np.isfinite(self.gram[: self.size, : self.size]).all())

    def minimise(self) -> Model | None:
        """Return the minimum of the model, or None if rounding prevents a solution."""
        solved = self._solve()
        if solved is None:
            return None
        weights, intercept = solved
        m, n = self.size, self.n_features
        self.weights[:m] = weights
        self.idle[:m] = np.where(weights > _ACTIVE, 0, self.idle[:m] + 1)
        # At weights a of the planes (A, b) the minimiser is -A'a / l2, and the dual objective
        # a'b - |A'a|**2 / (2 l2) is below the primal objective at every point.
        slope = np.sum(weights[:, None] * self.slopes[:m], axis=0)
        bound = dot(weights, self.offsets[:m]) - dot(slope[:n], slope[:n]) / (2.0 * self.l2)
        parameters = -slope / self.l2
        parameters[n:] = intercept
        return Model(parameters, bound)

    def _solve(self) -> tuple[NDArray[np.float64], float] | None:
        """Return the weights of the planes, >= 0 with sum 1, and the intercept."""
        m = self.size
        if not self.finite:
            return None
        # The dual: minimise a'Ga / 2 - l2 a'b. It is scaled so that the solver's tolerances mean
        # the same on all data; a constant in b has no effect, as the weights sum to 1.
        scale = float(np.diagonal(self.gram)[:m].max()) or 1.0
        offsets = self.offsets[:m]
        linear = -self.l2 / scale * (offsets - offsets.max())
        equality = np.ones((1, m))
        # The intercept has no penalty, so the weighted slopes in it must sum to 0. The multiplier
        # of that equation gives the intercept.
        if self.slopes.shape[1] > self.n_features:
            equality = np.vstack([equality, self.slopes[:m, -1]])
        result = solve_qp(self.gram[:m, :m] / scale, linear, equality)
        if result is None:
            return None
        weights, multipliers = result
        weights = np.maximum(weights, 0.0)  # the solver's weights are within a tolerance of >= 0
        if not weights.sum() > 0.0:
            return None
        slope = -scale / self.l2 * float(multipliers[1]) if multipliers.size > 1 else 0.0
        return weights / weights.sum(), slope

    def _make_room(self) -> None:
        """Replace the longest idle half of the planes by the weighted mean of all."""
        m = self.size
        mean_slope = np.sum(self.weights[:m, None] * self.slopes[:m], axis=0)
        mean_offset = dot(self.weights[:m], self.offsets[:m])
        order = np.lexsort((-np.arange(m), -self.weights[:m], self.idle[:m]))
        kept_planes = np.sort(order[: self.capacity // 2])
        for array in (self.slopes, self.offsets, self.weights, self.idle):
            array[: kept_planes.size] = array[kept_planes]
        self.gram[: kept_planes.size, : kept_planes.size] = self.gram[
            np.ix_(kept_planes, kept_planes)
        ]
        self.size = kept_planes.size
        self.add(mean_slope, mean_offset)


def solve_qp(
    quadratic: NDArray[np.float64], linear: NDArray[np.float64], equal: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the minimiser x >= 0 of a convex quadratic and the multipliers of its equations.

    The equations are ``equal @ x = (1, 0)``. The result is None if the solver finds no solution.
    """
    piqp: Any = _check.extra("piqp", "qp", "solver='bundle'")
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.settings.check_duality_gap = True
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-10
    right_side = np.zeros(equal.shape[0])
    right_side[0] = 1.0
    n = linear.size
    solver.setup(
        np.asfortranarray(quadratic),
        linear,
        np.asfortranarray(equal),
        right_side,
        x_l=np.zeros(n),
        x_u=np.full(n, np.inf),
    )
    status = solver.solve()
    x = np.array(solver.result.x)
    if status not in (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED) or not np.isfinite(x).all():
        return None
    return x, np.array(solver.result.y)
