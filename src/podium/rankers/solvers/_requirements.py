"""Checks that a solver can minimise a loss, and the losses that it can minimise."""

from __future__ import annotations

from typing import Literal

from podium import losses
from podium.errors import ArgumentError, arg
from podium.losses import Loss
from podium.rankers.objective import LinearObjective

Declared = Literal["convex", "smooth"]


def require(loss: Loss, solver: str, declared: Declared) -> None:
    """Raise unless the loss declares what the solver needs; the error lists losses that do."""
    if _declares(loss, declared):
        return
    raise ArgumentError(
        f"{arg.solver(solver)} needs a {declared} loss, which {loss.name!r} is not. Use "
        f"{' or '.join(loss_names(declared))}, or pass {arg.solver('subgradient')}, which accepts "
        "any loss."
    )


def require_penalty(objective: LinearObjective, solver: str) -> None:
    """Raise if there is no penalty, since the dual is then unbounded."""
    if objective.l2 <= 0.0:
        raise ArgumentError(
            f"{arg.solver(solver)} needs l2 > 0, got {objective.l2:g}. Its duality gap is infinite "
            f"without a penalty. Raise {arg.l2}, or use {arg.solver('subgradient')}."
        )


def refuse_radius(radius: float | None, solver: str) -> None:
    """Raise if there is a radius, which this solver would ignore."""
    if radius is not None:
        raise ArgumentError(
            f"{arg.solver(solver)} does not support radius, got {radius:g}. Use l2, or "
            f"{arg.solver('subgradient', 'stochastic')}."
        )


def refuse_redraws(loss: Loss, solver: str) -> None:
    """Raise if the loss redraws, because it is then not one objective."""
    if loss.redraws:
        name = loss.name
        raise ArgumentError(
            f"{arg.solver(solver)} needs one objective, but {name}(ties=redrawn) has another one "
            f"in each pass. Use {arg.solver('stochastic')} (or 'auto'), or {name}(ties=fixed)."
        )


def _declares(loss: Loss, declared: Declared) -> bool:
    return loss.convex if declared == "convex" else loss.smooth


def loss_names(declared: Declared) -> list[str]:
    """Return the names of registered losses with this declaration, as a user writes them."""
    matches: list[str] = []
    for name in losses.REGISTRY:
        try:
            loss = losses.get(name)
        except ArgumentError:  # the loss has a cutoff
            name, loss = f"{name}@k", losses.get(name, k=1)
        if _declares(loss, declared):
            matches.append(repr(name))
    return matches
