"""The values that a search tries without a grid or a space."""

from __future__ import annotations

from typing import Any

from podium.errors import ArgumentError
from podium.losses import Loss
from podium.rankers.estimator import Ranker
from podium.recommenders import Recommender
from podium.tuning.candidates import Params, parse_values
from podium.tuning.fitting import last_step

_PENALTIES: dict[str, list[Any]] = {
    "l2": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    "C": [1e-3, 1e-2, 1e-1, 1.0, 10.0],
}
_STEPS = [0.1, 0.5, 2.0]  # first step lengths, for solvers with a free step length
_WIDER = (1, 3, 10)  # factors of the loss's own k


def default_space(recommender: Recommender) -> list[Params]:
    """Return the values that `search_recommender` draws from by default.

    A draw chooses one of the mappings, and then a value of each of its parameters.

    Raises
    ------
    ArgumentError
        If the class of the recommender declares no `default_space`.

    Examples
    --------
    >>> from podium.recommenders import EASE
    >>> default_space(EASE())
    [{'l2': LogUniform(low=10, high=10000), 'gain': ['value', 'one']}]
    """
    if recommender.default_space:
        return [
            {name: _values(values) for name, values in part.items()}
            for part in recommender.default_space
        ]
    name = type(recommender).__name__
    raise ArgumentError(
        f"{name} has no default space. Pass space={{parameter: values}}, for example "
        "space={'l2': LogUniform(0.001, 1)}."
    )


def default_grid(estimator: Any) -> Params:
    """Return the values that a search tries by default for an estimator of podium.

    The grid has the values that the class of the ranker declares (`Ranker.default_grid`), or else
    the penalty, and the step length of solvers that have one. It also has 1, 3 and 10 times the k
    of the loss. A loss often does best with a larger k than that of the measure, since more rows
    then have a gradient. The loss then clips k to the number of negatives of a group, so that a
    larger k excludes no group.

    Examples
    --------
    >>> from podium.rankers import LinearRanker
    >>> default_grid(LinearRanker("pap-ramp@10"))["loss__k"]
    [10, 30, 100]
    """
    last = last_step(estimator)
    params = last.get_params(deep=False)
    grid = _of_loss(last.loss_in_use() if isinstance(last, Ranker) else None)
    if isinstance(last, Ranker) and last.default_grid is not None:
        return {**grid, **{name: [*values] for name, values in last.default_grid.items()}}
    grid |= {name: values for name, values in _PENALTIES.items() if name in params}
    if "learning_rate" in params and isinstance(last, Ranker) and last.has_free_steps():
        grid["learning_rate"] = _STEPS
    return grid


def _values(values: Any) -> Any:
    return parse_values(values) if isinstance(values, str) else [*values]


def _of_loss(loss: Any) -> Params:
    if not isinstance(loss, Loss) or loss.k is None:
        return {}
    clip = {"loss__clip": [True]} if "clip" in loss.parameters() else {}
    return {"loss__k": [n * loss.k for n in _WIDER], **clip}
