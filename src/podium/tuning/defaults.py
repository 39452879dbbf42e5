"""The values that a search tries without a grid."""

from __future__ import annotations

from typing import Any

from podium.losses import Loss
from podium.rankers.estimator import Ranker
from podium.tuning.candidates import Params
from podium.tuning.fitting import last_step

_LINEAR: dict[str, list[Any]] = {
    "l2": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    "C": [1e-3, 1e-2, 1e-1, 1.0, 10.0],
}
_TREES: dict[str, list[Any]] = {"n_leaves": [7, 15, 31, 63], "learning_rate": [0.03, 0.1]}
_NEURAL: dict[str, list[Any]] = {
    "hidden": [0, 32],
    "learning_rate": [1e-3, 1e-2],
    "l2": [1e-5, 1e-3, 1e-1],
}
_THRESHOLDS = [10, 30, 100]  # per feature; with fewer thresholds RankBoost fits less noise
_STEPS = [0.1, 0.5, 2.0]  # first step lengths, for solvers with a free step length
_WIDER = (1, 3, 10)  # factors of the loss's own k


def default_grid(estimator: Any) -> Params:
    """Return the values that a search tries by default for an estimator of podium.

    The grid has the penalty, the step length of solvers that have one, the number of leaves and
    the learning rate of trees, the hidden units of a network, the thresholds of RankBoost, and 1,
    3 and 10 times the k of the loss. A loss often does best with a larger k than that of the
    measure, since more rows then have a gradient. The loss then clips k to the number of
    negatives of a group, so that a larger k excludes no group.

    Examples
    --------
    >>> from podium.rankers import LinearRanker
    >>> default_grid(LinearRanker("pap-ramp@10"))["loss__k"]
    [10, 30, 100]
    """
    last = last_step(estimator)
    params = last.get_params(deep=False)
    grid = _of_loss(last.loss_in_use() if isinstance(last, Ranker) else None)
    if "n_leaves" in params:
        return {**grid, **_TREES}
    if "hidden" in params:
        return {**grid, **_NEURAL}
    if "n_thresholds" in params:
        return {**grid, "n_thresholds": _THRESHOLDS}
    grid |= {name: values for name, values in _LINEAR.items() if name in params}
    if "learning_rate" in params and isinstance(last, Ranker) and last.has_free_steps():
        grid["learning_rate"] = _STEPS
    return grid


def _of_loss(loss: Any) -> Params:
    if not isinstance(loss, Loss) or loss.k is None:
        return {}
    clip = {"loss__clip": [True]} if "clip" in loss.parameters() else {}
    return {"loss__k": [n * loss.k for n in _WIDER], **clip}
