"""Candidates that are kept, for models whose scores come from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._ties import label_keys
from podium.catalogue.source import Scores, read
from podium.catalogue.sparse import Overlap, Rows
from podium.errors import ArgumentError
from podium.groups import row_offsets
from podium.ranking import kept_offsets
from podium.sampled.design import Ints
from podium.sampled.ranks import SampledRanks, columns_at, one_size
from podium.sampled.sampling import TieOrder, read_plan, scored_parts
from podium.types import Labels, Offsets, Ties


@dataclass(frozen=True, eq=False)
class Candidates:
    """The items that each target is to be ranked among.

    Attributes
    ----------
    user : (n,)
        The user of each target, integers or strings.
    row : int64, (n,)
        The user's row of scores.
    target : int64, (n,)
        The held-out item.
    offsets : int64, (n + 1,)
        The bounds of each target's candidates in `items`.
    items : int64, (offsets[-1],)
        The candidates of all targets.
    n_items : int or int64, (n,)
        The number of items that the candidates were drawn from, including the target.
    replacement : bool
        Whether an item could be drawn twice.
    history : int64, (n,), or None
        The number of the user's own items that could be candidates; see `SampledRanks`.
    """

    user: Labels
    row: Ints
    target: Ints
    offsets: Offsets
    items: Ints
    n_items: int | Ints
    replacement: bool = True
    history: Ints | None = None

    @property
    def n_negatives(self) -> int | Ints:
        """The number of candidates per target: one number if it is the same for all."""
        return one_size(np.diff(self.offsets))

    def ranks(self, scores: Scores, *, ties: Ties = "worst", seed: int = 0) -> SampledRanks:
        """Rank each target among its candidates.

        Parameters
        ----------
        scores : (n_users, n_items), or pair (user_factors, item_factors)
            The scores, in the forms of `podium.catalogue.rank_blocks`.
        ties, seed
            The treatment of ties, as in `sample_ranks`.

        Returns
        -------
        SampledRanks
        """
        source = read(scores)
        (n_users, n_items), last_row = source.shape, int(self.row.max())
        last_item = max(int(self.target.max()), int(self.items.max()))
        if last_row >= n_users or last_item >= n_items:
            raise ArgumentError(
                f"scores must have a row for each user and a column for each item, got "
                f"{n_users} x {n_items}, but candidates have row {last_row} and item {last_item}."
            )
        above, order = np.empty(self.target.size, np.int64), np.argsort(self.row, kind="stable")
        keys, tie_order = label_keys(self.user), TieOrder.read(ties, seed)
        lists = Rows(self.offsets, self.items, self.items)
        width = self.items.size / self.target.size
        for part, scores_of in scored_parts(source, self.row[order], width):
            numbers = order[part]
            columns = keys[numbers], self.row[numbers], self.target[numbers]
            offsets, items, _ = lists.of(numbers)
            above[numbers] = tie_order.n_above(scores_of, *columns, (offsets, items))
        return SampledRanks(
            above + 1,
            self.n_negatives,
            self.n_items,
            replacement=self.replacement,
            user=self.user,
            history=self.history,
        )

    def without(self, dropped: NDArray[np.bool_]) -> Candidates:
        """Return the remaining candidates, and only targets that still have one."""
        n_left_before = kept_offsets(~dropped, self.offsets)
        has_candidates = np.diff(n_left_before) > 0
        if not has_candidates.any():
            raise ArgumentError("candidates: no target has a candidate left. Draw more.")
        offsets = row_offsets(np.diff(n_left_before)[has_candidates])
        names = ("user", "row", "target", "n_items", "history")
        columns = columns_at(self, names, has_candidates)
        return replace(self, offsets=offsets, items=self.items[~dropped], **columns)


def draw_candidates(
    targets: Any,
    n_negatives: int,
    *,
    replacement: bool = True,
    exclude: Any = None,
    overlap: Overlap = "error",
    other_targets: str = "keep",
    users: ArrayLike | None = None,
    history: Any = None,
    seed: int = 0,
) -> Candidates:
    """Draw the items that each target is to be ranked among, from all other items.

    Parameters
    ----------
    targets, replacement, exclude, overlap, other_targets, users, history, seed
        The parameters of `sample_ranks`, which draws the same items but does not keep them.
    n_negatives : int
        The number of items drawn beside each target.

    Returns
    -------
    Candidates

    Raises
    ------
    ArgumentError
        If fewer than n_negatives items can be drawn.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> found = draw_candidates(csr_array([[0, 1, 0, 0]]), 3, replacement=False)
    >>> sorted(found.items.tolist())
    [0, 2, 3]
    """
    plan = read_plan(
        targets, exclude=exclude, overlap=overlap, other_targets=other_targets, users=users
    )
    n_drawn = _check.cutoff(n_negatives, name="n_negatives")
    plan.require_candidates(n_drawn)
    replacement = _check.flag(replacement, "replacement")
    items = plan.draw(np.arange(plan.targets.size), n_drawn, seed, replacement=replacement)
    return Candidates(
        plan.user,
        plan.rows,
        plan.targets,
        np.arange(plan.targets.size + 1) * n_drawn,
        items.ravel(),
        one_size(plan.n_items),
        replacement,
        plan.n_own_items(history),
    )
