"""Observations of users whose targets share a sample: the items above each target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.catalogue.source import Scores
from podium.catalogue.sparse import Overlap
from podium.errors import ArgumentError
from podium.sampled._draws import read_plan
from podium.sampled.design import Ints
from podium.sampled.ranks import SampledRanks
from podium.sampled.sampling import rank_targets
from podium.types import Ties


@dataclass(frozen=True, eq=False)
class SharedRanks:
    """The number of sampled items above each target, for targets of users that share a sample.

    The items of a user are drawn once, uniformly from those that are not targets of the user. All
    targets of the user are ranked among them.

    Parameters
    ----------
    above : int, (n,)
        The number of the user's sampled items that rank above each target.
    n_negatives : int or int, (n,)
        The number of the user's sampled items, the same for all targets of a user.
    n_items : int or int, (n,)
        The number of items that are ranked for the user, including all targets of the user. Pass an
        array if seen items are left out.
    user : (n,)
        The user of each target, integers or strings. Each row is one target, and a user has one row
        for each.
    replacement : bool
        Whether an item could be drawn twice.

    Raises
    ------
    ArgumentError
        If columns differ in length, if a number is not an integer, or if more items are above a
        target than were drawn. If n_negatives or n_items differ between the targets of a user, or
        if a user has fewer items besides the targets than were drawn.

    Notes
    -----
    The order of a user's targets is known. The i-th best target has i - 1 targets above it, and as
    many other items as a single target would have to be sampled from.

    Examples
    --------
    >>> SharedRanks([0, 3, 1], 4, 100, user=["a", "a", "b"])
    SharedRanks(3 targets of 2 users, n_negatives=4, n_items=100, replacement=True)
    """

    targets: SampledRanks
    """The rank of each target among the sampled items alone, as for a user with one target."""

    def __init__(
        self,
        above: ArrayLike,
        n_negatives: ArrayLike,
        n_items: ArrayLike,
        *,
        user: ArrayLike,
        replacement: bool = True,
    ) -> None:
        ranks = np.asarray(above) + 1
        observed = SampledRanks(ranks, n_negatives, n_items, replacement=replacement, user=user)
        sizes = np.bincount(observed.owner)
        for name, values in (("n_negatives", observed.n_negatives), ("n_items", observed.n_items)):
            _refuse_different(observed, values, name)
        n_candidates = observed.n_items - sizes[observed.owner] + 1
        _refuse_short(observed, n_candidates, sizes)
        is_same = bool((n_candidates == n_candidates[0]).all())
        targets = SampledRanks(
            ranks,
            observed.n_negatives,
            int(n_candidates[0]) if is_same else n_candidates,
            replacement=replacement,
            user=user,
        )
        object.__setattr__(self, "targets", targets)

    @classmethod
    def of(cls, ranks: SampledRanks) -> SharedRanks:
        """Read ranks whose targets share a sample, and whose n_items includes all targets.

        Parameters
        ----------
        ranks : SampledRanks
            Ranks among each user's sampled items, such as those of `read_candidate_scores`.
        """
        if ranks.user is None:
            raise ArgumentError("user is missing: targets that share a sample need their users.")
        if ranks.stages:
            raise ArgumentError("stages is only for separate samples, which grow for each target.")
        options: dict[str, Any] = {"user": ranks.user, "replacement": ranks.replacement}
        return cls(ranks.ranks - 1, ranks.n_negatives, ranks.n_items, **options)

    def __repr__(self) -> str:
        n_negatives, n_items = (
            str(np.min(v)) if np.min(v) == np.max(v) else f"{np.min(v)} .. {np.max(v)}"
            for v in (self.targets.n_negatives, self.n_items)
        )
        return (
            f"SharedRanks({self.targets.n_rows} targets of {self.n_users} users, "
            f"n_negatives={n_negatives}, n_items={n_items}, "
            f"replacement={self.targets.replacement})"
        )

    @property
    def n_users(self) -> int:
        return self.targets.n_users

    @property
    def n_items(self) -> Ints:
        """The number of items that are ranked for the user of each target: int64, (n,)."""
        return np.asarray(self.targets.n_items) + self.n_pos - 1

    @cached_property
    def n_pos(self) -> Ints:
        """The number of targets of each row's user: int64, (n,)."""
        return np.bincount(self.targets.owner)[self.targets.owner].astype(np.int64)

    @cached_property
    def position(self) -> Ints:
        """The position of each target among those of its user, from 1: int64, (n,).

        Targets with equally many sampled items above them have the order of their rows, which
        changes nothing.
        """
        owner = self.targets.owner
        order = np.lexsort((self.targets.ranks, owner))
        first_rows = np.cumsum(np.bincount(owner)) - np.bincount(owner)
        position = np.empty(owner.size, np.int64)
        position[order] = np.arange(owner.size) - first_rows[owner[order]] + 1
        return position

    @property
    def is_exact(self) -> bool:
        """Whether all items of all users were drawn, so that the ranks are exact."""
        is_whole = np.asarray(self.targets.n_negatives) == np.asarray(self.targets.n_items) - 1
        return bool(is_whole.all()) and not self.targets.replacement


def _refuse_different(ranks: SampledRanks, values: int | Ints, name: str) -> None:
    """Raise if the targets of a user have different sizes."""
    column = np.broadcast_to(values, ranks.n_rows)
    order = np.argsort(ranks.owner, kind="stable")
    is_different = (np.diff(ranks.owner[order]) == 0) & (np.diff(column[order]) != 0)
    if is_different.any():
        labels: NDArray[Any] = np.asarray(ranks.user)
        row = order[1:][np.argmax(is_different)]
        raise ArgumentError(
            f"{name} must be the same for all targets of a user, which share one sample, got "
            f"different numbers for user {_check.label(labels[row])}."
        )


def _refuse_short(ranks: SampledRanks, n_candidates: Ints, n_targets: Ints) -> None:
    """Raise if a user has fewer items besides the targets than were drawn."""
    is_short = n_candidates <= np.asarray(ranks.n_negatives)
    if not is_short.any():
        return
    row, labels = int(np.argmax(is_short)), np.asarray(ranks.user)
    n_items, n_drawn = (
        int(np.broadcast_to(sizes, ranks.n_rows)[row])
        for sizes in (ranks.n_items, ranks.n_negatives)
    )
    raise ArgumentError(
        "n_items must be at least n_negatives plus the number of the user's targets, got "
        f"{n_items} items, {n_drawn} of them drawn, and {n_targets[ranks.owner[row]]} targets of "
        f"user {_check.label(labels[row])}. n_items includes all targets of a user."
    )


def sample_shared(
    scores: Scores,
    targets: Any,
    n_negatives: int,
    *,
    replacement: bool = True,
    exclude: Any = None,
    overlap: Overlap = "error",
    ties: Ties = "worst",
    users: ArrayLike | None = None,
    seed: int = 0,
) -> SharedRanks:
    """Rank the targets of each user among items that are drawn once for the user.

    Parameters
    ----------
    scores, targets, replacement, exclude, overlap, users, seed
        The parameters of `sample_ranks`. Targets of the user are not drawn.
    n_negatives : int
        The number of items drawn for each user.
    ties : {"worst", "best", "id", "random"}
        The order of equal scores, as in `sample_ranks`.

    Returns
    -------
    SharedRanks

    Raises
    ------
    ArgumentError
        If fewer than n_negatives items can be drawn, or for a reason listed in `sample_ranks`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> held_out = csr_array([[1, 0, 1, 0]])
    >>> sample_shared([[0.3, 0.2, 0.1, 0.4]], held_out, 2, replacement=False)
    SharedRanks(2 targets of 1 users, n_negatives=2, n_items=4, replacement=False)
    """
    if ties == "average":
        raise ArgumentError(
            "ties='average' is undefined for targets that share a sample, because it gives ranks "
            "between two items. Use 'worst', 'best', 'random' or 'id'."
        )
    plan = read_plan(
        targets, exclude=exclude, overlap=overlap, other_targets="exclude", users=users
    )
    size = _check.cutoff(n_negatives, name="n_negatives")
    options: dict[str, Any] = {"replacement": replacement, "ties": ties, "seed": seed}
    doubled_above, _ = rank_targets(scores, plan, np.zeros_like(plan.targets), (size,), **options)
    n_targets = np.bincount(plan.rows)[plan.rows]
    return SharedRanks(
        doubled_above // 2,
        size,
        plan.n_items + n_targets - 1,
        user=plan.user,
        replacement=replacement,
    )
