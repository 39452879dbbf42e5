"""Candidates that another system scores: the top of a proxy's list, and random others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.catalogue.source import Scores
from podium.catalogue.sparse import Overlap
from podium.errors import ArgumentError, arg
from podium.sampled.design import Floats, Ints
from podium.sampled.ranks import Counts, SampledRanks, ScannedRanks
from podium.sampled.sampling import counts_above, read_plan
from podium.sampled.scanning.order import ProxyOrder, candidates_only, draw_rest, read_order
from podium.sampled.shared import SharedRanks
from podium.types import Labels, Mask

LISTED, DRAWN = "listed", "drawn"
"""The names of the strata in a table."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Users' targets, the first items of a proxy's list if there is one, and random other items.

    Each row is a user and an item to score. The rows of a user are consecutive: the targets, the
    listed items, then the drawn ones.

    Attributes
    ----------
    user : (n,)
        The user's label, an integer or a string.
    row, item : int64, (n,)
        The user's row of `targets`, and the item.
    is_target, is_drawn : bool, (n,)
        Whether the item is a target, and whether it was drawn. The others are listed.
    in_list : bool, (n,)
        Whether the proxy ranks the item among the first ones: the listed items, and some targets.
    n_items : int64, (n_targets,)
        The number of items that each target is ranked among, including itself.
    keeps_targets : bool
        Whether the user's other targets are ranked too.
    """

    user: Labels
    row: Ints
    item: Ints
    is_target: NDArray[np.bool_]
    is_drawn: NDArray[np.bool_]
    in_list: NDArray[np.bool_]
    n_items: Ints
    keeps_targets: bool

    def __repr__(self) -> str:
        n_targets, n_drawn = int(self.is_target.sum()), int(self.is_drawn.sum())
        return (
            f"Candidates({n_targets} targets, "
            f"{self.row.size - n_targets - n_drawn} listed and {n_drawn} drawn items of "
            f"{np.unique(self.row).size} users)"
        )

    @property
    def has_list(self) -> bool:
        """Whether items of a proxy's list are candidates."""
        return not (self.is_target | self.is_drawn).all()

    def ranks(
        self, scores: ArrayLike, *, k: int | None = None, shared: bool = False, ties: str = "worst"
    ) -> Any:
        """Rank each target among the user's candidates.

        Parameters
        ----------
        scores : float64, (n,)
            The score of each row. Higher is better.
        k : int, optional
            The largest cutoff of the measures to estimate, if items are listed.
        shared : bool
            Whether measures are those of whole rankings, with all targets of a user.
        ties : {"worst", "best"}
            Whether items with the target's score count as above it.

        Returns
        -------
        SampledRanks, ScannedRanks if items are listed, or SharedRanks with ``shared=True``

        Raises
        ------
        ArgumentError
            If the number of scores is wrong, or if a score is not finite.
        """
        keeps_targets = self.keeps_targets and not shared
        columns = (self.row, self._checked(scores), self.is_target, self.is_drawn)
        counts = strata_counts(*columns, ties=ties, keeps_targets=keeps_targets)
        user, item = self.user[self.is_target], self.item[self.is_target]
        row = self.row[self.is_target]
        n_others = np.bincount(row)[row] - 1 if shared and not self.keeps_targets else 0
        options: dict[str, Any] = {"user": user, "item": item}
        if self.has_list:
            k = 1 if shared else _check.cutoff(k)
            ranks = ScannedRanks(*counts, self.n_items + n_others, k=k, **options)
        else:
            sizes = counts.n_drawn, self.n_items + n_others
            ranks = SampledRanks(counts.above_drawn + 1, *sizes, replacement=False, **options)
        return SharedRanks(ranks) if shared else ranks

    def table(self, scores: ArrayLike | None = None) -> dict[str, NDArray[Any]]:
        """Return columns for `podium estimate` and `read`: user, item and target.

        With listed items, there is also a column of strata.

        Parameters
        ----------
        scores : float64, (n,), optional
            The score of each row, which becomes a column too.
        """
        columns = {
            "user": self.user,
            "item": self.item,
            "target": self.is_target.astype(np.int64),
        }
        if self.has_list:
            columns["stratum"] = np.where(self.in_list, LISTED, DRAWN)
        return columns if scores is None else {**columns, "score": self._checked(scores)}

    def _checked(self, scores: ArrayLike) -> Floats:
        column = _check.scores(scores)
        if column.size != self.row.size:
            raise ArgumentError(
                f"scores must have one score per row, got {column.size} for {self.row.size} rows."
            )
        return column


def strata_counts(
    codes: Ints, scores: Floats, is_target: Mask, is_drawn: Mask, *, ties: str, keeps_targets: bool
) -> Counts:
    """Count the items above each target, in the order of the rows of targets.

    `codes` are the numbers of users. Rows are targets, listed items and drawn ones, in any order.
    If other targets are kept, they are listed.
    """
    is_worst = _check.choice(ties, "ties", ("worst", "best")) == "worst"
    counts: list[Ints] = []
    is_listed = ~is_drawn | is_target if keeps_targets else ~(is_drawn | is_target)
    for is_in in (is_listed, is_drawn & ~is_target):
        above, equal = counts_above(codes, scores, is_target, is_in)
        sizes = np.bincount(codes[is_in], minlength=int(codes.max()) + 1)
        counts += [above + equal * is_worst, sizes[codes[is_target]]]
    n_own = int(keeps_targets)  # the target is not listed for itself
    return Counts(counts[0] - n_own * is_worst, counts[1] - n_own, *counts[2:])


def draw_candidates(
    targets: Any,
    *,
    uniform: int,
    certain: int = 0,
    proxy: Scores | ArrayLike | None = None,
    lists: ArrayLike | None = None,
    exclude: Any = None,
    overlap: Overlap = "error",
    other_targets: str = "keep",
    users: ArrayLike | None = None,
    seed: int = 0,
) -> Candidates:
    """Choose the items to score for each user: random ones, and the top of a proxy's list.

    With a proxy, `scan` needs fewer scores for the same precision, but asks the model in rounds.
    Use candidates if another system scores all pairs in one batch.

    Parameters
    ----------
    targets, proxy, lists, exclude, overlap, users, seed
        The parameters of `scan`.
    uniform : int
        The number of items drawn without replacement from the user's other items, at least 1.
    certain : int
        The number of items from the top of the proxy's list. The user's targets are taken out
        before the list is cut. With 0, there is no proxy.
    other_targets : {"keep", "exclude"}
        Whether the user's other targets are ranked too, as listed items. Without a list, they are
        not.

    Returns
    -------
    Candidates
        A user whose list is shorter has fewer listed items. A user with fewer other items has all
        of them, and the ranks are then exact.

    Raises
    ------
    ArgumentError
        If a proxy's score is not finite, if a list has an item outside the catalogue, or for a
        reason listed in `sample_ranks`.

    Warns
    -----
    PodiumWarning
        If the proxy ranks more than half of the targets first. They may have been in its training
        data.

    Notes
    -----
    All targets of a user share its candidates. Their scores are needed too.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> popularity = np.array([9, 8, 7, 6, 5, 4])
    >>> held_out = csr_array(([1], ([0], [1])), shape=(1, 6))
    >>> drawn = draw_candidates(held_out, proxy=popularity, certain=2, uniform=2)
    >>> drawn.item[:3].tolist()  # the target, then the top of the list without it
    [1, 0, 2]
    >>> drawn.ranks([0.5, 0.9, 0.1, 0.2, 0.3], k=1)
    ScannedRanks(1 targets of 1 users, k=1, 4 items scored per target, 0.0% open)
    >>> draw_candidates(held_out, uniform=2)
    Candidates(1 targets, 0 listed and 2 drawn items of 1 users)
    """
    n_listed = _check.count(certain, "certain")
    n_drawn = _check.cutoff(uniform, name="uniform")
    keeps_targets = _check.choice(other_targets, "other_targets", ("keep", "exclude")) == "keep"
    keeps_targets = keeps_targets and n_listed > 0
    options: dict[str, Any] = {"exclude": exclude, "overlap": overlap, "users": users}
    plan = read_plan(targets, other_targets="exclude", **options)
    with_targets = read_plan(targets, other_targets="keep", **options)
    most_targets = int(np.bincount(plan.rows).max())
    if not n_listed:
        if proxy is not None or lists is not None:
            raise ArgumentError(
                f"{arg.certain} must be at least 1 with a proxy or lists. Without it, leave these "
                "out."
            )
        lists = np.full((plan.labels.size, 1), -1)
    order = read_order(with_targets, proxy, lists, n_listed + most_targets - 1)
    order.warn_of_leak()
    listed = ProxyOrder(plan, candidates_only(plan, order.lists, max(n_listed, 1)))
    users, first_targets = np.unique(plan.rows, return_index=True)
    lengths = listed.lengths[first_targets]
    drawn = draw_rest(plan, listed, first_targets, lengths, n_drawn, _check.seed(seed))
    parts = [np.stack([plan.rows, plan.targets])]
    for lists in (listed.items(first_targets, 0, n_listed), drawn):  # -1 after their last items
        is_item = lists >= 0
        parts.append(np.stack([np.repeat(users, is_item.sum(axis=1)), lists[is_item]]))
    kinds = np.repeat([0, 1, 2], [part.shape[1] for part in parts])
    rows, items = np.concatenate(parts, axis=1)
    in_list = kinds == 1
    in_list[: plan.rows.size] = order.n_others_above(plan.rows) < n_listed
    by_user = np.argsort(rows, kind="stable")
    columns = (plan.labels[rows], rows, items, kinds == 0, kinds == 2, in_list)
    n_items = (with_targets if keeps_targets else plan).n_items
    ordered = [column[by_user] for column in columns]
    return Candidates(*ordered, n_items=n_items, keeps_targets=keeps_targets)
