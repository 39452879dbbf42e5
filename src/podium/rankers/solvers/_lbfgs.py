"""L-BFGS, for smooth losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from podium._one_thread import one_blas_thread
from podium.errors import ArgumentError, arg
from podium.rankers.objective import Parameters, Point
from podium.rankers.solvers._common import Run, StopReason

_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # smaller relative changes count as none
_LEAVING = 0.1  # the range of scores after a step that leaves ties
_REASONS: dict[int, StopReason] = {0: "converged", 1: "max_iter"}


class _StopError(Exception):
    """Stops SciPy's loop."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason: StopReason = reason


class LBFGS(Run):
    """Minimise a smooth loss by SciPy's L-BFGS-B.

    The solver has converged once no component of the gradient exceeds `tol`, or the objective
    changes only by rounding. It sets its own step lengths: learning_rate has no effect. If all
    scores are equal at the start and no step lowers the objective, it begins again beside the
    start. An evaluation costs two products with the features; an iteration takes little more than
    one evaluation.

    Raises
    ------
    ArgumentError
        If the loss does not declare `smooth`.
    """

    last: Point

    def reason(self) -> StopReason:
        """Minimise and return the reason to stop."""
        loss = self.objective.loss
        if not loss.smooth:
            raise ArgumentError(
                f"{arg.solver('lbfgs')} needs a smooth loss, which {loss.name!r} is not. Use "
                f"another loss, or {arg.solver('subgradient', 'stochastic')}, which accept any "
                "loss."
            )
        self.last = self.objective.evaluate(self.start)
        try:
            self._record()
            # With 10 000 parameters or more, SciPy's sums depend on the number of threads.
            with one_blas_thread:
                result = self._minimize()
                if result.nit == 0 and result.status not in _REASONS and self._leave_ties(result.x):
                    result = self._minimize()
        except _StopError as stopped:
            return stopped.reason
        return _REASONS.get(result.status, "stalled")

    def remaining(self) -> str:
        """Return a sentence part that compares the last gradient with `tol`."""
        steepest = float(np.abs(self.last.grad).max(initial=0.0))
        return f"its gradient has a component of {steepest:.2g} > {arg.tol(self.settings.tol)}"

    def _leave_ties(self, start: Parameters) -> bool:
        """Step down the gradient if the start gives all rows the same score; return whether it did.

        A loss of the top rows has a kink where the top rows are tied. It may rise from there in all
        directions, and no line search makes progress, although it is lower elsewhere.
        """
        tied = self.objective.evaluate(start.copy())
        span = float(np.ptp(self.objective.scores(tied.grad)))
        if np.ptp(self.objective.scores(start)) > 0.0 or not 0.0 < span < np.inf:
            return False
        self.last = self.objective.evaluate(start - _LEAVING / span * tied.grad)
        return True

    def _minimize(self) -> Any:
        options = {
            "maxiter": self.settings.max_iter,
            "maxfun": 20 * self.settings.max_iter,
            "gtol": self.settings.tol,
            "ftol": _ROUNDING,
        }
        minimizer: Any = minimize  # its stubs lack the options of L-BFGS-B
        return minimizer(
            self._evaluate,
            self.last.parameters,
            jac=True,
            method="L-BFGS-B",
            callback=self._accept,
            options=options,
        )

    def _evaluate(self, parameters: Parameters) -> tuple[float, Parameters]:
        if not np.array_equal(parameters, self.last.parameters):
            self.last = self.objective.evaluate(parameters.copy())
        if not np.isfinite(self.last.objective):
            self._record()
        return self.last.objective, self.last.grad

    def _accept(self, parameters: Parameters) -> None:
        """Record an iterate: the last evaluated point, since a line search ends at it."""
        self._evaluate(parameters)
        self._record()

    def _record(self) -> None:
        reason = self.record(self.last)
        if reason is not None:
            raise _StopError(reason)
