"""The steps of `LinearRanker.fit` that need no estimator: where to start, what to warn about."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from podium import _check, losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.progress import or_silent
from podium.rankers._draws import generator, redraws
from podium.rankers._inputs import Rows
from podium.rankers.objective import Labels, LinearObjective, Parameters, defined_mean
from podium.rankers.solvers import SOLVERS, Settings, Solution, lbfgs
from podium.types import Loss, PerRow, RowIndex

STARTS = ("zero", "normal", "logistic")

_LOGISTIC = Settings(learning_rate=1.0, max_iter=100, tol=1e-4)


def loss_of(loss: Any) -> Loss:
    """Return the loss that is meant: one, its name, or without either the logistic."""
    if loss is None:
        return losses.Logistic()
    if isinstance(loss, str):
        return losses.get(loss)
    if not hasattr(loss, "value_and_grad"):
        raise ArgumentError(f"loss must be a loss or its name, as 'pap-avg@10', got {loss!r}.")
    return loss


def labels_of(rows: Rows, weights: PerRow | None) -> tuple[Labels, RowIndex | None]:
    """Return what a loss is prepared from, and where its rows are in the features.

    Groups whose rows lie together are put in the order of their labels (None: they are): sums
    then have the same bits in whatever order a file has its groups. Other rows stay as they are,
    since to read a row here and a row there takes several times as long.
    """
    groups, order = rows.groups, rows.groups.order
    if order is None or np.count_nonzero(np.diff(order) != 1) >= groups.n_groups:
        return Labels(rows.relevance, groups, weights), None
    together = Groups(groups.labels, groups.offsets)
    gathered = None if weights is None else weights[order]
    return Labels(rows.relevance[order], together, gathered), order


def target_of(loss: Loss, labels: Labels, seed: int) -> Any:
    """Return the target of all rows, ties broken by the seed; raise if no group can be used."""
    target = loss.prepare(
        labels.relevance, labels.groups, weights=labels.weights, rng=generator(seed)
    )
    require_trainable(loss, target, labels.groups)
    return target


def solver_name(solver: Any, loss: Loss, radius: float | None) -> str:
    """Return the name in `SOLVERS` that is meant; "auto" takes what suits the loss."""
    name = _check.choice(solver, "solver", ["auto", *SOLVERS])
    if name != "auto":
        return name
    if redraws(loss):
        return "stochastic"
    return "lbfgs" if getattr(loss, "smooth", False) and radius is None else "subgradient"


def seed_of(value: Any) -> int:
    """Return random_state as a seed."""
    try:
        seed = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        seed = -1
    if seed < 0:
        raise ArgumentError(f"random_state must be an integer >= 0, got {value!r}.")
    return seed


def start_point(start: Any, objective: LinearObjective, seed: int) -> Parameters:
    """Return the first iterate: named, or coefficients given as an array."""
    if isinstance(start, str):
        name = _check.choice(start, "start", STARTS)
        if name == "logistic":
            return _logistic(objective)
        coef = np.zeros(objective.n_features)
        if name == "normal":
            coef = np.random.default_rng(seed).standard_normal(objective.n_features)
        return _with_intercept(coef, 0.0, objective)
    coef = _check.column(start, "start")
    _check.finite(coef, "start", advice="Give finite coefficients.")
    if coef.size != objective.n_features:
        raise ArgumentError(
            f"start must be one of {_check.listed(STARTS)}, or {objective.n_features} "
            f"coefficients, one for each feature, got {coef.size}."
        )
    return _with_intercept(coef, 0.0, objective)


def _logistic(objective: LinearObjective) -> Parameters:
    """Return the parameters of logistic regression on the same rows, with the same penalty."""
    labels = objective.labels
    if labels is None:
        raise ArgumentError("start='logistic' needs an objective with labels.")
    loss = losses.Logistic(min_relevance=min_relevance(objective.loss))
    target = loss.prepare(labels.relevance, labels.groups, weights=labels.weights)
    other = replace(objective, loss=loss, target=target, has_intercept=True)
    found = lbfgs(other, _LOGISTIC, None, or_silent(None))
    return _with_intercept(*other.split(found.parameters), objective)


def _with_intercept(coef: Parameters, intercept: float, objective: LinearObjective) -> Parameters:
    return np.append(coef, intercept) if objective.has_intercept else coef


def min_relevance(loss: Loss) -> float:
    """Return what the loss calls a positive, so that validation means the same."""
    return float(getattr(loss, "min_relevance", 1.0))


def require_trainable(loss: Loss, target: Any, groups: Groups) -> None:
    """Raise if the loss is defined on no group: how many there are, why, and what to do."""
    values, _ = loss.value_and_grad(np.zeros(groups.n_rows), target)
    if not np.isnan(defined_mean(values)):
        return
    explain = getattr(loss, "why_undefined", None)
    reason = explain(target) if explain else f"{loss!r} is defined on none."
    one = (
        "The one group cannot"
        if groups.n_groups == 1
        else f"None of the {groups.n_groups} groups can"
    )
    raise ArgumentError(f"{one} be trained on: {reason}")


def trouble(solution: Solution, settings: Settings, solver: str) -> str:
    """Return what to warn about, or nothing."""
    rate = "learning_rate" if solver in {"subgradient", "stochastic"} else ""
    if solution.stop_reason == "diverged":
        return (
            f"stopped because scores overflowed at iteration {len(solution.history.objectives) - 1}"
            f"; what was kept is finite. Scale the features, or lower {rate or 'l2'}."
        )
    if not solution.parameters.any():
        return (
            "found nothing better than zero coefficients, which score all rows alike: where "
            "classes overlap, that can be the loss's very minimum. Use the loss 'pap-logistic', "
            "start from 'logistic', or give an eval_set to choose the iterate by."
        )
    if solution.stop_reason == "stalled":
        return (
            f"stopped where rounding leaves no lower objective, although {solution.remaining}. "
            "Raise tol, or scale the features."
        )
    if solution.stop_reason == "max_iter":
        return (
            f"stopped at max_iter={settings.max_iter}, before it converged: "
            f"{solution.remaining}. Raise max_iter or tol, scale the features, or change "
            f"{rate or 'l2'}."
        )
    return ""
