"""An order of each group's rows by their content, independent of their order in a file.

Random draws per row follow this order. Features are only compared, so scaling or shifting them
leaves the draws unchanged, whatever the rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.groups import Groups
from podium.types import PerRow, RowIndex


def by_content(
    features: Any, relevance: PerRow, groups: Groups, places: RowIndex | None = None
) -> Groups:
    """Return the groups with their rows ordered by features, then by relevance.

    The first feature decides; rows that agree in it are ordered by the second, and so on.
    `places` are the positions of these rows in the features; by default row i is features[i].
    Rows that agree in everything stay in the caller's order: no model can distinguish them.

    Cost: for each feature, a sort of the rows that are tied in the features before it.
    """
    order = np.arange(groups.n_rows) if groups.order is None else groups.order.copy()
    starts = np.zeros(order.size + 1, np.bool_)  # True if a row differs from the one before
    starts[groups.offsets] = True
    for column in _columns(features, relevance, places):
        tied = np.flatnonzero(~(starts[:-1] & starts[1:]))
        if not tied.size:
            break
        rows, run = order[tied], np.cumsum(starts)[tied]
        values = np.nan_to_num(column(rows), nan=np.inf)  # nan counts as equal to nan
        permutation = np.lexsort((values, run))
        order[tied], values = rows[permutation], values[permutation]
        starts[tied[1:]] |= values[1:] != values[:-1]
    return Groups(groups.labels, groups.offsets, order)


def _columns(
    features: Any, relevance: PerRow, places: RowIndex | None
) -> Iterator[Callable[[RowIndex], NDArray[Any]]]:
    """Yield a function from rows to values for each feature, and one for the relevance."""
    by_column: Any = features.tocsc() if _check.is_sparse(features) else features
    for j in range(int(features.shape[1])):

        def column(rows: RowIndex, j: int = j) -> NDArray[Any]:
            positions = rows if places is None else places[rows]
            if not _check.is_sparse(by_column):
                return by_column[positions, j]
            return by_column[:, [j]].toarray()[:, 0][positions]

        yield column
    yield lambda rows: relevance[rows]
