"""The objective of a linear model: a loss of its scores, as a function of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import read_only
from podium.groups import Groups
from podium.losses import Loss
from podium.losses.inputs import LIMIT
from podium.rankers._kernels import add_rows, csr_add_rows, csr_row_dots, row_dots
from podium.types import Keys, Mask, PerRow, RowIndex

Parameters: TypeAlias = NDArray[np.float64]  # (n_features,), plus the intercept at the end, if any

_PURPOSE = int.from_bytes(b"ties")  # larger than any pass number: other draws use [seed, pass]
_ALL = read_only(np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters with the value and gradient of the objective.

    Attributes
    ----------
    parameters : float64, (n_parameters,)
    loss : float
        The mean group loss, without the penalty.
    penalty : float
    grad : float64, (n_parameters,)
        A (sub)gradient of the objective, including the penalty.
    """

    parameters: Parameters
    loss: float
    penalty: float
    grad: Parameters

    @property
    def objective(self) -> float:
        return self.loss + self.penalty


@dataclass(frozen=True, eq=False)
class Labels:
    """The data that a loss's target was prepared from, for solvers that prepare parts of it.

    Attributes
    ----------
    relevance : float64, (n_rows,)
    groups : Groups
    weights : float64, (n_rows,), or None
    drawn : Groups, or None
        The same groups with their rows in the order in which keys are drawn; None for the
        caller's order.
    """

    relevance: PerRow
    groups: Groups
    weights: PerRow | None = None
    drawn: Groups | None = None

    @property
    def has_weight(self) -> Mask:
        """The mask of groups with a row of weight > 0."""
        if self.weights is None:
            return np.ones(self.groups.n_groups, np.bool_)
        return np.bincount(self.groups.index, self.weights, self.groups.n_groups) > 0

    def keys(self, loss: Loss, seed: int) -> dict[str, Keys]:
        """Return the argument of `prepare` that puts tied rows in an order; none without draws."""
        if not loss.draws:
            return {}
        groups = self.groups if self.drawn is None else self.drawn
        return {"keys": loss.draw(groups, np.random.default_rng([seed, _PURPOSE, 0]))}

    def target(self, loss: Loss, seed: int) -> Any:
        """Return the target of all rows, with ties broken by the seed."""
        options: dict[str, Any] = {"weights": self.weights, **self.keys(loss, seed)}
        return loss.prepare(self.relevance, self.groups, **options)


@dataclass(frozen=True, eq=False)
class LinearObjective:
    """The mean group loss of ``X @ coef + intercept`` plus ``l2 / 2 * ||coef||^2``.

    The mean is over the groups on which the loss is defined. The intercept is not penalised.

    Attributes
    ----------
    features : float32 or float64, (n_rows, n_features)
        The features, C-ordered or CSR. They are never copied; every sum is in float64.
    loss : Loss
    target : Any
        The result of ``loss.prepare`` for the same rows.
    l2 : float
        The penalty, at least 0.
    has_intercept : bool
        Whether the last parameter is an intercept.
    rows : int64, (n_chosen,), optional
        The positions in the features of the rows of `target` and `labels`; all rows by default.
    scale : float
        The factor of the loss: the share of a mini-batch.
    labels : Labels, optional
        The data that `target` was prepared from, for solvers that draw mini-batches.

    Notes
    -----
    A value with gradient costs one product with all chosen rows, the loss, and one product with
    those rows whose scores have a nonzero gradient.
    """

    features: Any
    loss: Loss
    target: Any
    l2: float = 0.0
    has_intercept: bool = False
    rows: RowIndex | None = None
    scale: float = 1.0
    labels: Labels | None = None

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def n_parameters(self) -> int:
        """The number of coefficients, plus one if there is an intercept."""
        return self.n_features + self.has_intercept

    def split(self, parameters: Parameters) -> tuple[Parameters, float]:
        """Return the coefficients, as a view, and the intercept."""
        if not self.has_intercept:
            return parameters, 0.0
        return parameters[:-1], float(parameters[-1])

    def scores(self, parameters: Parameters) -> PerRow:
        """Return the score of each chosen row."""
        coef, intercept = self.split(parameters)
        scores = times(self.features, coef, self.rows)
        return scores + intercept if self.has_intercept else scores

    def evaluate(self, parameters: Parameters) -> Point:
        """Return the objective, by its parts, and a (sub)gradient.

        If scores overflow, the loss is infinite and the gradient nan, and the solver stops. If
        the loss is defined on no group, it is nan.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            loss, by_row = self.loss_at(self.scores(parameters))
            penalty, grad = self.penalty(parameters)
            if by_row is None or not np.isfinite(penalty):
                return Point(parameters, np.inf, np.inf, np.full(self.n_parameters, np.nan))
            return Point(parameters, loss, penalty, grad + self.pull_back(by_row))

    def loss_at(self, scores: PerRow) -> tuple[float, PerRow | None]:
        """Return the mean loss of scores and its gradient by row; inf and None if they overflow.

        A line search needs only this, since scores are linear in the step.
        """
        return loss_at(self.loss, self.target, scores, self.scale)

    def pull_back(self, by_row: PerRow) -> Parameters:
        """Return the loss's gradient in the parameters from its gradient in the scores."""
        grad = np.empty(self.n_parameters)
        grad[: self.n_features] = transposed_times(self.features, by_row, self.rows)
        if self.has_intercept:
            grad[-1] = by_row.sum()
        return grad

    def penalty(self, parameters: Parameters) -> tuple[float, Parameters]:
        """Return ``l2 / 2 * ||coef||^2`` and its gradient, which is 0 for the intercept."""
        grad = self.l2 * parameters
        if self.has_intercept:
            grad[-1] = 0.0
        return 0.5 * dot(grad, parameters), grad


def loss_at(
    loss: Loss, target: Any, scores: PerRow, scale: float = 1.0
) -> tuple[float, PerRow | None]:
    """Return scale times the mean loss and its gradient by row; inf and None if scores overflow.

    The loss is nan if it is defined on no group.
    """
    if not (scores.size == 0 or max(scores.max(), -scores.min()) < LIMIT):
        return np.inf, None
    with np.errstate(over="ignore", invalid="ignore"):
        values, by_row = loss.value_and_grad(scores, target)
        if scale != 1.0:
            by_row = scale * by_row
        return scale * defined_mean(values), by_row


def times(features: Any, coef: Parameters, rows: RowIndex | None = None) -> PerRow:
    """Return features @ coef in float64, for all rows or the given ones.

    BLAS would copy float32 features, and its order of additions depends on its thread count.
    """
    out = np.empty(int(features.shape[0]) if rows is None else rows.size)
    chosen = _ALL if rows is None else read_only(rows)
    if rows is None or rows.size:
        dots = csr_row_dots if _check.is_sparse(features) else row_dots
        dots(*_arrays(features), chosen, read_only(coef), out)
    return out


def transposed_times(features: Any, by_row: PerRow, rows: RowIndex | None = None) -> Parameters:
    """Return features.T @ by_row in float64; rows whose by_row is 0 are not read."""
    out = np.zeros(int(features.shape[1]))
    chosen = _ALL if rows is None else read_only(rows)
    add = csr_add_rows if _check.is_sparse(features) else add_rows
    add(*_arrays(features), chosen, read_only(by_row), out)
    return out


def dot(one: Parameters, other: Parameters) -> float:
    """Return the inner product; the bits are the same for any number of BLAS threads."""
    return float(np.sum(one * other))


def defined_mean(values: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not nan, or nan if all are nan."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else np.nan


def _arrays(features: Any) -> tuple[NDArray[Any], ...]:
    if _check.is_sparse(features):
        return read_only(features.data), read_only(features.indices), read_only(features.indptr)
    return (read_only(features),)
