"""The values that a search tries without a grid or a space."""

from __future__ import annotations

from typing import Any

from podium.errors import ArgumentError
from podium.losses import Loss
from podium.rankers.estimator import Ranker
from podium.recommenders import Recommender
from podium.tuning.candidates import Integers, LogUniform, Params, Uniform
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

_FACTORS: Params = {"n_factors": [64, 128, 256], "n_negatives": [128, 256]}
_ALS: Params = {"n_factors": [32, 64, 128, 256], "alpha": LogUniform(1, 100)}

_SPACES: dict[str, list[Params]] = {
    # The best steps and l2 depend on the loss and on the similarity.
    "Factorization": [
        {
            "loss": ["softmax", "softmax(temperature=0.7)"],
            "similarity": ["dot"],
            **_FACTORS,
            "learning_rate": LogUniform(0.05, 0.3),
            "l2": LogUniform(0.03, 0.4),
        },
        {
            "loss": [
                "softmax",  # with the temperature of the default
                *(f"softmax(temperature={t})" for t in (0.07, 0.085, 0.1, 0.12, 0.15, 0.18)),
            ],
            "similarity": ["cosine"],
            **_FACTORS,
            "learning_rate": LogUniform(0.1, 2.0),
            "l2": LogUniform(0.001, 0.02),
            "popularity": [0.0, 0.5],
        },
        {
            "loss": ["robirank"],
            "similarity": ["dot"],
            **_FACTORS,
            "learning_rate": LogUniform(0.05, 0.3),
            "l2": LogUniform(0.01, 0.12),
        },
    ],
    "Popularity": [{}],
    "EASE": [{"l2": LogUniform(10, 10_000)}],
    "ItemKNN": [{"k": [5, 10, 20, 50, 100, 200, 500, 1000]}],
    "ALS": [
        {**_ALS, "l2": LogUniform(0.0001, 0.1), "l2_power": [1.0]},
        {**_ALS, "l2": LogUniform(0.01, 100), "l2_power": [0.0]},
    ],
    "BPR": [
        {
            "n_factors": [32, 64, 128, 256],
            "learning_rate": LogUniform(0.003, 0.3),
            "l2": LogUniform(0.0001, 0.1),
        }
    ],
    "WARP": [
        {
            "n_factors": [32, 64, 128],
            "learning_rate": LogUniform(0.01, 0.3),
            "l2": LogUniform(1e-7, 1e-3),
            "max_sampled": [10, 30, 100],
        }
    ],
    "MultiVAE": [
        {
            "n_factors": [50, 100, 200],
            "hidden": [200, 600],
            "beta": Uniform(0.0, 1.0),
            "learning_rate": LogUniform(0.0003, 0.01),
        }
    ],
    "NeuMF": [
        {
            "n_negatives": Integers(2, 8),
            "learning_rate": LogUniform(0.0001, 0.01),
            "l2": LogUniform(1e-7, 1e-3),
        }
    ],
}
"""The space of each recommender, by the name of its class."""


def default_space(recommender: Recommender) -> list[Params]:
    """Return the values that `search_recommender` draws from by default.

    A draw chooses one of the mappings, and then a value of each of its parameters.

    Raises
    ------
    ArgumentError
        If the recommender is not one of podium, and has no default space.

    Examples
    --------
    >>> from podium.recommenders import EASE
    >>> default_space(EASE())
    [{'l2': LogUniform(low=10, high=10000)}]
    """
    for cls in type(recommender).__mro__:
        if cls.__name__ in _SPACES:
            return [dict(part) for part in _SPACES[cls.__name__]]
    name = type(recommender).__name__
    raise ArgumentError(
        f"{name} has no default space. Pass space={{parameter: values}}, for example "
        "space={'l2': LogUniform(0.001, 1)}."
    )


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
