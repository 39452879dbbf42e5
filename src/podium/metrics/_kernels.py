"""Compiled passes over ranked lists. Each pass writes one number per group into `out`."""

from __future__ import annotations

from podium._kernels import kernel

LINEAR, EXP2, BINARY = 0, 1, 2


@kernel
def _gain(relevance, kind, min_relevance):
    """Return the gain of a grade: the grade, 2**grade - 1, or whether it is a positive (0 or 1)."""
    if kind == LINEAR:
        return relevance
    if kind == BINARY:
        return 1.0 if relevance >= min_relevance else 0.0
    return 2.0**relevance - 1.0


@kernel
def discounted_gain(offsets, relevance, gain, min_relevance, weights, depth, out):
    """Sum gain times rank weight over the first depth[g] ranks: discounted cumulative gain."""
    for g in range(offsets.size - 1):
        lo = offsets[g]
        total = 0.0
        # A list may be shorter than its depth. The missing ranks have no gain.
        for i in range(min(depth[g], offsets[g + 1] - lo)):
            total += _gain(relevance[lo + i], gain, min_relevance) * weights[i]
        out[g] = total


@kernel
def hits_of_ties(offsets, relevance, tied, min_relevance, depth, out):
    """Count the positives in the first depth[g] ranks, as a mean over the orders of ties.

    Of a tie of n rows with h positives, the first m rows hold h m / n positives in the mean. All
    counts are integers, so that equal means are equal numbers.
    """
    for g in range(offsets.size - 1):
        start, hi = offsets[g], offsets[g + 1]
        end = min(offsets[g] + depth[g], hi)
        n_hits = 0
        new_hits = 0
        out[g] = 0.0
        for i in range(start, hi):
            if relevance[i] >= min_relevance:
                new_hits += 1
            if tied[i] and i + 1 < hi:
                continue
            n, n_above = i + 1 - start, min(i + 1, end) - start
            if n_above < n:  # the cutoff is within this tie
                out[g] = (n_hits * n + new_hits * n_above) / n
                break
            n_hits += new_hits
            out[g] = n_hits
            new_hits = 0
            start = i + 1
            if start >= end:
                break


@kernel
def hit_precisions(offsets, relevance, tied, min_relevance, depth, out, hits):
    """Sum precision@i over the ranks i <= depth[g] of the positives, and count these positives.

    The sum is the numerator of average precision. The caller divides it by one of several norms. If
    `tied` is not empty, all items of a tie have the last of their ranks, and a tie that ends below
    depth[g] does not count.
    """
    for g in range(offsets.size - 1):
        lo = offsets[g]
        total = 0.0
        n_hits = new_hits = 0
        for i in range(min(depth[g], offsets[g + 1] - lo)):
            if relevance[lo + i] >= min_relevance:
                new_hits += 1
            if new_hits and (tied.size == 0 or not tied[lo + i]):  # the last row of this score
                n_hits += new_hits
                total += new_hits * n_hits / (i + 1.0)
                new_hits = 0
        out[g] = total
        hits[g] = n_hits


@kernel
def first_hit(offsets, relevance, min_relevance, depth, out):
    """Find the rank of the first positive among the first depth[g] ranks.

    It is infinite without such a positive, so that its reciprocal is 0.
    """
    for g in range(offsets.size - 1):
        lo = offsets[g]
        out[g] = float("inf")
        for i in range(min(depth[g], offsets[g + 1] - lo)):
            if relevance[lo + i] >= min_relevance:
                out[g] = i + 1.0
                break


@kernel
def cascade(offsets, relevance, top_grade, depth, out):
    """Compute the expected reciprocal rank: the sum over ranks i of P(the reader stops at i) / i.

    A reader who reaches a rank stops there with probability
    R(grade) = (2**grade - 1) / 2**top_grade (chapelle2009). The quotient is the difference of two
    powers, which do not overflow.
    """
    for g in range(offsets.size - 1):
        lo = offsets[g]
        reaches = 1.0  # P(the reader reaches this rank): the product of 1 - R above it
        total = 0.0
        for i in range(min(depth[g], offsets[g + 1] - lo)):
            stops = 2.0 ** (relevance[lo + i] - top_grade) - 2.0**-top_grade
            total += reaches * stops / (i + 1.0)
            reaches *= 1.0 - stops
        out[g] = total


@kernel
def differs_from_ideal(offsets, relevance, ideal_offsets, ideal, depth, out):
    """Write 1 if the first depth[g] ranks and those of the best list differ in a grade, else 0.

    Ranks below the end of either list count as grade 0.
    """
    for g in range(offsets.size - 1):
        lo, ideal_lo = offsets[g], ideal_offsets[g]
        n, n_ideal = offsets[g + 1] - lo, ideal_offsets[g + 1] - ideal_lo
        out[g] = 0.0
        # The ideal list holds only grades above 0 and may include items that were not retrieved.
        # Either list may therefore be longer than the other.
        for i in range(min(depth[g], max(n, n_ideal))):
            grade = relevance[lo + i] if i < n else 0.0
            ideal_grade = ideal[ideal_lo + i] if i < n_ideal else 0.0
            if grade != ideal_grade:
                out[g] = 1.0
                break


@kernel
def preferences(offsets, relevance, judged, min_relevance, n_pos, n_neg, out):
    """Sum 1 - min(negatives above, n_pos) / min(n_pos, n_neg) over the positives of each list.

    Only judged items count; n_pos and n_neg are the numbers of judged positives and negatives, in
    the list or not.
    """
    for g in range(offsets.size - 1):
        total = 0.0
        above = 0
        for i in range(offsets[g], offsets[g + 1]):
            if relevance[i] >= min_relevance:
                total += 1.0 if above == 0 else 1.0 - min(above, n_pos[g]) / min(n_pos[g], n_neg[g])
            elif judged[i]:
                above += 1
        out[g] = total


@kernel
def ordered_pairs(offsets, relevance, tied, min_relevance, top_pos, top_neg, out, settled):
    """Count correctly ordered pairs of the top_pos[g] best positives and top_neg[g] best negatives.

    These are the pairs that equation 1 of hiranandani2020 does not count as errors. If `tied` is
    not empty, pairs of equal scores count one half. settled[g] is whether the list was long
    enough, that is, it holds all those positives or all those negatives.
    """
    for g in range(offsets.size - 1):
        correct = 0.0
        pos = neg = 0
        i, hi = offsets[g], offsets[g + 1]
        # Below the last positive that counts, no pairs remain. Below the last negative that
        # counts, every positive ranks below all these negatives.
        while i < hi and pos < top_pos[g] and neg < top_neg[g]:
            # The next run of equal scores, or the next rank if `tied` is empty.
            new_pos = new_neg = 0
            while True:
                if relevance[i] >= min_relevance:
                    new_pos += 1
                else:
                    new_neg += 1
                i += 1
                if tied.size == 0 or i == hi or not tied[i - 1]:
                    break
            # A run may hold more rows than remain to be counted. Its rows have the same score,
            # so that it does not matter which of them count.
            new_pos = min(new_pos, top_pos[g] - pos)
            new_neg = min(new_neg, top_neg[g] - neg)
            # Each new positive ranks above the later negatives and ties with those of the run.
            correct += new_pos * (top_neg[g] - neg - 0.5 * new_neg)
            pos += new_pos
            neg += new_neg
        out[g] = correct
        settled[g] = pos >= top_pos[g] or neg >= top_neg[g]
