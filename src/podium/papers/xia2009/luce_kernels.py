"""The compiled cross entropy of two Luce models over the first places of a list."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel


@kernel
def chances(values, taken, part, chance, other):
    """Write the softmax of the values not taken, and what is left of 1; return the logarithm.

    The result is (top, rest): logsumexp is ``top + log1p(rest)``. Neither chance nor what is
    left loses digits near 0. Taken values have a chance of 0.
    """
    lead = -1
    for i in range(values.size):
        if not taken[i] and (lead < 0 or values[i] > values[lead]):
            lead = i
    rest = 0.0
    for i in range(values.size):
        part[i] = 0.0 if taken[i] else np.exp(values[i] - values[lead])
        if i != lead:
            rest += part[i]
    inverse = 1.0 / (1.0 + rest)
    for i in range(values.size):
        chance[i] = part[i] * inverse
        other[i] = (1.0 + max(rest - part[i], 0.0)) * inverse
    other[lead] = rest * inverse
    return values[lead], rest


@kernel
def next_place(scores, grades, taken, weight, part, chance, wanted, sums):
    """Return weight times the cross entropy of the next place, given which rows are taken.

    `wanted` receives each row's ground-truth chance of that place; its slope and its chance by
    the scores are added to `slopes` and `bounds`. `chance` and `wanted` have two rows each: what
    is left of 1 is the second.
    """
    slopes, bounds = sums
    chances(grades, taken, part, wanted[0], wanted[1])
    top, rest = chances(scores, taken, part, chance[0], chance[1])
    behind = 0.0
    for i in range(scores.size):
        if not taken[i]:
            behind += 2.0 * (wanted[0, i] * (0.5 * top - 0.5 * scores[i]))  # inf * 0 is nan
            slope = wanted[1, i] * chance[0, i] - wanted[0, i] * chance[1, i]
            slopes[i] += weight * slope
            bounds[i] += weight * chance[0, i]
    return weight * (np.log1p(rest) + behind)


@kernel
def luce_entropy(scores, grades, depth, slopes, bounds):
    """Return a list's cross entropy over its first depth places; add its slopes and their bounds.

    Every prefix of fewer than depth rows is visited, depth first, with its ground-truth
    probability: `weight[d]` is that of the first d rows of the current one, `held[d]` the row
    after these.
    """
    n = scores.size
    taken = np.zeros(n, np.bool_)
    part, chance = np.empty(n), np.empty((2, n))
    wanted = np.empty((depth, 2, n))
    weight = np.ones(depth)
    held = np.full(depth, -1)
    sums = slopes, bounds
    total = next_place(scores, grades, taken, 1.0, part, chance, wanted[0], sums)
    d = 0
    while d >= 0 and depth > 1:
        if held[d] >= 0:
            taken[held[d]] = False
        i = held[d] + 1
        while i < n and (taken[i] or wanted[d, 0, i] == 0.0):
            i += 1
        if i == n:  # all rows have stood at this place
            held[d] = -1
            d -= 1
            continue
        held[d] = i
        taken[i] = True
        here = weight[d] * wanted[d, 0, i]
        after = d + 1
        total += next_place(scores, grades, taken, here, part, chance, wanted[after], sums)
        if after + 1 < depth:
            weight[after] = here
            d = after
    return total


@kernel
def luce_entropies(scores, grades, rows, offsets, depth, scale, out):
    """Add scale * the cross entropy of each list's first depth places; 0 leaves a list out.

    `grades`, the ground-truth scores, are in the order of `rows`. `grad` receives the gradient
    of the values' sum by the number of lists not left out, `curvature`, where not empty, the
    sums of probabilities.
    """
    values, grad, curvature = out
    n_used = 0
    for g in range(depth.size):
        n_used += depth[g] > 0
    for g in range(depth.size):
        if depth[g] == 0 or scale[g] == 0.0:
            continue
        lo, hi = offsets[g], offsets[g + 1]
        own = np.empty(hi - lo)
        for i in range(hi - lo):
            own[i] = scores[rows[lo + i]]
        slopes, bounds = np.zeros(hi - lo), np.zeros(hi - lo)
        values[g] += scale[g] * luce_entropy(own, grades[lo:hi], depth[g], slopes, bounds)
        step = scale[g] / n_used
        for i in range(hi - lo):
            grad[rows[lo + i]] += step * slopes[i]
            if curvature.size:
                curvature[rows[lo + i]] += step * bounds[i]
