"""Compiled counts of items above targets in tiles of users x items, and exact products of factors.

A tile is part of a matrix of scores, or of a matrix product, whose scores differ a little from the
exact ones. An item whose score in the tile is farther from the target's score than this difference
is decided at once. The others are near: their exact scores are computed, and equal ones are ordered
by the tie rule.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import AVERAGE, inlined, kernel, lane_dot, mix, sort_falling, tie_key

_PART = 256  # items among which near scores are searched, if there are any


class Targets(NamedTuple):
    """The targets of a block of users, one user after the other, by increasing item.

    `low` and `high` are the limits of near scores, which are equal if tiles have exact scores.
    `score` is the exact score, and `open` the positions of the targets that are still counted: the
    first `n_open` ones of each user's part.
    """

    offsets: Any
    item: Any
    grade: Any
    score: Any
    low: Any
    high: Any
    open: Any
    n_open: Any


class Hidden(NamedTuple):
    """The hidden items of each user, increasing, and the position of the next one to hide."""

    offsets: Any
    items: Any
    next: Any


@kernel
def count_tile(scores, columns, first, factors, targets, hidden, tie, lowest, most, above):
    """Add the items of a tile that rank above each open target, and close the settled targets.

    The tile consists of some columns of the scores: those of the items from number `first`. Targets
    with at least `most` items above are closed: their counts are not complete. Hidden items get the
    score `lowest`.
    """
    users, items = factors
    offsets, _, _, _, low, high, open_places, n_open = targets
    for u in range(scores.shape[0]):
        if n_open[u] == 0:
            continue
        row = scores[u][columns[0] : columns[1]]
        _hide(row, first, u, hidden, lowest)
        places = open_places[offsets[u] : offsets[u] + n_open[u]]
        n_kept = 0
        for t in places:
            for start in range(0, row.size, _PART):
                part = row[start : start + _PART]
                n_above, n_reaching = _count(part, low[t], high[t])
                above[t] += n_above
                if n_reaching > n_above:
                    above[t] += _count_near(
                        part, first + start, t, u, users[u], items, targets, tie
                    )
            places[n_kept] = t
            n_kept += above[t] < most
        n_open[u] = n_kept


@kernel
def count_near(place, user, item, score, targets, tie, above):
    """Add near items whose exact scores are known: (n,) each; `place` is that of the target."""
    for p in range(place.size):
        if item[p] != targets.item[place[p]]:
            stream = mix(tie.bits ^ mix(np.uint64(tie.first_user + user[p])))
            at, end = targets.offsets[user[p]], targets.offsets[user[p] + 1]
            at += np.searchsorted(targets.item[at:end], item[p])
            grade = targets.grade[at] if at < end and targets.item[at] == item[p] else 0.0
            target = _target(place[p], targets, tie, stream)
            above[place[p]] += _precedes(score[p], item[p], grade, target, tie, stream)


@kernel
def _hide(row, first, u, hidden, lowest):
    """Give the lowest score to the hidden items of a tile."""
    at, end = hidden.next[u], hidden.offsets[u + 1]
    while at < end and hidden.items[at] < first + row.size:
        row[hidden.items[at] - first] = lowest
        at += 1
    hidden.next[u] = at


@inlined
def _count(scores, low, high):
    """Return the numbers of scores above the limits of near scores, and of all that reach them."""
    n_above = n_reaching = np.uint32(0)
    for i in range(scores.size):  # in 32 bits, so that more comparisons fit into a vector
        n_above = np.uint32(n_above + np.uint32(scores[i] > high))
        n_reaching = np.uint32(n_reaching + np.uint32(scores[i] >= low))
    return n_above, n_reaching


@kernel
def _count_near(scores, first, t, u, user, items, targets, tie):
    """Return the number of items near a target that rank above it."""
    low, high, offsets, true_items, grades = targets.low[t], targets.high[t], *targets[:3]
    stream = mix(tie.bits ^ mix(np.uint64(tie.first_user + u)))
    target = _target(t, targets, tie, stream)
    at, end = offsets[u], offsets[u + 1]
    at += np.searchsorted(true_items[at:end], first)
    total = 0.0
    for i in range(scores.size):
        item = first + i
        if scores[i] >= low and scores[i] <= high and item != target.item:
            while at < end and true_items[at] < item:
                at += 1
            grade = grades[at] if at < end and true_items[at] == item else 0.0
            score = scores[i] if low == high else lane_dot(user, items[item])
            total += _precedes(score, item, grade, target, tie, stream)
    return total


class _Target(NamedTuple):
    """A target, with the key that orders it among items of equal score."""

    item: Any
    score: Any
    key: Any


@kernel
def _target(t, targets, tie, stream):
    item = targets.item[t]
    return _Target(item, targets.score[t], tie_key(tie.rule, targets.grade[t], item, stream))


@kernel
def _precedes(score, item, grade, target, tie, stream):
    """Return 1 if an item ranks above a target, else 0, or a share for equal scores ("average")."""
    if score != target.score:
        return 1.0 if score > target.score else 0.0
    if tie.rule == AVERAGE:
        return tie.share
    key = tie_key(tie.rule, grade, item, stream)
    return 1.0 if key > target.key or (key == target.key and item < target.item) else 0.0


@kernel
def pair_products(users, items, rows, columns, out):
    """Write the product of each pair of rows of both factors."""
    for p in range(rows.size):
        out[p] = lane_dot(users[rows[p]], items[columns[p]])


@kernel
def settle(users, items, slack, proposed_to, proposed, scores, best_items, best_scores, settled):
    """Write the best of the items proposed to each user, and whether they are certain.

    `slack` is a bound on the rounding error of each user's scores. The items are proposed to the
    users `proposed_to`, best first and filled with -1, with their scores in the matrix product. An
    item that was not proposed has at most the score of the last proposed item. The k best items
    are therefore certain if the k-th exceeds this score by more than the user's slack, or if all
    items were proposed.
    """
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
