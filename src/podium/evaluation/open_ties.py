"""Lists whose value depends on an order of equal scores that nobody chose.

Podium then ranks relevant items last. The values with relevant items first are measured for these
lists only, so that lists without such ties cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.groups import Groups, rows_between
from podium.metrics import Measure
from podium.ranking import Ranking
from podium.types import Mask, PerGroup

_FEW = 0.01  # share of the lists up to which their order is not mentioned


@dataclass(frozen=True)
class OpenTies:
    """The effect of the order of equal scores on the mean of a measure.

    Attributes
    ----------
    n_lists, n_groups : int
        The number of lists whose value depends on the order, and of all lists.
    last, first : float
        The mean with relevant items last, as it is reported, and first.
    """

    n_lists: int
    n_groups: int
    last: float
    first: float

    @property
    def matters(self) -> bool:
        """Whether the order changes 1 % of the lists or more, and the mean in its printed digits.

        A mean that is undefined in one of the orders differs too.
        """
        texts = {f"{self.last:.4f}", f"{self.first:.4f}"}
        return self.n_lists > 0 and self.n_lists >= _FEW * self.n_groups and len(texts) > 1


def best_values(
    ranking: Ranking, measures: Sequence[Measure], values: Mapping[str, PerGroup]
) -> dict[str, PerGroup]:
    """Return the values with relevant items first among equal scores, by measure.

    Parameters
    ----------
    ranking : Ranking
        Lists under ties="worst".
    measures : sequence of Measure
    values : mapping of str to float64 (n_groups,)
        The values of these lists. Without ties of different relevance, they are returned.
    """
    groups = _groups_with_ties(ranking)
    if not groups.size:
        return dict(values)
    best = _best_first(ranking, groups)
    result: dict[str, PerGroup] = {}
    for measure in measures:
        of_measure = values[str(measure)].copy()
        of_measure[groups] = measure(best)
        result[str(measure)] = of_measure
    return result


def _groups_with_ties(ranking: Ranking) -> NDArray[np.int64]:
    """Return the groups in which items with equal scores have different relevances or marks."""
    rows = np.flatnonzero(ranking.tied)
    differs = ranking.relevance[rows] != ranking.relevance[rows + 1]
    if ranking.judged is not None:
        differs |= ranking.judged[rows] != ranking.judged[rows + 1]
    return np.unique(np.searchsorted(ranking.groups.offsets, rows[differs], side="right") - 1)


def _best_first(ranking: Ranking, groups: NDArray[np.int64]) -> Ranking:
    """Return some of the lists, with the items of each score in the opposite order."""
    sizes, n_ideal = ranking.groups.sizes[groups], ranking.n_relevant[groups]
    offsets, rows = rows_between(ranking.groups.offsets[groups], sizes)
    ideal_offsets, ideal_rows = rows_between(ranking.ideal_offsets[groups], n_ideal)
    # The rows of each score lie side by side: the last one takes the place of the first one.
    ends_before = np.append(True, ~ranking.tied[rows][:-1])
    starts = np.flatnonzero(ends_before)
    number = np.cumsum(ends_before) - 1
    ends = np.append(starts[1:], rows.size)
    rows = rows[starts[number] + ends[number] - 1 - np.arange(rows.size)]
    judged, n_judged, absent = ranking.judged, ranking.n_judged, ranking.absent
    return replace(
        ranking,
        groups=Groups(ranking.groups.labels[groups], offsets),
        relevance=ranking.relevance[rows],
        ideal_offsets=ideal_offsets,
        ideal=ranking.ideal[ideal_rows],
        n_items=ranking.n_items[groups],
        ties="best",
        tied=np.empty(0, np.bool_),
        absent=None if absent is None else absent[groups],
        judged=None if judged is None else judged[rows],
        n_judged=None if n_judged is None else n_judged[groups],
        of_truth=None,  # no metric reads it
    )


def differs(one: PerGroup, other: PerGroup) -> Mask:
    """Return which values differ, beyond rounding."""
    return ~np.isclose(one, other, rtol=1e-12, atol=1e-12, equal_nan=True)
