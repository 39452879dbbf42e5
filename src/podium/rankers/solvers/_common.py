"""The settings, history and result of solvers, and steps that they share."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError, arg
from podium.rankers.objective import LinearObjective, Parameters, Point
from podium.types import Progress

StopReason: TypeAlias = Literal["converged", "patience", "max_iter", "stalled", "diverged"]
Keep: TypeAlias = Literal["best", "best_loss", "last"]
Validate: TypeAlias = Callable[[Parameters], float]  # higher is better

KEEP: tuple[Keep, ...] = ("best", "best_loss", "last")

_WINDOW = 10  # objectives whose range decides on convergence
_MIN_ITER = 11  # iterations before the first decision (the reference implementation's rule)


@dataclass(frozen=True)
class Settings:
    """Settings of solvers; each solver reads those that it needs.

    Attributes
    ----------
    learning_rate : float
        The first step length, for "subgradient" and "stochastic".
    max_iter : int
        The maximum number of iterates, the start included; for "stochastic", of passes over the
        groups.
    tol : float
        The tolerance of convergence. "subgradient" and "stochastic" have converged once the last
        ten objectives span at most `tol`, and "lbfgs" once no component of the gradient is larger.
    patience : int or None
        The number of iterations without a better validation after which the solver stops.
    start : float64, (n_parameters,), or None
        The first iterate; None for zero.
    keep : {"best", "best_loss", "last"}
        The iterate to return; see `History`.
    batch_size : int
        The number of groups in a mini-batch, for "stochastic".
    seed : int
        The seed of "stochastic". Together with the number of a pass it determines the order of
        groups.
    """

    learning_rate: float
    max_iter: int
    tol: float
    patience: int | None = None
    start: Parameters | None = None
    keep: Keep = "best"
    batch_size: int = 16
    seed: int = 0


@dataclass
class History:
    """The values of each iteration, and the iterate to keep.

    "best" is the iterate with the highest validation, or without one with the lowest objective.
    "best_loss" is that with the lowest loss without its penalty (the rule of the paper's
    reference implementation), and "last" the last (the paper's rule). Among equals the first is
    kept. Iterates whose objective is not finite are ignored.
    """

    keep: Keep = "best"
    objectives: list[float] = field(default_factory=list[float])
    losses: list[float] = field(default_factory=list[float])
    validation: list[float] = field(default_factory=list[float])
    best: int = -1
    kept_at: int = -1
    kept_point: Point | None = None

    def add(self, point: Point, validate: Validate | None) -> None:
        """Record an iterate; it is neither validated nor kept if its objective is not finite."""
        finite = bool(np.isfinite(point.objective))
        now = len(self.objectives)
        self.objectives.append(point.objective)
        self.losses.append(point.loss)
        if validate is not None:
            self.validation.append(validate(point.parameters) if finite else np.nan)
        if not finite:
            return
        if self._improves(now):
            self.best = now
        if self._keeps_now(now):
            self.kept_at, self.kept_point = now, point

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the values of the iterations by name, for `history_` of a ranker."""
        values = {"objective": np.array(self.objectives)}
        return values | ({"validation": np.array(self.validation)} if self.validation else {})

    def stop_reason(self, settings: Settings, *, settles: bool = False) -> StopReason | None:
        """Return the reason to stop after the last iterate, or None.

        With `settles`, the solver has converged once the last ten objectives span at most `tol`.
        """
        n_done = len(self.objectives)
        if not np.isfinite(self.objectives[-1]):
            return "diverged"
        if settles and n_done >= _MIN_ITER and self.span <= settings.tol:
            return "converged"
        n_stale, patience = n_done - 1 - self.best, settings.patience
        if self.validation and patience is not None and n_stale >= patience:
            return "patience"
        return "max_iter" if n_done >= settings.max_iter else None

    @property
    def span(self) -> float:
        last = self.objectives[-_WINDOW:]
        return max(last) - min(last)

    def choose(self) -> Point:
        """Return the iterate to keep."""
        if self.kept_point is None:
            raise ArgumentError(
                f"{arg.start} has no finite objective, because the scores overflow. Pass "
                f"{arg.start('zero')}, or scale the features."
            )
        return self.kept_point

    def note(self) -> str:
        """Return the objective and validation of the last iterate as text for a progress bar."""
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
            return self.kept_at < 0 or self.losses[now] < self.losses[self.kept_at]
        return True


@dataclass(frozen=True, eq=False)
class Solution:
    """The kept parameters and the course of the minimisation.

    Attributes
    ----------
    parameters : float64, (n_parameters,)
    objective : float
        The objective of these parameters.
    stop_reason : {"converged", "patience", "max_iter", "stalled", "diverged"}
        The reason to stop. "stalled": rounding allows no lower objective, although `tol` is not
        reached.
    history : History
    remaining : str
        A sentence part that compares the last iterate with `tol`.
    """

    parameters: Parameters
    objective: float
    stop_reason: StopReason
    history: History
    remaining: str


Solver: TypeAlias = Callable[[LinearObjective, Settings, Validate | None, Progress], Solution]


@dataclass(eq=False)
class Run(abc.ABC):
    """One minimisation: what it is given, its history, and its end.

    A solver is a subclass with the method `reason`.
    """

    objective: LinearObjective
    settings: Settings
    validate: Validate | None
    progress: Progress

    def __post_init__(self) -> None:
        self.history = History(self.settings.keep)

    @classmethod
    def solve(cls, *problem: Any) -> Solution:
        """Minimise an objective; the arguments are those of `Solver`."""
        run = cls(*problem)
        reason = run.reason()
        run.show(run.settings.max_iter)
        point = run.history.choose()
        return Solution(point.parameters, point.objective, reason, run.history, run.remaining())

    @abc.abstractmethod
    def reason(self) -> StopReason:
        """Minimise and return the reason to stop."""

    def remaining(self) -> str:
        """Return a sentence part that compares the result with `tol`."""
        n, span = min(len(self.history.objectives), _WINDOW), self.history.span
        return f"its last {n} objectives have a range of {span:.2g} > {arg.tol(self.settings.tol)}"

    @property
    def start(self) -> Parameters:
        """A copy of the first iterate."""
        start = self.settings.start
        return np.zeros(self.objective.n_parameters) if start is None else start.copy()

    def record(self, point: Point, *, settles: bool = False) -> StopReason | None:
        """Record an iterate, and return the reason to stop after it, or None."""
        self.history.add(point, self.validate)
        self.show(len(self.history.objectives))
        return self.history.stop_reason(self.settings, settles=settles)

    def show(self, count: int) -> None:
        """Report the number of iterations."""
        n_most = self.settings.max_iter
        self.progress(min(count, n_most), n_most, self.history.note())
