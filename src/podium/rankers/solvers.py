"""Solvers: minimise an objective in parameters, and say why they stopped.

A solver is a function (objective, settings, validate, progress) -> Solution in `SOLVERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from podium.rankers.objective import LinearObjective, Parameters
from podium.types import Progress

_WINDOW = 10  # objectives whose range decides on convergence
_MIN_ITER = 11  # not decided before this many (the reference implementation's rule)

StopReason: TypeAlias = Literal["converged", "patience", "max_iter", "diverged"]
Validate: TypeAlias = Callable[[Parameters], float]  # higher is better


@dataclass(frozen=True)
class Settings:
    """What a solver may be told; a solver reads what it has a use for.

    Attributes
    ----------
    learning_rate : float
        First step length.
    max_iter : int
        Objectives evaluated at most.
    tol : float
        Converged once the last ten objectives span no more than this.
    radius : float or None
        Coefficients stay in a ball of this Euclidean radius.
    patience : int or None
        With validation: iterations without a better value after which to stop.
    """

    learning_rate: float
    max_iter: int
    tol: float
    radius: float | None = None
    patience: int | None = None


@dataclass
class History:
    """What was seen at each iteration, and which iterate to keep."""

    objectives: list[float] = field(default_factory=list[float])
    validation: list[float] = field(default_factory=list[float])
    best: int = -1
    best_parameters: Parameters = field(default_factory=lambda: np.empty(0))

    def add(self, parameters: Parameters, objective: float, validation: float | None) -> None:
        """Record an iterate; the first of the best validation, or objective, is kept."""
        self.objectives.append(objective)
        if validation is not None:
            self.validation.append(validation)
        if self.best < 0 or self._better():
            self.best = len(self.objectives) - 1
            self.best_parameters = parameters.copy()

    def stop_reason(self, settings: Settings) -> StopReason | None:
        """Return why to stop after the last iterate, or None."""
        last = self.objectives[-_WINDOW:]
        if not np.isfinite(last[-1]):
            return "diverged"
        if len(self.objectives) >= _MIN_ITER and max(last) - min(last) <= settings.tol:
            return "converged"
        if self.validation and settings.patience is not None and self._stale >= settings.patience:
            return "patience"
        return "max_iter" if len(self.objectives) >= settings.max_iter else None

    @property
    def _stale(self) -> int:
        return len(self.objectives) - 1 - self.best

    def _better(self) -> bool:
        if self.validation:
            return self.validation[-1] > self.validation[self.best]
        return self.objectives[-1] < self.objectives[self.best]


@dataclass(frozen=True)
class Solution:
    """The kept parameters, and how they were found.

    Attributes
    ----------
    parameters : float64, (n_parameters,)
    stop_reason : {"converged", "patience", "max_iter", "diverged"}
    history : History
    """

    parameters: Parameters
    stop_reason: StopReason
    history: History


Solver: TypeAlias = Callable[[LinearObjective, Settings, Validate | None, Progress], Solution]


def subgradient(
    objective: LinearObjective,
    settings: Settings,
    validate: Validate | None,
    progress: Progress,
) -> Solution:
    """Descend from zero with steps learning_rate / sqrt(t + 1), t = 0, 1, …; keep the best iterate.

    Needs no smoothness. The best iterate is that of the lowest objective, or of the highest
    validation. Cost: two products with the features an iteration.

    References
    ----------
    hiranandani2020, algorithm 1.
    """
    parameters, history, reason = np.zeros(objective.n_parameters), History(), None
    while reason is None:
        value, grad = objective.value_and_grad(parameters)
        history.add(parameters, value, _validated(validate, parameters, value))
        reason = history.stop_reason(settings)
        done = len(history.objectives)
        progress(done if reason is None else settings.max_iter, settings.max_iter, _note(history))
        with np.errstate(over="ignore", invalid="ignore"):  # the next objective tells
            parameters = parameters - settings.learning_rate / np.sqrt(done) * grad
        _project(objective.split(parameters)[0], settings.radius)
    return Solution(history.best_parameters, reason, history)


SOLVERS: dict[str, Solver] = {"subgradient": subgradient}
"""Every solver by its name."""


def _validated(validate: Validate | None, parameters: Parameters, value: float) -> float | None:
    if validate is None:
        return None
    return validate(parameters) if np.isfinite(value) else np.nan


def _project(coef: Parameters, radius: float | None) -> None:
    """Shorten coef, in place, to a length of at most radius."""
    if radius is None:
        return
    length = float(np.linalg.norm(coef))
    if length > radius:
        coef *= radius / length


def _note(history: History) -> str:
    note = f"objective {history.objectives[-1]:.4g}"
    return note + (f", validation {history.validation[-1]:.4f}" if history.validation else "")
