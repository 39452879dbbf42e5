"""L-BFGS, for smooth losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from podium._one_thread import one_blas_thread
from podium.rankers.objective import LinearObjective, Parameters, Point
from podium.rankers.solvers._common import (
    History,
    Settings,
    Solution,
    StopReason,
    Validate,
    show,
    start_of,
)
from podium.rankers.solvers._requirements import refuse_radius, refuse_redraws, require
from podium.types import Progress

_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # relative change of the objective that is none
_REASONS: dict[int, StopReason] = {0: "converged", 1: "max_iter"}


class _StopError(Exception):
    """Ends SciPy's loop."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason: StopReason = reason


def lbfgs(
    objective: LinearObjective,
    settings: Settings,
    validate: Validate | None,
    progress: Progress,
) -> Solution:
    """Minimise a smooth loss by SciPy's L-BFGS-B.

    Converges once no component of the gradient exceeds `tol`, or the objective no longer
    changes within rounding. Sets its own step lengths: learning_rate has no effect. Cost: two
    products with the features an evaluation, a little more than one evaluation an iteration.

    Raises
    ------
    ArgumentError
        For a loss that does not declare `smooth` or that draws anew in each pass, or a radius.
    """
    require(objective.loss, "lbfgs", "smooth")
    refuse_radius(settings.radius, "lbfgs")
    refuse_redraws(objective.loss, "lbfgs")
    run = _Run(objective, settings, validate, progress)
    reason = run.reason()
    show(progress, run.history, settings, done=True)
    kept = run.history.choose(objective)
    steepest = float(np.abs(run.last.grad).max(initial=0.0))
    remaining = f"its gradient has a component of {steepest:.2g} > tol={settings.tol:g}"
    return Solution(kept.parameters, kept.objective, reason, run.history, remaining)


class _Run:
    """One minimisation: what SciPy calls back, and what was seen."""

    def __init__(
        self,
        objective: LinearObjective,
        settings: Settings,
        validate: Validate | None,
        progress: Progress,
    ) -> None:
        self.objective, self.settings = objective, settings
        self.validate, self.progress = validate, progress
        self.history = History(settings.keep)
        self.last: Point = objective.evaluate(start_of(objective, settings))

    def reason(self) -> StopReason:
        """Minimise, and say why it ended."""
        try:
            self._record()
            # SciPy's sums over ten thousand parameters and more depend on the number of threads.
            with one_blas_thread:
                done = self._minimize()
        except _StopError as stopped:
            return stopped.reason
        return _REASONS.get(done.status, "stalled")

    def _minimize(self) -> Any:
        options = {
            "maxiter": self.settings.max_iter,
            "maxfun": 20 * self.settings.max_iter,
            "gtol": self.settings.tol,
            "ftol": _ROUNDING,
        }
        run: Any = minimize  # its stubs know none of the options of L-BFGS-B
        return run(
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
        """Take an iterate; the last evaluated point, as a line search ends at it."""
        self._evaluate(parameters)
        self._record()

    def _record(self) -> None:
        self.history.add(self.last, self.validate)
        show(self.progress, self.history, self.settings, done=False)
        reason = self.history.stop_reason(self.settings)
        if reason is not None:
            raise _StopError(reason)
