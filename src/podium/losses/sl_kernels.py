"""The compiled weights of SL@K."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel
from podium.losses.pap_kernels import select

_LEAST = 1e-300  # so that a list keeps a weight above 0


@kernel
def top_weights(scores, rows, offsets, positive, defined, k, temperature, truth, total):
    """Write sigmoid((score - k-th largest score) / temperature) of positives, and their sums.

    `truth` is in the order of `rows`, and 0 for negatives. A total is 0 for an undefined list.
    """
    best, places = np.empty(k), np.empty(k, np.int64)
    for g in range(defined.size):
        lo, hi = offsets[g], offsets[g + 1]
        if not defined[g]:
            continue
        n_best = min(k, hi - lo)
        select(scores, rows, lo, hi, n_best, 1.0, best, places)
        edge = best[n_best - 1]
        for i in range(lo, hi):
            if positive[rows[i]]:
                d = (scores[rows[i]] - edge) / temperature
                truth[i] = max(1.0 / (1.0 + np.exp(-d)), _LEAST)
                total[g] += truth[i]
