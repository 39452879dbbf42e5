"""The best items of each user of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import read_only
from podium._ties import label_keys, tie_keys
from podium.data import _kernels
from podium.data.build import to_single
from podium.data.convert import Ids
from podium.data.ids import (
    as_written,
    codes_of,
    compared,
    distinct,
    first_repeated,
    joined_ids,
    share,
)
from podium.data.join import NOTHING
from podium.data.runs import Run, Truth, read_run, rows_of
from podium.errors import DataError
from podium.groups import Groups
from podium.types import Labels


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
    offsets = np.zeros(groups.n_groups + 1, np.int64)
    rows = np.empty(int(np.minimum(groups.sizes, cutoff).sum()), np.int64)
    order = NOTHING if groups.order is None else groups.order
    _kernels.top_rows(
        groups.offsets, order, read_only(listed.score), read_only(codes), cutoff, offsets, rows
    )
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


def best_rows(run: Run, users: Ids, k: int) -> Run:
    """Return the rows of some users whose score is at least the user's k-th best.

    Scores are compared in single precision. `top_items` of these rows are therefore those of the
    run in either precision, whatever the order of equal scores.

    Examples
    --------
    >>> run = read_run({"user": [1, 1, 1, 2], "item": [5, 6, 7, 5], "score": [3, 2, 2, 1]})
    >>> best_rows(run, np.array([1]), 2).item.tolist()
    [5, 6, 7]
    """
    of_run = as_written(run.user, "user" in run.whole, users)
    shared = share(users, of_run, ordered=False)
    rows = np.flatnonzero(np.isin(shared.right, distinct(shared.left)))
    groups = Groups.from_qid(shared.right[rows])
    scores = to_single(run.score[rows])
    order = np.lexsort((-scores, groups.index))
    last = groups.offsets[:-1] + np.minimum(groups.sizes, k) - 1
    return rows_of(run, rows[scores >= scores[order[last]][groups.index]])


def judged_rows(run: Run, truth: Truth) -> Run:
    """Return the rows of a run whose item the truth contains for the user."""
    users, items = (share(*compared(truth, run, kind)) for kind in ("user", "item"))
    codes = np.unique(np.concatenate([items.left, items.right]), return_inverse=True)[1]
    user_codes = np.unique(np.concatenate([users.left, users.right]), return_inverse=True)[1]
    pairs = user_codes * (int(codes.max(initial=0)) + 1) + codes
    n_truth = items.left.size
    return rows_of(run, np.flatnonzero(np.isin(pairs[n_truth:], pairs[:n_truth])))


def drawn_order(run: Run, seed: int) -> Run:
    """Return a run whose scores have its order, with equal scores in the order of ties="random"."""
    users, labels = codes_of(run.user)
    items, ids = codes_of(run.item)
    groups = Groups.from_qid(users)
    named = Groups(labels[groups.labels], groups.offsets, groups.order)
    item_keys = label_keys(ids)[items].view(np.int64)
    keys, sign = tie_keys("random", named, run.score, groups.gather(item_keys), seed)
    of_row = np.empty(keys.size)
    of_row[slice(None) if groups.order is None else groups.order] = sign * keys
    order = np.lexsort((of_row, -run.score))  # best first
    scores = np.empty(keys.size)
    scores[order] = -np.arange(keys.size, dtype=np.float64)
    return replace(run, score=scores, is_order=True)


def joined_runs(runs: Sequence[Run]) -> Run:
    """Return the rows of several parts of one run."""
    return Run(
        joined_ids([run.user for run in runs]),
        joined_ids([run.item for run in runs]),
        np.concatenate([run.score for run in runs]),
        runs[0].name,
        any(run.is_order for run in runs),
        next((run.whole for run in runs if len(run.user)), ()),
    )
