"""The search of podium train: its checks, its grid, its validation rows, and its messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from podium import _check
from podium.cli._models import (
    assignments,
    estimator_of,
    given_parameters,
    loss_of,
    measure_of,
    refuse_idle_steps,
)
from podium.cli._searching import losses_of
from podium.cli._training import Model, Solver, Tuning, Validation
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.data import Features
    from podium.types import PerRow

_PREFIX = "loss__"
_OF_LOSS = ("k", "clip")  # names that --grid accepts for loss__k and loss__clip


def check(validation: Validation, tuning: Tuning, solver: Solver, time: str | None) -> None:
    """Refuse options that contradict each other, before any file is read."""
    from podium.tuning.of_rows import check_parts

    tuning.check_tune()
    _check.seed(tuning.seed)
    if tuning.jobs not in (None, -1):
        _check.cutoff(tuning.jobs, name="--jobs")
    check_parts(
        eval_set=validation.valid,
        n_folds=validation.folds,
        split=validation.split,
        valid=validation.valid_share,
    )
    by_time = (validation.split or "").startswith("time")
    if by_time and time is None:
        raise ArgumentError(f"--split {validation.split} needs --column timestamp=NAME.")
    if time is not None and not by_time:
        raise ArgumentError("--column timestamp=NAME needs --split time or time-per-user.")
    if not is_validated(validation, tuning):
        needing = {"--eval-metric": validation.eval_metric, "--patience": solver.patience}
        for option, value in needing.items():
            if value is not None:
                raise ArgumentError(f"{option} needs --valid, --valid-share or --folds.")
    if tuning.jobs is not None and not tuning.tune and validation.folds is None:
        raise ArgumentError("--jobs needs --tune or --folds: without them there is one fit.")


def is_validated(validation: Validation, tuning: Tuning) -> bool:
    """Return whether there are validation rows."""
    return validation.valid is not None or validation.holds_out_data or tuning.tune


def candidates(model: Model, solver: Solver, tuning: Tuning, estimator: Any) -> Any:
    """Return the grid: the given one, or the default grid without parameters that options fix.

    Raises
    ------
    ArgumentError
        If the model has no parameter of a given name or another option fixes it, if a value is
        invalid, or if there is a distribution without a budget.
    """
    from podium.tuning.searching import plan

    limits = tuning.limits()
    if "budget" in limits:
        raise ArgumentError(
            "--budget must be a number of candidates for a model that learns from rows with "
            f"features, got the time {tuning.budget!r}."
        )
    if not tuning.tune:
        return {}
    fixed = {*given_parameters(model, solver), *assignments(model.set)}
    if "loss" in estimator.get_params(deep=False):
        fixed.discard("k")  # -k is the cutoff of the measure; the grid may have that of the loss
    grid = tuning.free_grid(estimator, {*fixed, *(f"{_PREFIX}{name}" for name in fixed)})
    if tuning.grid is not None:
        grid = _given_grid(model, grid[0], estimator)
        names = tuning.grid_texts().keys()
        if model.model == "linear" and not names & {"loss", "solver"}:
            refuse_idle_steps(estimator, {name: f"--grid {name!r}" for name in names})
    plan(estimator, grid, limits.get("n_trials"), tuning.seed)
    return grid


def grades_unread(rows: Features, model: Model, estimator: Any, grid: Any) -> Iterator[str]:
    """Yield which rows count as positive, if labels are graded and the loss ignores grades."""
    from podium.data.feature_checks import labels
    from podium.tuning import labels as library

    if model.min_relevance is None:
        message = library.grades_unread(labels("DATA", rows), estimator, grid, name=model.model)
        yield from filter(None, [message])


def grades_learned(relevance: PerRow, loss: str) -> str:
    """Return that the loss was chosen because labels are grades."""
    from podium.tuning import labels as library

    return (
        f"labels have the grades {library.shown_grades(relevance)}, so that the loss is {loss}. "
        "--min-relevance X trains on labels 0 and 1 instead."
    )


def left_out(rows: Features) -> Iterator[str]:
    """Yield the columns that are not used as features because of their names."""
    if rows.left_out:
        yield (
            f"not used as features: {', '.join(map(repr, rows.left_out))}. Columns of times, ids "
            "and row numbers are features only if --features names them."
        )


def head_drawn(loss: Any, rows: Features) -> str:
    """Return a remark on what a loss learned by chance from the rows, and how to avoid it."""
    import numpy as np

    from podium.data.feature_checks import labels
    from podium.groups import Groups
    from podium.losses import Loss

    if not isinstance(loss, Loss):
        return ""
    groups = Groups.from_qid(np.asarray(rows.qid))
    return loss.remark(labels("DATA", rows), groups)


def _given_grid(model: Model, values: dict[str, Any], estimator: Any) -> list[dict[str, Any]]:
    """Return the grid of ``--grid name=values``; a loss without a cutoff gets none."""
    has_loss = "loss" in estimator.get_params(deep=False)
    values_by_name = {
        f"{_PREFIX}{name}" if has_loss and name in _OF_LOSS else name: listed
        for name, listed in values.items()
    }
    if "loss" not in values_by_name:
        return [values_by_name]
    return [_with_loss(model, name, values_by_name) for name in values_by_name.pop("loss")]


def measure_for(model: Model, validation: Validation, tuning: Tuning) -> str | None:
    """Return the given validation measure, or one that suits the first loss of the grid."""
    if validation.eval_metric is not None or model.loss is not None:
        return validation.eval_metric
    first = losses_of(tuning.grid_texts().get("loss", ""))[0]
    if not first:
        return None
    first_model = dataclasses.replace(model, loss=first)
    return measure_of(first_model, estimator_of(model, loss_of(model, first)))


def _with_loss(model: Model, name: str, values_by_name: dict[str, Any]) -> dict[str, Any]:
    """Return the grid of one loss, without parameters that this loss does not have."""
    loss = loss_of(model, name)
    names = () if isinstance(loss, str) else loss.parameters()
    loss_grid = {
        parameter: values
        for parameter, values in values_by_name.items()
        if not parameter.startswith(_PREFIX) or parameter.removeprefix(_PREFIX) in names
    }
    if f"{_PREFIX}k" not in loss_grid:
        return {"loss": [loss], **loss_grid}
    # The grid has its own values of k. The other options of the loss are added as fixed values.
    options = {"min_relevance": model.min_relevance, "clip": model.clip or None}
    fixed = {
        f"{_PREFIX}{parameter}": [values]
        for parameter, values in options.items()
        if values is not None
    }
    return {"loss": [name.partition("@")[0]], **fixed, **loss_grid}
