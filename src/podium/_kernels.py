"""Compiled loops over groups: laying rows out by group, and ranking the rows of each group.

`kernel` is the one decorator for all of podium's `_kernels.py` files. Kernels take typed
contiguous arrays, write into arrays that they are given, check nothing, and add in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile at the first call, keep the code on disk, release the lock while it runs.

    error_model="numpy": a division by zero gives nan, which is what an undefined group is.
    """
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


@kernel
def counting_order(codes, offsets, order):
    """Write the stable row order that groups equal codes; offsets become the group bounds."""
    n_groups = offsets.size - 1
    for i in range(codes.size):
        offsets[codes[i] + 1] += 1
    for g in range(n_groups):
        offsets[g + 1] += offsets[g]
    place = offsets[:-1].copy()
    for i in range(codes.size):
        g = codes[i]
        order[place[g]] = i
        place[g] += 1


@kernel
def rank_rows(offsets, scores, tie_keys, sign, values, tied):
    """Reorder `values` within each group by falling score; equal scores by rising sign * key.

    `tie_keys` may be empty (equal scores then keep their order), or `values` itself: a group's
    order is known before its values move. `tied`, where not empty,
    becomes True for a row whose score equals the next row's of its group. Groups whose scores
    fall strictly (the usual input) are only read.
    """
    longest = 0
    for g in range(offsets.size - 1):
        longest = max(longest, offsets[g + 1] - offsets[g])
    spare_scores = np.empty(longest)
    spare_values = np.empty(longest)
    for g in range(offsets.size - 1):
        lo, hi = offsets[g], offsets[g + 1]
        falling = True
        for i in range(lo, hi - 1):
            if not scores[i] > scores[i + 1]:
                falling = False
                break
        if falling:
            continue
        n = hi - lo
        order = np.argsort(-scores[lo:hi], kind="mergesort")
        for i in range(n):
            spare_scores[i] = scores[lo + order[i]]
        if tie_keys.size:
            start = 0
            for i in range(1, n + 1):
                if i == n or spare_scores[i] != spare_scores[start]:
                    if i - start > 1:
                        block = order[start:i].copy()
                        by_key = np.argsort(sign * tie_keys[lo + block], kind="mergesort")
                        for j in range(block.size):
                            order[start + j] = block[by_key[j]]
                    start = i
        for i in range(n):
            spare_values[i] = values[lo + order[i]]
        values[lo:hi] = spare_values[:n]
        if tied.size:
            for i in range(n - 1):
                tied[lo + i] = spare_scores[i] == spare_scores[i + 1]


@kernel
def ideal_order(offsets, relevance, out):
    """Write each group's relevances in falling order."""
    for g in range(offsets.size - 1):
        lo, hi = offsets[g], offsets[g + 1]
        for i in range(lo, hi):
            value = relevance[i]
            if hi - lo > 64:
                out[i] = value
                continue
            j = i
            while j > lo and out[j - 1] < value:
                out[j] = out[j - 1]
                j -= 1
            out[j] = value
        if hi - lo > 64:
            out[lo:hi] = -np.sort(-out[lo:hi])


@kernel
def average_ties(offsets, tied, values):
    """Replace each value by the mean of those that share its score."""
    for g in range(offsets.size - 1):
        hi = offsets[g + 1]
        start = offsets[g]
        total = 0.0
        for i in range(start, hi):
            total += values[i]
            if not tied[i]:
                mean = total / (i + 1 - start)
                for j in range(start, i + 1):
                    values[j] = mean
                start = i + 1
                total = 0.0
