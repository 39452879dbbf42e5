"""Rankings of a whole catalogue: from scores and a sparse truth, in blocks of users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import ideal_order, read_only
from podium._ties import random_bits
from podium.catalogue import passes
from podium.catalogue.source import Floats, Scores, Source, read
from podium.catalogue.sparse import Overlap, Rows, read_excluded, read_relevant, split_overlap
from podium.groups import Groups
from podium.ranking import TIES, Ranking, count_between
from podium.types import Offsets, Ties


def rank_blocks(
    scores: Scores,
    truth: Any,
    *,
    exclude: Any = None,
    overlap: Overlap = "error",
    depth: int | None = None,
    ties: Ties = "worst",
    min_relevance: float = 1.0,
    block_size: int | None = None,
    seed: int = 0,
) -> Iterator[Ranking]:
    """Rank every item of a catalogue for every user, one Ranking per block of users.

    Parameters
    ----------
    scores : (n_users, n_items), pair (user_factors, item_factors), or ScoreFunction
        A matrix, factors whose products are taken a block at a time (see `top_k_factors`), or a
        function that gives a block.
    truth : scipy.sparse matrix, (n_users, n_items)
        Relevance of the stored pairs, >= 0; all other items have 0.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        Items that are not to be ranked for a user: every stored entry, whatever its value.
        Their scores are not looked at and may be anything.
    overlap : {"error", "drop"}
        What to do about pairs that are both in truth and in exclude: refuse them, or leave them
        out of the truth too, so that nobody could have found them.
    depth : int, optional
        List the best `depth` items of each user only: as many as the largest cutoff, 2k - 1 for
        pap@k. Without it all items are listed, which takes a sort of them.
    ties : {"worst", "best", "average", "id", "random"}
        As in `Ranking.from_scores`; ids are column numbers. The rule decides too which of equal
        scores a list of that depth ends with; under "average" it takes all of them and gets
        longer than depth.
    min_relevance : float
        Relevance from which an item counts as positive.
    block_size : int, optional
        Users in a Ranking. Chosen from the shape without it: memory does not grow with users.
    seed : int
        For ties="random". The order of equal scores depends on seed, user and item alone.

    Returns
    -------
    iterator of Ranking
        Groups are labelled by row number. n_items leaves out excluded items. Users without
        truth are groups without positives.

    Raises
    ------
    ArgumentError
        For shapes that differ, a relevance below 0, pairs in truth twice or in exclude too, an
        unknown rule; and while iterating, for a score that is NaN or infinite.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> scores = [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
    >>> truth = csr_array([[0, 0, 1], [0, 1, 0]])
    >>> [r.relevance.tolist() for r in rank_blocks(scores, truth, depth=2)]
    [[0.0, 0.0, 0.0, 1.0]]
    """
    table = read(scores)
    seen = read_excluded(exclude, table.shape)
    judged, _ = split_overlap(read_relevant(truth, "truth", table.shape), "truth", seen, overlap)
    plan = _Plan(
        table,
        seen,
        judged,
        depth=_check.cutoff(depth, name="depth", required=False),
        ties=_check.choice(ties, "ties", TIES),
        min_relevance=_check.number(min_relevance, "min_relevance", low=0.0, strict=True),
        bits=random_bits(seed),
    )
    blocks = table.blocks(table.block_size(block_size))
    return (plan.ranking(start, block) for start, block in blocks)


def rank_all(
    scores: Scores,
    truth: Any,
    *,
    exclude: Any = None,
    overlap: Overlap = "error",
    depth: int | None = None,
    ties: Ties = "worst",
    min_relevance: float = 1.0,
    seed: int = 0,
) -> Ranking:
    """Rank every item of a catalogue for every user, as one Ranking.

    It holds all users' lists: give a depth, or use `rank_blocks` where that would be too much.

    Parameters
    ----------
    scores, truth, exclude, overlap, depth, ties, min_relevance, seed
        As in `rank_blocks`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> r = rank_all([[3.0, 2.0, 1.0]], csr_array([[0, 1, 0]]), exclude=csr_array([[1, 0, 0]]))
    >>> r.relevance.tolist(), r.n_items.tolist()
    ([1.0, 0.0], [2])
    """
    parts = list(
        rank_blocks(
            scores,
            truth,
            exclude=exclude,
            overlap=overlap,
            depth=depth,
            ties=ties,
            min_relevance=min_relevance,
            seed=seed,
        )
    )
    first = parts[0]
    offsets = _joined([p.groups.offsets for p in parts])
    return Ranking(
        Groups(np.arange(offsets.size - 1), offsets),
        np.concatenate([p.relevance for p in parts]),
        _joined([p.ideal_offsets for p in parts]),
        np.concatenate([p.ideal for p in parts]),
        np.concatenate([p.n_items for p in parts]),
        first.min_relevance,
        first.ties,
        np.concatenate([p.tied for p in parts]),
    )


@dataclass(frozen=True, eq=False)
class _Plan:
    """All that a block's Ranking follows from, checked."""

    scores: Source
    seen: Rows
    truth: Rows
    depth: int | None
    ties: Ties
    min_relevance: float
    bits: np.uint64

    def ranking(self, start: int, block: Floats) -> Ranking:
        stop = start + len(block)
        seen, truth = self.seen.block(start, stop), self.truth.block(start, stop)
        n_items = self.scores.n_items - seen.sizes
        wanted = self.scores.n_items if self.depth is None else self.depth
        floors = passes.kth_best(self.scores, start, block, seen, wanted)
        found = passes.lists(
            self.scores,
            block,
            seen,
            truth,
            floors,
            # All that share the last one's score are needed for an exact mean over their orders.
            passes.n_reaching(block, seen, floors)
            if self.ties == "average"
            else np.minimum(n_items, wanted),
            passes.Tie(passes.RULES[self.ties], start, self.bits),
        )
        return Ranking(
            Groups(np.arange(start, stop), found.offsets),
            found.relevance,
            *_ideal(truth),
            n_items,
            self.min_relevance,
            self.ties,
            found.tied,
        )


def _ideal(truth: Rows) -> tuple[Offsets, NDArray[np.float64]]:
    """Return the relevances > 0 of each user, falling."""
    positive = truth.values > 0
    offsets = passes.row_offsets(count_between(positive, truth.offsets))
    values = read_only(truth.values[positive])
    best = np.empty_like(values)
    ideal_order(offsets, values, best)
    return offsets, best


def _joined(parts: list[Offsets]) -> Offsets:
    return passes.row_offsets(np.concatenate([np.diff(offsets) for offsets in parts]))
