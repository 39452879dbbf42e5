"""The states of positives that a loss reads in a pass, from the factors before the pass."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, longest_group, sort_falling, summing_kernel
from podium.recommenders.factorization._loss_kernels import BPR

_FULL = 1e140  # a product above this is replaced by its logarithm before it overflows


@summing_kernel
def pair_scores(offsets, items, U, V, bias, scores):
    """Write the score of each pair."""
    for x in range(offsets.size - 1):
        for i in range(offsets[x], offsets[x + 1]):
            score = bias[items[i]]
            for j in range(U.shape[1]):
                score += U[x, j] * V[items[i], j]
            scores[i] = score


@kernel
def levels(offsets, items, scores, k, n_items, U, V, bias, sample, states):
    """Write each user's level: about the k-th greatest score among all items.

    The scores of the user's positives are known. Those of the other items are estimated from a
    sample of items, each of which stands for the same number of them.
    """
    is_positive = np.zeros(n_items, np.bool_)
    most = longest_group(offsets) + sample.size
    keys, weights = np.empty(most), np.empty(most)
    order, spare = np.empty(most, np.int64), np.empty(most, np.int64)
    for x in range(offsets.size - 1):
        lo, hi = offsets[x], offsets[x + 1]
        if lo == hi:
            continue
        n = 0
        for i in range(lo, hi):
            keys[n], weights[n] = scores[i], 1.0
            is_positive[items[i]] = True
            n += 1
        n_positives = n
        for y in sample:
            if not is_positive[y]:
                keys[n] = bias[y]
                for j in range(U.shape[1]):
                    keys[n] += U[x, j] * V[y, j]
                n += 1
        if n > n_positives:
            weights[n_positives:n] = (n_items - n_positives) / (n - n_positives)
        for i in range(n):
            order[i] = i
        sort_falling(keys, order, n, spare)
        counted, last = 0.0, 0
        while last < n - 1 and counted + weights[order[last]] < k:
            counted += weights[order[last]]
            last += 1
        for i in range(lo, hi):
            states[i] = keys[order[last]]
            is_positive[items[i]] = False


@kernel
def pair_sums(kind, only_unseen, offsets, items, U, V, bias, sums):
    """Write T of each positive: the sum of sigma(f(x, y) - f(x, y')) over the y' to compare with.

    log2(1 + 2**(f(x, y') - f(x, y))) equals log2(1 + 2**(top - f(x, y)) * 2**(f(x, y') - top)),
    where `top` is the best score. The last power is computed once per item and cannot overflow.
    """
    n_items, d = V.shape
    scores, power = np.empty(n_items), np.empty(n_items)
    is_excluded = np.zeros(n_items, np.bool_)
    scale = np.log2(np.e) if kind == BPR else 1.0
    for x in range(offsets.size - 1):
        lo, hi = offsets[x], offsets[x + 1]
        if lo == hi:
            continue
        top = -np.inf
        for y in range(n_items):
            score = np.float64(bias[y])
            for j in range(d):
                score += np.float64(U[x, j]) * np.float64(V[y, j])
            scores[y] = scale * score
            top = max(top, scores[y])
        for y in range(n_items):
            power[y] = 2.0 ** (scores[y] - top)
        if only_unseen:
            for i in range(lo, hi):
                is_excluded[items[i]] = True
        for i in range(lo, hi):
            y = items[i]
            if not only_unseen:
                is_excluded[y] = True
            sums[i] = _sum_of_costs(scores, power, is_excluded, scores[y], top)
            # A positive is compared with all other items, or only with unseen ones.
            is_excluded[y] = only_unseen
        for i in range(lo, hi):
            is_excluded[items[i]] = False


@kernel
def _sum_of_costs(scores, power, seen, score, top):
    """Return the sum of log2(1 + 2**(score' - score)) over unseen items, from logs of products."""
    total = 0.0
    # Far below the top a product could overflow; max(g, 0) + log2(1 + 2**-|g|) cannot.
    if top - score > 100.0:
        for z in range(scores.size):
            if not seen[z]:
                gap = scores[z] - score
                total += max(gap, 0.0) + np.log1p(2.0 ** -abs(gap)) / np.log(2.0)
        return total
    odds = 2.0 ** (top - score)
    product = 1.0
    for z in range(scores.size):
        if not seen[z]:
            product *= 1.0 + odds * power[z]
            if product > _FULL:
                total += np.log2(product)
                product = 1.0
    return total + np.log2(product)
