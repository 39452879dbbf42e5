"""The value of a list with one relevant item, as a function of the rank of that item."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from podium import _check
from podium.errors import ArgumentError, UnsettledError
from podium.groups import Groups
from podium.metrics.measures import Measure
from podium.ranking import Ranking
from podium.types import PerRow

_DEEPEST = 1000
"""The largest cutoff at which values are derived. The lists hold up to 2 * 1000 items, one list
for each rank."""


def rank_weights(measure: Measure, n_items: int) -> PerRow:
    """Return the values of lists with one relevant item, of grade 1, by the rank of this item.

    Parameters
    ----------
    measure : Measure
        The measure to evaluate.
    n_items : int
        The length of the lists.

    Returns
    -------
    float64, (min(k, n_items),)
        The values at ranks 1, 2, and so on. At all later ranks the value is 0.

    Raises
    ------
    ArgumentError
        If a value below the cutoff is not 0, or the values cannot be derived.

    Examples
    --------
    >>> from podium.metrics import parse
    >>> rank_weights(parse("rr@3"), 100).tolist() == [1 / 1, 1 / 2, 1 / 3]
    True
    """
    n_ranks = n_items if measure.k is None else min(measure.k, n_items)
    weigh = measure.metric.rank_weights
    if weigh is None:
        return _derived(measure, n_items)[:n_ranks]
    return weigh(n_ranks, n_items, **{**measure.metric.options, **measure.arguments()})


def _derived(measure: Measure, n_items: int) -> PerRow:
    """Return the values at ranks up to 2 k, measured on lists; raise if this is not possible.

    Parameters
    ----------
    measure : Measure
        A measure whose metric declares no `rank_weights`.
    n_items : int
        The length of the lists. Only their first 2 k ranks are created.

    Returns
    -------
    float64, (min(2 k, n_items),)
        The values at ranks 1, 2, and so on; 0 after rank k.

    Raises
    ------
    ArgumentError
        If the measure has no cutoff or a cutoff above 1000, or its value is not 0 if the item
        is below the cutoff.
    """
    if measure.k is None or measure.k > _DEEPEST:
        cutoff = "without a cutoff" if measure.k is None else f"for a cutoff above {_DEEPEST}"
        raise ArgumentError(
            f"{measure} cannot be estimated from sampled ranks: its metric declares no "
            f"rank_weights, and they cannot be derived {cutoff}. Use a cutoff of at most "
            f"{_DEEPEST}, or declare rank_weights."
        )
    values = _values(measure, measure.metric.function, n_items)
    _refuse_values_below(measure, values)
    return values


@lru_cache(maxsize=64)
def _values(measure: Measure, _function: object, n_items: int) -> PerRow:
    """Measure one list per rank of the item; `_function` is only part of the cache key."""
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
    """Raise if the value is not 0, or is undefined, with the item below the cutoff."""
    k = _check.cutoff(measure.k)
    for i in np.flatnonzero(values != 0.0).tolist():
        if i >= k or (np.isnan(values[i]) and values.size > k):
            value = "undefined" if np.isnan(values[i]) else f"{values[i]:g}"
            raise ArgumentError(
                f"{measure} cannot be estimated from sampled ranks: its value is {value} if the "
                f"only relevant item has rank {i + 1}, but it must be 0 below the cutoff."
            )
