"""Compiled passes over proposed items: their scores in one order of adding up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel, sort_falling, summing_kernel


class Factors(NamedTuple):
    """Factors of users and items, and how far a user's scores may be off by rounding."""

    users: Any
    items: Any
    slack: Any


class Proposals(NamedTuple):
    """Items proposed to some users and the scores they had then: best first, filled up with -1."""

    user: Any
    items: Any
    scores: Any


class Best(NamedTuple):
    """Output: the best items of each user and their scores."""

    items: Any
    scores: Any


@summing_kernel
def _product(a, b):
    """Return a dot product whose order of adding up depends on its length alone."""
    total = np.float32(0.0)
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@kernel
def settle(factors, proposals, best, settled):
    """Write the best of the items proposed to each user, and whether these are beyond doubt.

    An item that was not proposed scored no more than the last one that was. So the k-th best is
    beyond doubt if it beats that score by more than the user's slack, or if all were proposed.
    """
    users, items, slack = factors
    proposed_to, proposed, scores = proposals
    best_items, best_scores = best
    n_users, width = proposed.shape
    k = best_items.shape[1]
    exact = np.empty(width, np.float32)
    keys = np.empty(width)
    order, spare = np.empty(width, np.int64), np.empty(width, np.int64)
    for row in range(n_users):
        u = proposed_to[row]
        n = 0
        while n < width and proposed[row, n] >= 0:
            exact[n] = _product(users[u], items[proposed[row, n]])
            keys[n] = -proposed[row, n]
            order[n] = n
            n += 1
        # By rising item first: the second sort is stable, so that equal scores keep that order.
        sort_falling(keys, order, n, spare)
        sort_falling(exact, order, n, spare)
        for i in range(min(k, n)):
            best_items[u, i] = proposed[row, order[i]]
            best_scores[u, i] = exact[order[i]]
        # A slack of 0: one term or none, which rounds the same in every order.
        settled[row] = (
            n < width or slack[u] == 0.0 or exact[order[k - 1]] > scores[row, width - 1] + slack[u]
        )
