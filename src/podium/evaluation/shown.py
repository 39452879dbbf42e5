"""Measures of the items shown: their values per user for one or several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
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
    result: dict[str, dict[str, PerGroup]] = {name: {} for name in runs}
    for (name, top), codes in zip(tops.items(), ids.columns, strict=False):
        places = None if table is None else table.positions(top, whole_runs[name])
        user = user_positions(top.groups.labels, labels)
        for measure in measures:
            groups, rows = _cut(top.groups, user, labels.size, measure.k or 1)
            of_rows = codes[rows], None if places is None else places[rows]
            features = partial(
                _features, table, *of_rows, ids.labels, f"{measure}", inside(top.run)
            )
            shown = Shown(groups, codes[rows], ids.labels.size, of_past, clusters, features)
            of_shown: Any = measure.metric.of_shown
            result[name][str(measure)] = of_shown(shown, **measure.arguments())
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


def _cut(
    groups: Groups, user: NDArray[np.int64], n_users: int, k: int
) -> tuple[Groups, NDArray[np.int64]]:
    """Return the lists of all users, cut to k, and the rows of their items.

    `user` is the position of the user of each given list, -1 for all other users.
    """
    starts, sizes = np.zeros((2, n_users), np.int64)
    listed = user >= 0
    starts[user[listed]] = groups.offsets[:-1][listed]
    sizes[user[listed]] = groups.sizes[listed]
    offsets, rows = rows_between(starts, np.minimum(sizes, k))
    return Groups(np.arange(n_users), offsets), rows


def _features(
    table: Any, items: Any, places: Any, ids: Labels, measure: str, run: str, column: str
) -> tuple[NDArray[np.int64], Features]:
    """Return the row of each item shown in a table of items, and the table's features.

    It warns of items without any. `items` are the codes of items shown, and `ids` the id of each
    code.
    """
    categories = table.categories(column)
    of_items: Features = table.features() if categories is None else Categories(*categories)
    unknown = np.unique(items[(places < 0) | ~known_items(of_items)[places]])
    if unknown.size:
        warn(
            f"{measure}: {table.name} lacks {unknown.size} of the {np.unique(items).size} items "
            f"that {run} shows, or their categories or features, first item "
            f"{_check.label(ids[unknown[0]])}. Pairs with them are left out."
        )
    return places, of_items
