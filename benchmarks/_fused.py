"""A hand-written loop for these six metrics only, the reference of the benchmark `measure`."""

from __future__ import annotations

import numba


@numba.njit(cache=True)
def fused_metrics(items, offsets, truth_item, truth_grade, weights, out):
    """Join by binary search and compute all six metrics of each list in one pass."""
    n_users, depth = items.shape
    for u in range(n_users):
        lo, hi = offsets[u], offsets[u + 1]
        grades = [0, 0, 0, 0]
        for i in range(lo, hi):
            grades[truth_grade[i]] += 1
        dcg10 = dcg = precisions = first = 0.0
        hits10 = hits = 0
        for rank in range(depth):
            a, b = lo, hi
            while a < b:
                middle = (a + b) >> 1
                if truth_item[middle] < items[u, rank]:
                    a = middle + 1
                else:
                    b = middle
            if a == hi or truth_item[a] != items[u, rank]:
                continue
            hits += 1
            precisions += hits / (rank + 1)
            dcg += truth_grade[a] * weights[rank]
            if rank < 10:
                hits10 += 1
                dcg10 = dcg
            if hits == 1:
                first = 1 / (rank + 1)
        best10 = best = 0.0
        rank = 0
        for grade in range(3, 0, -1):
            for _ in range(min(grades[grade], depth - rank)):
                best += grade * weights[rank]
                rank += 1
                if rank <= 10:
                    best10 = best
        out[u, 0] = dcg10 / best10
        out[u, 1] = dcg / best
        out[u, 2] = hits10 / 10
        out[u, 3] = hits / (hi - lo)
        out[u, 4] = precisions / (hi - lo)
        out[u, 5] = first
