"""Compiled passes over proposed items: their scores in one order of adding up."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, sort_falling, summing_kernel


@summing_kernel
def _product(a, b):
    total = np.float32(0.0)
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@kernel
def settle(users, items, slack, asked, proposed, scores, found, best, settled):
    """Write each asked user's best items by their own scores, and whether these are beyond doubt.

    `proposed` and `scores` have a row for each of `asked`, best first, filled up with -1;
    `found` and `best` one for each user. Beyond doubt is the last item shown if it beats the last
    proposed by more than the user's slack, or if nothing was left to propose.
    """
    n_asked, width = proposed.shape
    k = found.shape[1]
    exact = np.empty(width, np.float32)
    keys = np.empty(width)
    order, spare = np.empty(width, np.int64), np.empty(width, np.int64)
    for a in range(n_asked):
        u = asked[a]
        n = 0
        while n < width and proposed[a, n] >= 0:
            exact[n] = _product(users[u], items[proposed[a, n]])
            keys[n] = -proposed[a, n]
            order[n] = n
            n += 1
        sort_falling(keys, order, n, spare)
        sort_falling(exact, order, n, spare)
        for i in range(min(k, n)):
            found[u, i] = proposed[a, order[i]]
            best[u, i] = exact[order[i]]
        settled[a] = (
            n < width or slack[u] == 0.0 or exact[order[k - 1]] > scores[a, width - 1] + slack[u]
        )
