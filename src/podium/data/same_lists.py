"""Whether two runs have the same lists: equal items in the same order, with the same ties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.data.build import in_single_precision
from podium.data.ids import share_all
from podium.data.runs import Run, Truth
from podium.protocol import Conventions
from podium.types import Mask

Ints = NDArray[np.int64]


def have_same_lists(
    truth: Truth,
    runs: tuple[Run, Run],
    depth: int | None,
    conventions: Conventions,
) -> bool:
    """Return whether two runs have the same lists for all users of a truth.

    Scores need not be equal, only their order and their ties. All items with the score of the last
    item that counts are compared, because a tie rule can choose any of them.

    Parameters
    ----------
    truth : Truth
        The users whose lists are compared.
    runs : (Run, Run)
        The runs, which may have no rows.
    depth : int or None
        The number of items of each list to compare; None for the whole list.
    conventions : Conventions
        Items that they remove are not compared.

    Examples
    --------
    >>> truth = Truth(np.array([1]), np.array([7]), np.array([1.0]))
    >>> users, scores = np.array([1, 1]), np.array([0.9, 0.1])
    >>> one, other = Run(users, np.array([7, 8]), scores), Run(users, np.array([7, 9]), scores)
    >>> [have_same_lists(truth, (one, other), k, Conventions()) for k in (1, 2)]
    [True, False]
    """
    if conventions.single_precision:
        runs = (in_single_precision(runs[0]), in_single_precision(runs[1]))
    tables = (truth, *runs)
    users = share_all([table.user for table in tables]).columns
    items = share_all([table.item for table in tables]).columns
    n_users, n_items = (1 + max(int(c.max(initial=-1)) for c in codes) for codes in (users, items))
    is_user = np.zeros(n_users, np.bool_)
    is_user[users[0]] = True
    judged = np.unique(users[0] * n_items + items[0]) if conventions.unjudged == "skip" else None
    # Without unretrieved items, those below the least score decide which relevant items count.
    least = None if conventions.unretrieved == "drop" else conventions.least_score
    listed: list[tuple[Ints, ...]] = []
    for run, user, item in zip(runs, users[1:], items[1:], strict=True):
        rows = is_user[user]
        present = np.unique(user[rows])
        if least is not None:
            rows &= run.score > least
        if judged is not None:
            rows &= np.isin(user * n_items + item, judged)
        listed.append((present, *_top(user[rows], item[rows], run.score[rows], depth)))
    return all(np.array_equal(one, other) for one, other in zip(*listed, strict=True))


def _top(
    user: Ints, item: Ints, score: NDArray[np.float64], depth: int | None
) -> tuple[Ints, Ints, Ints]:
    """Return the user, item and first rank of its tie, from 0, of the rows above a depth."""
    order = np.lexsort((item, -score, user))
    user, item, score = user[order], item[order], score[order]
    position = np.arange(user.size)
    is_new_user = _changes(user)
    is_new_score = is_new_user | _changes(score)
    rank = np.maximum.accumulate(np.where(is_new_score, position, 0))
    rank -= np.maximum.accumulate(np.where(is_new_user, position, 0))
    keep = slice(None) if depth is None else rank < depth
    return user[keep], item[keep], rank[keep]


def _changes(values: NDArray[np.generic]) -> Mask:
    """Return which values differ from the one before; the first one does."""
    differs = np.ones(values.size, np.bool_)
    differs[1:] = values[1:] != values[:-1]
    return differs
