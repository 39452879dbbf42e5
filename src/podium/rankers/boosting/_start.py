"""The start of boosting: a linear score of each row, learned before the first tree."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.losses import Logistic
from podium.progress import or_silent
from podium.rankers import inputs
from podium.rankers.objective import LinearObjective, dot, times
from podium.rankers.solvers import LBFGS, Settings
from podium.types import PerRow

Start: TypeAlias = NDArray[np.float64]  # (n_features + 1,): the coefficients, then the constant

STARTS = ("zero", "log-odds", "logistic")

_L2 = 1e-4  # penalty of the logistic regression, on features of unit variance
_SETTINGS = Settings(learning_rate=1.0, max_iter=1000, tol=1e-5)


def learn_start(
    kind: str, features: Any, positive: PerRow, weights: PerRow | None, qid: Any
) -> Start:
    """Return zeros, the log-odds of a positive, or a logistic regression over all rows."""
    start = np.zeros(int(features.shape[1]) + 1)
    if kind == "log-odds":
        start[-1] = _log_odds(positive, weights)
    if kind == "logistic":
        inputs.finite_features(
            features, qid, f"{arg.start('logistic')} needs finite features, but X"
        )
        start[:] = _logistic(features, positive, weights)
    return start


def start_scores(start: Start, features: Any) -> PerRow:
    """Return the score of each row before the first tree."""
    if not start[:-1].any():  # features may be nan, and 0 * nan is not 0
        return np.full(int(features.shape[0]), start[-1])
    return times(features, start[:-1]) + start[-1]


def _log_odds(positive: PerRow, weights: PerRow | None) -> float:
    share = float(np.average(positive, weights=weights))
    if not 0.0 < share < 1.0:
        raise ArgumentError(
            f"{arg.start('log-odds')} needs rows of both classes, got {int(positive.sum())} "
            f"positives among {positive.size} rows. Use {arg.start('zero')}."
        )
    return float(np.log(share / (1.0 - share)))


def _logistic(features: Any, positive: PerRow, weights: PerRow | None) -> Start:
    """Fit standardised features, and return the coefficients of the raw features."""
    if _check.is_sparse(features):
        raise ArgumentError(
            f"{arg.start('logistic')} needs dense features. Use {arg.start('log-odds')}."
        )
    units = _units(features)
    features = features / units
    mean, spread = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    spread[spread == 0.0] = 1.0
    scaled = ((features - mean) / spread).astype(features.dtype, copy=False)
    loss = Logistic()
    target = loss.prepare(positive, Groups.single(positive.size), weights=weights)
    objective = LinearObjective(scaled, loss, target, l2=_L2, has_intercept=True)
    coef, constant = objective.split(
        LBFGS.solve(objective, _SETTINGS, None, or_silent(None)).parameters
    )
    return np.append(coef / spread / units, constant - dot(coef / spread, mean))


def _units(features: Any) -> Any:
    """Return a power of two near each feature's size; squares of huge features would overflow."""
    largest = np.maximum(features.max(axis=0), -features.min(axis=0))
    exponents = np.frexp(largest)[1] - 1
    return np.ldexp(np.ones_like(largest), np.where(largest > 0, exponents, 0))
