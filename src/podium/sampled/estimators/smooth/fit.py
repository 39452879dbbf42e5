"""Penalised maximum likelihood, and how likely the data are under each penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.sampled.estimators.smooth.prior import Prior

Floats = NDArray[np.float64]

_ROUGHNESS = 10.0 ** np.linspace(0.6, 3.6, 6)  # inverse variances of second differences
_EXPECTED = (2.4, 0.5)  # mean and standard deviation of log10 of it, from ml-1m
_MOST_STEPS = 40
_GAIN = 1e-3  # in log likelihood at which Newton's steps end
_LEAST_STEP = 1e-4
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Mode:
    """The likeliest coefficients under one penalty.

    Attributes
    ----------
    mass : float64, (n_groups, n_cells)
        Each group's distribution over cells.
    precision : float64, (n_coefficients, n_coefficients)
        Expected information plus penalty: the inverse of the coefficients' covariance.
    evidence : float
        Log of the marginal likelihood of the data, by Laplace's approximation.
    """

    coefficients: Floats
    mass: Floats
    precision: Floats
    evidence: float


def modes(prior: Prior, chances: Floats, counts: Floats) -> tuple[list[Mode], Floats]:
    """Fit under each roughness, and weigh the fits by how likely they make the data.

    Parameters
    ----------
    prior : Prior
    chances : float64, (n_cells, n_seen)
    counts : float64, (n_groups, n_seen)
        Users of each group with each observed outcome.

    Returns
    -------
    list of Mode, float64
        From the roughest, and their weights, with sum 1.
    """
    found: list[Mode] = []
    start = np.zeros(prior.design.shape[2])
    for roughness in _ROUGHNESS[::-1]:
        found.append(_climb(prior, roughness * prior.rough + prior.fixed, chances, counts, start))
        start = found[-1].coefficients
    mean, deviation = _EXPECTED
    logs = np.array([mode.evidence for mode in found])
    logs -= 0.5 * ((np.log10(_ROUGHNESS[::-1]) - mean) / deviation) ** 2
    weights = np.exp(logs - logs.max())
    return found, weights / weights.sum()


def _climb(prior: Prior, penalty: Floats, chances: Floats, counts: Floats, start: Floats) -> Mode:
    """Newton's method with the expected information, and steps halved until they gain."""
    point = start
    value, mass, mixed = _value(prior, penalty, chances, counts, point)
    for _ in range(_MOST_STEPS):
        slope, precision = _second_order(prior, penalty, chances, counts, point, mass, mixed)
        step = np.linalg.solve(precision, slope)
        gain = float(slope @ step)
        if gain < _GAIN:
            break
        length = 1.0
        tried = _value(prior, penalty, chances, counts, point + step)
        while tried[0] < value + 1e-4 * length * gain and length > _LEAST_STEP:
            length /= 2
            tried = _value(prior, penalty, chances, counts, point + length * step)
        if tried[0] <= value:
            break
        point = point + length * step
        value, mass, mixed = tried
    precision = _second_order(prior, penalty, chances, counts, point, mass, mixed)[1]
    evidence = value + 0.5 * (_log_det(penalty) - _log_det(precision))
    return Mode(point, mass, precision, evidence)


def _value(
    prior: Prior, penalty: Floats, chances: Floats, counts: Floats, point: Floats
) -> tuple[float, Floats, Floats]:
    """Return the penalised log likelihood, the mass of cells, and the chances of outcomes."""
    logs = prior.design @ point + prior.sizes
    mass = np.exp(logs - logs.max(axis=1, keepdims=True))
    mass /= mass.sum(axis=1, keepdims=True)
    mixed = np.maximum(mass @ chances, _TINY)
    value = float((counts * np.log(mixed)).sum() - 0.5 * point @ penalty @ point)
    return value, mass, mixed


def _second_order(
    prior: Prior,
    penalty: Floats,
    chances: Floats,
    counts: Floats,
    point: Floats,
    mass: Floats,
    mixed: Floats,
) -> tuple[Floats, Floats]:
    """Return the slope of the penalised log likelihood, and its expected curvature."""
    weighted = mass[:, :, None] * prior.design
    means = weighted.sum(axis=1)
    changes = np.matmul(chances.T, weighted) - mixed[:, :, None] * means[:, None, :]
    slope = np.einsum("jr,jrp->p", counts / mixed, changes) - penalty @ point
    users = counts.sum(axis=1, keepdims=True)
    scaled = changes * np.sqrt(users / mixed)[:, :, None]
    flat = scaled.reshape(-1, scaled.shape[2])
    return slope, flat.T @ flat + penalty


def _log_det(matrix: Floats) -> float:
    return 2.0 * float(np.log(np.diag(np.linalg.cholesky(matrix))).sum())
