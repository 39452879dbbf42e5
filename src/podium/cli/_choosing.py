"""podium train --model auto for rows with features: the choice of a ranker on validation rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from podium.cli import _messages
from podium.cli._recommender_search import chosen, tried
from podium.cli._searching import Tuning, run
from podium.cli._training import AUTO, DEFAULT_K, Model, Validation
from podium.types import PerRow

if TYPE_CHECKING:
    from podium.data import Features


def choose_ranker(
    rows: Features,
    relevance: PerRow,
    eval_set: Any,
    times: Any,
    model: Model,
    validation: Validation,
    tuning: Tuning,
) -> Any:
    """Return the chosen ranker, fitted to all rows."""
    from podium import tuning as library
    from podium.rankers.validation import are_grades

    measure = "ndcg" if model.min_relevance is None and are_grades(relevance) else "pap"
    call = partial(
        library.search,
        AUTO,
        rows.X,
        relevance,
        rows.qid,
        eval_set=eval_set,
        measure=validation.eval_metric or f"{measure}@{model.k or DEFAULT_K}",
        min_relevance=model.min_relevance,
        **validation.parts(),
        time=times,
        seed=tuning.seed,
        **tuning.limits(),
    )
    result = run(call, "choosing", tuning.tune_table, chosen)
    for line in tried(result):
        _messages.say(line)
    _messages.say(chosen(result))
    return result.estimator
