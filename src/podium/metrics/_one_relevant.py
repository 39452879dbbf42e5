"""The values of lists as sums over their relevant items, by the rank of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from podium import _check
from podium.errors import ArgumentError, UnsettledError
from podium.groups import Groups
from podium.metrics._registry import Places
from podium.metrics.measures import Measure
from podium.ranking import Ranking
from podium.types import PerRow

_DEEPEST = 1000
"""The largest cutoff at which values are derived. The lists hold up to 2 * 1000 items, one list
for each rank."""


@dataclass(frozen=True)
class Terms(Measure):
    """Terms of a measure: a function of the number of items above one relevant item.

    Attributes
    ----------
    places : tuple of (position, n_pos, factor)
        The position of the item among the n_pos relevant items of a list, and the factor of its
        term. Several places give the sum of their terms.
    """

    places: tuple[tuple[int, int, float], ...] = ()

    @classmethod
    def of(cls, measure: Measure, *places: tuple[int, int, float]) -> Terms:
        """Return the terms of a measure at these places."""
        return cls(measure.name, measure.k, measure.options, measure.text, places)

    def rank_weights(self, n_items: int) -> PerRow:
        """Return the values at ranks among n_items: the item and all that are not relevant."""
        measure = Measure(self.name, self.k, self.options, self.text)
        parts = (
            factor * rank_weights(measure, n_items + n_pos - 1, position=position, n_pos=n_pos)
            for position, n_pos, factor in self.places
        )
        return sum(parts, np.zeros(()))


def rank_weights(measure: Measure, n_items: int, *, position: int = 1, n_pos: int = 1) -> PerRow:
    """Return the term of a relevant item, of grade 1, by the number of other items above it.

    With one relevant item, the terms are the values of lists, by the rank of the item. With
    several, the value of a list is the sum of the terms of all of them.

    Parameters
    ----------
    measure : Measure
        The measure to evaluate, or some of its `Terms`.
    n_items : int
        The length of the lists.
    position : int
        The position of the item among the relevant items, from 1 for the best one.
    n_pos : int
        The number of relevant items in the list.

    Returns
    -------
    float64, (min(k, n_items - n_pos + 1),)
        The terms with 0, 1, and so on items above that are not relevant. With more of them, the
        term is 0.

    Raises
    ------
    ArgumentError
        If a value below the cutoff is not 0, or the values cannot be derived. If there are several
        relevant items and the measure is not a sum of terms.

    Examples
    --------
    >>> from podium.metrics import parse
    >>> rank_weights(parse("rr@3"), 100).tolist() == [1 / 1, 1 / 2, 1 / 3]
    True
    """
    if isinstance(measure, Terms):
        return measure.rank_weights(n_items)
    n_terms = n_items - n_pos + 1
    n_terms = n_terms if measure.k is None else min(measure.k, n_terms)
    metric = measure.metric
    weigh = metric.rank_weights
    if weigh is None and n_pos == 1:
        return _derived(measure, n_items)[:n_terms]
    if weigh is None:
        raise ArgumentError(
            f"{measure} is not a sum over the relevant items of a list (its metric declares no "
            "rank_weights), so that it cannot be estimated for users with several targets. Use "
            "another measure, such as ndcg@10 or pap@10."
        )
    places = Places(np.arange(n_terms), n_items, position, n_pos)
    return weigh(places, **{**metric.options, **measure.arguments()})


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
        raise ArgumentError(
            f"{measure} cannot be estimated from sampled ranks: {error.message.text}"
        ) from None
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
