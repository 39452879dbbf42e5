"""Solvers: functions that minimise an objective in parameters and return why they stopped.

A solver is a function (objective, settings, validate, progress) -> Solution in `SOLVERS`.
"""

from podium.rankers.solvers._bundle import bundle
from podium.rankers.solvers._common import (
    KEEP,
    History,
    Keep,
    Settings,
    Solution,
    Solver,
    StopReason,
    Validate,
)
from podium.rankers.solvers._descent import stochastic, subgradient
from podium.rankers.solvers._lbfgs import lbfgs

SOLVERS: dict[str, Solver] = {
    "subgradient": subgradient,
    "stochastic": stochastic,
    "bundle": bundle,
    "lbfgs": lbfgs,
}
"""Every solver by its name."""

__all__ = [
    "KEEP",
    "SOLVERS",
    "History",
    "Keep",
    "Settings",
    "Solution",
    "Solver",
    "StopReason",
    "Validate",
    "bundle",
    "lbfgs",
    "stochastic",
    "subgradient",
]
