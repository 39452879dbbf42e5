"""Exact ranks of selected items in a whole catalogue, by counting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from podium import _check
from podium._ties import TIES, random_bits
from podium.catalogue import _kernels
from podium.catalogue._kernels import Tie
from podium.catalogue.counting import count_above
from podium.catalogue.devices import read_on_device
from podium.catalogue.passes import RULES
from podium.catalogue.source import Scores, Source, of_users, read, refuse_score
from podium.catalogue.sparse import (
    Overlap,
    Rows,
    read_excluded,
    read_relevant,
    split_overlap,
    storage_order,
)
from podium.executors import Executor
from podium.executors.local import or_threads
from podium.types import PerRow, Ties

if TYPE_CHECKING:
    from podium.catalogue.device_scores import DeviceScores

_PARTS = 4  # parts of the users per worker


def target_ranks(
    scores: Scores,
    targets: Any,
    *,
    exclude: Any = None,
    overlap: Overlap = "error",
    ties: Ties = "worst",
    seed: int = 0,
    device: str | None = None,
    executor: Executor | None = None,
) -> PerRow:
    """Return the rank of each target among all items of its user that are not excluded.

    The ranks equal those of `rank_blocks` with depth=None, but nothing is sorted.

    Parameters
    ----------
    scores : (n_users, n_items), pair (user_factors, item_factors), or ScoreFunction
        The scores, see `rank_blocks`.
    targets : scipy.sparse matrix, (n_users, n_items)
        The stored pairs are the targets. Their values are relevances >= 0, which affect only the
        order of equal scores.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not ranked for a user: all stored entries, whatever their values.
    overlap : {"error", "drop"}
        The treatment of targets that are in exclude: raise an error, or return nan as their rank.
    ties : {"worst", "best", "average", "id", "random"}
        The order of equal scores. With "worst", a target ranks after the items of the same score,
        except targets of higher relevance, or of the same relevance and a higher item number. With
        "average", the rank is the mean rank of all items with this score and can end in one half.
        With "id", higher column numbers rank first.
    seed : int
        The seed of ties="random", see `rank_blocks`.
    device : str, optional
        The device that counts, see `top_k`.
    executor : Executor, optional
        The executor of parts of the users, such as ``Ray("auto")`` on a cluster. Each node receives
        `scores` once. Default: the threads of this process.

    Returns
    -------
    float64, (n_targets,)
        Ranks from 1, in the order of ``targets.tocsr().data``; nan for dropped targets.

    Raises
    ------
    ArgumentError
        If `rank_blocks` would raise it.

    Notes
    -----
    Cost: one vectorised comparison per target and item of its user.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> target_ranks([[3.0, 2.0, 1.0, 2.0]], csr_array([[1, 0, 0, 1]]))
    array([1., 3.])
    """
    table = read_on_device(scores, device) or read(scores)
    seen = read_excluded(exclude, table.shape)
    relevant = read_relevant(targets, "targets", table.shape)
    visible, is_excluded = split_overlap(relevant, "targets", seen, overlap)
    tie = Tie(RULES[_check.choice(ties, "ties", TIES)], 0, random_bits(seed))
    ranks = np.full(is_excluded.size, np.nan)
    if executor is None:
        ranks[~is_excluded] = _ranks(table, visible, seen, tie)
    else:
        parts = _parts(visible, seen, table.shape[0], or_threads(executor).n_workers)
        of_parts = executor.map(_ranks_of_part, parts, scores, tie, device)
        ranks[~is_excluded] = np.concatenate([np.empty(0), *of_parts])
    in_storage_order = np.empty_like(ranks)
    in_storage_order[storage_order(targets)] = ranks
    return in_storage_order


class _Part(NamedTuple):
    """The targets of consecutive users."""

    start: int
    stop: int
    targets: Rows
    seen: Rows


def _parts(targets: Rows, seen: Rows, n_users: int, n_workers: int) -> Iterator[_Part]:
    """Yield parts of the users, several for each worker."""
    size = max(1, math.ceil(n_users / (_PARTS * n_workers)))
    for start in range(0, n_users, size):
        stop = min(start + size, n_users)
        yield _Part(start, stop, targets.block(start, stop), seen.block(start, stop))


def _ranks_of_part(part: _Part, scores: Scores, tie: Tie, device: str | None) -> PerRow:
    some = of_users(scores, part.start, part.stop)
    table = read_on_device(some, device) or read(some)
    tie = tie._replace(first_user=part.start)
    return _ranks(table, part.targets, part.seen, tie)


def _ranks(table: Source | DeviceScores, targets: Rows, seen: Rows, tie: Tie) -> PerRow:
    counter = table.counter()
    if counter is None:  # which a device has
        return _ranks_in_blocks(cast("Source", table), targets, seen, tie)
    return 1.0 + count_above(counter, targets, seen, tie)


def _ranks_in_blocks(table: Source, targets: Rows, seen: Rows, tie: Tie) -> PerRow:
    """Return the ranks of targets from blocks with the scores of all items."""
    ranks = np.empty(targets.items.size)
    for start, block in table.blocks(table.block_size):
        stop = start + block.shape[0]
        user, item = _kernels.target_ranks(
            block,
            table.limits.lowest,
            seen.block(start, stop),
            targets.block(start, stop),
            tie._replace(first_user=tie.first_user + start),
            ranks[targets.offsets[start] : targets.offsets[stop]],
        )
        if user >= 0:
            refuse_score(start + user, item, block[user, item])
    return ranks
