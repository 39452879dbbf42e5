"""Compiled passes over ranked lists. Each writes one number per group into `out`."""

from __future__ import annotations

from podium._kernels import kernel

LINEAR, EXP2, BINARY = 0, 1, 2


@kernel
def _worth(relevance, gain, min_relevance):
    if gain == LINEAR:
        return relevance
    if gain == BINARY:
        return 1.0 if relevance >= min_relevance else 0.0
    return 2.0**relevance - 1.0


@kernel
def discounted_gain(offsets, relevance, gain, min_relevance, weights, depth, out):
    """Sum of gain times weight over the first depth[g] ranks."""
    for g in range(offsets.size - 1):
        lo = offsets[g]
        total = 0.0
        for i in range(min(depth[g], offsets[g + 1] - lo)):
            total += _worth(relevance[lo + i], gain, min_relevance) * weights[i]
        out[g] = total


@kernel
def hit_precisions(offsets, relevance, min_relevance, depth, out, hits):
    """Sum of precision at each hit's rank over the first depth[g] ranks, and the hits."""
    for g in range(offsets.size - 1):
        lo = offsets[g]
        total = 0.0
        found = 0
        for i in range(min(depth[g], offsets[g + 1] - lo)):
            if relevance[lo + i] >= min_relevance:
                found += 1
                total += found / (i + 1.0)
        out[g] = total
        hits[g] = found


@kernel
def first_hit(offsets, relevance, min_relevance, depth, out):
    """Rank of the first hit among the first depth[g] ranks; inf without one."""
    for g in range(offsets.size - 1):
        lo = offsets[g]
        out[g] = float("inf")
        for i in range(min(depth[g], offsets[g + 1] - lo)):
            if relevance[lo + i] >= min_relevance:
                out[g] = i + 1.0
                break


@kernel
def cascade(offsets, relevance, top_grade, depth, out):
    """Expected reciprocal rank at which a reader who tires with each good item stops."""
    for g in range(offsets.size - 1):
        lo = offsets[g]
        reading = 1.0
        total = 0.0
        for i in range(min(depth[g], offsets[g + 1] - lo)):
            stop = (2.0 ** relevance[lo + i] - 1.0) / 2.0**top_grade
            total += reading * stop / (i + 1.0)
            reading *= 1.0 - stop
        out[g] = total


@kernel
def differs_from_ideal(offsets, relevance, ideal_offsets, ideal, depth, out):
    """1 where the first depth[g] ranks hold other grades than the best list's, else 0.

    Ranks below the list's end hold nothing, ranks below the ideal's end hold grade 0.
    """
    for g in range(offsets.size - 1):
        lo, best = offsets[g], ideal_offsets[g]
        n, n_best = offsets[g + 1] - lo, ideal_offsets[g + 1] - best
        out[g] = 0.0
        for i in range(min(depth[g], max(n, n_best))):
            got = relevance[lo + i] if i < n else 0.0
            wanted = ideal[best + i] if i < n_best else 0.0
            if got != wanted:
                out[g] = 1.0
                break


@kernel
def ordered_pairs(offsets, relevance, tied, min_relevance, top_pos, top_neg, out, settled):
    """Correctly ordered pairs of the top_pos[g] best positives and top_neg[g] best negatives.

    A positive at which q of those negatives have shown is above the rest of them. Where `tied`
    is not empty, pairs of one score count one half. settled[g] tells whether the list was long
    enough: all those positives or all those negatives have shown.
    """
    for g in range(offsets.size - 1):
        correct = 0.0
        pos = neg = 0
        i, hi = offsets[g], offsets[g + 1]
        while i < hi and pos < top_pos[g] and neg < top_neg[g]:
            new_pos = new_neg = 0
            while True:
                if relevance[i] >= min_relevance:
                    new_pos += 1
                else:
                    new_neg += 1
                i += 1
                if tied.size == 0 or i == hi or not tied[i - 1]:
                    break
            new_pos = min(new_pos, top_pos[g] - pos)
            new_neg = min(new_neg, top_neg[g] - neg)
            correct += new_pos * (top_neg[g] - neg - 0.5 * new_neg)
            pos += new_pos
            neg += new_neg
        out[g] = correct
        settled[g] = pos >= top_pos[g] or neg >= top_neg[g]
