"""The items of two runs that the truth does not judge, matched by user and item."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium.data.ids import Shared, share
from podium.data.lists import Listed, Lists
from podium.data.opened import Tables
from podium.data.source import POLARS
from podium.data.users import user_positions
from podium.errors import ArgumentError, PodiumWarning
from podium.groups import row_offsets, rows_between
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import Measures
from podium.ranking import Ranking
from podium.types import Counts, Labels, Offsets


@dataclass(frozen=True, eq=False)
class UnjudgedPool:
    """The items that the truth lacks for a user and that at least one of two runs lists.

    Attributes
    ----------
    labels : (n_users,)
        The users.
    base, candidate : Ranking
        The lists of both runs. They may contain further users.
    base_group, candidate_group : int64, (n_users,)
        The position of each user in the groups of these rankings.
    offsets : int64, (n_users + 1,)
        The bounds of each user's items.
    base_rank, candidate_rank : int64, (n_unjudged,)
        The rank of each item in both lists, from 1; 0 if the list lacks it.
    grades : float64, (n_grades,)
        The distinct relevances > 0 of the truth, increasing.
    """

    labels: Labels
    base: Ranking
    candidate: Ranking
    base_group: NDArray[np.int64]
    candidate_group: NDArray[np.int64]
    offsets: Offsets
    base_rank: NDArray[np.int64]
    candidate_rank: NDArray[np.int64]
    grades: NDArray[np.float64]
    _codes: NDArray[np.int64]
    _items: Shared

    @property
    def n_unjudged(self) -> Counts:
        """The number of unjudged items of each user, int64, (n_users,)."""
        return np.diff(self.offsets)

    def items(self, rows: NDArray[np.int64]) -> Labels:
        """Return the ids of items, given their positions."""
        return self._items.labels(self._codes[rows])


def pool_unjudged(
    truth: Any,
    base: Any,
    candidate: Any,
    protocol: Protocol | Measures = (),
    *,
    labels: Labels | None = None,
    **fields: Unpack[ProtocolFields],
) -> UnjudgedPool:
    """Return the unjudged items of two runs, matched by user and item.

    Parameters
    ----------
    truth, base, candidate : path, frame, mapping or tuple of arrays, sparse matrix; or Truth, Run
        The tables, see `read_truth` and `read_run`. Tables that were already read are not read
        again.
    protocol : Protocol, or the measures, optional
        A protocol whose fields apply.
    labels : (n_users,), optional
        The users, in any order. By default, these are all users whom both rankings contain.
    **fields
        Conventions and column names, as in `ranking`; unjudged can only be "bounds".

    Returns
    -------
    UnjudgedPool
        The items of each user: those of the base in rank order, then those of the candidate only.

    Raises
    ------
    ArgumentError, DataError
        If `ranking` with unjudged="bounds" raises, or a user of `labels` is in only one ranking.

    Notes
    -----
    The warnings of `ranking` are not repeated, because measuring the runs gives them.
    Cost: two joins, as in `ranking`, and one pass over the unjudged items.

    Examples
    --------
    >>> truth = {"user": [1, 1], "item": ["a", "b"]}
    >>> base = {"user": [1, 1], "item": ["a", "x"], "score": [0.9, 0.8]}
    >>> candidate = {"user": [1, 1, 1], "item": ["y", "x", "a"], "score": [0.9, 0.8, 0.7]}
    >>> pool = pool_unjudged(truth, base, candidate)
    >>> pool.items(np.arange(2)).tolist(), pool.base_rank.tolist(), pool.candidate_rank.tolist()
    (['x', 'y'], [2, 0], [2, 1])
    """
    stated = Protocol.of(protocol, **fields)
    _check.choice(stated.stated().get("unjudged", "bounds"), "unjudged", ("bounds",))
    conventions = stated.replace(unjudged="bounds", measures=()).conventions()
    judged, runs = Tables.open(stated, truth, {"base": base, "candidate": candidate}).read()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        lists = [Lists.of(judged, run, conventions, with_items=True) for run in runs.values()]
    common = np.intersect1d(lists[0].labels, lists[1].labels)
    users = common if labels is None else labels
    groups = [_positions(users, of_run.labels) for of_run in lists]
    (first, base_ranks), (second, candidate_ranks) = (of_run.unjudged() for of_run in lists)
    items = share(first.item, second.item, ordered=False)
    POLARS.enter()
    of_base = _rows_of(groups[0], first, items.left, base_ranks)
    of_candidate = _rows_of(groups[1], second, items.right, candidate_ranks)
    pairs = ["user", "item"]
    # The items of the base come first.
    rows = of_base.join(of_candidate, pairs, "full", coalesce=True, maintain_order="left_right")
    rows = rows.fill_null(0).sort("user", maintain_order=True)
    user, codes, base_rank, candidate_rank = (column.to_numpy() for column in rows)
    return UnjudgedPool(
        labels=users,
        base=lists[0].ranking,
        candidate=lists[1].ranking,
        base_group=groups[0],
        candidate_group=groups[1],
        offsets=row_offsets(np.bincount(user, minlength=users.size)),
        base_rank=base_rank,
        candidate_rank=candidate_rank,
        grades=np.unique(judged.relevance[judged.relevance > 0]),
        _codes=codes,
        _items=items,
    )


def _rows_of(
    group: NDArray[np.int64], listed: Listed, codes: NDArray[np.int64], rank: NDArray[np.int64]
) -> pl.DataFrame:
    """Return the rows of the groups of some users, one user after the other."""
    sizes = listed.groups.sizes[group]
    _, rows = rows_between(listed.groups.offsets[group], sizes)
    user = np.repeat(np.arange(group.size), sizes)
    return pl.DataFrame({"user": user, "item": codes[rows], "rank": rank[rows]})


def _positions(users: Labels, labels: Labels) -> NDArray[np.int64]:
    """Return the position of each user among the labels of a run."""
    position = user_positions(users, labels)
    is_absent = position < 0
    if is_absent.any():
        raise ArgumentError(
            f"labels must be users of both runs, but {int(is_absent.sum())} of {users.size} are "
            f"not, first {_check.label(users[is_absent.argmax()])}."
        )
    return position
