"""The path of podium train for recommenders, which learn from events of users and items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from podium.cli._cluster import Work
from podium.cli._models import make_recommender
from podium.cli._recommender_search import is_given
from podium.cli._recommending import Job, fit
from podium.cli._training import FeatureColumns, Interactions, Model, Solver, Tuning, Validation

_OF_EVENTS = frozenset({"gain", "columns", "format", "resume", "threads", "ray", "workers"})
_SHARED = frozenset(
    {
        *("data", "out", "model", "loss", "l2", "learning_rate", "set", "min_relevance", "seed"),
        *("valid", "valid_share", "eval_metric", "patience"),
        *("tune", "grid", "budget", "tune_table", "column"),
    }
)
"""Options of podium train that recommenders have too."""


def train(
    context: typer.Context,
    data: list[Path],
    out: Path,
    *,
    model: Model,
    solver: Solver,
    validation: Validation,
    tuning: Tuning,
    columns: FeatureColumns,
    interactions: Interactions,
    work: Work,
) -> None:
    """Fit a recommender to a file of events."""
    from podium import _check
    from podium.errors import ArgumentError

    refuse_options(context, model.model, recommender=True)
    _check.seed(tuning.seed)
    if model.min_relevance is not None:
        _check.positive(model.min_relevance, "--min-relevance")
    learns = f"with --model {model.model}, which learns from events"
    columns.refuse(("relevance", "timestamp"), learns)
    job = Job(
        context=context,
        interactions=_only(data),
        out=out,
        reading={**columns.names_by_role(), **interactions.of_file()},
        min_relevance=model.min_relevance,
        gain=interactions.weight(model.min_relevance),
        validation=validation,
        search=tuning,
        work=work,
    )
    job.check()
    if solver.patience is not None and validation.valid is None:
        raise ArgumentError("--patience needs --valid, the validation pairs.")
    fitting = _of_fit(model, validation, tuning, interactions)
    recommender = make_recommender(model, solver, fitting, tuning.seed)
    fit(recommender, job)


def refuse_options(context: typer.Context, model: str, *, recommender: bool = False) -> None:
    """Refuse options that have no effect with a model, because it learns from other data."""
    from podium.errors import ArgumentError

    for parameter in context.command.params:
        name = str(parameter.name)
        has_effect = name in _SHARED | _OF_EVENTS if recommender else name not in _OF_EVENTS
        if is_given(context, name) and not has_effect:
            learns = "events" if recommender else "rows with features"
            raise ArgumentError(
                f"{max(parameter.opts, key=len)} has no effect with --model {model}, which learns "
                f"from {learns}. Leave it out."
            )


def _of_fit(
    model: Model, validation: Validation, tuning: Tuning, interactions: Interactions
) -> dict[str, Any]:
    """Return the parameters of the fit that depend on weights and validation pairs.

    Raises
    ------
    ArgumentError
        If an option has no effect without another one, or with this model.
    """
    from podium import recommenders
    from podium.errors import ArgumentError
    from podium.metrics import parse_relevance

    if validation.eval_metric is not None:
        parse_relevance(validation.eval_metric)
    cls = recommenders.REGISTRY[model.model]
    if not cls.reads_gain and interactions.gain == "exp2":
        raise ArgumentError(
            f"--gain exp2 has no effect with --model {model.model}, which counts each pair once. "
            "Leave it out."
        )
    gain = interactions.weight(model.min_relevance)
    params: dict[str, Any] = {"gain": gain} if cls.reads_gain else {}
    if validation.eval_metric is not None and validation.valid is None and not tuning.tune:
        raise ArgumentError("--eval-metric needs --valid or --tune.")
    if not cls.makes_passes:
        if validation.valid is not None and not tuning.tune:
            raise ArgumentError(
                f"--valid needs --tune with --model {model.model}, which is not learned in passes "
                "of which the best one could be kept."
            )
        return params
    if validation.valid is None:
        return params
    return {**params, "eval_metric": validation.eval_metric}


def _only(data: list[Path]) -> Path:
    from podium.errors import ArgumentError

    if len(data) > 1:
        raise ArgumentError(
            f"a recommender is trained on one file of events, got {len(data)}. Put them into one."
        )
    return data[0]
