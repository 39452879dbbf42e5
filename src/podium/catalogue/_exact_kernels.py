"""Compiled kernels that compute products of factors in a fixed order of summation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel, lane_dot, sort_falling


class Factors(NamedTuple):
    """The factors of users and items, and a bound on the rounding error of each user's scores."""

    users: Any
    items: Any
    slack: Any


class Proposals(NamedTuple):
    """Items proposed to some users, best first and filled with -1, and their scores.

    The scores are those of the matrix product.
    """

    user: Any
    items: Any
    scores: Any


class Best(NamedTuple):
    """The output: the best items of each user and their scores."""

    items: Any
    scores: Any


@kernel
def pair_products(users, items, rows, columns, out):
    """Write the product of each pair of rows of both factors."""
    for p in range(rows.size):
        out[p] = lane_dot(users[rows[p]], items[columns[p]])


@kernel
def settle(factors, proposals, best, settled):
    """Write the best of the items proposed to each user, and whether they are certain.

    An item that was not proposed has at most the score of the last proposed item. The k best items
    are therefore certain if the k-th exceeds this score by more than the user's slack, or if all
    items were proposed.
    """
    users, items, slack = factors
    proposed_to, proposed, scores = proposals
    best_items, best_scores = best
    n_users, width = proposed.shape
    k = best_items.shape[1]
    exact_scores = np.empty(width, users.dtype)
    item_keys = np.empty(width)
    order, buffer = np.empty(width, np.int64), np.empty(width, np.int64)
    for row in range(n_users):
        u = proposed_to[row]
        n_proposed = 0
        is_ordered = True
        while n_proposed < width and proposed[row, n_proposed] >= 0:
            i, item = n_proposed, proposed[row, n_proposed]
            exact_scores[i] = lane_dot(users[u], items[item])
            item_keys[i] = -item
            order[i] = i
            if i and not exact_scores[i - 1] > exact_scores[i]:
                is_equal = exact_scores[i - 1] == exact_scores[i]
                is_ordered &= is_equal and item_keys[i - 1] > item_keys[i]
            n_proposed += 1
        if not is_ordered:  # rare: rounding rarely changes the order of the product
            # By item first: the second sort is stable, so that equal scores stay ordered by item.
            sort_falling(item_keys, order, n_proposed, buffer)
            sort_falling(exact_scores, order, n_proposed, buffer)
        for i in range(min(k, n_proposed)):
            best_items[u, i] = proposed[row, order[i]]
            best_scores[u, i] = exact_scores[order[i]]
        # The slack is 0 if there is at most one term, which rounds the same in every order.
        settled[row] = (
            n_proposed < width
            or slack[u] == 0.0
            or exact_scores[order[k - 1]] > scores[row, width - 1] + slack[u]
        )
