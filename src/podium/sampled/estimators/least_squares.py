"""Estimators that solve least squares for the value of each sampled rank: BV and CLS."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import lsq_linear

from podium import _check
from podium.errors import ConvergenceWarning, warn
from podium.metrics import Measure
from podium.sampled.design import Design, Floats
from podium.sampled.distribution import (
    RankDistribution,
    all_rank_weights,
    rank_weights,
    read_measure,
)
from podium.sampled.estimators import LinearEstimator, register
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import expected, grid

_MOST_BYTES = 2**27  # of the cache: 1,600 designs of 100 negatives, or one of 4,000
_CELLS = 2**20  # the numbers in a block of probabilities
_FACTORS = 8  # a grid for 8 factors instead of 2 gives errors of 1e-13 instead of 1e-9
_MIN_EIGENVALUE = 1e-13  # eigenvalues below this share of the largest are rounding errors


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over equally likely ranks of the outcomes' probabilities A(R, r).

    See equation 12 of jin2021, whose matrix includes the root of the weights D of ranks.

    Attributes
    ----------
    gram : float64, (n_outcomes, n_outcomes)
        ``A' D A``.
    total : float64, (n_outcomes,)
        ``A' D 1``: the probability of each outcome.
    """

    gram: Floats
    total: Floats


_CACHE: OrderedDict[Design, Moments] = OrderedDict()


def moments(design: Design) -> Moments:
    """Return the sums over all ranks, which are equally likely."""
    # If each user has a separate catalogue, there are a thousand designs or more, and every
    # estimate needs all of them. Those used last are kept.
    if design in _CACHE:
        _CACHE.move_to_end(design)
        return _CACHE[design]
    gram, total = np.zeros((design.n_outcomes, design.n_outcomes)), np.zeros(design.n_outcomes)
    # A product of two probabilities is a smooth function of the rank, so that its sum over all
    # ranks follows from its values at a few nodes.
    margin = 0 if design.replacement else design.n_negatives
    nodes = grid(design.n_items, design.n_negatives, _FACTORS, margin)
    step = max(1, _CELLS // design.n_outcomes)
    for start in range(0, nodes.ranks.size, step):
        part = slice(start, start + step)
        block = design.probabilities(nodes.ranks[part])
        weighted = block * (nodes.weights[part] / design.n_items)[:, None]
        gram += weighted.T @ block
        total += weighted.sum(axis=0)
    sums = _CACHE[design] = Moments(gram, total)
    while len(_CACHE) > 1 and sum(cached.gram.nbytes for cached in _CACHE.values()) > _MOST_BYTES:
        _CACHE.popitem(last=False)
    return sums


def project(design: Design, values: Floats) -> Floats:
    """Return ``A' D b`` for the values b of the first ranks; b is 0 for other ranks."""
    products = np.zeros(design.n_outcomes)
    for part, block in design.blocks(values.size):
        products += (values[part] * (1.0 / design.n_items)) @ block
    return products


def solve(matrix: Floats, right_side: Floats) -> Floats:
    """Solve a system with a positive semi-definite matrix, scaled to a diagonal of ones.

    Unknowns with a diagonal of 0 belong to impossible outcomes and become 0.
    """
    root_diagonal = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.divide(1.0, root_diagonal, out=np.zeros_like(root_diagonal), where=root_diagonal > 0)
    scaled = matrix * scale[:, None] * scale
    scaled[root_diagonal == 0, root_diagonal == 0] = 1.0
    try:
        return cho_solve(cho_factor(scaled), right_side * scale) * scale
    except np.linalg.LinAlgError:
        # The matrix is numerically singular. The solution of least length has no component in the
        # directions of the smallest eigenvalues.
        values, vectors = eigh(scaled)
        is_kept = values > _MIN_EIGENVALUE * values[-1]
        basis = vectors[:, is_kept]
        return basis @ ((basis.T @ (right_side * scale)) / values[is_kept]) * scale


_SLACK = 1e-12  # the tolerance of the optimality test, as a share of the gradient's terms


@register
@dataclass(frozen=True)
class BV(LinearEstimator):
    """A trade-off of bias and variance: least squares with a share of the variance added.

    The estimator assumes that all ranks are equally likely. It minimises (1 - gamma) times the
    squared bias given the rank plus gamma times the mean squared error. With gamma = 1 it is the
    posterior mean of the measure under this prior.

    Parameters
    ----------
    gamma : float
        The weight of the variance, above 0 and at most 1. A smaller gamma gives less bias and more
        noise. With gamma = 0 the equations would have no stable solution.

    Notes
    -----
    `fit` gives the distribution whose expectations are the estimates: the differences of the
    estimated recall at neighbouring ranks. It sums to 1 and has negative probabilities.
    Cost: n_items n_outcomes ** 2 once per design, then n_items n_outcomes.

    References
    ----------
    krichene2020; jin2021, equations 10, 11 and 15.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 5], 9, 100)
    >>> estimator = BV(gamma=0.1)
    >>> round(estimator.estimate(ranks, "recall@5"), 6)
    0.549975
    >>> round(estimator.fit(ranks).expect("recall@5"), 6)
    0.549975
    """

    name: ClassVar[str] = "bv"
    constraints: ClassVar[_check.Constraints] = {
        "gamma": partial(_check.number, low=0.0, high=1.0, strict=True)
    }

    gamma: float = 0.1

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Solve for the value of each outcome; see `LinearEstimator.values`."""
        rank_values = rank_weights(read_measure(measure), design.n_items)
        return solve(self._trade_off(design), project(design, rank_values))

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Solve for the probability of each rank; see `Estimator.fit`."""
        mass = np.zeros(ranks.most_items)
        for design, counts in ranks.designs:
            # Equation 15 of jin2021 for all ranks at once. The matrix is symmetric, so that one
            # solution, for the row of counts, is enough.
            values = solve(self._trade_off(design), counts)
            mass[: design.n_items] += expected(design, values) / design.n_items
        return RankDistribution(mass / ranks.n_users, fewest_items=ranks.fewest_items)

    def _trade_off(self, design: Design) -> Floats:
        """Return the matrix of equation 11 of jin2021, before its inverse."""
        sums = moments(design)
        return (1.0 - self.gamma) * sums.gram + self.gamma * np.diag(sums.total)


@register
@dataclass(frozen=True)
class CLS(LinearEstimator):
    """The least bias over equally likely ranks, with values that never increase with the rank.

    The values may be negative.

    Notes
    -----
    For a measure of the top few ranks of a catalogue much larger than the sample, the solution
    has two values: one for rank 1 and one, slightly negative, for all other ranks. The estimate
    then only depends on how often the target came first among the sampled items. This solution has
    a closed form, which is used if it meets the conditions of optimality. Otherwise the
    bounded-variable problem is solved.

    References
    ----------
    krichene2020.

    Examples
    --------
    >>> CLS().values(Design(99, 3706), "recall@10").round(5)[:3].tolist()
    [0.467, -0.00205, -0.00205]
    """

    name: ClassVar[str] = "cls"
    gives_distribution: ClassVar[bool] = False

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Solve for the value of each sampled rank; see `LinearEstimator.values`."""
        parsed = read_measure(measure)
        outcome_values = _two_values(design, rank_weights(parsed, design.n_items))
        return _bounded(design, parsed) if outcome_values is None else outcome_values


def _two_values(design: Design, rank_values: Floats) -> Floats | None:
    """Return the best values that are equal from rank 2 on; None if other values are better.

    All drops after rank 2 or later are 0, so that the gradient in them must not be negative.
    """
    # Normal equations in two unknowns: the drop after rank 1, and the common value of the others.
    gram, right_side = moments(design).gram, project(design, rank_values)
    reduced_gram = np.array([[gram[0, 0], gram[0].sum()], [gram[0].sum(), gram.sum()]])
    reduced_side = np.array([right_side[0], right_side.sum()])
    first_drop, common_value = np.linalg.solve(reduced_gram, reduced_side)
    values = np.full(design.n_outcomes, common_value)
    values[0] += first_drop
    # A drop raises all values up to its rank equally, so that its gradient is a running sum.
    drop_gradient = np.cumsum(gram @ values - right_side)
    tolerance = _SLACK * np.cumsum(np.abs(gram @ values) + np.abs(right_side))
    return values if first_drop >= 0 and (drop_gradient >= -tolerance).all() else None


def _bounded(design: Design, measure: Measure) -> Floats:
    """Solve for the drops after each rank, which are at least 0, and for the last value."""
    n = design.n_outcomes
    equations = _triangle(design, measure)
    lowest = np.concatenate([np.zeros(n - 1), [-np.inf]])
    solution = lsq_linear(
        equations[:, :n], equations[:, n], (lowest, np.inf), method="bvls", max_iter=20 * n
    )
    if not solution.success:
        warn(
            f"CLS stopped after {solution.nit} steps before the values of {measure} were optimal: "
            f"{solution.message}",
            ConvergenceWarning,
        )
    return np.cumsum(solution.x[::-1])[::-1]


@lru_cache(maxsize=32)
def _triangle(design: Design, measure: Measure) -> Floats:
    """Return the triangular factor of all ranks' equations in the drops, with the right side last.

    It is computed by orthogonal steps, block by block, because the normal equations would lose half
    of the digits.
    """
    values = all_rank_weights(measure, design.n_items)
    factor = np.empty((0, design.n_outcomes + 1))
    for part, block in design.blocks():
        rows = np.column_stack([np.cumsum(block, axis=1), values[part]])
        factor = np.asarray(np.linalg.qr(np.concatenate([factor, rows]), mode="r"))
    return factor
