"""Newton's method for a smooth function of a few scores, with a penalty that is taken away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Objective = Callable[[Scores], tuple[float, Scores]]

_PENALTIES = (1e-2, 1e-4, 1e-6, 1e-8)
_GROWTH = 1.0  # scores that spread by more as the penalty falls to a hundredth do so for ever
_MAX_STEPS = 200
_STEP = 1e-5  # of the Hessian's central differences
_RESOLVED = 1e-16  # a promised fall of the value that rounding hides
_LEAST_BEND = 1e-11
_LONGEST = 4.0  # score units of one step


def descend(objective: Objective, start: Scores) -> tuple[Scores, bool]:
    """Minimise with ever smaller penalties on the squared scores, and with none at last.

    Returns
    -------
    scores : float64, (n,)
        Where there is no minimum, those of the smallest penalty: scores run apart as its
        logarithm, and their order is that of the limit.
    finite : bool
        Whether the last hundredth of the penalty left them where they were.
    """
    scores, spreads = start, [0.0]
    for penalty in _PENALTIES:
        scores = newton(_penalised(objective, penalty), scores)
        spreads.append(float(np.ptp(scores)))
    finite = spreads[-1] - spreads[-2] <= _GROWTH
    return (newton(objective, scores) if finite else scores), finite


def _penalised(objective: Objective, penalty: float) -> Objective:
    def with_penalty(scores: Scores) -> tuple[float, Scores]:
        value, grad = objective(scores)
        return value + penalty * float(scores @ scores) / 2.0, grad + penalty * scores

    return with_penalty


def newton(objective: Objective, scores: Scores) -> Scores:
    """Minimise from a start, by damped Newton steps, to what rounding lets be seen."""
    value, grad = objective(scores)
    for _ in range(_MAX_STEPS):
        direction = _direction(objective, scores, grad)
        slope = float(direction @ grad)
        step = _backtracked(objective, scores, value, direction, slope)
        scores = scores + step * direction
        if step == 0.0 or -slope <= _RESOLVED * max(1.0, abs(value)):
            break
        value, grad = objective(scores)
    return scores


def _direction(objective: Objective, scores: Scores, grad: Scores) -> Scores:
    """Return Newton's step, downhill in every direction of the Hessian, of either sign."""
    n = scores.size
    hessian = np.empty((n, n))
    for i in range(n):
        h = _STEP * np.eye(n)[i]
        hessian[i] = (objective(scores + h)[1] - objective(scores - h)[1]) / (2 * _STEP)
    bend, axes = np.linalg.eigh((hessian + hessian.T) / 2)
    safe = np.maximum(np.abs(bend), _LEAST_BEND * max(1.0, float(np.abs(bend).max())))
    move = -axes @ ((axes.T @ grad) / safe)
    longest = float(np.abs(move).max())
    return move * min(1.0, _LONGEST / longest) if longest else move


def _backtracked(
    objective: Objective, scores: Scores, value: float, direction: Scores, slope: float
) -> float:
    """Return a step that lowers the value; 0 where rounding lets none."""
    step, rounding = 1.0, 4.0 * _RESOLVED * max(1.0, abs(value))
    while step > 1e-10:
        if objective(scores + step * direction)[0] <= value + 1e-4 * step * slope + rounding:
            return step
        step /= 2.0
    return 0.0
