"""The path of podium train for recommenders, which learn from events of users and items."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from podium import _check
from podium._files import is_stream
from podium.cli import _messages
from podium.cli import _recommender_notes as _notes
from podium.cli import _recommender_search as _search
from podium.cli._cluster import Work
from podium.cli._messages import progress
from podium.cli._models import OF_RECOMMENDERS, assignments, make_recommender
from podium.cli._options import check_target
from podium.cli._searching import Tuning, run
from podium.cli._training import (
    AUTO,
    FeatureColumns,
    Interactions,
    Model,
    Validation,
)
from podium.errors import ArgumentError, DataError, arg

if TYPE_CHECKING:
    from podium.data import Interactions as Events

EVENTS = "events"
_OF_EVENTS = frozenset({"gain", "columns", "format", "refit", "resume", "ray", "workers"})
_SHARED = frozenset(
    {
        *("data", "out", "model", "loss", "set", "min_relevance", "seed"),
        *("valid", "valid_share", "split", "eval_metric"),
        *("tune", "grid", "budget", "tune_table", "column"),
    }
)
"""Options of podium train that recommenders have too."""
_OF_CHOICE = (_SHARED | _OF_EVENTS) - frozenset(
    {"loss", "set", "tune", "grid", "resume", "gain", "ray", "workers"}
)
"""Options that have an effect with --model auto and events."""
OF_RANKERS = frozenset(
    {"data", "out", "model", "min_relevance", "k", "seed", "budget", "tune_table", "column"}
    | {"valid", "valid_share", "split", "folds", "eval_metric", "features", "ignore"}
)
"""Options that have an effect with --model auto and rows with features."""


@dataclass(frozen=True)
class Job:
    """A fit of a recommender: the options of podium train."""

    context: typer.Context
    data: list[Path]
    out: Path
    model: Model
    validation: Validation
    search: Tuning
    columns: FeatureColumns
    interactions: Interactions
    work: Work

    @property
    def chooses(self) -> bool:
        """Whether the model is chosen from the portfolio."""
        return self.model.model == AUTO

    @property
    def min_relevance(self) -> float | None:
        """The lowest value of a positive pair."""
        return self.model.min_relevance

    @property
    def gain(self) -> str:
        """The weight of a pair; --tune tries others, unless an option decides."""
        return self.interactions.weight(self.min_relevance)

    def read(self, paths: list[Path], *, timed: bool = False) -> Events:
        """Read events, with their times if the model needs them; several files are one table."""
        from podium.data.interactions import joined, read_weighted

        options = self.columns.names_by_role() | self.interactions.of_file()
        return joined([read_weighted(path, **options, timed=timed) for path in paths])

    def with_valid(self, valid: Path) -> Job:
        """Return the fit to the rows of training and validation, without a search."""
        return replace(
            self,
            data=[*self.data, valid],
            validation=replace(self.validation, valid=None),
            search=replace(self.search, tune=False),
            interactions=replace(self.interactions, refit=False),
            work=replace(self.work, resume=False),
        )

    def search_options(self) -> dict[str, Any]:
        """Return the arguments of `podium.tuning.search` that every search has."""
        return {
            **self.validation.parts(),
            "measure": self.validation.eval_metric,
            **self.search.limits(),
            "refit": False,
            "seed": self.search.seed,
        }

    def check(self) -> None:
        """Refuse options that contradict each other and files that can't be used."""
        from podium.data.files import File
        from podium.tuning.of_rows import check_parts

        share, valid = self.validation.valid_share, self.validation.valid
        check_target(self.out, "--out", ("",))
        File.of(self.data[0], "interactions")
        if valid is not None:
            File.of(valid, "pairs to validate on")
        self.work.check()
        if not self.chooses:
            self.search.check_tune()
            if share is not None and not self.search.tune:
                raise ArgumentError("--valid-share needs --tune.")
            if self.validation.split is not None and not self.search.tune:
                raise ArgumentError("--split needs --tune with a recommender.")
        check_parts(eval_set=valid, split=self.validation.split, valid=share)
        if self.interactions.refit and valid is None:
            raise ArgumentError("--refit needs --valid, the rows to learn from as well.")
        self.search.limits()


def fit(model: Any, job: Job) -> None:
    """Read the events, choose the model or its parameters if asked, fit it and write it."""
    is_tuned, resume = job.search.tune, job.work.resume
    if resume and not is_tuned and not model.makes_passes:
        raise ArgumentError(
            "--resume needs --tune with this model, whose fit is not made in passes. Leave it out."
        )
    checkpoint = _checkpoint(job.out, resume=resume)
    searched = None if checkpoint is None or not is_tuned else checkpoint.with_suffix(".search")
    fixed = _search.stated_names(job.context)
    if job.min_relevance is not None:
        fixed.add("gain")
    grid = _search.grid(model, job.search, fixed) if is_tuned else []
    with job.work.executor() as fit_executor:
        timed = _needs_times(model, grid, job)
        if not timed:
            job.columns.refuse(("timestamp",), "without --set half_life=DAYS or --split time")
        all_events = job.read(job.data, timed=timed)
        positives, not_positive = all_events.positives(job.min_relevance)
        others = {
            "eval_set": _read_valid(job, positives),
            "seen": None if not_positive is None else not_positive.seen_in(positives),
        }
        if model is None:
            model = _chosen(job, positives, others)
        _check_memory(model, positives)
        events = _counted(positives, model, job.gain)
        if is_tuned:
            _note_new_start(searched, "search", resume=resume)
            options: dict[str, Any] = {"grid": grid, "executor": fit_executor, **others}
            _tune(model, events, job, searched, **options, resume=resume)
            resume = resume and _is_later(checkpoint, searched)
        else:
            _note_new_start(checkpoint, "fit", resume=resume)
        added = job.validation.valid if job.interactions.refit else None
        seconds, n_passes = 0.0, 0
        if added is None or model.makes_passes:
            data = {"user_items": events, **others}
            seconds, n_passes = _fit(model, data, fit_executor, job.out, checkpoint, resume=resume)
    if added is None:
        _save(model, job.out, checkpoint)
    for file in (checkpoint, searched):
        if file is not None:
            file.unlink(missing_ok=True)
    if added is not None:
        if model.makes_passes:
            _messages.say(f"best pass {model.n_epochs_}: {_notes.cost_summary(model, added)}")
            model.set_params(n_epochs=model.n_epochs_)
        fit(model, job.with_valid(added))
        return
    weights = _notes.about_weights(model, all_events, positives, job.gain, job.min_relevance)
    days = _notes.about_days(model, all_events) if timed else []
    course = _notes.about_fit(model, job.validation.valid, job.out, seconds, n_passes)
    for line in (*weights, *days, *course):
        _messages.say(line)


def _counted(positives: Events, model: Any, gain: str) -> Events:
    """Return the pairs to learn from: each once, if neither the gain nor the model weights them."""
    if gain != "one" or model.reads_gain:
        return positives
    # A model that reads times counts each pair once itself.
    return replace(positives, value=None) if model.reads_times else positives.distinct()


def _tune(model: Any, events: Events, job: Job, checkpoint: Path | None, **options: Any) -> None:
    """Set the parameters that are best on validation pairs, and print the command to repeat."""
    from podium import tuning

    options |= job.search_options()
    note = "" if checkpoint is None else f"; --resume continues from {checkpoint}"
    outcome, table = _search.outcome, job.search.tune_table
    call = partial(tuning.search, model, events, checkpoint=checkpoint, **options)
    result = run(call, "tuning", table, lambda stopped: f"{outcome(stopped)}{note}.")
    _messages.say(outcome(result))
    model.set_params(**result.best_params)
    command = _search.repeated(
        job.context, result.best_params, OF_RECOMMENDERS, makes_passes=model.makes_passes
    )
    _messages.say(f"to repeat: {command}")


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

    call = partial(
        tuning.search,
        AUTO,
        events,
        **others,
        exclude_seen=task_of(job.data[0]) in (None, "new"),
        **job.search_options(),
    )
    try:
        result = run(call, "choosing", job.search.tune_table, _search.chosen)
    except tuning.Interrupted as stop:
        _save(stop.search.estimator, job.out, None)
        _messages.say(f"wrote {job.out}, which has not learned from the validation pairs")
        raise
    for line in _search.tried(result):
        _messages.say(line)
    _messages.say(_search.chosen(result))
    command = _search.repeated(
        job.context, result.best_params, OF_RECOMMENDERS | {"model"}, makes_passes=False
    )
    _messages.say(f"to repeat: {command}")
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


def _note_new_start(file: Path | None, noun: str, *, resume: bool) -> None:
    if file is not None and file.exists() and not resume:
        _messages.say(f"starting a new {noun}; --resume would have continued from {file}.")


def _is_later(checkpoint: Path | None, searched: Path | None) -> bool:
    """Return whether a checkpoint is from a fit that began after the search had ended."""
    if checkpoint is None or searched is None or not checkpoint.exists() or not searched.exists():
        return False
    return checkpoint.stat().st_mtime_ns >= searched.stat().st_mtime_ns


def _check_memory(model: Any, events: Events) -> None:
    """Refuse vectors that do not fit into the available memory."""
    from podium.data.ids import codes_of
    from podium.data.storage import available_memory

    n_factors = model.get_params(deep=False).get("n_factors", 0)
    bytes_per_vector, memory = 4 * n_factors, available_memory()
    if 2 * events.n_rows * bytes_per_vector <= memory:
        return
    n_users, n_items = (codes_of(ids)[1].size for ids in (events.user, events.item))
    needed = (n_users + n_items) * bytes_per_vector
    if needed > memory:
        raise ArgumentError(
            f"{arg.n_factors} {n_factors} needs {needed / 1e9:.3g} GB for the vectors of {n_users} "
            f"users and {n_items} items, but {memory / 1e9:.3g} GB of memory are free. Lower it."
        )


def _read_valid(job: Job, training_events: Events) -> Events | None:
    from podium.data.columns import is_rating

    path, low = job.validation.valid, job.min_relevance
    if path is None:
        return None
    events = job.read([path])
    if events.value is not None:
        events, _ = events.positives(low)
        zeros = _notes.zero_note(events, job.gain)
        if zeros:
            _messages.say(f"{path}: {zeros} not positive.")
        if low is None and is_rating(events.value_name):
            ratings = "every other rating" if zeros else "every rating"
            _messages.say(
                f"{path}: {ratings} is a positive. Pass --min-relevance X to keep those >= X."
            )
        if job.gain == "one":
            events = replace(events, value=None)
    known_events, n_left_out = events.known_to(training_events)
    if n_left_out:
        _messages.say(
            f"{path}: {n_left_out:,} of {events.n_rows:,} rows left out, because DATA "
            "lacks their user or item."
        )
    return known_events


def _fit(
    model: Any,
    data: Mapping[str, Events | None],
    workers: Any,
    out: Path,
    checkpoint: Path | None,
    *,
    resume: bool,
) -> tuple[float, int]:
    """Fit the model; return the seconds that it took and the number of passes.

    After an interrupt, the model of the last complete pass is saved.
    """
    tables = {name: events for name, events in data.items() if events is not None}
    n_passes, all_passes, start = 0, 0, time.perf_counter()
    try:
        if not model.makes_passes:
            with progress("training"):
                model.fit(**{name: table for name, table in tables.items() if name != "eval_set"})
            return time.perf_counter() - start, 0
        with progress("training") as show:

            def count(done: int, total: int, note: str) -> None:
                nonlocal n_passes, all_passes
                n_passes, all_passes = n_passes + 1, max(all_passes, total)
                show(done, total, note)

            model.fit(
                **tables,
                executor=workers,
                progress=count,
                checkpoint=checkpoint,
                resume=resume,
            )
    except KeyboardInterrupt:
        if model.makes_passes:
            _save_interrupted(model, all_passes, out, checkpoint)
        raise
    except MemoryError as error:
        has_factors = "n_factors" in model.get_params(deep=False)
        advice = f"Lower {arg.n_factors}." if has_factors else "Choose a model that needs less."
        raise ArgumentError(
            f"there is not enough memory for the fit ({error}). {advice}"
        ) from error
    return time.perf_counter() - start, n_passes


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


def _save_interrupted(model: Any, all_passes: int, out: Path, checkpoint: Path | None) -> None:
    """Write the model of an interrupted fit, and print how to continue."""
    is_kept = checkpoint is not None and checkpoint.exists()
    continuation = f"--resume continues from {checkpoint}" if is_kept else ""
    if not model.is_fitted:
        _messages.say("interrupted before the first pass was complete: no model was written.")
        return
    _save(model, out, checkpoint)
    n_passes, kept = _notes.passes_of(model), _notes.kept_pass(model)
    status = f"interrupted after pass {n_passes} of {all_passes}{kept}"
    _messages.say("; ".join(part for part in (status, f"wrote {out}", continuation) if part) + ".")


def train(job: Job) -> None:
    """Fit a recommender to a file of events."""
    model = job.model
    refuse_options(job.context, model.model, learns=EVENTS)
    _check.seed(job.search.seed)
    if model.min_relevance is not None:
        _check.positive(model.min_relevance, "--min-relevance")
    learns = f"with --model {model.model}, which learns from events"
    job.columns.refuse(("relevance",), learns)
    job.check()
    if "patience" in assignments(model.set) and job.validation.valid is None:
        raise ArgumentError("--set patience needs --valid, the validation pairs.")
    recommender = None
    if not job.chooses:
        recommender = make_recommender(model, _of_fit(job), job.search.seed)
    fit(recommender, job)


def can_choose(context: typer.Context) -> bool:
    """Return whether all given options have an effect on a choice among recommenders."""
    names = (str(parameter.name) for parameter in context.command.params)
    return all(name in _OF_CHOICE for name in names if _search.is_given(context, name))


def refuse_options(context: typer.Context, model: str, *, learns: str) -> None:
    """Refuse options that have no effect with a model, because it learns from other data."""
    for parameter in context.command.params:
        name = str(parameter.name)
        if learns == EVENTS:
            has_effect = name in (_OF_CHOICE if model == AUTO else _SHARED | _OF_EVENTS)
        else:
            has_effect = name in OF_RANKERS if model == AUTO else name not in _OF_EVENTS
        if _search.is_given(context, name) and not has_effect:
            raise ArgumentError(
                f"{max(parameter.opts, key=len)} has no effect with --model {model}, which learns "
                f"from {learns}. Leave it out."
            )


def _of_fit(job: Job) -> dict[str, Any]:
    """Return the parameters of the fit that depend on weights and validation pairs.

    Raises
    ------
    ArgumentError
        If an option has no effect without another one, or with this model.
    """
    from podium import recommenders
    from podium.metrics.measures import parse_relevance

    validation, (name, _) = job.validation, recommenders.REGISTRY.split(job.model.model)
    if validation.eval_metric is not None:
        parse_relevance(validation.eval_metric)
    cls = recommenders.REGISTRY[name]
    params: dict[str, Any] = {"gain": job.gain} if cls.reads_gain else {}
    if validation.eval_metric is not None and validation.valid is None and not job.search.tune:
        raise ArgumentError("--eval-metric needs --valid or --tune.")
    if not cls.makes_passes:
        if validation.valid is not None and not job.search.tune:
            raise ArgumentError(
                f"--valid needs --tune with --model {name}, which is not learned in passes "
                "of which the best one could be kept."
            )
        return params
    if validation.valid is None:
        return params
    return {**params, "eval_metric": validation.eval_metric}
