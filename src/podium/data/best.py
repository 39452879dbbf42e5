"""The best items of each user of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import read_only
from podium.data import _kernels
from podium.data.ids import codes_of, first_repeated
from podium.data.runs import read_run
from podium.errors import DataError
from podium.groups import Groups
from podium.types import Labels, Offsets, PerRow


def top_items(run: Any, k: int, **columns: str | None) -> tuple[Groups, NDArray[np.int64], Labels]:
    """Return the k best items of each user of a run, best first.

    Parameters
    ----------
    run : path, frame, mapping or tuple of arrays, sparse matrix; or Run
        The run, see `read_run`.
    k : int
        The cutoff in items, at least 1. Shorter lists are returned whole.
    **columns
        The names of columns, see `read_run`.

    Returns
    -------
    Groups, codes int64 (n_rows,), ids (n_distinct,)
        The rows, grouped by user in rank order. ``ids[codes]`` are their items; `ids` are all items
        of the run, increasing.

    Raises
    ------
    DataError
        If a file or table is wrong (see `read_run`), or an item is twice in a user's list of k
        items.

    Notes
    -----
    Ties: the lower id ranks first, so that the result does not depend on row order.
    Cost: one pass, with an insertion for each row that is among the k best so far.

    Examples
    --------
    >>> groups, codes, ids = top_items({"user": [1, 1], "item": ["b", "a"], "score": [1, 2]}, 1)
    >>> ids[codes].tolist()
    ['a']
    """
    cutoff = _check.cutoff(k)
    listed = read_run(run, **columns)
    codes, ids = codes_of(listed.item)
    users, names = codes_of(listed.user)
    groups = Groups.from_qid(users)
    offsets, rows = top_rows(groups, listed.score, codes, cutoff)
    top = Groups(names[groups.labels], offsets)
    _refuse_duplicates(listed.name, top, codes[rows], ids)
    return top, codes[rows], ids


def _refuse_duplicates(name: str, top: Groups, codes: NDArray[np.int64], ids: Labels) -> None:
    """Raise if one list contains an item twice."""
    repeated = first_repeated(top.index * ids.size + codes)
    if repeated is not None:
        group, item = divmod(repeated, ids.size)
        user, item_label = _check.label(top.labels[group]), _check.label(ids[item])
        raise DataError(f"{name} lists item {item_label} twice for user {user}. Keep one.")


def top_rows(
    groups: Groups, scores: PerRow, keys: NDArray[np.int64], k: int
) -> tuple[Offsets, NDArray[np.int64]]:
    """Return the offsets and the rows of the k best scores of each group, best first.

    Equal scores are in the order of increasing keys.
    """
    offsets = np.zeros(groups.n_groups + 1, np.int64)
    rows = np.empty(int(np.minimum(groups.sizes, k).sum()), np.int64)
    order = np.empty(0, np.int64) if groups.order is None else groups.order
    _kernels.top_rows(groups.offsets, order, read_only(scores), read_only(keys), k, offsets, rows)
    return offsets, rows
