"""Compiled robust losses of single rows; see `podium.losses.robust_kernels`."""

from __future__ import annotations

from podium.losses.robust_kernels import one_cost, rho
from podium_studies.compiling import kernel


@kernel
def robust_rows(scores, positive, index, share, form, count, floor, out):
    """Add share * rho(sigma(y s)) of each row to its group's value; write the derivatives."""
    kind, hinge = form
    values, grad, curvature = out
    for i in range(scores.size):
        y = 1.0 if positive[i] else -1.0
        cost, wrong, bend = one_cost(hinge, y * scores[i])
        value, slope = rho(kind, cost)
        values[index[i]] += share[i] * value
        grad[i] = -y * wrong * (slope * (share[i] / count))
        if curvature.size:
            curvature[i] = max(bend * (slope * share[i]), floor) / count
