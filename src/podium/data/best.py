"""The best rows of each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium._kernels import read_only
from podium.data import _kernels
from podium.groups import Groups
from podium.types import Offsets, PerRow


def top_rows(
    groups: Groups, scores: PerRow, keys: NDArray[np.int64], k: int
) -> tuple[Offsets, NDArray[np.int64]]:
    """Return the offsets and the rows of the k best scores of each group, best first.

    Equal scores are in the order of increasing keys.
    """
    offsets = np.zeros(groups.n_groups + 1, np.int64)
    rows = np.empty(int(np.minimum(groups.sizes, k).sum()), np.int64)
    order = np.empty(0, np.int64) if groups.order is None else groups.order
    _kernels.top_rows(groups.offsets, order, read_only(scores), read_only(keys), k, offsets, rows)
    return offsets, rows
