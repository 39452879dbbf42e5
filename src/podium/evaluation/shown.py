"""Coverage and novelty of a run's lists, independent of relevance, against past interactions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium import metrics
from podium.types import Labels, PerGroup

if TYPE_CHECKING:
    from podium.data import Interactions, Run

SHOWN = ("coverage", "novelty")
"""The measures of the items shown."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A run and the past interactions, with the same codes for the same items.

    `n_items` is the size of the catalogue: every item of the past or of the run. `outside` are the
    items of the run without a past interaction.
    """

    run: Run
    past: NDArray[np.int64]
    n_items: int
    outside: set[Any]

    @classmethod
    def of(cls, run: Run, catalogue: Interactions, *, name: str = "the catalogue") -> Shown:
        """Match the items.

        Raises
        ------
        DataError
            If the run and the catalogue have no item in common.
        """
        from podium.data.ids import share
        from podium.data.overlap import Side, check_common

        items = share(run.item, catalogue.item)
        sides = Side("the run", run.name, run.item), Side("catalogue=", name, catalogue.item)
        overlap = check_common(items, "item", *sides)
        n_items = overlap.n_left + overlap.right.size
        outside = {str(label) for label in items.labels(overlap.left).tolist()}
        items = items.by_value()  # equal scores: the lower id first, 9 before 10 also for text ids
        coded_run: Any = replace(run, item=items.left)
        return cls(coded_run, items.right, n_items, outside)

    def lists(self, k: int) -> tuple[Any, NDArray[Any]]:
        """Return the groups of the best k items of each user, and these items."""
        from podium.data import top_items

        groups, codes, ids = top_items(self.run, k)
        return groups, ids[codes]


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
    shown = Shown.of(run, catalogue, name=name)
    values: dict[str, float] = {}
    for k in sorted(set(cutoffs)):
        groups, items = shown.lists(k)
        values[f"coverage@{k}"] = metrics.coverage(items, shown.n_items)
        values[f"novelty@{k}"] = float(metrics.novelty(items, groups, shown.past).mean())
    return values


def shown_per_user(
    shown: Shown,
    name: str,
    k: int,
    labels: Labels,
    n_items: int,
    clusters: Labels | None = None,
) -> PerGroup:
    """Return values of users whose mean is the coverage or novelty of their lists.

    Parameters
    ----------
    shown : Shown
    name : {"coverage", "novelty"}
    k : int
        The cutoff in items, at least 1.
    labels : (n_groups,)
        The users to use, all others are left out.
    n_items : int
        The size of the catalogue.
    clusters : (n_groups,), optional
        The label of the cluster of each user. Default: each user is a cluster.

    Returns
    -------
    float64, (n_groups,)
        For novelty, the novelty of each list in bits; nan without a list. Coverage is not a mean
        over users. Its values are jackknife values: their mean is the coverage, and the standard
        error of their mean over clusters is the jackknife standard error of the coverage.

    References
    ----------
    efron1981.
    """
    from podium.data import user_positions

    positions = user_positions(shown.run.user, labels)
    rows = positions >= 0
    run: Any = shown.run
    of_labels = replace(run, user=positions[rows], item=run.item[rows], score=run.score[rows])
    groups, items = replace(shown, run=of_labels).lists(k)
    if name == "novelty":
        values = np.full(labels.size, np.nan)
        values[groups.labels] = metrics.novelty(items, groups, shown.past)
        return values
    return _coverage_values(groups.labels[groups.index], items, labels.size, clusters) / n_items


def _coverage_values(
    users: NDArray[np.int64], items: NDArray[Any], n_users: int, clusters: Labels | None
) -> PerGroup:
    """Return jackknife values of the number of distinct items, one value per user."""
    if clusters is None:
        codes, sizes = np.arange(n_users), np.ones(n_users)
    else:
        _, codes, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    _, item_codes = np.unique(items, return_inverse=True)
    # An item that one cluster shows to several users is still in its lists only.
    pairs = np.unique(np.stack([codes[users], item_codes]), axis=1)
    is_alone = np.bincount(pairs[1])[pairs[1]] == 1
    # Without a cluster, the coverage loses the items that are in no list of the others.
    n_lost = np.bincount(pairs[0], is_alone, minlength=sizes.size)
    n_others = n_users - sizes
    n_lost -= np.average(n_lost, weights=n_others) if n_others.any() else n_lost.mean()
    return pairs[1].max(initial=-1) + 1 + (n_others / sizes * n_lost)[codes]
