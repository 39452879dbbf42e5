"""The path of podium train for recommenders, which learn from events of users and items."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from podium import _check
from podium._files import is_stream
from podium.cli import _messages
from podium.cli import _recommender_notes as _notes
from podium.cli._messages import progress
from podium.cli._models import make_recommender
from podium.cli._searching import chosen, describe, run, say_choice, text_of
from podium.cli._training import AUTO, Job
from podium.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from podium.data import Interactions as Events


def train(job: Job) -> None:
    """Fit a recommender to files of events."""
    from podium.data.files import File
    from podium.tuning.of_rows import check_parts

    model, validation = job.model, job.validation
    if model.min_relevance is not None:
        _check.positive(model.min_relevance, "--min-relevance")
    job.columns.refuse(["relevance"], f"with --model {model.model}, which learns from events")
    if {".checkpoint", ".search"} & {path.suffix for path in job.data}:
        raise ArgumentError("DATA must not be the .checkpoint or .search of an interrupted fit.")
    File.of(job.data[0], "interactions")
    if validation.valid is not None:
        File.of(validation.valid, "pairs to validate on")
    check_parts(eval_set=validation.valid, split=validation.split, valid=validation.valid_share)
    job.tuning.limits()
    fit(None if model.model == AUTO else _prepared(job), job)


def _prepared(job: Job) -> Any:
    """Return the unfitted recommender.

    Raises
    ------
    ArgumentError
        If the model or a parameter is unknown, or an option has no effect with this model.
    """
    from podium import recommenders
    from podium.metrics.measures import parse_relevance

    validation, (name, _) = job.validation, recommenders.REGISTRY.split(job.model.model)
    cls = recommenders.REGISTRY[name]
    if validation.eval_metric is not None:
        parse_relevance(validation.eval_metric)
    if not cls.makes_passes and not job.tuning.tune:
        for option, given in {"--valid": validation.valid, "--resume": job.work.resume}.items():
            if given:
                raise ArgumentError(
                    f"{option} needs --tune with --model {name}, which is not learned in passes."
                )
    params: dict[str, Any] = {"gain": job.gain} if cls.reads_gain else {}
    if cls.makes_passes and validation.valid is not None:
        params["eval_metric"] = validation.eval_metric
    return make_recommender(job.model, params, job.tuning.seed)


def fit(model: Any, job: Job) -> None:
    """Read the events, choose the model or its parameters if asked, fit it and write it."""
    is_tuned, resume, low = job.tuning.tune, job.work.resume, job.model.min_relevance
    checkpoint = _checkpoint(job.out, resume=resume)
    searched = None if checkpoint is None or not is_tuned else checkpoint.with_suffix(".search")
    grid = _grid(model, job) if is_tuned else []
    with job.work.executor() as executor:
        timed = _needs_times(model, grid, job)
        if not timed:
            job.columns.refuse(("timestamp",), "without --set half_life=DAYS or --split time")
        all_events = job.read(job.data, timed=timed)
        positives, not_positive = all_events.positives(low)
        others = {
            "eval_set": _read_valid(job, positives),
            "seen": None if not_positive is None else not_positive.seen_in(positives),
        }
        if model is None:
            model = _chosen(job, positives, others)
        events = _counted(positives, model, job.gain)
        continued = searched or checkpoint
        if continued is not None and continued.exists() and not resume:
            _messages.say(f"starting anew; --resume would have continued from {continued}.")
        if is_tuned:
            _tune(model, events, job, searched, grid=grid, executor=executor, **others)
            resume = resume and _is_later(checkpoint, searched)
        added = job.validation.valid if job.interactions.refit else None
        start = time.perf_counter()
        if added is None or model.makes_passes:
            options = {"executor": executor, "checkpoint": checkpoint, "resume": resume}
            _fit(model, events, others, job.out, **options)
        seconds = time.perf_counter() - start
    if added is None:
        _save(model, job.out, checkpoint)
    for file in (checkpoint, searched):
        if file is not None:
            file.unlink(missing_ok=True)
    if added is not None:
        if model.makes_passes:
            _messages.say(f"best pass {model.n_epochs_}: {_notes.cost_summary(model, added)}")
            model.set_params(n_epochs=model.n_epochs_)
        fit(model, _with_valid(job, added))
        return
    weights = _notes.about_weights(model, all_events, positives, job.gain, low)
    days = _notes.about_days(model, all_events) if timed else []
    course = _notes.about_fit(model, job.validation.valid, seconds)
    for line in (*weights, *days, *course[:-1], f"{course[-1]}; wrote {job.out}"):
        _messages.say(line)


def _with_valid(job: Job, valid: Path) -> Job:
    """Return the fit to the rows of training and validation, without a search."""
    return replace(
        job,
        data=[*job.data, valid],
        validation=replace(job.validation, valid=None),
        tuning=replace(job.tuning, tune=False),
        interactions=replace(job.interactions, refit=False),
        work=replace(job.work, resume=False),
    )


def _counted(positives: Events, model: Any, gain: str) -> Events:
    """Return the pairs to learn from: each once, if neither the gain nor the model weights them."""
    if gain != "one" or model.reads_gain:
        return positives
    # A model that reads times counts each pair once itself.
    return replace(positives, value=None) if model.reads_times else positives.distinct()


def _grid(model: Any, job: Job) -> list[dict[str, Any]]:
    """Return the values to draw from: the given ones, or the default ones without fixed names."""
    from podium.tuning.candidates import checked_grid

    fixed = {name.removeprefix("set ") for name in job.given()}
    if job.model.min_relevance is not None:
        fixed.add("gain")
    return checked_grid(model, job.tuning.free_grid(model, fixed))


def _search_options(job: Job) -> dict[str, Any]:
    """Return the arguments of `podium.tuning.search` that every search has."""
    options = job.validation.parts() | job.tuning.limits()
    return options | {
        "measure": job.validation.eval_metric,
        "refit": False,
        "seed": job.tuning.seed,
    }


def _tune(model: Any, events: Events, job: Job, checkpoint: Path | None, **options: Any) -> None:
    """Set the parameters that are best on validation pairs, and print the command to repeat."""
    from podium import tuning

    options |= {**_search_options(job), "checkpoint": checkpoint, "resume": job.work.resume}
    note = "" if checkpoint is None else f"; --resume continues from {checkpoint}"
    call, table = partial(tuning.search, model, events, **options), job.tuning.tune_table
    result = run(call, "tuning", table, lambda stopped: f"{describe(stopped)}{note}.")
    _messages.say(describe(result))
    model.set_params(**result.best_params)
    params = dict(result.best_params)
    changes: dict[str, Any] = {"gain": params.pop("gain")} if "gain" in params else {}
    others = [text for text in job.model.set or () if text.partition("=")[0].strip() not in params]
    changes["set"] = [*others, *(f"{name}={text_of(value)}" for name, value in params.items())]
    _say_repeated(job, changes, is_validated=model.makes_passes)


def _say_repeated(job: Job, changes: dict[str, Any], *, is_validated: bool) -> None:
    """Print the command that fits the model without the search.

    If the fit is not validated, it also learns from the pairs of --valid with --refit.
    """
    left_out = {"tune", "grid", "budget", "valid_share", "split", "tune_table", "resume"}
    if not (is_validated and job.validation.valid):
        left_out |= {"valid", "eval_metric", "refit"}
        if job.interactions.refit:
            changes["data"] = [*job.data, job.validation.valid]
    given, words = job.given() | changes.keys(), list[str]()
    for parameter in job.context.command.params:
        name = str(parameter.name)
        if name not in given - left_out:
            continue
        value = changes.get(name, job.context.params[name])
        option = [] if name == "data" else [max(parameter.opts, key=len)]
        for text in cast("list[Any]", value if isinstance(value, list | tuple) else [value]):
            words += option if text is True else [*option, str(text)]
    _messages.say(f"to repeat: {shlex.join(['podium', 'train', *words])}")


def _needs_times(model: Any, grid: list[dict[str, Any]], job: Job) -> bool:
    """Return whether the times of events have an effect; else a wrong column does no harm."""
    if model is None or model.needs_times:
        return True
    return job.validation.split is not None or any("half_life" in part for part in grid)


def _chosen(job: Job, events: Events, others: Mapping[str, Events | None]) -> Any:
    """Return the model of the portfolio that is best on validation pairs, not fitted yet.

    After an interrupt, the best model so far is written.
    """
    from podium import recommenders, tuning
    from podium.data.splitting import task_of

    excludes = task_of(job.data[0]) in (None, "new")
    options = {**_search_options(job), "exclude_seen": excludes}
    call = partial(tuning.search, AUTO, events, **others, **options)
    try:
        result = run(call, "choosing", job.tuning.tune_table, chosen)
    except tuning.Interrupted as stop:
        _save(stop.search.estimator, job.out, None)
        _messages.say(f"wrote {job.out}, which has not learned from the validation pairs")
        raise
    say_choice(result)
    _say_repeated(job, dict(result.best_params), is_validated=False)
    return recommenders.get(result.best_params["model"])


def _checkpoint(out: Path, *, resume: bool) -> Path | None:
    """Return the path of the checkpoint, next to the output file; None for a device."""
    if not is_stream(out):
        return out.with_name(f"{out.name}.checkpoint")
    if resume:
        raise ArgumentError(
            f"--resume needs a checkpoint beside --out, but {out} is not a file. Pass a file as "
            "--out."
        )
    return None


def _is_later(checkpoint: Path | None, searched: Path | None) -> bool:
    """Return whether a checkpoint is from a fit that began after the search had ended."""
    if checkpoint is None or searched is None or not checkpoint.exists() or not searched.exists():
        return False
    return checkpoint.stat().st_mtime_ns >= searched.stat().st_mtime_ns


def _read_valid(job: Job, training_events: Events) -> Events | None:
    """Return the positive pairs of --valid whose user and item are in the training events."""
    path, low = job.validation.valid, job.model.min_relevance
    if path is None:
        return None
    events = job.read([path])
    if events.value is not None:
        positives, _ = events.positives(low)
        n_positives = positives.n_rows - _notes.n_weightless(positives, job.gain)
        _messages.say(f"{path}: {n_positives:,} of {events.n_rows:,} rows are positive.")
        events = replace(positives, value=None) if job.gain == "one" else positives
    known_events, n_left_out = events.known_to(training_events)
    if n_left_out:
        _messages.say(
            f"{path}: {n_left_out:,} of {events.n_rows:,} rows left out, because DATA "
            "lacks their user or item."
        )
    return known_events


def _fit(
    model: Any, events: Events, others: Mapping[str, Events | None], out: Path, **options: Any
) -> None:
    """Fit the model; after an interrupt, save that of the last complete pass."""
    tables = {name: table for name, table in others.items() if table is not None}
    if not model.makes_passes:
        tables.pop("eval_set", None)
        with progress("training"):
            model.fit(events, **tables)
        return
    try:
        with progress("training") as show:
            model.fit(events, **tables, **options, progress=show)
    except KeyboardInterrupt:
        if not model.is_fitted:
            _messages.say("interrupted before the first pass was complete: no model was written.")
            raise
        checkpoint: Path | None = options["checkpoint"]
        _save(model, out, checkpoint)
        is_kept = checkpoint is not None and checkpoint.exists()
        continuation = f"; --resume continues from {checkpoint}" if is_kept else ""
        passes = f"{_notes.passes_of(model)}{_notes.kept_pass(model)}"
        _messages.say(f"interrupted after pass {passes}; wrote {out}{continuation}.")
        raise


def _save(model: Any, out: Path, checkpoint: Path | None) -> None:
    """Write the model; if that fails, name the checkpoint, which holds the factors."""
    try:
        model.save(out)
    except OSError as error:
        remedy = f" The fit is in {checkpoint}. Free some space, and pass --resume."
        raise DataError(
            f"{out} can't be written: {error.strerror or error}."
            f"{'' if checkpoint is None else remedy}"
        ) from error
