"""Exact ranks of chosen items in a whole catalogue, by counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium import _check
from podium._ties import random_bits
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
from podium.ranking import TIES
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
    """Find the rank of each target among all items of its user that are not excluded.

    Ranks are what `rank_blocks` with depth=None would give the targets, without sorting anything.

    Parameters
    ----------
    scores : (n_users, n_items), pair (user_factors, item_factors), or ScoreFunction
        As in `rank_blocks`.
    targets : scipy.sparse matrix, (n_users, n_items)
        The stored pairs are the targets. Their values are relevances >= 0, which matter to the
        order of equal scores only.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        Items that are not ranked for a user: every stored entry, whatever its value.
    overlap : {"error", "drop"}
        What to do about targets that are in exclude: refuse them, or give them no rank (nan).
    ties : {"worst", "best", "average", "id", "random"}
        Under "worst" a target comes after the items that share its score, except targets of
        higher relevance or, with the same, of a higher item number. "average" is the mean rank
        of all that share it, which may end in one half.
    block_size, seed
        As in `rank_blocks`.

    Returns
    -------
    float64, (n_targets,)
        From 1, in the order of ``targets.tocsr().data``.

    Raises
    ------
    ArgumentError
        As `rank_blocks`.

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
    true = read_relevant(targets, "targets", table.shape)
    _, hidden = split_overlap(true, "targets", seen, overlap)
    rule = RULES[_check.choice(ties, "ties", TIES)]
    bits = random_bits(seed)
    ranks = np.empty(hidden.size)
    for start, block in table.blocks(table.block_size(block_size)):
        stop = start + block.shape[0]
        user, item = _kernels.target_ranks(
            block,
            table.limits.lowest,
            seen.block(start, stop),
            true.block(start, stop),
            _kernels.Tie(rule, start, bits),
            ranks[true.offsets[start] : true.offsets[stop]],
        )
        if user >= 0:
            table.refuse(start + user, item, block[user, item])
    result = np.empty_like(ranks)
    result[storage_order(targets)] = ranks
    return result
