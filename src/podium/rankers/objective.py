"""From a loss in score space to an objective in parameters: what every linear solver minimises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.types import Loss, PerRow

Parameters: TypeAlias = NDArray[np.float64]  # (n_features,), and the intercept last if there is one


@dataclass(frozen=True, eq=False)
class LinearObjective:
    """Mean group loss of ``X @ coef + intercept`` plus ``l2 / 2 * ||coef||^2``.

    The mean is over the groups on which the loss is defined. The intercept is not penalised.

    Attributes
    ----------
    features : float64, (n_rows, n_features)
        Dense or CSR.
    loss : Loss
    target : Any
        What ``loss.prepare`` returned for the same rows.
    l2 : float
        At least 0.
    has_intercept : bool
        The last parameter is an intercept.
    """

    features: Any
    loss: Loss
    target: Any
    l2: float = 0.0
    has_intercept: bool = False

    @property
    def n_parameters(self) -> int:
        """Coefficients, and the intercept if there is one."""
        return int(self.features.shape[1]) + self.has_intercept

    def split(self, parameters: Parameters) -> tuple[Parameters, float]:
        """Return the coefficients, as a view, and the intercept."""
        if not self.has_intercept:
            return parameters, 0.0
        return parameters[:-1], float(parameters[-1])

    def scores(self, parameters: Parameters) -> PerRow:
        """Return the score of each row."""
        coef, intercept = self.split(parameters)
        return times(self.features, coef) + intercept

    def value_and_grad(self, parameters: Parameters) -> tuple[float, Parameters]:
        """Return the objective and a (sub)gradient.

        Where scores overflow, the objective is infinite and the gradient nan, for the solver
        to stop at. A loss that is defined on no group gives nan.
        """
        coef, _ = self.split(parameters)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.scores(parameters)
            penalty = 0.5 * self.l2 * float(coef @ coef)
        if not (np.isfinite(scores).all() and np.isfinite(penalty)):
            return np.inf, np.full_like(parameters, np.nan)
        values, by_row = self.loss.value_and_grad(scores, self.target)
        grad = np.empty_like(parameters)
        grad[: coef.size] = transposed_times(self.features, by_row) + self.l2 * coef
        if self.has_intercept:
            grad[-1] = by_row.sum()
        return defined_mean(values) + penalty, grad


def times(features: Any, coef: Parameters) -> PerRow:
    """Return features @ coef. BLAS would sum in an order that depends on its thread count."""
    return features @ coef if hasattr(features, "tocsr") else np.einsum("ij,j->i", features, coef)


def transposed_times(features: Any, by_row: PerRow) -> Parameters:
    """Return features.T @ by_row, with the same bits for any number of BLAS threads."""
    if hasattr(features, "tocsr"):
        return by_row @ features
    return np.einsum("i,ij->j", by_row, features)


def defined_mean(values: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not nan, or nan where all are."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else np.nan
