"""Compiled robust losses of single rows; see `podium.losses.robust_kernels`."""

from __future__ import annotations

import numpy as np

from podium.losses.robust_kernels import rho
from podium_studies.compiling import kernel

_LN2, _LOG2_E = np.log(2.0), 1.0 / np.log(2.0)


@kernel
def robust_rows(scores, positive, index, share, kind, count, floor, out):
    """Add share * rho(sigma(y s)) of each row to its group's value; write the derivatives."""
    values, grad, curvature = out
    for i in range(scores.size):
        y = 1.0 if positive[i] else -1.0
        margin = y * scores[i]
        small = np.exp2(-abs(margin))  # at most 1, so that no score overflows
        right = 1.0 / (1.0 + small)
        wrong = small * right if margin > 0.0 else right
        bend = _LN2 * small * right * right
        value, slope = rho(kind, max(-margin, 0.0) + np.log1p(small) * _LOG2_E)
        values[index[i]] += share[i] * value
        grad[i] = -y * wrong * (slope * (share[i] / count))
        if curvature.size:
            curvature[i] = max(bend * (slope * share[i]), floor) / count
