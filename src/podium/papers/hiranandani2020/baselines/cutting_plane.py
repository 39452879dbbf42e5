"""The 1-slack cutting-plane algorithm of structural support vector machines."""

from __future__ import annotations

import numpy as np

from podium.rankers.objective import LinearObjective, dot
from podium.rankers.solvers import History, Settings, Solution, StopReason, Validate
from podium.rankers.solvers.planes import Model, Planes
from podium.types import Progress

_CAPACITY = 200  # planes at most; idle ones are merged into their mean


def cutting_plane(
    objective: LinearObjective,
    settings: Settings,
    validate: Validate | None,
    progress: Progress,
) -> Solution:
    """Minimise a loss >= 0 with l2 > 0; the iterate is the least point of the planes so far.

    Each iteration adds the most violated constraint, the plane that touches the loss at the
    iterate, and solves the quadratic programme again. It has converged once the loss exceeds
    the slack, its value by the planes, by no more than `tol`. Unlike the solver "bundle", it
    returns that iterate, not the lowest one: where zero is the minimum, a short vector that
    still ranks.

    Cost an iteration: two products with the features, and a dense quadratic programme.

    References
    ----------
    joachims2009, algorithm 3.
    """
    history = History("last" if validate is None else "best")
    planes = Planes(objective.n_features, objective.n_parameters, objective.l2, _CAPACITY)
    planes.add(np.zeros(objective.n_parameters), 0.0)  # the slack is never negative
    model, bound = Model(np.zeros(objective.n_parameters), 0.0), 0.0
    excess, reason = np.inf, None
    while reason is None:
        point = objective.evaluate(model.parameters)
        history.add(point, validate)
        done = len(history.objectives)
        progress(done, settings.max_iter, history.note())
        excess = point.objective - model.lower_bound
        reason = _stop_reason(history, settings, excess)
        if reason is None:
            slope = point.grad - objective.penalty(point.parameters)[1]
            planes.add(slope, point.loss - dot(slope, point.parameters))
            found = planes.minimise()
            if found is None:
                reason = "stalled"
            else:
                model, bound = found, max(bound, found.lower_bound)
    progress(settings.max_iter, settings.max_iter, history.note())
    kept = history.choose(objective)
    remaining = f"the last ordering exceeds the slack by {excess:.2g} > tol={settings.tol:g}"
    return Solution(kept.parameters, kept.objective, reason, history, remaining, bound)


def _stop_reason(history: History, settings: Settings, excess: float) -> StopReason | None:
    if excess <= settings.tol:
        return "converged"
    return history.stop_reason(settings)
