"""The path of podium train for rankers, which learn from rows with features."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium._check import is_sparse
from podium._text import counted
from podium.cli import _messages, _models
from podium.cli._messages import progress
from podium.cli._searching import chosen, describe, run, say_choice
from podium.cli._training import AUTO, DEFAULT_K, Job
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.data import Features
    from podium.rankers.estimator import Ranker


def train(job: Job) -> None:
    """Fit a ranker to rows with features, and write it."""
    from podium.tuning.of_rows import check_parts

    model, validation, time = job.model, job.validation, job.columns.name_of("timestamp")
    job.columns.refuse(["value"], f"with --model {model.model}, which learns from features")
    check_parts(eval_set=validation.valid, **validation.parts())
    by_time = (validation.split or "").startswith("time")
    if by_time and time is None:
        raise ArgumentError(f"--split {validation.split} needs --column timestamp=NAME.")
    if time is not None and not by_time:
        raise ArgumentError("--column timestamp=NAME needs --split time or time-per-user.")
    fitted = _chosen(job, time) if model.model == AUTO else _fitted(job, time)
    _finish(job, *fitted)


def _chosen(job: Job, time: str | None) -> tuple[Any, Features, list[str]]:
    """Choose a ranker on validation rows; return it, the training rows and no notes."""
    from podium.data.features import labels
    from podium.rankers.validation import are_grades

    rows = _read(job, job.data, time=time)
    relevance = labels(job.data[0], rows)
    are_graded = job.model.min_relevance is None and are_grades(relevance)
    measure = f"{'ndcg' if are_graded else 'pap'}@{job.model.k or DEFAULT_K}"
    data = {"X": rows.X, "y": relevance, "qid": rows.qid, "eval_set": _eval_set(job, rows)}
    options = job.tuning.limits() | {"measure": job.validation.eval_metric or measure}
    result = _searched(job, AUTO, data, time, "choosing", chosen, **options)
    say_choice(result)
    return result.estimator, rows, []


def _fitted(job: Job, time: str | None) -> tuple[Any, Features, list[str]]:
    """Fit a ranker, with the parameters that are best on validation rows if there is a search.

    Return it, the training rows, and what a search or validation found as texts.
    """
    from podium.data.features import check_scalable, labels
    from podium.rankers.scaling import folded, scaled
    from podium.tuning import labels as checks
    from podium.tuning.fitting import last_step, takes

    model = job.model
    estimator, grid = _prepared(job)
    missing = _models.missing_allowed(estimator)
    rows = _read(job, job.data, time=time, missing=missing)
    rows = replace(rows, X=_models.accepted(rows.X, estimator))
    relevance = labels(job.data[0], rows)
    notes = [_left_out(rows)]
    if not rows.is_rating:  # which counts as positive, the user has to say
        loss = _models.graded_loss(model, relevance, grid, job.validation.eval_metric)
        if loss is not None:
            job = replace(job, model=replace(model, loss=loss))
            estimator, grid = _prepared(job)
            notes.insert(0, _grades_learned(relevance, loss))
    if model.min_relevance is None:
        if rows.is_rating:
            validated = job.tuning.tune or job.validation.is_given
            checks.check_ratings(job.data[0], estimator, grid, validated=validated)
        notes.insert(0, checks.grades_unread(relevance, estimator, grid, name=model.model))
    eval_set = _eval_set(job, rows, missing=missing)
    rows = _normalized_rows(rows, job.data[0], job)
    if _models.of_features(model, "standardize"):
        estimator = scaled(estimator, rows.X)
    if last_step(estimator) is not estimator:
        check_scalable(job.data, rows)
    item = rows.item if takes(last_step(estimator), "item") and rows.names_items else None
    for note in filter(None, notes):
        _messages.say(note)
    data = {"X": rows.X, "y": relevance, "qid": rows.qid, "item": item, "eval_set": eval_set}
    learned, results = _learned(job, estimator, grid, data, time)
    ranker = folded(learned)
    if _models.of_features(model, "query_norm"):
        ranker.query_norm_ = True
    if item is not None and ranker.pools_items and ranker.pool_share > 0:
        results.append("labels are pooled over items")
    return ranker, rows, results


def _learned(
    job: Job, estimator: Any, grid: list[dict[str, Any]], data: dict[str, Any], time: str | None
) -> tuple[Any, list[str]]:
    """Return the fitted estimator, and what a search or validation found as texts."""
    from podium import tuning as library
    from podium.tuning.fitting import last_step

    tuning = job.tuning
    if not tuning.tune and not job.validation.holds_out_data:
        with progress("training") as show:
            return library.fit(estimator, **data, progress=show), []
    more = tuning.limits() | {"grid": grid or {}, "n_jobs": tuning.jobs or 1}
    more["measure"] = last_step(estimator).eval_metric
    title = "tuning" if tuning.tune else "validating"
    result = _searched(job, estimator, data, time, title, describe, **more)
    return result.estimator, [describe(result)]


def _searched(
    job: Job, estimator: Any, data: Any, time: str | None, title: str, tell: Any, **more: Any
) -> Any:
    """Search with the options of the validation."""
    from podium import tuning as library
    from podium.data.interactions import times_of

    call = partial(
        library.search,
        estimator,
        **data,
        min_relevance=job.model.min_relevance,
        **job.validation.parts(),
        time=None if time is None else times_of(job.data[0], time),
        seed=job.tuning.seed,
        **more,
    )
    return run(call, title, job.tuning.tune_table, tell)


def _prepared(job: Job) -> tuple[Any, Any]:
    """Return the unfitted estimator and the grid of its search, both checked.

    The grid is the given one, or the default one without parameters that options fix.
    """
    from podium.tuning.searching import plan

    model, tuning, limits = job.model, job.tuning, job.tuning.limits()
    estimator = _models.make(model, job.validation.eval_metric, tuning.seed)
    if "budget" in limits:
        raise ArgumentError(
            "--budget must be a number of candidates for a model that learns from rows with "
            f"features, got the time {tuning.budget!r}."
        )
    if not tuning.tune:
        return estimator, []
    fixed = {*_models.given_parameters(model), *_models.assignments(model.set)}
    if "loss" in estimator.get_params(deep=False):
        fixed.discard("k")  # -k is the cutoff of the measure; the grid may have that of the loss
    grid = tuning.free_grid(estimator, {*fixed, *(f"loss__{name}" for name in fixed)})
    if tuning.grid is not None and "loss" in grid[0]:
        grid[0]["loss"] = [_models.loss_of(model, text) for text in grid[0]["loss"]]
        if job.validation.eval_metric is None:
            params = estimator.get_params(deep=False)
            like_first = type(estimator)(
                **params | {"loss": grid[0]["loss"][0], "eval_metric": None}
            )
            estimator.set_params(eval_metric=_models.measure_of(model, like_first))
    elif tuning.grid is not None and model.model == "linear" and "solver" not in grid[0]:
        _models.refuse_idle_steps(estimator, {name: f"--grid {name!r}" for name in grid[0]})
    plan(estimator, grid, limits.get("n_trials"), tuning.seed)
    return estimator, grid


def _read(
    job: Job,
    paths: list[Path],
    *,
    like: Features | None = None,
    time: str | None = None,
    missing: bool = False,
) -> Features:
    """Read rows to train on, or rows to validate on, with the same features as `like`."""
    from podium import data
    from podium.data.features import check_finite

    names = job.columns.names_by_role()
    features, ignored = map(_split, (job.columns.features, job.columns.ignore))
    rows = data.read_features(
        paths[0] if len(paths) == 1 else paths,
        user=names.get("user"),
        item=names.get("item"),
        relevance=names.get("relevance"),
        features=features if like is None else list(like.feature_names),
        ignore=[*(ignored or ()), *filter(None, [time])] if like is None else [],
        n_features=None if like is None else len(like.feature_names),
    )
    if not missing:
        check_finite(paths[0], rows)
    return rows


def _eval_set(job: Job, rows: Features, *, missing: bool = False) -> tuple[Any, Any, Any] | None:
    """Return the features, relevance and groups of the validation rows, or None without a file."""
    from podium.data.features import labels

    path = job.validation.valid
    if path is None:
        return None
    valid = _normalized_rows(_read(job, [path], like=rows, missing=missing), path, job)
    features: Any = valid.X
    if is_sparse(features) and not is_sparse(rows.X):  # a file with few values
        features = features.toarray()
    return features, labels(path, valid), valid.qid


def _normalized_rows(rows: Features, path: Path, job: Job) -> Features:
    """Return rows with their features normalised by query, with --set query_norm=true."""
    from podium.data.features import normalized

    return normalized(rows, path) if _models.of_features(job.model, "query_norm") else rows


def _split(texts: list[str] | None) -> list[str] | None:
    """Return the names in all texts, which are lists with commas; None if there are no texts."""
    names = (name.strip() for text in texts or () for name in text.split(","))
    return [name for name in names if name] if texts else None


def _finish(job: Job, model: Any, rows: Features, notes: list[str]) -> None:
    """Write the model, and print the data, the course of the fit and its result."""
    import numpy as np

    from podium import rankers

    model.feature_names_in_ = np.array(rows.feature_names, dtype=object)
    rankers.save(model, job.out)
    n_groups = np.unique(np.asarray(rows.qid)).size
    sizes = ((n_groups, "groups"), (len(rows.qid), "rows"), (len(rows.feature_names), "features"))
    counts = ", ".join(counted(n, names) for n, names in sizes)
    _messages.say(f"{counts}{_course(model)}")
    for note in filter(None, notes):
        _messages.say(note)
    _messages.say(f"{_result_summary(model, job.validation.valid)}wrote {job.out}")


def _course(model: Ranker) -> str:
    """Return the number of iterations, and the reason if a fit stopped before the last one."""
    report, unit = model.fit_report(), "iterations"
    if model.length_parameter == "n_trees":
        unit = "trees"
    if report.best_iteration is None:
        return ""
    made, n_kept = counted(report.n_iter or 0, unit), report.best_iteration + 1
    reason = "" if report.stop_reason in ("", "max_iter") else f" ({report.stop_reason})"
    kept = "" if n_kept == report.n_iter else f", of which the first {n_kept} are kept"
    return f"; {made}{reason}{kept}"


def _result_summary(model: Ranker, valid: Path | None) -> str:
    """Return the objective and the validation measure, as text."""
    report = model.fit_report()
    value = [] if math.isnan(report.objective) else [f"objective {report.objective:.6g}"]
    if valid is not None and not math.isnan(report.validation):
        value.append(f"{model.eval_metric} on {valid.name} {report.validation:.4f}")
    return f"{', '.join(value)}; " if value else ""


def _grades_learned(relevance: Any, loss: str) -> str:
    """Return a note that the loss was chosen because labels are grades."""
    from podium.tuning.labels import shown_grades

    return (
        f"labels have the grades {shown_grades(relevance)}, so that the loss is {loss}. "
        "--min-relevance X trains on labels 0 and 1 instead."
    )


def _left_out(rows: Features) -> str:
    """Return a note on columns that are no features because of their names."""
    if not rows.left_out:
        return ""
    return (
        f"not used as features: {', '.join(map(repr, rows.left_out))}. Columns of times, ids "
        "and row numbers are features only if --features names them."
    )
