"""A short fit on artificial rows, which finds wrong parameters before a long fit begins."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, cast

import numpy as np

from podium.errors import ArgumentError, PodiumError
from podium.losses import Loss
from podium.rankers.estimator import Ranker
from podium.rankers.fitting import NothingLearnedError
from podium.tuning import fitting

_FEW = 2  # iterations or trees
_NARROW = 50  # the largest k; the made-up groups have at least as many rows of each class


def rehearse(ranker: Ranker) -> None:
    """Fit a copy of a ranker, with few iterations, to a few artificial rows.

    Parameters
    ----------
    ranker : Ranker
        A ranker of podium; it is not changed.

    Raises
    ------
    ArgumentError
        If `fit` would refuse a parameter.
    MissingExtraError
        If a library is not installed.

    Examples
    --------
    >>> from podium.rankers import LinearRanker
    >>> rehearse(LinearRanker("pap-ramp@10", l2=-1.0))
    Traceback (most recent call last):
    podium.errors.ArgumentError: l2 must be a number >= 0, got -1.0.
    """
    params = ranker.get_params(deep=False)
    shortened = type(ranker)(**params).set_params(**_shorter(params, ranker.length_parameter))
    n = 2 * _NARROW + 2
    X = np.random.default_rng(0).standard_normal((2 * n, 2))
    relevance = np.tile([0.0, max(1.0, float(np.ceil(ranker.min_relevance_in_use())))], n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitting.fit(shortened, X, relevance, np.repeat([0, 1], n))
        except NothingLearnedError:
            pass  # this depends on the rows, which are artificial
        except PodiumError:
            raise
        except (TypeError, ValueError) as error:
            raise ArgumentError(str(error)) from error


def _shorter(params: dict[str, Any], length: str) -> dict[str, Any]:
    """Return changes that make a fit short; an invalid length stays invalid."""
    shorter: dict[str, Any] = {}
    if isinstance(params.get(length), int):
        shorter[length] = min(params[length], _FEW)
    if isinstance(params.get("k"), int):
        shorter["k"] = min(params["k"], _NARROW)
    loss: Any = params.get("loss")
    if isinstance(loss, Loss) and "k" in loss.parameters() and loss.k is not None:
        shorter["loss"] = dataclasses.replace(cast("Any", loss), k=1)
    return shorter
