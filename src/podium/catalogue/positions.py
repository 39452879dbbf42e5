"""Exact ranks of selected items in a whole catalogue, by counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium import _check
from podium._ties import TIES, random_bits
from podium.catalogue import _kernels
from podium.catalogue.passes import RULES
from podium.catalogue.source import Scores, read
from podium.catalogue.sparse import (
    Overlap,
    read_excluded,
    read_relevant,
    split_overlap,
    storage_order,
)
from podium.types import PerRow, Ties


def target_ranks(
    scores: Scores,
    targets: Any,
    *,
    exclude: Any = None,
    overlap: Overlap = "error",
    ties: Ties = "worst",
    block_size: int | None = None,
    seed: int = 0,
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
    block_size, seed
        The block size and the seed, see `rank_blocks`.

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
    table = read(scores)
    seen = read_excluded(exclude, table.shape)
    relevant = read_relevant(targets, "targets", table.shape)
    _, is_excluded = split_overlap(relevant, "targets", seen, overlap)
    rule = RULES[_check.choice(ties, "ties", TIES)]
    bits = random_bits(seed)
    ranks = np.empty(is_excluded.size)
    for start, block in table.blocks(table.block_size(block_size)):
        stop = start + block.shape[0]
        user, item = _kernels.target_ranks(
            block,
            table.limits.lowest,
            seen.block(start, stop),
            relevant.block(start, stop),
            _kernels.Tie(rule, start, bits),
            ranks[relevant.offsets[start] : relevant.offsets[stop]],
        )
        if user >= 0:
            table.refuse(start + user, item, block[user, item])
    in_storage_order = np.empty_like(ranks)
    in_storage_order[storage_order(targets)] = ranks
    return in_storage_order
