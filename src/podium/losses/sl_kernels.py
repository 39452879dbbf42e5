"""The compiled weights of SL@K."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel

_LEAST = 1e-300  # so that a list keeps a weight above 0


@kernel
def _kth_largest(scores, rows, best):
    """Return the best.size-th largest score of the rows, or the smallest if there are fewer."""
    filled = 0
    for i in range(rows.size):
        score = scores[rows[i]]
        if filled < best.size:
            place = filled
            filled += 1
        elif score > best[filled - 1]:
            place = filled - 1
        else:
            continue
        while place > 0 and best[place - 1] < score:
            best[place] = best[place - 1]
            place -= 1
        best[place] = score
    return best[filled - 1]


@kernel
def top_weights(scores, rows, offsets, positive, defined, k, temperature, truth, total):
    """Write sigmoid((score - k-th largest score) / temperature) of positives, and their sums.

    `truth` is in the order of `rows`, and 0 for negatives. A total is 0 for an undefined list.
    """
    best = np.empty(k)
    for g in range(defined.size):
        lo, hi = offsets[g], offsets[g + 1]
        if not defined[g]:
            continue
        edge = _kth_largest(scores, rows[lo:hi], best)
        for i in range(lo, hi):
            if positive[rows[i]]:
                d = (scores[rows[i]] - edge) / temperature
                truth[i] = max(1.0 / (1.0 + np.exp(-d)), _LEAST)
                total[g] += truth[i]
