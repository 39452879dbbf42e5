"""The minimum of a convex loss with a penalty, by cutting planes."""

from __future__ import annotations

from typing import Any

import numpy as np
import piqp

from podium.rankers.objective import Parameters, dot, times
from podium.rankers.solvers import Run, StopReason


class CuttingPlanes(Run):
    """Minimise a convex loss >= 0 with l2 > 0 and without an intercept, from zero.

    The maximum of planes that touch the loss, plus the penalty, is a model of the objective that
    is nowhere above it. Each iterate is the minimiser of the model, and adds the plane that
    touches the loss there. The solver has converged once the objective exceeds the model's
    minimum, a lower bound, by at most `tol`.

    An iteration costs two products with the features and a quadratic programme with one variable
    per plane.

    References
    ----------
    joachims2009, algorithm 3; teo2010, algorithm 1.
    """

    def reason(self) -> StopReason:
        """Minimise and return the reason to stop."""
        parameters, bound = self.start, 0.0
        self.slopes, self.offsets = [parameters], [0.0]  # the loss is never negative
        while True:
            point = self.objective.evaluate(parameters)
            reason, self.excess = self.record(point), point.objective - bound
            if self.excess <= self.settings.tol:
                return "converged"
            if reason is not None:
                return reason
            slope = point.grad - self.objective.penalty(parameters)[1]
            self.slopes.append(slope)
            self.offsets.append(point.loss - dot(slope, parameters))
            minimum = self._minimum()
            if minimum is None:
                return "stalled"
            parameters, bound = minimum

    def remaining(self) -> str:
        """Return a sentence part that compares the distance from the bound with `tol`."""
        return f"the last plane exceeds the model by {self.excess:.2g} > tol={self.settings.tol:g}"

    def _minimum(self) -> tuple[Parameters, float] | None:
        """Return the model's minimiser and minimum, or None if rounding prevents a solution.

        At weights a >= 0 of the planes (A, b), whose sum is 1, the minimiser is -A'a / l2. The
        weights are those of the largest dual objective, a'b - |A'a|**2 / (2 l2).
        """
        slopes, offsets, l2 = np.array(self.slopes), np.array(self.offsets), self.objective.l2
        gram = np.array([times(slopes, slope) for slope in slopes])
        if not np.isfinite(gram).all():
            return None
        # The programme is scaled so that the tolerances mean the same on all data; a constant in b
        # has no effect, as the weights sum to 1.
        scale, n = float(np.diagonal(gram).max()) or 1.0, offsets.size
        linear = -l2 / scale * (offsets - offsets.max())
        solver: Any = piqp.DenseSolver()
        tolerances: Any = solver.settings
        tolerances.eps_abs = tolerances.eps_rel = 1e-10
        tolerances.check_duality_gap = True
        tolerances.eps_duality_gap_abs = tolerances.eps_duality_gap_rel = 1e-10
        bounds = {"x_l": np.zeros(n), "x_u": np.full(n, np.inf)}
        solver.setup(gram / scale, linear, np.ones((1, n)), np.ones(1), **bounds)
        solver.solve()
        weights = np.maximum(solver.result.x, 0.0)  # they are within a tolerance of >= 0
        if not 0.0 < weights.sum() < np.inf:
            return None
        weights = weights / weights.sum()
        slope = np.sum(weights[:, np.newaxis] * slopes, axis=0)
        return -slope / l2, dot(weights, offsets) - dot(slope, slope) / (2.0 * l2)
