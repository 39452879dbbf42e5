"""The order of a group's rows by what they hold, which no order in a file changes.

Draws that go by row follow it. Features are only compared, so that scaling or shifting them,
with whatever rounding, draws the same.
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
    """Return the groups with each one's rows ordered by their features, then by relevance.

    The first feature decides, then the second among rows that agree in the first, and so on.
    `places` are where these rows are in the features, if not all in their order. Rows that agree
    in everything stay in the caller's order: nothing that is learned can tell them apart.

    Cost: a sort by each feature of the rows that those before it leave tied.
    """
    order = np.arange(groups.n_rows) if groups.order is None else groups.order.copy()
    starts = np.zeros(order.size + 1, np.bool_)  # where a row differs from the one before
    starts[groups.offsets] = True
    for column in _columns(features, relevance, places):
        tied = np.flatnonzero(~(starts[:-1] & starts[1:]))
        if not tied.size:
            break
        rows, kind = order[tied], np.cumsum(starts)[tied]
        values = np.nan_to_num(column(rows), nan=np.inf)  # nan, too, is equal to itself
        sub = np.lexsort((values, kind))
        order[tied], values = rows[sub], values[sub]
        starts[tied[1:]] |= values[1:] != values[:-1]
    return Groups(groups.labels, groups.offsets, order)


def _columns(
    features: Any, relevance: PerRow, places: RowIndex | None
) -> Iterator[Callable[[RowIndex], NDArray[Any]]]:
    """Yield functions from rows to their values: of each feature, and of the relevance."""
    by_column: Any = features.tocsc() if _check.is_sparse(features) else features
    for j in range(int(features.shape[1])):

        def column(rows: RowIndex, j: int = j) -> NDArray[Any]:
            at = rows if places is None else places[rows]
            if not _check.is_sparse(by_column):
                return by_column[at, j]
            return by_column[:, [j]].toarray()[:, 0][at]

        yield column
    yield lambda rows: relevance[rows]
