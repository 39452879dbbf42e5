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
from podium.groups import Groups, encode, find
from podium.metrics import Categories, Measure, Shown
from podium.metrics.shown import Features, known_items
from podium.protocol import Conventions
from podium.types import Labels, PerGroup

if TYPE_CHECKING:
    from podium.data import Interactions, ItemTable, Run, Truth
    from podium.data.convert import Ids
    from podium.data.ids import Shared

_TABLES = {
    "catalogue": "a table of the past interactions of users and items",
    "items": "a table of items with their categories or features",
}
"""The tables that measures read, by the name of the parameter."""


def shown_values(
    runs: Mapping[str, Any],
    measures: Sequence[Measure],
    labels: Labels,
    *,
    clusters: Labels | None = None,
    catalogue: Any = None,
    items: Any = None,
    items_of_runs: Mapping[str, Ids] | None = None,
    truth: Truth | None = None,
    conventions: Conventions | None = None,
) -> dict[str, dict[str, PerGroup]]:
    """Return values per user, whose means are the measures of the items that runs show.

    The catalogue of `coverage` and `gini` is every item of the past interactions or of any of the
    runs, so that it is the same for all runs.

    Parameters
    ----------
    runs : mapping of name to run
        The runs: paths, frames, mappings of columns, sparse matrices, or `podium.data.Run`.
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
    items_of_runs : mapping of name to ids, optional
        All items of each run, if `runs` contain only the best rows of each user.
    truth : Truth, optional
        The truth, required with unjudged="skip" unless `runs` contain only judged items.
    conventions : Conventions, optional
        The conventions of lists. single_precision, score_above,
        unjudged="skip" and ties="random" have an effect. Items that they remove remain in the
        catalogue. Under the other rules for equal scores, the lower id is shown first.

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
    >>> run = {"user": [1, 1], "item": [5, 6], "score": [0.9, 0.1]}
    >>> past = {"user": [1, 2], "item": [5, 7]}
    >>> measures = metrics.parse_all(["coverage@1", "novelty@1"])
    >>> shown_values({"a": run}, measures, np.array([1]), catalogue=past)
    {'a': {'coverage@1': array([0.33333333]), 'novelty@1': array([1.])}}
    """
    if not measures:
        return {name: {} for name in runs}
    from podium import data
    from podium.data.best import drawn_order, judged_rows
    from podium.data.build import in_single_precision

    rules = Conventions() if conventions is None else conventions
    listed = {name: data.read_run(run) for name, run in runs.items()}
    if rules.single_precision:
        listed = {name: in_single_precision(run) for name, run in listed.items()}
    least = rules.least_score
    all_items = dict(items_of_runs or {})
    if least is not None or rules.unjudged == "skip":  # removed items stay in the catalogue
        all_items = {name: run.item for name, run in listed.items()} | all_items
    if least is not None:
        listed = {name: _above(run, least) for name, run in listed.items()}
    if rules.unjudged == "skip" and truth is not None:
        listed = {name: judged_rows(run, truth) for name, run in listed.items()}
    if rules.ties == "random":
        listed = {name: drawn_order(run, rules.ties_seed) for name, run in listed.items()}
    past = None if catalogue is None else data.read_interactions(catalogue)
    coded = _coded(listed, past, all_items)
    table = None if items is None else data.read_items(items)
    return {
        name: _Lists(run, labels, clusters, table, all_items.get(name)).values(measures)
        for name, run in coded.items()
    }


def _above(run: Run, score: float) -> Run:
    """Return the rows of a run with a higher score."""
    rows = np.flatnonzero(run.score > score)
    return replace(run, user=run.user[rows], item=run.item[rows], score=run.score[rows])


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
class _CodedRun:
    """A run whose items have the codes of the past interactions.

    `ids` has the codes of the run's items and of the past ones, by value. Of items with equal
    scores, the lower id is shown first: 9 before 10, even if ids are text.
    """

    run: Run
    ids: Shared
    n_items: int

    @property
    def past(self) -> NDArray[np.int64]:
        return self.ids.right


def _coded(
    runs: Mapping[str, Run],
    catalogue: Interactions | None,
    items_of_runs: Mapping[str, Ids],
) -> dict[str, _CodedRun]:
    """Match the items of runs with the past ones, and count the items of all of them."""
    from podium.data.ids import Shared, as_written, joined_ids, share
    from podium.data.overlap import Side, check_common

    coded: dict[str, _CodedRun] = {}
    outside: set[str] = set()
    n_past = 0
    for run_name, run in runs.items():
        items = run.item
        if run_name in items_of_runs:  # the rows' items come first, then all items
            items = joined_ids([run.item, items_of_runs[run_name]])
        past = items[:0]
        if catalogue is not None:
            past = as_written(catalogue.item, "item" in catalogue.whole, items)
            items = as_written(items, "item" in run.whole, catalogue.item)
        ids = share(items, past)
        if catalogue is not None:
            listed = as_written(run.item, "item" in run.whole, past)
            of_past = Side(str(arg.catalogue()), catalogue.name, past)
            sides = Side("the run", run.name, listed), of_past
            overlap = check_common(ids, "item", *sides)
            n_past = overlap.n_right
            suffix = ".0" if ids.names is None and "item" in run.whole else ""
            outside |= {f"{label}{suffix}" for label in ids.labels(overlap.left).tolist()}
        by_value = ids.by_value()
        of_rows = Shared(by_value.left[: len(run.item)], by_value.right, by_value.names)
        coded[run_name] = _CodedRun(run, of_rows, 0)
    n_items = n_past + len(outside)
    return {run_name: replace(run, n_items=n_items) for run_name, run in coded.items()}


class _Lists:
    """The lists of one run for some users, cut at any k."""

    def __init__(
        self,
        coded: _CodedRun,
        labels: Labels,
        clusters: Labels | None,
        table: ItemTable | None,
        all_items: Ids | None,
    ) -> None:
        from podium.data.users import user_positions

        self._coded, self._clusters = coded, clusters
        self._table: Any = table
        self._n_users = labels.size
        users = user_positions(coded.run.user, labels)
        lists: Any = coded.run
        rows = users >= 0
        self._run: Any = replace(
            lists, user=users[rows], item=coded.ids.left[rows], score=lists.score[rows]
        )
        self._positions: Any = None
        if table is not None:  # conventions may have removed all items
            found = table.positions(lists, all_items) if rows.any() else np.full(rows.size, -1)
            self._positions = found[rows]

    def values(self, measures: Sequence[Measure]) -> dict[str, PerGroup]:
        """Return the values of each measure, (n_users,)."""
        from podium.data import top_items

        cut = {k: top_items(self._run, k) for k in {m.k or 1 for m in measures}}
        result: dict[str, PerGroup] = {}
        for measure in measures:
            groups, codes, ids = cut[measure.k or 1]
            of_shown: Any = measure.metric.of_shown
            shown = self._shown(measure, groups, ids[codes])
            result[str(measure)] = of_shown(shown, **measure.arguments())
        return result

    def _shown(self, measure: Measure, groups: Groups, items: NDArray[np.int64]) -> Shown:
        def features(column: str) -> tuple[NDArray[np.int64], Features]:
            categories = self._table.categories(column)
            of_items = self._table.features() if categories is None else Categories(*categories)
            # The row in the table of each distinct item of the run, then of each item shown.
            run_codes, distinct = encode(self._run.item)
            row_of_item = np.full(distinct.size, -1)
            row_of_item[run_codes] = self._positions
            rows = row_of_item[find(distinct, items)]
            is_known = (rows >= 0) & known_items(of_items)[rows]
            self._warn_of_unknown(measure, items, is_known)
            return rows, of_items

        past, n_items = self._coded.past, self._coded.n_items
        return Shown(groups, items, self._n_users, n_items, past, self._clusters, features)

    def _warn_of_unknown(
        self, measure: Measure, items: NDArray[np.int64], is_known: NDArray[np.bool_]
    ) -> None:
        unknown = np.unique(items[~is_known])
        if unknown.size:
            warn(
                f"{measure}: {self._table.name} lacks {unknown.size} of the "
                f"{np.unique(items).size} items that {inside(self._run.name)} shows, or their "
                "categories or features, first item "
                f"{_check.label(self._coded.ids.label(unknown[0]))}. Pairs with them are left out."
            )
