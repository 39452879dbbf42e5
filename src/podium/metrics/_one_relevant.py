"""What a rank is worth: the value of a list with one relevant item, by the rank of that item."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from podium import _check
from podium.errors import ArgumentError, UnsettledError
from podium.groups import Groups
from podium.ranking import Ranking
from podium.types import PerRow

if TYPE_CHECKING:
    from podium.metrics.measures import Measure

_DEEPEST = 1000
"""The largest cutoff at which values are derived: lists hold up to 2 * 1000 items, at each rank."""


def derived(measure: Measure, n_items: int) -> PerRow:
    """Return the values at the ranks up to twice the cutoff, or say why ranks give none.

    Parameters
    ----------
    measure : Measure
        Its metric declares no `rank_weights`.
    n_items : int
        Length of the lists, of which the first 2 k ranks are made.

    Returns
    -------
    float64, (min(2 k, n_items),)
        0 below rank k.

    Raises
    ------
    ArgumentError
        If the measure has no cutoff, or is not 0 wherever the item is below it.
    """
    if measure.k is None or measure.k > _DEEPEST:
        cutoff = "without a cutoff" if measure.k is None else f"beyond a cutoff of {_DEEPEST}"
        raise ArgumentError(
            f"{measure} cannot be estimated from sampled ranks: its metric declares no "
            f"rank_weights, and {cutoff} these cannot be derived from it. Use a cutoff of at most "
            f"{_DEEPEST}, or declare them."
        )
    values = _values(measure, measure.metric.function, n_items)
    _refuse_values_below(measure, values)
    return values


@lru_cache(maxsize=64)
def _values(measure: Measure, _of: object, n_items: int) -> PerRow:
    """Measure lists with the item at each rank; `_of` is the function that a name has by now."""
    k = _check.cutoff(measure.k)
    n_ranks = min(2 * k, n_items)
    lists = Ranking.from_grouped(
        Groups.from_sizes(np.full(n_ranks, n_ranks)),
        -np.arange(n_ranks * n_ranks, dtype=np.float64),
        np.eye(n_ranks).ravel(),
        ideal=(np.arange(n_ranks + 1), np.ones(n_ranks)),
        n_items=np.full(n_ranks, n_items),
    )
    try:
        values = measure(lists)
    except UnsettledError as error:
        raise ArgumentError(f"{measure} cannot be estimated from sampled ranks: {error}") from None
    values.setflags(write=False)
    return values


def _refuse_values_below(measure: Measure, values: PerRow) -> None:
    """Raise where an item below the cutoff counts for something, or makes the value undefined."""
    k = _check.cutoff(measure.k)
    for i in np.flatnonzero(values != 0.0).tolist():
        if i >= k or (np.isnan(values[i]) and values.size > k):
            value = "undefined" if np.isnan(values[i]) else f"{values[i]:g}"
            raise ArgumentError(
                f"{measure} cannot be estimated from sampled ranks: it is {value} where the only "
                f"relevant item has rank {i + 1}, and estimates need 0 below the cutoff."
            )
