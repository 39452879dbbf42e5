"""Projected subgradient descent, for any loss."""

from __future__ import annotations

import numpy as np

from podium.errors import arg
from podium.rankers.objective import LinearObjective, Point
from podium.rankers.solvers._common import (
    History,
    Settings,
    Solution,
    StopReason,
    Validate,
    projected,
    show,
    start_of,
)
from podium.rankers.solvers._requirements import refuse_redraws
from podium.types import Progress


def subgradient(
    objective: LinearObjective,
    settings: Settings,
    validate: Validate | None,
    progress: Progress,
) -> Solution:
    """Descend with steps learning_rate / sqrt(t + 1), t = 0, 1, …, projected to a ball of `radius`.

    The loss needs to be neither smooth nor convex. `settings.keep` selects the iterate that is
    returned; the paper returns the last, its reference implementation "best_loss". An iteration
    costs two products with the features, the second only with rows that have a gradient.

    Raises
    ------
    ArgumentError
        If the loss draws anew in each pass.

    References
    ----------
    hiranandani2020, algorithm 1.
    """
    refuse_redraws(objective.loss, "subgradient")
    parameters, history, reason = start_of(objective, settings), History(settings.keep), None
    parameters = projected(parameters, objective, settings.radius)
    while reason is None:
        point = objective.evaluate(parameters)
        history.add(point, validate)
        reason = reason_of(history, settings)
        show(progress, history, settings, done=reason is not None)
        with np.errstate(over="ignore", invalid="ignore"):  # the next objective shows overflow
            # Algorithm 1: w <- the projection of w - eta / sqrt(t + 1) times the subgradient.
            step = settings.learning_rate / np.sqrt(len(history.objectives))
            parameters = projected(parameters - step * point.grad, objective, settings.radius)
    return finish(objective, history, reason, settings)


def finish(
    objective: LinearObjective, history: History, reason: StopReason, settings: Settings
) -> Solution:
    """Return the solution of a solver that computes no gap."""
    point: Point = history.choose(objective)
    n = min(len(history.objectives), 10)
    remaining = (
        f"its last {n} objectives have a range of {history.span:.2g} > {arg.tol(settings.tol)}"
    )
    return Solution(point.parameters, point.objective, reason, history, remaining)


def reason_of(history: History, settings: Settings) -> StopReason | None:
    """Return the reason to stop: divergence first, then convergence, patience and max_iter."""
    reason = history.stop_reason(settings)
    if reason != "diverged" and history.settled(settings.tol):
        return "converged"
    return reason
