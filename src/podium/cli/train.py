"""The command podium train: a model for the top of the list, from features or from events."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium import _check
from podium._check import is_sparse
from podium._text import counted
from podium.cli import _messages, _models, _recommending
from podium.cli._choosing import choose_ranker
from podium.cli._cluster import Work
from podium.cli._messages import progress
from podium.cli._options import Written, check_target
from podium.cli._searching import Tuning, describe, losses_of, run
from podium.cli._training import (
    AUTO,
    FeatureColumns,
    Interactions,
    Model,
    Validation,
)
from podium.errors import ArgumentError
from podium.types import PerRow

if TYPE_CHECKING:
    from podium.data import Features
    from podium.rankers.estimator import Ranker


def train(
    *,
    context: typer.Context,
    data: Annotated[list[Path], typer.Argument()],
    out: Annotated[Path, Written(beside=(".checkpoint", ".search")), typer.Option("--out", "-o")],
    model: Model,
    validation: Validation,
    tuning: Tuning,
    columns: FeatureColumns,
    interactions: Interactions,
    work: Work,
) -> None:
    """Train a model for the top of the list; --tune also chooses its parameters.

    A ranker learns from rows with features, and podium rank applies it. A recommender learns from
    events of users and items, and podium recommend applies it.

    The measure on the validation rows determines when training stops. Without such rows, the
    objective does.

    Parameters
    ----------
    data : DATA
        Table with one row per user and item: user (or qid), relevance (or label), features. Or
        svmlight files with qid (LETOR); several of them are read as one. For a recommender: tables
        with one row per event, with user, item and, optionally, a value; several are read as one.
    out : MODEL
        File to write the model to.
    """
    can_choose = model.model == AUTO or (not model.model and _recommending.can_choose(context))
    reads_events = can_choose and _is_log(data[0], columns, interactions)
    model = replace(model, model=model.model or (AUTO if reads_events else "linear"))
    if reads_events or (model.model != AUTO and _models.is_recommender(model.model)):
        options = model, validation, tuning, columns, interactions, work
        _recommending.train(_recommending.Job(context, data, out, *options))
        return
    from podium.data.features import check_scalable, labels
    from podium.data.interactions import times_of
    from podium.rankers.scaling import folded, scaled
    from podium.tuning.fitting import last_step, takes
    from podium.tuning.labels import check_ratings, grades_unread

    learns = "rows with features"
    _recommending.refuse_options(context, model.model, learns=learns)
    check_target(out, "--out", ("",))
    columns.refuse(["value"], f"with --model {model.model}, which learns from {learns}")
    time = columns.name_of("timestamp")
    if model.model == AUTO:
        rows = read(data, columns, also_ignore=time)
        times = None if time is None else times_of(data[0], time)
        rest = _eval_set(validation.valid, columns, rows, model), times, model, validation, tuning
        fitted = choose_ranker(rows, labels(data[0], rows), *rest)
        _finish(fitted, rows, None, "", out, pooled=False)
        return
    check_search(model, validation, tuning, time)
    estimator, grid = _prepared(model, validation, tuning)
    times = None if time is None else times_of(data[0], time)
    missing = _models.missing_allowed(estimator)
    rows = read(data, columns, also_ignore=time, missing=missing)
    rows = replace(rows, X=_models.accepted(rows.X, estimator))
    relevance = labels(data[0], rows)
    notes = [left_out(rows)]
    if not rows.is_rating:  # which counts as positive, the user has to say
        loss = _models.graded_loss(model, relevance, grid, validation.eval_metric)
        if loss is not None:
            model = replace(model, loss=loss)
            estimator, grid = _prepared(model, validation, tuning)
            notes.insert(0, grades_learned(relevance, loss))
    if rows.is_rating and model.min_relevance is None:
        validated = is_validated(validation, tuning)
        check_ratings(data[0], estimator, grid, validated=validated)
    if model.min_relevance is None:
        notes.insert(0, grades_unread(relevance, estimator, grid, name=model.model))
    eval_set = _eval_set(validation.valid, columns, rows, model, missing=missing)
    rows = _normalized_rows(rows, data[0], model)
    unscaled = estimator
    if _models.of_features(model, "standardize"):
        estimator = scaled(estimator, rows.X)
    if estimator is not unscaled:
        check_scalable(data, rows)
    item = rows.item if takes(last_step(estimator), "item") and rows.names_items else None
    for note in filter(None, notes):
        _messages.say(note)
    data_to_fit = {"X": rows.X, "y": relevance, "qid": rows.qid, "item": item, "eval_set": eval_set}
    fitted, summary = _fitted(data_to_fit, estimator, grid, model, validation, tuning, times)
    fitted = folded(fitted)
    if _models.of_features(model, "query_norm"):
        fitted.query_norm_ = True
    pooled = item is not None and fitted.pools_items and fitted.pool_share > 0
    _finish(fitted, rows, validation.valid, summary, out, pooled=pooled)


def _is_log(path: Path, columns: FeatureColumns, file: Interactions) -> bool:
    """Return whether a file holds events, by the options and by its columns; False for a pipe."""
    from podium.data.interactions import is_log

    names = columns.names_by_role()
    if names.get("relevance") or columns.features or columns.ignore or not path.is_file():
        return False
    return bool(names.get("value")) or is_log(path, names, **file.of_file())


def _prepared(model: Model, validation: Validation, tuning: Tuning) -> tuple[Any, Any]:
    """Return the unfitted estimator and the grid of its search, both checked."""
    from podium.tuning.fitting import rehearse

    measure = measure_for(model, validation, tuning)
    estimator = _models.make(model, measure, tuning.seed)
    grid = candidates(model, tuning, estimator)
    rehearse(estimator)
    return estimator, grid


def read(
    paths: list[Path],
    columns: FeatureColumns,
    *,
    like: Features | None = None,
    also_ignore: str | None = None,
    missing: bool = False,
) -> Features:
    """Read rows to train on, or rows to validate on, with the same features as `like`."""
    from podium import data
    from podium.data.features import check_finite

    names = columns.names_by_role()
    feature_names = _split(columns.features) if like is None else list(like.feature_names)
    ignored = [*(_split(columns.ignore) or []), *([also_ignore] if also_ignore else [])]
    rows = data.read_features(
        paths[0] if len(paths) == 1 else paths,
        user=names.get("user"),
        item=names.get("item"),
        relevance=names.get("relevance"),
        features=feature_names,
        ignore=ignored if like is None else [],
        n_features=None if like is None else len(like.feature_names),
    )
    if not missing:
        check_finite(paths[0], rows)
    return rows


def _eval_set(
    path: Path | None,
    columns: FeatureColumns,
    rows: Features,
    model: Model,
    *,
    missing: bool = False,
) -> tuple[Any, PerRow, Any] | None:
    """Return the features, relevance and groups of the validation rows, or None without a file."""
    from podium.data.features import labels

    if path is None:
        return None
    valid = _normalized_rows(read([path], columns, like=rows, missing=missing), path, model)
    return _dense_like(valid.X, rows.X), labels(path, valid), valid.qid


def _normalized_rows(rows: Features, path: Path, model: Model) -> Features:
    """Return rows with their features normalised by query, with --set query_norm=true."""
    from podium.data.features import normalized

    return normalized(rows, path) if _models.of_features(model, "query_norm") else rows


def _dense_like(features: Any, reference: Any) -> Any:
    """Return dense features if the others are dense: a file with few values is read as sparse."""
    return features.toarray() if is_sparse(features) and not is_sparse(reference) else features


def _fitted(
    data_to_fit: dict[str, Any],
    estimator: Any,
    grid: Any,
    model: Model,
    validation: Validation,
    tuning: Tuning,
    times: Any,
) -> tuple[Any, str]:
    """Return the fitted estimator, and what a search or validation found as text."""
    from podium import tuning as library
    from podium.tuning.fitting import last_step

    if not tuning.tune and not validation.holds_out_data:
        with progress("training") as show:
            return library.fit(estimator, **data_to_fit, progress=show), ""
    call = partial(
        library.search,
        estimator,
        **data_to_fit,
        grid=grid,
        n_trials=tuning.limits().get("n_trials"),
        measure=last_step(estimator).eval_metric,
        min_relevance=model.min_relevance,
        **validation.parts(),
        time=times,
        n_jobs=1 if tuning.jobs is None else tuning.jobs,
        seed=tuning.seed,
    )
    result = run(call, "tuning" if tuning.tune else "validating", tuning.tune_table, describe)
    return result.estimator, describe(result)


def _finish(
    model: Any, rows: Features, valid: Path | None, summary: str, out: Path, *, pooled: bool
) -> None:
    """Write the model, and print the data, the course of the fit and its result."""
    import numpy as np

    from podium import rankers

    model.feature_names_in_ = np.array(rows.feature_names, dtype=object)
    rankers.save(model, out)
    course = _fit_summary(model, chosen=bool(summary) and valid is None)
    n_items = np.unique(np.asarray(rows.item)).size if pooled else 0
    pooling = f"; labels pooled over {n_items} items" if pooled else ""
    _messages.say(f"{_counts(rows)}{pooling}{course}")
    if summary:
        _messages.say(summary)
    _messages.say(f"{_result_summary(model, valid)}wrote {out}")


def _counts(rows: Features) -> str:
    import numpy as np

    n_groups = np.unique(np.asarray(rows.qid)).size
    n_features = len(rows.feature_names)
    counts = ((n_groups, "groups"), (len(rows.qid), "rows"), (n_features, "features"))
    return ", ".join(counted(n, names) for n, names in counts)


def _fit_summary(model: Ranker, *, chosen: bool) -> str:
    """Return the number of iterations and the reason for stopping, as text."""
    report, trees = model.fit_report(), model.length_parameter == "n_trees"
    if report.best_iteration is None:
        return ""
    if chosen:
        unit = "trees" if trees else "iterations"
        return f"; trained for {report.n_iter} {unit}, as chosen by validation"
    n_kept = report.best_iteration + 1
    if trees:
        return f"; grew {counted(report.n_iter or 0, 'trees')}, kept {n_kept}"
    ending = f"after iteration {report.n_iter} ({report.stop_reason})"
    return f"; stopped {ending}, kept iteration {n_kept}"


def _result_summary(model: Ranker, valid: Path | None) -> str:
    """Return the objective and the validation measure, as text."""
    report = model.fit_report()
    value = [] if math.isnan(report.objective) else [f"objective {report.objective:.6g}"]
    if valid is not None and not math.isnan(report.validation):
        value.append(f"{model.eval_metric} on {valid.name} {report.validation:.4f}")
    return "; ".join([", ".join(value), ""]) if value else ""


def _split(texts: list[str] | None) -> list[str] | None:
    """Return the names in all texts, which are lists with commas; None if there are no texts."""
    names = (name.strip() for text in texts or () for name in text.split(","))
    return [name for name in names if name] if texts else None


_PREFIX = "loss__"


def check_search(model: Model, validation: Validation, tuning: Tuning, time: str | None) -> None:
    """Refuse options that contradict each other, before any file is read."""
    from podium.tuning.of_rows import check_parts

    tuning.check_tune()
    _check.seed(tuning.seed)
    if tuning.jobs not in (None, -1):
        _check.cutoff(tuning.jobs, name="--jobs")
    check_parts(eval_set=validation.valid, **validation.parts())
    by_time = (validation.split or "").startswith("time")
    if by_time and time is None:
        raise ArgumentError(f"--split {validation.split} needs --column timestamp=NAME.")
    if time is not None and not by_time:
        raise ArgumentError("--column timestamp=NAME needs --split time or time-per-user.")
    if not is_validated(validation, tuning):
        patience = _models.assignments(model.set).get("patience")
        needing = {"--eval-metric": validation.eval_metric, "--set patience": patience}
        for option, value in needing.items():
            if value is not None:
                raise ArgumentError(f"{option} needs --valid, --valid-share or --folds.")
    if tuning.jobs is not None and not tuning.tune and validation.folds is None:
        raise ArgumentError("--jobs needs --tune or --folds: without them there is one fit.")


def is_validated(validation: Validation, tuning: Tuning) -> bool:
    """Return whether there are validation rows."""
    return validation.valid is not None or validation.holds_out_data or tuning.tune


def candidates(model: Model, tuning: Tuning, estimator: Any) -> Any:
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
    fixed = {*_models.given_parameters(model), *_models.assignments(model.set)}
    if "loss" in estimator.get_params(deep=False):
        fixed.discard("k")  # -k is the cutoff of the measure; the grid may have that of the loss
    grid = tuning.free_grid(estimator, {*fixed, *(f"{_PREFIX}{name}" for name in fixed)})
    if tuning.grid is not None:
        grid = _given_grid(model, grid[0], estimator)
        names = tuning.grid_texts().keys()
        if model.model == "linear" and not names & {"loss", "solver"}:
            _models.refuse_idle_steps(estimator, {name: f"--grid {name!r}" for name in names})
    plan(estimator, grid, limits.get("n_trials"), tuning.seed)
    return grid


def grades_learned(relevance: PerRow, loss: str) -> str:
    """Return that the loss was chosen because labels are grades."""
    from podium.tuning.labels import shown_grades

    return (
        f"labels have the grades {shown_grades(relevance)}, so that the loss is {loss}. "
        "--min-relevance X trains on labels 0 and 1 instead."
    )


def left_out(rows: Features) -> str:
    """Return the columns that are not used as features because of their names, as text."""
    if not rows.left_out:
        return ""
    return (
        f"not used as features: {', '.join(map(repr, rows.left_out))}. Columns of times, ids "
        "and row numbers are features only if --features names them."
    )


def _given_grid(model: Model, values: dict[str, Any], estimator: Any) -> list[dict[str, Any]]:
    """Return the grid of ``--grid name=values``; a loss without a cutoff gets none."""
    has_loss = "loss" in estimator.get_params(deep=False)
    values_by_name = {
        f"{_PREFIX}k" if has_loss and name == "k" else name: listed
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
    first_model = replace(model, loss=first)
    return _models.measure_of(
        first_model, _models.estimator_of(model, _models.loss_of(model, first))
    )


def _with_loss(model: Model, name: str, values_by_name: dict[str, Any]) -> dict[str, Any]:
    """Return the grid of one loss, without parameters that this loss does not have."""
    loss = _models.loss_of(model, name)
    names = () if isinstance(loss, str) else loss.parameters()
    loss_grid = {
        parameter: values
        for parameter, values in values_by_name.items()
        if not parameter.startswith(_PREFIX) or parameter.removeprefix(_PREFIX) in names
    }
    if f"{_PREFIX}k" not in loss_grid:
        return {"loss": [loss], **loss_grid}
    # The grid has its own values of k. --min-relevance is added as a fixed value.
    low = model.min_relevance
    fixed = {} if low is None else {f"{_PREFIX}min_relevance": [low]}
    return {"loss": [name.partition("@")[0]], **fixed, **loss_grid}
