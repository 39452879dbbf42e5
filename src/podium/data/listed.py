"""The listed items of some users by rank, as measures see them, and the items that they lack."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium._kernels import rank_rows, read_only
from podium._ties import tie_keys
from podium.data.build import prepared, rows_of, threshold_of
from podium.data.join import NOTHING, Join, Rows
from podium.data.runs import Run, Truth
from podium.data.runs import rows_of as some_rows
from podium.data.users import user_positions
from podium.groups import Groups
from podium.protocol import Conventions
from podium.types import Labels


class Listed(NamedTuple):
    """The items of one user.

    Attributes
    ----------
    items : list of str
        The items of the list, best first.
    positives : list of str
        The relevant items that count, in the list or not, the most relevant first.
    """

    items: list[str]
    positives: list[str]


def listed_items(truth: Truth, run: Run, labels: Labels, conventions: Conventions) -> list[Listed]:
    """Return the lists of some users under the conventions of a measurement.

    Items that a convention removes are not in the lists, and equal scores have the order of
    `ties`. Positives that a convention leaves out are not among those that count.

    Parameters
    ----------
    truth, run : Truth, Run
        Tables that contain these users.
    labels : (n_users,)
        The users; those that a table lacks have no items.
    conventions : Conventions

    Examples
    --------
    >>> from podium.data import read_run, read_truth
    >>> truth = read_truth({"user": [1, 1], "item": ["a", "b"]})
    >>> run = read_run({"user": [1, 1], "item": ["x", "a"], "score": [0.5, 0.5]})
    >>> listed_items(truth, run, np.array([1]), Conventions())
    [Listed(items=['x', 'a'], positives=['a', 'b'])]
    >>> listed_items(truth, run, np.array([1]), Conventions(unretrieved="drop", ties="best"))
    [Listed(items=['a', 'x'], positives=['a'])]
    """
    positive = threshold_of(truth, conventions)
    truth = _of_users(truth, labels)
    if not truth.relevance.size:
        return [Listed([], []) for _ in labels]
    run = prepared(_of_users(run, labels), conventions, has_rows=False)
    join = Join.of(truth, run, "zero", ids_ordered=conventions.ties == "id")
    rows = rows_of(join, truth, run, conventions, with_items=True)
    codes = in_rank_order(join, rows, conventions)
    place = user_positions(labels, join.labels)
    result = [Listed([], []) for _ in range(labels.size)]
    for position, listed in enumerate(result):
        group = place[position]
        if group < 0:
            continue
        mine = codes[rows.offsets[group] : rows.offsets[group + 1]]
        listed.items.extend(_texts(join, mine))
        of_truth = np.flatnonzero(join.users.left == join.truths.labels[join.truth_group[group]])
        of_truth = of_truth[truth.relevance[of_truth] >= positive]
        of_truth = of_truth[np.argsort(-truth.relevance[of_truth], kind="stable")]
        counted = join.items.left[of_truth]
        if conventions.unretrieved == "drop" and join.run_group[group] >= 0:
            of_run = join.users.right == join.runs.labels[join.run_group[group]]
            counted = counted[np.isin(counted, join.items.right[of_run])]
        listed.positives.extend(_texts(join, counted))
    return result


def in_rank_order(join: Join, rows: Rows, conventions: Conventions) -> NDArray[np.int64]:
    """Return the item codes of rows in rank order; the rows must have items."""
    items = NOTHING if rows.item is None else rows.item
    groups = Groups(join.labels, rows.offsets)
    ties = conventions.ties
    of_ties = join.tie_items(items, ties)
    keys, sign = tie_keys(ties, groups, rows.relevance, of_ties, conventions.ties_seed)
    order = np.arange(items.size, dtype=np.float64)
    rank_rows(rows.offsets, read_only(rows.score), keys, sign, order, np.empty(0, np.bool_))
    return items[order.astype(np.int64)]


def _texts(join: Join, codes: NDArray[np.int64]) -> list[str]:
    return [str(join.items.label(code)) for code in codes.tolist()]


def _of_users(table: Any, labels: Labels) -> Any:
    """Return the rows of some users."""
    return some_rows(table, np.flatnonzero(user_positions(table.user, labels) >= 0))
