"""The values that a search tries: those of a grid, or those of the estimator."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from podium import _check
from podium.errors import ArgumentError, arg
from podium.losses import Loss
from podium.rankers.estimator import Ranker
from podium.recommenders import Recommender
from podium.tuning.candidates import Grid, Params, checked_parts, parse_values
from podium.tuning.fitting import last_step, unknown_names

_PENALTIES: dict[str, list[Any]] = {
    "l2": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    "C": [1e-3, 1e-2, 1e-1, 1.0, 10.0],
}
_STEPS = [0.1, 0.5, 2.0]  # first step lengths, for solvers with a free step length
_CHOOSE = {"loss", "similarity"}  # parameters that choose one of the mappings
_WIDER = (1, 3, 10)  # factors of the loss's own k


def default_grid(estimator: Any, fixed: Collection[str] = ()) -> list[Params]:
    """Return the values that a search tries by default: one or several mappings.

    Parameters of the names in `fixed` keep the estimator's values. They are left out, and so are
    mappings for another loss or similarity than a fixed one.

    A recommender's class declares them (`Recommender.default_space`). A draw chooses one of the
    mappings, and then a value of each of its parameters.

    For a ranker, there is one mapping. It has the values that its class declares
    (`Ranker.default_grid`), or else the penalty, and the step length of solvers that have one. It
    also has 1, 3 and 10 times the k of the loss. A loss often does best with a larger k than that
    of the measure, since more rows then have a gradient. The loss then clips k to the number of
    negatives of a group, so that a larger k excludes no group.

    Raises
    ------
    ArgumentError
        If the class of a recommender declares no values.

    Examples
    --------
    >>> from podium.rankers import LinearRanker
    >>> from podium.recommenders import EASE
    >>> default_grid(LinearRanker("pap-ramp@10"))[0]["loss__k"]
    [10, 30, 100]
    >>> default_grid(EASE())
    [{'l2': LogUniform(low=10, high=10000), 'gain': ['value', 'one']}]
    """
    is_recommender = isinstance(estimator, Recommender)
    parts = _of_recommender(estimator) if is_recommender else [_of_rows(last_step(estimator))]
    for name in _CHOOSE & {*fixed}:  # the values of other parameters depend on them
        value = str(estimator.get_params(deep=False).get(name))
        parts = [part for part in parts if value in part.get(name, ())] or parts
    return [{n: values for n, values in part.items() if n not in fixed} for part in parts]


def checked_grid(estimator: Any, grid: Grid | None) -> list[Params]:
    """Return a grid, by default that of the estimator, whose names are parameters of it.

    Raises
    ------
    ArgumentError
        If the grid has another form, or the estimator lacks a parameter.
    """
    parts = checked_parts(default_grid(estimator) if grid is None else grid, "grid")
    last = last_step(estimator)
    known_names = sorted(last.get_params(deep=False))
    for name in unknown_names(estimator, dict.fromkeys(n for part in parts for n in part)):
        raise ArgumentError(
            f"{arg['grid', name]} is not a parameter of {type(last).__name__}."
            f"{_check.nearest(name, known_names)} The parameters are {_check.listed(known_names)}."
        )
    return parts


def _of_rows(estimator: Any) -> Params:
    params = estimator.get_params(deep=False)
    grid = _of_loss(estimator.loss_in_use() if isinstance(estimator, Ranker) else None)
    if isinstance(estimator, Ranker) and estimator.default_grid is not None:
        return {**grid, **{name: [*values] for name, values in estimator.default_grid.items()}}
    grid |= {name: values for name, values in _PENALTIES.items() if name in params}
    if "learning_rate" in params and isinstance(estimator, Ranker) and estimator.has_free_steps():
        grid["learning_rate"] = _STEPS
    return grid


def _of_recommender(recommender: Recommender) -> list[Params]:
    if recommender.default_space:
        return [
            {name: _values(values) for name, values in part.items()}
            for part in recommender.default_space
        ]
    name = type(recommender).__name__
    raise ArgumentError(
        f"{name} has no default grid. Pass grid={{parameter: values}}, for example "
        "grid={'l2': LogUniform(0.001, 1)}."
    )


def _values(values: Any) -> Any:
    return parse_values(values) if isinstance(values, str) else [*values]


def _of_loss(loss: Any) -> Params:
    if not isinstance(loss, Loss) or loss.k is None:
        return {}
    clip = {"loss__clip": [True]} if "clip" in loss.parameters() else {}
    return {"loss__k": [n * loss.k for n in _WIDER], **clip}
