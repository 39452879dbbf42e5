"""Measures of the items shown: their values per user for one or several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium import _check, metrics
from podium._text import inside
from podium.errors import ArgumentError, arg, warn
from podium.groups import Groups, rows_between
from podium.metrics import Categories, Measure, Shown
from podium.metrics.shown import Features, known_items
from podium.types import Labels, PerGroup

if TYPE_CHECKING:
    from podium.data.convert import Ids
    from podium.data.lists import Listed

_TABLES = {
    "catalogue": "a table of the past interactions of users and items",
    "items": "a table of items with their categories or features",
}
"""The tables that measures read, by the name of the parameter."""


def shown_values(
    runs: Mapping[str, tuple[Listed | None, Ids | None]],
    measures: Sequence[Measure],
    labels: Labels,
    *,
    clusters: Labels | None = None,
    catalogue: Any = None,
    items: Any = None,
) -> dict[str, dict[str, PerGroup]]:
    """Return values per user, whose means are the measures of the items that runs show.

    The catalogue of `coverage` and `gini` is every item of the past interactions or of any of the
    runs, so that it is the same for all runs.

    Parameters
    ----------
    runs : mapping of name to (Listed, ids)
        The first items of the lists of each run, at least as many as the largest cutoff, and all
        its items, also those that a convention removed from the lists. None without measures.
    measures : sequence of Measure
        Measures of the items shown, whose metric has ``reads`` "catalogue" or "items".
    labels : (n_groups,)
        The users; all others are left out.
    clusters : (n_groups,), optional
        The label of the cluster of each user. Default: each user is a cluster.
    catalogue : path, frame or mapping of columns, optional
        The past interactions of users and items.
    items : path, frame or mapping of columns, optional
        The table of items.

    Returns
    -------
    dict of run to dict of measure to float64 (n_groups,)
        The values. Novelty, popularity and diversity are means over users: the value of a user is
        that of the list, nan without one (diversity: nan with fewer than two known items).
        Coverage and gini are not means over users. The mean of their values is the measure, and
        the standard error of this mean over users, or over clusters, is the measure's jackknife
        standard error; see `podium.metrics.shown`.

    Raises
    ------
    DataError
        If a table is wrong, or has no item in common with a run.

    Warns
    -----
    PodiumWarning
        If `items` lacks items shown, or their categories or features. Pairs with them are left out.

    Examples
    --------
    >>> from podium.data.lists import Listed
    >>> top = Listed(Groups(np.array([1]), np.array([0, 1])), np.array([5]), "The run")
    >>> measures = metrics.parse_all(["coverage@1", "novelty@1"])
    >>> past = {"user": [1, 2], "item": [5, 7]}
    >>> shown_values({"a": (top, np.array([5, 6]))}, measures, np.array([1]), catalogue=past)
    {'a': {'coverage@1': array([0.33333333]), 'novelty@1': array([1.])}}
    """
    if not measures:
        return {}
    from podium import data
    from podium.data.ids import share_all
    from podium.data.users import user_positions

    tops: dict[str, Any] = {name: top for name, (top, _) in runs.items()}
    whole_runs = {name: replace(tops[name], item=items) for name, (_, items) in runs.items()}
    columns_of_items: list[Any] = [*tops.values(), *whole_runs.values()]
    if catalogue is not None:
        past = data.read_interactions(catalogue)
        for run in whole_runs.values():
            run.check_items(past, str(arg.catalogue()), past.name)
        columns_of_items.append(past)
    ids = share_all([column.item for column in columns_of_items])
    of_past = np.empty(0, np.int64) if catalogue is None else ids.columns[-1]
    table = None if items is None else data.read_items(items)
    result: dict[str, dict[str, PerGroup]] = {}
    for (name, top), codes in zip(tops.items(), ids.columns, strict=False):
        rows = None if table is None else table.positions(top, whole_runs[name])
        user = user_positions(top.groups.labels, labels)
        of_run = top, codes, user, labels.size
        lists = _Lists(*of_run, ids.labels, of_past, clusters, table, rows)
        result[name] = {str(measure): lists.values(measure) for measure in measures}
    return result


def check_tables(measures: Sequence[Measure], catalogue: Any, items: Any) -> None:
    """Refuse a measure without the table that it reads, and a table without such a measure.

    Raises
    ------
    ArgumentError
        If there is one.
    """
    for parameter, table in (("catalogue", catalogue), ("items", items)):
        readers = [str(m) for m in measures if m.metric.reads == parameter]
        if readers and table is None:
            raise ArgumentError(
                f"{', '.join(readers)} requires {arg[parameter]}, {_TABLES[parameter]}."
            )
        if table is not None and not readers:
            names = [f"{n}@k" for n, m in metrics.SHOWN.items() if m.reads == parameter]
            raise ArgumentError(
                f"{arg[parameter]} has no effect without {_check.listed(names)}. Leave it out, or "
                "add such a measure."
            )


@dataclass(frozen=True, eq=False)
class _Lists:
    """The first items of the lists of one run for some users, cut at any k.

    Attributes
    ----------
    top : Listed
    codes : int64, (n_rows,)
        The code of each item of `top`.
    user : int64, (n_lists,)
        The position of the user of each list; -1 for all other users.
    n_users : int
    ids : (n_items,)
        The id of each code: all items of the catalogue.
    past : int64, (n_interactions,)
        The code of the item of each past interaction.
    clusters : (n_users,), or None
    table : ItemTable, or None
    positions : int64, (n_rows,), or None
        The row of each item of `top` in this table, -1 if it has none.
    """

    top: Listed
    codes: NDArray[np.int64]
    user: NDArray[np.int64]
    n_users: int
    ids: Labels
    past: NDArray[np.int64]
    clusters: Labels | None
    table: Any
    positions: Any

    def values(self, measure: Measure) -> PerGroup:
        """Return the values of a measure, (n_users,)."""
        of_shown: Any = measure.metric.of_shown
        return of_shown(self._items_shown(measure), **measure.arguments())

    def _items_shown(self, measure: Measure) -> Shown:
        starts, sizes = np.zeros((2, self.n_users), np.int64)
        listed = self.user >= 0
        starts[self.user[listed]] = self.top.groups.offsets[:-1][listed]
        sizes[self.user[listed]] = self.top.groups.sizes[listed]
        offsets, rows = rows_between(starts, np.minimum(sizes, measure.k or 1))
        items = self.codes[rows]

        def features(column: str) -> tuple[NDArray[np.int64], Features]:
            categories = self.table.categories(column)
            of_items = self.table.features() if categories is None else Categories(*categories)
            positions = self.positions[rows]
            is_known = (positions >= 0) & known_items(of_items)[positions]
            self._warn_of_unknown(measure, items, is_known)
            return positions, of_items

        groups = Groups(np.arange(offsets.size - 1), offsets)
        return Shown(groups, items, self.ids.size, self.past, self.clusters, features)

    def _warn_of_unknown(
        self, measure: Measure, items: NDArray[np.int64], is_known: NDArray[np.bool_]
    ) -> None:
        unknown = np.unique(items[~is_known])
        if unknown.size:
            warn(
                f"{measure}: {self.table.name} lacks {unknown.size} of the "
                f"{np.unique(items).size} items that {inside(self.top.run)} shows, or their "
                "categories or features, first item "
                f"{_check.label(self.ids[unknown[0]])}. Pairs with them are left out."
            )
