"""What all solvers share: what they are told, what they record, and what they return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from podium.errors import ArgumentError
from podium.rankers.objective import LinearObjective, Parameters, Point, dot
from podium.types import Progress

StopReason: TypeAlias = Literal["converged", "patience", "max_iter", "stalled", "diverged"]
Keep: TypeAlias = Literal["best", "best_loss", "last", "average"]
Validate: TypeAlias = Callable[[Parameters], float]  # higher is better

KEEP: tuple[Keep, ...] = ("best", "best_loss", "last", "average")

_WINDOW = 10  # objectives whose range decides on convergence
_MIN_ITER = 11  # not decided before this many (the reference implementation's rule)


@dataclass(frozen=True)
class Settings:
    """What a solver may be told; a solver reads what it has a use for.

    Attributes
    ----------
    learning_rate : float
        First step length. Of "subgradient" and "stochastic".
    max_iter : int
        Iterates at most, the start included; for "stochastic", passes over the groups.
    tol : float
        When it has converged. "subgradient" and "stochastic": once the last ten objectives
        span no more. "bundle": once the gap is at most this share of the objective. "lbfgs":
        once no component of the gradient is larger.
    radius : float or None
        Coefficients stay in a ball of this Euclidean radius. "bundle" and "lbfgs" refuse it.
    patience : int or None
        With validation: iterations without a better value after which to stop.
    start : float64, (n_parameters,), or None
        First iterate; zero without it.
    keep : {"best", "best_loss", "last", "average"}
        Which iterate to return; see `History`.
    batch_size : int
        Groups of a mini-batch. Of "stochastic".
    seed : int
        The order of groups, and the keys of a loss that draws anew in each pass, come from it
        and the number of the pass. Of "stochastic".
    """

    learning_rate: float
    max_iter: int
    tol: float
    radius: float | None = None
    patience: int | None = None
    start: Parameters | None = None
    keep: Keep = "best"
    batch_size: int = 16
    seed: int = 0


@dataclass
class History:
    """What was seen at each iteration, and which iterate to keep.

    "best" is the iterate of the highest validation, or without one of the lowest objective.
    "best_loss" is that of the lowest loss without its penalty (the rule of the paper's reference
    implementation), "last" the last (the paper's), "average" the mean of all, in which iterate t
    weighs t + 1. Of equal ones the first is kept. No iterate whose objective is not finite counts.
    """

    keep: Keep = "best"
    objectives: list[float] = field(default_factory=list[float])
    losses: list[float] = field(default_factory=list[float])
    validation: list[float] = field(default_factory=list[float])
    best: int = -1
    kept: int = -1
    kept_point: Point | None = None
    _mean: Parameters | None = None

    def add(self, point: Point, validate: Validate | None) -> None:
        """Record an iterate; one whose objective is not finite is not validated nor kept."""
        finite = bool(np.isfinite(point.objective))
        self.objectives.append(point.objective)
        self.losses.append(point.loss)
        if validate is not None:
            self.validation.append(validate(point.parameters) if finite else np.nan)
        if not finite:
            return
        now = len(self.objectives) - 1
        if self._improves(now):
            self.best = now
        if self._keeps_now(now):
            self.kept, self.kept_point = now, point
        if self.keep == "average":
            self._mean = rising_mean(self._mean, point.parameters, now)

    def stop_reason(self, settings: Settings) -> StopReason | None:
        """Return why to stop after the last iterate, whatever the solver, or None."""
        if not np.isfinite(self.objectives[-1]):
            return "diverged"
        stale = len(self.objectives) - 1 - self.best
        if self.validation and settings.patience is not None and stale >= settings.patience:
            return "patience"
        return "max_iter" if len(self.objectives) >= settings.max_iter else None

    def settled(self, tol: float) -> bool:
        """Whether the last ten objectives span at most tol."""
        return len(self.objectives) >= _MIN_ITER and self.span <= tol

    @property
    def span(self) -> float:
        last = self.objectives[-_WINDOW:]
        return max(last) - min(last)

    def choose(self, objective: LinearObjective) -> Point:
        """Return the iterate to keep, or their mean."""
        if self.kept_point is None:
            raise ArgumentError(
                "start has no finite objective: the scores overflow. Start at 'zero', or scale "
                "the features."
            )
        return self.kept_point if self._mean is None else objective.evaluate(self._mean)

    def note(self) -> str:
        """Return the last iterate's figures, for a progress bar."""
        text = f"objective {self.objectives[-1]:.4g}"
        return text + (f", validation {self.validation[-1]:.4f}" if self.validation else "")

    def _improves(self, now: int) -> bool:
        if self.best < 0:
            return True
        if self.validation:
            return self.validation[now] > self.validation[self.best]
        return self.objectives[now] < self.objectives[self.best]

    def _keeps_now(self, now: int) -> bool:
        if self.keep == "best":
            return self.best == now
        if self.keep == "best_loss":
            return self.kept < 0 or self.losses[now] < self.losses[self.kept]
        return True


@dataclass(frozen=True, eq=False)
class Solution:
    """The kept parameters, and how they were found.

    Attributes
    ----------
    parameters : float64, (n_parameters,)
    objective : float
        Of these parameters.
    stop_reason : {"converged", "patience", "max_iter", "stalled", "diverged"}
        "stalled": rounding leaves no way to a lower objective, short of `tol`.
    history : History
    remaining : str
        How far the last iterate is from what `tol` asks, in words.
    lower_bound : float
        A bound that no parameters' objective is below; nan where the solver knows none.
    """

    parameters: Parameters
    objective: float
    stop_reason: StopReason
    history: History
    remaining: str
    lower_bound: float = np.nan

    @property
    def gap(self) -> float:
        """How far the objective can be above its minimum; nan where that is unknown."""
        return max(self.objective - self.lower_bound, 0.0) if self._bounded else np.nan

    @property
    def _bounded(self) -> bool:
        return bool(np.isfinite(self.lower_bound))


Solver: TypeAlias = Callable[[LinearObjective, Settings, Validate | None, Progress], Solution]


def start_of(objective: LinearObjective, settings: Settings) -> Parameters:
    """Return the first iterate, an array of its own."""
    if settings.start is None:
        return np.zeros(objective.n_parameters)
    return settings.start.copy()


def show(progress: Progress, history: History, settings: Settings, *, done: bool) -> None:
    """Report an iterate, and the end of the work at the last one."""
    count = settings.max_iter if done else len(history.objectives)
    progress(min(count, settings.max_iter), settings.max_iter, history.note())


def rising_mean(mean: Parameters | None, new: Parameters, index: int) -> Parameters:
    """Return the mean of iterates 0 to index in which iterate t weighs t + 1."""
    if mean is None:
        return new.copy()
    return mean + 2.0 / (index + 2.0) * (new - mean)


def projected(
    parameters: Parameters, objective: LinearObjective, radius: float | None
) -> Parameters:
    """Return the parameters with coefficients of length at most radius."""
    if radius is None:
        return parameters
    coef = objective.split(parameters)[0]
    largest = float(np.abs(coef).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return parameters
    scaled = coef / largest  # the squares of large ones would overflow
    length = largest * float(np.sqrt(dot(scaled, scaled)))
    if length > radius:
        coef *= radius / length
    return parameters
