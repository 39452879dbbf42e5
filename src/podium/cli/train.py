"""The command podium train: a model for the top of the list, from a feature table."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium._check import is_sparse
from podium._text import counted
from podium.cli import _messages, _models, _recommenders, _tuning
from podium.cli._choosing import choose_ranker
from podium.cli._cluster import Work
from podium.cli._messages import progress
from podium.cli._options import Written, check_target
from podium.cli._recommending import Job
from podium.cli._searching import describe, run
from podium.cli._training import (
    AUTO,
    FeatureColumns,
    Interactions,
    Model,
    Solver,
    Tuning,
    Validation,
)
from podium.cli._tuning import grades_learned, grades_unread, head_drawn, left_out

if TYPE_CHECKING:
    from podium.data import Features
    from podium.rankers.estimator import Ranker
    from podium.types import PerRow

_STOPPED = {"patience": "--patience", "max_iter": "--max-iter"}


def train(
    *,
    context: typer.Context,
    data: Annotated[list[Path], typer.Argument()],
    out: Annotated[Path, Written(beside=(".checkpoint", ".search")), typer.Option("--out", "-o")],
    model: Model,
    solver: Solver,
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
    can_choose = model.model == AUTO or (not model.model and _recommenders.can_choose(context))
    reads_events = can_choose and _is_log(data[0], columns, interactions)
    model = replace(model, model=model.model or (AUTO if reads_events else "linear"))
    if reads_events or (model.model != AUTO and _models.is_recommender(model.model)):
        options = model, solver, validation, tuning, columns, interactions, work
        _recommenders.train(Job(context, data, out, *options))
        return
    from podium.data.feature_checks import check_scalable, labels
    from podium.data.interactions import times_of
    from podium.rankers.scaling import folded, scaled
    from podium.tuning.fitting import last_step, takes
    from podium.tuning.labels import check_ratings

    learns = "rows with features"
    _recommenders.refuse_options(context, model.model, learns=learns)
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
    _tuning.check(validation, tuning, solver, time)
    estimator, grid = _prepared(model, solver, validation, tuning)
    times = None if time is None else times_of(data[0], time)
    missing = _models.missing_allowed(estimator)
    rows = read(data, columns, also_ignore=time, missing=missing)
    rows = replace(rows, X=_models.accepted(rows.X, estimator))
    relevance = labels(data[0], rows)
    notes = [*left_out(rows)]
    if not rows.is_rating:  # which counts as positive, the user has to say
        loss = _models.graded_loss(model, relevance, grid, validation.eval_metric)
        if loss is not None:
            model = replace(model, loss=loss)
            estimator, grid = _prepared(model, solver, validation, tuning)
            notes.insert(0, grades_learned(relevance, loss))
    if rows.is_rating and model.min_relevance is None:
        validated = _tuning.is_validated(validation, tuning)
        check_ratings(data[0], estimator, grid, validated=validated)
    notes = [*grades_unread(rows, model, estimator, grid), *notes]
    eval_set = _eval_set(validation.valid, columns, rows, model, missing=missing)
    rows = _normalized_rows(rows, data[0], model)
    unscaled, estimator = estimator, estimator if model.no_scale else scaled(estimator, rows.X)
    if estimator is not unscaled:
        check_scalable(data, rows)
    item = rows.item if takes(last_step(estimator), "item") and rows.names_items else None
    for note in notes:
        _messages.say(note)
    data_to_fit = {"X": rows.X, "y": relevance, "qid": rows.qid, "item": item, "eval_set": eval_set}
    fitted, summary = _fitted(data_to_fit, estimator, grid, model, validation, tuning, times)
    fitted = folded(fitted)
    if model.query_norm:
        fitted.query_norm_ = True
    pooled = item is not None and fitted.pools_items
    _finish(fitted, rows, validation.valid, summary, out, pooled=pooled)


def _is_log(path: Path, columns: FeatureColumns, file: Interactions) -> bool:
    """Return whether a file holds events, by the options and by its columns; False for a pipe."""
    from podium.data.interactions import is_log

    names = columns.names_by_role()
    if names.get("relevance") or columns.features or columns.ignore or not path.is_file():
        return False
    return bool(names.get("value")) or is_log(path, names, **file.of_file())


def _prepared(
    model: Model, solver: Solver, validation: Validation, tuning: Tuning
) -> tuple[Any, Any]:
    """Return the unfitted estimator and the grid of its search, both checked."""
    from podium.tuning.fitting import rehearse

    measure = _tuning.measure_for(model, validation, tuning)
    estimator = _models.make(model, solver, measure, tuning.seed)
    grid = _tuning.candidates(model, solver, tuning, estimator)
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
    from podium.data.feature_checks import check_finite

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
    from podium.data.feature_checks import labels

    if path is None:
        return None
    valid = _normalized_rows(read([path], columns, like=rows, missing=missing), path, model)
    return _dense_like(valid.X, rows.X), labels(path, valid), valid.qid


def _normalized_rows(rows: Features, path: Path, model: Model) -> Features:
    """Return rows with their features normalised by query, with --query-norm."""
    from podium.data.feature_checks import normalized

    return normalized(rows, path) if model.query_norm else rows


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
        n_folds=validation.folds,
        split=validation.split,
        valid=validation.valid_share,
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
    _messages.say(f"{_counts(rows)}{_pooling(model, rows) if pooled else ''}{course}")
    remark = head_drawn(model.loss_in_use(), rows)
    if remark:
        _messages.say(remark)
    if summary:
        _messages.say(summary)
    _messages.say(f"{_result_summary(model, valid)}wrote {out}")


def _counts(rows: Features) -> str:
    import numpy as np

    n_groups = np.unique(np.asarray(rows.qid)).size
    n_features = len(rows.feature_names)
    counts = ((n_groups, "groups"), (len(rows.qid), "rows"), (n_features, "features"))
    return ", ".join(counted(n, names) for n, names in counts)


def _pooling(model: Any, rows: Features) -> str:
    """Return a remark that labels were pooled over items, if they were."""
    import numpy as np

    n_items = np.unique(np.asarray(rows.item)).size
    return f"; labels pooled over {n_items} items" if model.pool_share else ""


def _fit_summary(model: Ranker, *, chosen: bool) -> str:
    """Return the number of iterations and the reason for stopping, as text."""
    report, trees = model.fit_report(), model.grows_trees
    if report.best_iteration is None:
        return ""
    if chosen:
        unit = "trees" if trees else "iterations"
        return f"; trained for {report.n_iter} {unit}, as chosen by validation"
    n_kept = report.best_iteration + 1
    if trees:
        return f"; grew {counted(report.n_iter or 0, 'trees')}, kept {n_kept}"
    reason = _STOPPED.get(report.stop_reason, report.stop_reason)
    if not math.isnan(report.gap):
        reason += f", duality gap {report.gap:.2g}"
    return f"; stopped after iteration {report.n_iter} ({reason}), kept iteration {n_kept}"


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
