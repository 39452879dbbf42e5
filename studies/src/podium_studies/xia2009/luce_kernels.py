"""The compiled cross entropy of two Luce models over the first places of a list."""

from __future__ import annotations

import numpy as np

from podium_studies.compiling import kernel


@kernel
def chances(values, is_placed, part, chance, complement):
    """Write the softmax p of the values without a place to `chance`, and 1 - p to `complement`.

    Return (top, rest), with which logsumexp is ``top + log1p(rest)``. Both p and 1 - p are precise
    near 0. Taken values have p = 0.
    """
    best = -1
    for i in range(values.size):
        if not is_placed[i] and (best < 0 or values[i] > values[best]):
            best = i
    rest = 0.0
    for i in range(values.size):
        part[i] = 0.0 if is_placed[i] else np.exp(values[i] - values[best])
        if i != best:
            rest += part[i]
    inverse = 1.0 / (1.0 + rest)
    for i in range(values.size):
        chance[i] = part[i] * inverse
        complement[i] = (1.0 + max(rest - part[i], 0.0)) * inverse
    complement[best] = rest * inverse
    return values[best], rest


@kernel
def next_place(scores, grades, is_placed, weight, part, chance, truth_chance, sums):
    """Return weight times the cross entropy of the next place after the rows with a place.

    The function writes the ground-truth probability of each row to `truth_chance`, and the
    probability by the scores to `chance`. Both have two rows, p and 1 - p. It adds weight times the
    gradient to `slopes` and weight times the probability by the scores to `bounds`.
    """
    slopes, bounds = sums
    chances(grades, is_placed, part, truth_chance[0], truth_chance[1])
    top, rest = chances(scores, is_placed, part, chance[0], chance[1])
    mean_gap = 0.0
    for i in range(scores.size):
        if not is_placed[i]:
            # Halve the scores, because an infinite difference times 0 would be nan.
            mean_gap += 2.0 * (truth_chance[0, i] * (0.5 * top - 0.5 * scores[i]))
            slope = truth_chance[1, i] * chance[0, i] - truth_chance[0, i] * chance[1, i]
            slopes[i] += weight * slope
            bounds[i] += weight * chance[0, i]
    return weight * (np.log1p(rest) + mean_gap)


@kernel
def luce_entropy(scores, grades, depth, slopes, bounds):
    """Return the cross entropy of a list over its first depth places; add its slopes and bounds.

    All prefixes of fewer than depth rows are visited, depth first. `weights[d]` is the ground-truth
    probability of the first d rows of the current prefix, and `prefix[d]` is the row after them.
    """
    n = scores.size
    is_placed = np.zeros(n, np.bool_)
    part, chance = np.empty(n), np.empty((2, n))
    truth_chances = np.empty((depth, 2, n))
    weights = np.ones(depth)
    prefix = np.full(depth, -1)
    sums = slopes, bounds
    total = next_place(scores, grades, is_placed, 1.0, part, chance, truth_chances[0], sums)
    d = 0
    while d >= 0 and depth > 1:
        if prefix[d] >= 0:
            is_placed[prefix[d]] = False
        i = prefix[d] + 1
        while i < n and (is_placed[i] or truth_chances[d, 0, i] == 0.0):
            i += 1
        if i == n:  # all rows have been at this place
            prefix[d] = -1
            d -= 1
            continue
        prefix[d] = i
        is_placed[i] = True
        prefix_weight = weights[d] * truth_chances[d, 0, i]
        next_depth = d + 1
        total += next_place(
            scores, grades, is_placed, prefix_weight, part, chance, truth_chances[next_depth], sums
        )
        if next_depth + 1 < depth:
            weights[next_depth] = prefix_weight
            d = next_depth
    return total


@kernel
def luce_entropies(scores, grades, rows, offsets, depth, scale, out):
    """Add scale * the cross entropy of the first depth places of each list to the values.

    A list with depth 0 or scale 0 is left out. `grades`, the ground-truth scores, are in the order
    of `rows`. The gradient of the sum of values, divided by the number of lists with depth > 0, is
    added to `grad`. The sums of probabilities are added to `curvature` if it is not empty.
    """
    values, grad, curvature = out
    n_used = 0
    for g in range(depth.size):
        n_used += depth[g] > 0
    for g in range(depth.size):
        if depth[g] == 0 or scale[g] == 0.0:
            continue
        lo, hi = offsets[g], offsets[g + 1]
        list_scores = np.empty(hi - lo)
        for i in range(hi - lo):
            list_scores[i] = scores[rows[lo + i]]
        slopes, bounds = np.zeros(hi - lo), np.zeros(hi - lo)
        values[g] += scale[g] * luce_entropy(list_scores, grades[lo:hi], depth[g], slopes, bounds)
        step = scale[g] / n_used
        for i in range(hi - lo):
            grad[rows[lo + i]] += step * slopes[i]
            if curvature.size:
                curvature[rows[lo + i]] += step * bounds[i]
