"""Steps of fits that need no estimator: checks, the start point, draws by content and warnings.

Random draws per row follow the order of each group's rows by their content. Features are only
compared, so scaling or shifting them leaves the draws unchanged, whatever the rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from podium import _check, losses
from podium.errors import ArgumentError, ConvergenceWarning, arg
from podium.groups import Groups
from podium.losses import Loss
from podium.losses.inputs import TINY
from podium.progress import or_silent
from podium.rankers.inputs import Rows
from podium.rankers.objective import Labels, LinearObjective, Parameters, defined_mean, dot
from podium.rankers.solvers import LBFGS, Settings, Solution
from podium.types import PerRow, RowIndex

STARTS = ("auto", "zero", "normal", "logistic")

STEPPING = ("subgradient", "stochastic")
"""Solvers with a step length."""
READ_BY = {"learning_rate": STEPPING, "batch_size": ("stochastic",)}
"""Parameters that only some solvers read, with those solvers."""
LONGEST_STEP = 0.5
_SHORT = 1e-3  # length of the step that shows whether an objective falls from zero
_POWER = 10  # iterations of the power method; the eigenvalue is then right to a few per cent

_LOGISTIC = Settings(learning_rate=1.0, max_iter=100, tol=1e-4)


def settings_of(checked: Mapping[str, Any]) -> Settings:
    """Return the settings of a solver, from the checked parameters of a ranker."""
    names = {field.name for field in fields(Settings)} & checked.keys()
    settings = Settings(**{name: checked[name] for name in names}, seed=checked["random_state"])
    return replace(settings, learning_rate=settings.learning_rate or LONGEST_STEP)


def with_suited_keep(settings: Settings, loss: Loss, *, validated: bool) -> Settings:
    """Return the settings; the last iterate is kept if the objective is no measure of progress."""
    if loss.reweights and not validated and settings.keep == "best":
        return replace(settings, keep="last")
    return settings


def labels_of(loss: Loss, rows: Rows) -> tuple[Labels, RowIndex | None]:
    """Return the labels that the loss is prepared from, and their rows' positions in the features.

    Groups with contiguous rows are put in the order of their labels, so that sums have the same
    bits for any order of groups in a file. Otherwise, or if they are in that order already, rows
    stay as they are and the positions are None: reading scattered rows takes several times as
    long.
    """
    groups, relevance, weights = rows.groups, rows.relevance, rows.weights
    order = groups.order
    if order is None or np.count_nonzero(np.diff(order) != 1) >= groups.n_groups:
        order = None
    else:
        groups, relevance = Groups(groups.labels, groups.offsets), relevance[order]
        weights = None if weights is None else weights[order]
    drawn = by_content(rows.features, relevance, groups, order) if loss.draws else None
    return Labels(relevance, groups, weights, drawn), order


def target_of(loss: Loss, labels: Labels, seed: int) -> Any:
    """Return the target of all rows, with ties broken by the seed.

    Raise if the loss is defined on no group.
    """
    target = labels.target(loss, seed)
    require_trainable(loss, target, labels.groups)
    return target


def start_point(
    start: str, objective: LinearObjective, seed: int, *, validated: bool
) -> Parameters:
    """Return the first iterate by its name, one of `STARTS`."""
    if start == "logistic" or (start == "auto" and validated and _rises_from_zero(objective)):
        return _logistic(objective)
    coef = np.zeros(objective.n_features)
    if start == "normal":
        coef = np.random.default_rng(seed).standard_normal(objective.n_features)
    return _with_intercept(coef, 0.0, objective)


def _rises_from_zero(objective: LinearObjective) -> bool:
    """Return whether a loss with kinks is higher after a short step against its subgradient.

    All rows tie at zero. Zero can then be the minimum of such a loss, although it ranks nothing.
    """
    if objective.loss.smooth:
        return False
    zero = objective.evaluate(np.zeros(objective.n_parameters))
    length = float(np.sqrt(dot(zero.grad, zero.grad)))
    if not 0.0 < length < np.inf:
        return False
    after = objective.evaluate(-_SHORT / length * zero.grad)
    # Features that are constant within groups change the objective by rounding alone.
    return after.loss > zero.loss + _SHORT**3


def _logistic(objective: LinearObjective) -> Parameters:
    """Return the parameters of logistic regression on the same rows with the same penalty."""
    labels: Any = objective.labels
    loss = losses.Logistic(min_relevance=objective.loss.min_relevance)
    target = loss.prepare(labels.relevance, labels.groups, weights=labels.weights)
    logistic_objective = replace(objective, loss=loss, target=target, has_intercept=True)
    solution = LBFGS.solve(logistic_objective, _LOGISTIC, None, or_silent(None))
    return _with_intercept(*logistic_objective.split(solution.parameters), objective)


def first_step(objective: LinearObjective, start: Parameters) -> float:
    """Return the first step length: one over the largest curvature at the start, at most 0.5.

    The curvature is the largest eigenvalue of ``X.T diag(bound) X``, by the power method. Only a
    loss that declares `smooth` has such a bound; other losses get 0.5. A loss that declares
    `shift_invariant` has no curvature along a shift of a group, so its scores are centred by
    group first.
    """
    if not objective.loss.smooth:
        return LONGEST_STEP
    bound = objective.loss.curvature(objective.scores(start), objective.target)
    direction = np.random.default_rng(0).standard_normal(objective.n_parameters)
    largest = 0.0
    for _ in range(_POWER):
        length = float(np.sqrt(np.sum(direction * direction)))
        if not (0.0 < length < np.inf):
            break
        score_change = _centred(objective.scores(direction / length), bound, objective)
        direction = objective.pull_back(bound * score_change)
        largest = float(np.sqrt(np.sum(direction * direction)))
    return min(LONGEST_STEP, 1.0 / largest) if 0.0 < largest < np.inf else LONGEST_STEP


def _centred(scores: PerRow, bound: PerRow, objective: LinearObjective) -> PerRow:
    """Return scores minus their group's mean, weighted by the bound, if the loss ignores shifts."""
    labels = objective.labels
    if labels is None or not objective.loss.shift_invariant:
        return scores
    index, n = labels.groups.index, labels.groups.n_groups
    mean = np.bincount(index, bound * scores, n) / np.maximum(np.bincount(index, bound, n), TINY)
    return scores - mean[index]


def _with_intercept(coef: Parameters, intercept: float, objective: LinearObjective) -> Parameters:
    return np.append(coef, intercept) if objective.has_intercept else coef


def require_trainable(loss: Loss, target: Any, groups: Groups) -> None:
    """Raise if the loss is defined on no group; the error has their number and the reason."""
    values, _ = loss.value_and_grad(np.zeros(groups.n_rows), target)
    if np.isnan(defined_mean(values)):
        raise untrainable(groups, loss.why_undefined(target))


def untrainable(groups: Groups, reason: str) -> ArgumentError:
    """Return the error that no group can be trained on."""
    n = groups.n_groups
    subject = "The one group cannot" if n == 1 else f"None of the {n} groups can"
    return ArgumentError(f"{subject} be trained on: {reason}")


class LimitWarning(ConvergenceWarning):
    """A solver reached its largest number of iterations before it converged."""


class NothingLearnedError(ArgumentError):
    """A fit ends at zero coefficients: rows and loss do not suit each other."""


def refuse_zero(solution: Solution, objective: LinearObjective) -> None:
    """Raise if a loss with kinks has its minimum at zero coefficients, which rank nothing."""
    coef = objective.split(solution.parameters)[0]
    if objective.loss.smooth or solution.stop_reason == "diverged" or coef.any():
        return
    raise NothingLearnedError(
        f"The loss {objective.loss.name} found nothing better than zero coefficients (objective "
        f"{solution.objective:.4g}), which give all rows the same score. Pass {arg.eval_set}, "
        "with which the fit starts from logistic regression and keeps the best iterate, scale the "
        "features, or use the loss 'pap-logistic'."
    )


def keep(ranker: Any, solution: Solution) -> None:
    """Set the attributes of a ranker that describe the course of its fit."""
    history = solution.history
    ranker.history_, ranker.best_iteration_ = history.arrays(), history.kept_at
    ranker.objective_, ranker.stop_reason_ = solution.objective, solution.stop_reason
    ranker.n_iter_ = len(history.objectives)


def warning_text(solution: Solution, settings: Settings, solver: str) -> str:
    """Return the text of a warning about the solution, or ""."""
    step = arg.learning_rate if solver in {"subgradient", "stochastic"} else arg.l2
    if solution.stop_reason == "diverged":
        return (
            "stopped because scores overflowed at iteration "
            f"{len(solution.history.objectives) - 1}. The kept parameters are finite. Scale the "
            f"features, or lower {step}."
        )
    if not solution.parameters.any():
        return (
            "found nothing better than zero coefficients, which give all rows the same score. "
            "Check that features differ within groups, and that labels are not shuffled."
        )
    if solution.stop_reason == "stalled":
        return (
            f"stopped because rounding prevents a lower objective, although {solution.remaining}. "
            f"Raise {arg.tol}, or scale the features."
        )
    if solution.stop_reason == "max_iter":
        return (
            f"stopped at {arg.max_iter(settings.max_iter)}, before it converged: "
            f"{solution.remaining}. Raise {arg.max_iter} or {arg.tol}, scale the features, or "
            f"change {step}."
        )
    return ""


def by_content(
    features: Any, relevance: PerRow, groups: Groups, places: RowIndex | None = None
) -> Groups:
    """Return the groups with their rows ordered by features, then by relevance.

    The first feature decides; rows that agree in it are ordered by the second, and so on.
    `places` are the positions of these rows in the features; by default row i is features[i].
    Rows that agree in everything stay in the caller's order: no model can distinguish them.

    Cost: for each feature, a sort of the rows that are tied in the features before it.
    """
    order = np.arange(groups.n_rows) if groups.order is None else groups.order.copy()
    starts = np.zeros(order.size + 1, np.bool_)  # True if a row differs from the one before
    starts[groups.offsets] = True
    is_sparse, n_features = _check.is_sparse(features), int(features.shape[1])
    by_column: Any = features.tocsc() if is_sparse else features
    for j in range(n_features + 1):
        tied = np.flatnonzero(~(starts[:-1] & starts[1:]))
        if not tied.size:
            break
        rows, run = order[tied], np.cumsum(starts)[tied]
        positions = rows if places is None else places[rows]
        if j == n_features:
            values = relevance[rows]
        elif is_sparse:
            values = by_column[:, [j]].toarray()[positions, 0]
        else:
            values = by_column[positions, j]
        values = np.nan_to_num(values, nan=np.inf)  # nan counts as equal to nan
        permutation = np.lexsort((values, run))
        order[tied], values = rows[permutation], values[permutation]
        starts[tied[1:]] |= values[1:] != values[:-1]
    return Groups(groups.labels, groups.offsets, order)
