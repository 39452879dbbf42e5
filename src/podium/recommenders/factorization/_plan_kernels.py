"""Compiled kernels that sort pairs into cells: a part of the users by a block of items."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel


@kernel
def count_cells(offsets, items, block_of, n_pairs, n_runs):
    """Count the pairs and the runs in each block of items; a run is a user with pairs there."""
    last_user = np.full(n_pairs.size, -1, np.int64)
    for x in range(offsets.size - 1):
        for i in range(offsets[x], offsets[x + 1]):
            b = block_of[items[i]]
            n_pairs[b] += 1
            if last_user[b] != x:
                last_user[b] = x
                n_runs[b] += 1


@kernel
def fill_cells(offsets, items, block_of, place, bounds, cells):
    """Write the users of each cell in order, and for each user the places of its positives.

    This is a counting sort by block. It keeps the order of users and of their pairs in each cell.
    `cells` are `_plan.Cells` whose bounds are already filled. `origins` is the position of each
    pair among the pairs of its user. The starts count from the first pair of the part. Each cell
    has one more start than runs, for the end of its last run, so that the starts of cell b begin at
    ``run_bounds[b] + b``.
    """
    pair_bounds, run_bounds, positives, origins, run_users, run_starts = cells
    n_blocks = pair_bounds.size - 1
    last_user = np.full(n_blocks, -1, np.int64)
    pair = pair_bounds[:-1].copy()
    run = run_bounds[:-1].copy()
    for x in range(offsets.size - 1):
        for i in range(offsets[x], offsets[x + 1]):
            y = items[i]
            b = block_of[y]
            if last_user[b] != x:
                last_user[b] = x
                run_users[run[b]] = x
                run_starts[run[b] + b] = pair[b]
                run[b] += 1
            positives[pair[b]] = place[y] - bounds[b]
            origins[pair[b]] = i - offsets[x]
            pair[b] += 1
    for b in range(n_blocks):
        run_starts[run_bounds[b + 1] + b] = pair_bounds[b + 1]
