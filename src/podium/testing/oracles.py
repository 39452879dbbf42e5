"""Every metric by brute force, in plain Python that follows the definitions.

The formulas are those of `podium.testing.pairs.formulas`, written from the documents, which share
nothing with the metrics. A tie rule is applied by enumerating all orders of equal scores, and the
continuation of a short list by enumerating all of them, so that lists must be short (about six
items).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from podium.errors import UnsettledError
from podium.testing.pairs.formulas import Entry, List, Measure, parse
from podium.testing.pairs.lists import orders, value_of
from podium.types import Ties


def listing(
    scores: Sequence[float],
    relevance: Sequence[float],
    item: Sequence[str] = (),
    *,
    hidden: Sequence[float] = (),
    n_items: int | None = None,
    min_relevance: float = 1.0,
) -> List:
    """Return the list of one group.

    Parameters
    ----------
    scores, relevance : one per item of the list
        The scores and relevances, in any order.
    item : one per item
        The ids, for ties="id".
    hidden : one per item that is not in the list
        The relevances of these items.
    n_items : int or None
        The number of items to rank; None if it is unknown and the list may go on forever.
    min_relevance : float
        The relevance from which an item is positive.

    Returns
    -------
    List
        The list in the form that the formulas read.
    """
    columns = (item or [""] * len(scores), scores, relevance)
    entries = tuple(Entry(i, s, r, judged=True) for i, s, r in zip(*columns, strict=True))
    unlisted = [r for r in hidden if r > 0]
    grades = sorted((r for r in (*relevance, *unlisted) if r > 0), reverse=True)
    n_judged = len(entries) + len(unlisted)
    return List(entries, tuple(grades), n_items, n_judged, min_relevance)


def brute_force(text: str, one: List, ties: Ties = "worst") -> float:
    """Return a measure of one list with a tie rule, by its definition.

    Parameters
    ----------
    text : str
        A measure, such as "ndcg(gain=exp2)@10".
    one : List
        A list of at most about six items, because all orders of equal scores are enumerated.
    ties : {"worst", "best", "average", "id"}
        The tie rule. "random" has no single value: it is that of one of `in_orders`.

    Returns
    -------
    float
        The value; nan if it is undefined.

    Raises
    ------
    UnsettledError
        If the value depends on how the list continues.

    Examples
    --------
    >>> brute_force("precision@2", listing((2.0, 1.0), (1.0, 0.0)))
    0.5
    """
    measure = parse(text)
    values = {value_of(measure, whole, ties, ()) for whole in _continued(measure, one)}
    if len(values) > 1:
        raise UnsettledError(f"the value may be any of {', '.join(map(str, sorted(values)))}")
    return values.pop()


def in_orders(one: List) -> Iterator[List]:
    """Yield the list in each order of its equal scores, with distinct scores."""
    falling = sorted(one.entries, key=lambda e: e.score, reverse=True)
    for order in orders(falling, "average", ()):
        yield one.ordered([replace(e, score=-rank) for rank, e in enumerate(order)])


def _continued(measure: Measure, one: List) -> Iterator[List]:
    """Yield all possible continuations of a list below its end, if pairs of all items count."""
    if measure.never_defined(one) or measure.metric.average != "pairs":
        if measure.is_unsettled(one):
            raise UnsettledError("the list is too short")
        yield one
        return
    if one.n_items is None and measure.k is None:
        raise UnsettledError("the number of negatives is unknown")
    n_hidden = one.n_pos - sum(one.hits)
    # An endless list continues with at least the k negatives that can affect a metric.
    n_all = len(one.entries) + n_hidden + (measure.k or 0) if one.n_items is None else one.n_items
    end = min(e.score for e in one.entries) - 1.0 if one.entries else 0.0
    places = range(n_all - len(one.entries))
    for chosen in itertools.combinations(places, n_hidden):
        grades = [one.least if i in chosen else 0.0 for i in places]
        below = [
            Entry("", end - i, grade, judged=True) for i, grade in zip(places, grades, strict=True)
        ]
        yield one.ordered([*one.entries, *below])
