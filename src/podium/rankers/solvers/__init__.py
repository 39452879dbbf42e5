"""Solvers: functions that minimise an objective in parameters and return why they stopped.

A solver is a function (objective, settings, validate, progress) -> Solution in `SOLVERS`.
"""

from podium.rankers.solvers._common import Keep, Run, Settings, Solution, Solver, StopReason
from podium.rankers.solvers._descent import Stochastic, Subgradient
from podium.rankers.solvers._lbfgs import LBFGS

SOLVERS: dict[str, Solver] = {
    "subgradient": Subgradient.solve,
    "stochastic": Stochastic.solve,
    "lbfgs": LBFGS.solve,
}
"""Every solver by its name."""

__all__ = ["LBFGS", "SOLVERS", "Keep", "Run", "Settings", "Solution", "Solver", "StopReason"]
