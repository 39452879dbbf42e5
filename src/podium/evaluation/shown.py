"""Coverage and novelty of a run's lists, independent of relevance, against past interactions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from podium import metrics

if TYPE_CHECKING:
    from podium.data import Interactions, Run


def coverage_and_novelty(
    run: Run, catalogue: Interactions, cutoffs: Iterable[int], *, name: str = "the catalogue"
) -> dict[str, float]:
    """Return coverage and mean novelty of a run's lists at each cutoff.

    The catalogue is every item in the past pairs or in the run.

    Parameters
    ----------
    run : Run
    catalogue : Interactions
        The past pairs of users and items.
    cutoffs : iterable of int
        The cutoffs in items, each at least 1.
    name : str
        The name of the table of these pairs in messages.

    Returns
    -------
    dict of str to float
        The values of ``coverage@k`` and ``novelty@k`` for each cutoff k, in ascending order.

    Raises
    ------
    DataError
        If the run and the catalogue have no item in common.

    Examples
    --------
    >>> from podium import data
    >>> run = data.read_run({"user": [1, 1], "item": [5, 6], "score": [0.9, 0.1]})
    >>> past = data.read_interactions({"user": [1, 2], "item": [5, 7]})
    >>> coverage_and_novelty(run, past, [1])
    {'coverage@1': 0.3333333333333333, 'novelty@1': 1.0}
    """
    from podium.data import top_items
    from podium.data.ids import share
    from podium.data.overlap import Side, check_common

    items = share(run.item, catalogue.item)
    sides = Side("the run", run.name, run.item), Side("catalogue=", name, catalogue.item)
    overlap = check_common(items, "item", *sides)
    n_items = overlap.n_left + overlap.right.size
    items = items.by_value()  # equal scores: the lower id first, 9 before 10 also for text ids
    coded_run: Any = replace(run, item=items.left)
    values: dict[str, float] = {}
    for k in sorted(set(cutoffs)):
        groups, codes, ids = top_items(coded_run, k)
        values[f"coverage@{k}"] = metrics.coverage(ids[codes], n_items)
        values[f"novelty@{k}"] = float(metrics.novelty(ids[codes], groups, items.right).mean())
    return values
