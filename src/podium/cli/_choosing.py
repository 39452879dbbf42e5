"""podium train --model auto for rows with features: the choice of a ranker on validation rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli import _messages
from podium.cli._recommender_search import chosen, tried
from podium.cli._searching import run
from podium.cli._training import AUTO, FeatureColumns, Model, Tuning, Validation

if TYPE_CHECKING:
    from podium.data import Features


def choose_ranker(
    data: list[Path],
    model: Model,
    validation: Validation,
    tuning: Tuning,
    columns: FeatureColumns,
    read: Callable[..., Features],
) -> tuple[Any, Features]:
    """Return the chosen ranker, fitted to all rows, and these rows."""
    from podium import tuning as library
    from podium.data.feature_checks import labels
    from podium.data.interactions import times_of
    from podium.rankers.validation import are_grades
    from podium.tuning.of_rows import check_parts

    time = columns.name_of("timestamp")
    check_parts(
        eval_set=validation.valid,
        n_folds=validation.folds,
        split=validation.split,
        valid=validation.valid_share,
    )
    rows = read(data, columns, also_ignore=time)
    relevance = labels(data[0], rows)
    eval_set = None
    if validation.valid is not None:
        others = read([validation.valid], columns, like=rows)
        eval_set = (others.X, labels(validation.valid, others), others.qid)
    measure = "ndcg" if model.min_relevance is None and are_grades(relevance) else "pap"
    call = partial(
        library.search,
        AUTO,
        rows.X,
        relevance,
        rows.qid,
        eval_set=eval_set,
        measure=validation.eval_metric or f"{measure}@{model.k or 10}",
        min_relevance=model.min_relevance,
        n_folds=validation.folds,
        split=validation.split,
        valid=validation.valid_share,
        time=None if time is None else times_of(data[0], time),
        seed=tuning.seed,
        **tuning.limits(),
    )
    result = run(call, "choosing", tuning.tune_table, chosen)
    for line in tried(result):
        _messages.say(line)
    _messages.say(chosen(result))
    return result.estimator, rows
