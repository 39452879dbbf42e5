"""The path of podium train for recommenders, which learn from events of users and items."""

from __future__ import annotations

from typing import Any

import typer

from podium import _check
from podium.cli._models import make_recommender
from podium.cli._recommender_search import is_given
from podium.cli._recommending import Job, fit
from podium.cli._training import AUTO
from podium.errors import ArgumentError

EVENTS = "events"
_OF_EVENTS = frozenset(
    {"gain", "columns", "format", "refit", "resume", "threads", "ray", "workers"}
)
_SHARED = frozenset(
    {
        *("data", "out", "model", "loss", "l2", "learning_rate", "set", "min_relevance", "seed"),
        *("valid", "valid_share", "split", "eval_metric", "patience"),
        *("tune", "grid", "budget", "tune_table", "column"),
    }
)
"""Options of podium train that recommenders have too."""
_OF_CHOICE = (_SHARED | _OF_EVENTS) - frozenset(
    {"loss", "l2", "learning_rate", "set", "patience", "tune", "grid", "resume", "gain"}
    | {"threads", "ray", "workers"}
)
"""Options that have an effect with --model auto and events."""
OF_RANKERS = frozenset(
    {"data", "out", "model", "min_relevance", "k", "seed", "budget", "tune_table", "column"}
    | {"valid", "valid_share", "split", "folds", "eval_metric", "features", "ignore"}
)
"""Options that have an effect with --model auto and rows with features."""


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
    if job.solver.patience is not None and job.validation.valid is None:
        raise ArgumentError("--patience needs --valid, the validation pairs.")
    recommender = None
    if not job.chooses:
        recommender = make_recommender(model, job.solver, _of_fit(job), job.search.seed)
    fit(recommender, job)


def can_choose(context: typer.Context) -> bool:
    """Return whether all given options have an effect on a choice among recommenders."""
    names = (str(parameter.name) for parameter in context.command.params)
    return all(name in _OF_CHOICE for name in names if is_given(context, name))


def refuse_options(context: typer.Context, model: str, *, learns: str) -> None:
    """Refuse options that have no effect with a model, because it learns from other data."""
    for parameter in context.command.params:
        name = str(parameter.name)
        if learns == EVENTS:
            has_effect = name in (_OF_CHOICE if model == AUTO else _SHARED | _OF_EVENTS)
        else:
            has_effect = name in OF_RANKERS if model == AUTO else name not in _OF_EVENTS
        if is_given(context, name) and not has_effect:
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
    if not cls.reads_gain and job.gain == "exp2":
        raise ArgumentError(
            f"--gain exp2 has no effect with --model {name}, which counts each pair once. "
            "Leave it out."
        )
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
