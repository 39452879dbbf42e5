"""One function per compiled pass over a block of users; it allocates the output arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._kernels import AVERAGE, BEST, ID, RANDOM, WORST
from podium.catalogue import _kernels
from podium.catalogue._kernels import Tie
from podium.catalogue.source import Floats, Source, refuse_score
from podium.catalogue.sparse import Rows
from podium.groups import row_offsets
from podium.types import Counts, Mask, Offsets, PerRow, RowIndex, Ties

RULES: dict[Ties, int] = {
    "worst": WORST,
    "best": BEST,
    "average": AVERAGE,
    "id": ID,
    "random": RANDOM,
}


class Lists(NamedTuple):
    """Items and their relevances, one list after the other, best first; see `Ranking.tied`."""

    offsets: Offsets
    items: RowIndex
    relevance: PerRow
    tied: Mask


def kth_best(source: Source, start: int, block: Floats, seen: Rows, k: int) -> Floats:
    """Return each user's k-th best score, -inf if there are at most k items to list."""
    floors = np.empty(block.shape[0], source.dtype)
    user, item = _kernels.kth_best(block, source.limits, seen, k, floors)
    if user >= 0:
        refuse_score(start + user, item, block[user, item])
    return floors


def n_reaching(block: Floats, seen: Rows, floors: Floats) -> Counts:
    """Return the number of items of each user whose score is at least the user's floor."""
    counts = np.empty(block.shape[0], np.int64)
    _kernels.count_reaching(block, seen, floors, counts)
    return counts


def lists(
    source: Source,
    block: Floats,
    seen: Rows,
    truth: Rows,
    floors: Floats,
    sizes: Counts,
    tie: Tie,
) -> Lists:
    """List the items whose scores reach the floors, in order; `sizes` contains the list lengths."""
    offsets = row_offsets(sizes)
    n_rows = int(offsets[-1])
    result = Lists(
        offsets,
        np.empty(n_rows, np.int64),
        np.empty(n_rows),
        np.zeros(n_rows if tie.rule == AVERAGE else 0, np.bool_),
    )
    _kernels.fill_lists(block, source.limits, seen, truth, floors, tie, result)
    return result
