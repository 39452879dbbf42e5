"""Constrained least squares: the value of each sampled rank, never rising with the rank."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from podium.errors import ConvergenceWarning
from podium.metrics import Measure
from podium.sampled._measures import all_rank_weights, rank_weights, read_measure
from podium.sampled.design import Design
from podium.sampled.estimators.base import LinearEstimator
from podium.sampled.estimators.moments import moments, project
from podium.sampled.estimators.registry import register

_SLACK = 1e-12  # of the optimality test, as a share of the gradient's terms


@register
@dataclass(frozen=True)
class CLS(LinearEstimator):
    """Least bias over equally likely ranks, by values that never rise with the sampled rank.

    The values may be negative.

    Notes
    -----
    For a measure of the top few ranks of a catalogue much larger than the sample, the solution
    has two values: one for rank 1, and one, slightly negative, for all others. The estimate then
    tells nothing but how often the target came first among the sampled items. That solution is
    known in closed form, and taken where it meets the conditions of optimality; otherwise the
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
    label: ClassVar[str] = "CLS"
    gives_distribution: ClassVar[bool] = False

    def values(self, design: Design, measure: str | Measure) -> NDArray[np.float64]:
        """Solve for what each sampled rank counts for; see `LinearEstimator.values`."""
        wanted = read_measure(measure)
        found = _two_values(design, rank_weights(wanted, design.n_items))
        return _bounded(design, wanted) if found is None else found


def _two_values(design: Design, wanted: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the best values that are equal from rank 2 on, unless others are better still.

    The gradient by the drop after each rank must not be negative, as every drop there is 0.
    """
    # Normal equations in the two unknowns: the drop after rank 1, and the value of all others.
    gram, right = moments(design, None).gram, project(design, wanted, None)
    small = np.array([[gram[0, 0], gram[0].sum()], [gram[0].sum(), gram.sum()]])
    first, others = np.linalg.solve(small, np.array([right[0], right.sum()]))
    values = np.concatenate([[first + others], np.full(design.n_outcomes - 1, others)])
    # A drop raises all values up to its rank by as much: its gradient is a running sum.
    by_drop = np.cumsum(gram @ values - right)
    slack = _SLACK * np.cumsum(np.abs(gram @ values) + np.abs(right))
    return values if first >= 0 and (by_drop >= -slack).all() else None


def _bounded(design: Design, wanted: Measure) -> NDArray[np.float64]:
    """Solve for the drops after each rank, at least 0, and the last value, of any sign."""
    n = design.n_outcomes
    left = _triangle(design, wanted)
    low = np.concatenate([np.zeros(n - 1), [-np.inf]])
    found = lsq_linear(left[:, :n], left[:, n], (low, np.inf), method="bvls", max_iter=20 * n)
    if not found.success:
        warnings.warn(
            f"CLS stopped after {found.nit} steps before the values of {wanted} were optimal: "
            f"{found.message}",
            ConvergenceWarning,
            stacklevel=4,
        )
    return np.cumsum(found.x[::-1])[::-1]


@lru_cache(maxsize=32)
def _triangle(design: Design, wanted: Measure) -> NDArray[np.float64]:
    """Return the triangular factor of all ranks' equations in the drops, right side last.

    Orthogonal steps block by block: the normal equations would lose half of the digits.
    """
    values = all_rank_weights(wanted, design.n_items)
    left = np.empty((0, design.n_outcomes + 1))
    for part, block in design.blocks():
        rows = np.column_stack([np.cumsum(block, axis=1), values[part]])
        left = np.asarray(np.linalg.qr(np.concatenate([left, rows]), mode="r"))
    return left
