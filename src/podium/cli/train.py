"""The command podium train: a model for the top of the list, from features or from events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from podium import _check
from podium.cli import _rankers, _recommending
from podium.cli._models import is_recommender
from podium.cli._options import WRITTEN, check_target
from podium.cli._searching import Tuning
from podium.cli._training import AUTO, FeatureColumns, Interactions, Job, Model, Validation, Work


def train(
    *,
    context: typer.Context,
    data: Annotated[list[Path], typer.Argument()],
    out: Annotated[Path, WRITTEN, typer.Option("--out", "-o")],
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
    job = Job(context, data, out, model, validation, tuning, columns, interactions, work)
    if model.model not in ("", AUTO):
        reads_events = is_recommender(model.model)
    else:
        reads_events = job.can_choose() and _is_log(data[0], columns, interactions)
        model = replace(model, model=model.model or (AUTO if reads_events else "linear"))
    job = replace(job, model=model)
    job.check_options(reads_events=reads_events)
    check_target(out, "--out", ("",))
    check_target(tuning.tune_table, "--tune-table")
    _check.seed(tuning.seed)
    if reads_events:
        _recommending.train(job)
    else:
        _rankers.train(job)


def _is_log(path: Path, columns: FeatureColumns, file: Interactions) -> bool:
    """Return whether a file holds events, by the options and by its columns; False for a pipe."""
    from podium.data.interactions import is_log

    names = columns.names_by_role()
    if names.get("relevance") or columns.features or columns.ignore or not path.is_file():
        return False
    return bool(names.get("value")) or is_log(path, names, **file.of_file())
