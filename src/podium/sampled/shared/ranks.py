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
from podium.errors import ArgumentError, arg
from podium.sampled.design import Floats, Ints
from podium.sampled.ranks import (
    Counts,
    RowsOfUsers,
    SampledRanks,
    ScannedRanks,
    integers,
    labels,
    one_size,
    span,
)
from podium.sampled.sampling import rank_targets, read_plan
from podium.sampled.scanning.strata import StratifiedCandidates
from podium.types import Ties


@dataclass(frozen=True, eq=False)
class SharedRanks(RowsOfUsers):
    """The number of sampled items above each target, for targets of users that share a sample.

    The items of a user are drawn once, uniformly from those that are not targets of the user. All
    targets of the user are ranked among them. If the first items of a proxy's list are ranked for
    certain, they are counted separately, and items are drawn from the rest.

    Parameters
    ----------
    above : int, (n,)
        The number of the user's drawn items that rank above each target.
    n_negatives : int or int, (n,)
        The number of the user's drawn items, the same for all targets of a user.
    n_items : int or int, (n,)
        The number of items that are ranked for the user, including all targets of the user. Pass an
        array if seen items are left out.
    user : (n,)
        The user of each target, integers or strings. Each row is one target, and a user has one row
        for each.
    replacement : bool
        Whether an item could be drawn twice. With listed items, it must be False.
    above_listed : int, (n,), optional
        The number of the user's listed items that rank above each target. By default, no items are
        listed.
    n_listed : int or int, (n,), optional
        The number of the user's listed items, the same for all targets of a user. They are the
        first items of a proxy's list without the targets.
    item : (n,), optional
        The item of each target, integers or strings. Comparisons of models check that these agree.

    Raises
    ------
    ArgumentError
        If columns differ in length, if a number is not an integer, or if more items are above a
        target than were drawn or listed. If n_negatives, n_items or n_listed differ between the
        targets of a user, or if a user has fewer items besides the targets than were drawn. If
        only one of above_listed and n_listed is given.

    Notes
    -----
    The order of a user's targets is known. The i-th best target has i - 1 targets above it, and as
    many other items as a single target would have to be sampled from.

    Examples
    --------
    >>> SharedRanks([0, 3, 1], 4, 100, user=["a", "a", "b"])
    SharedRanks(3 targets of 2 users, n_negatives=4, n_items=100, replacement=True)
    """

    above: Ints
    n_negatives: int | Ints
    n_items: Ints
    user: NDArray[Any]
    replacement: bool
    above_listed: Ints | None
    n_listed: Ints | None
    item: NDArray[Any] | None

    row_weights = None  # users have the same weight

    def __init__(
        self,
        above: ArrayLike,
        n_negatives: ArrayLike,
        n_items: ArrayLike,
        *,
        user: ArrayLike,
        replacement: bool = True,
        above_listed: ArrayLike | None = None,
        n_listed: ArrayLike | None = None,
        item: ArrayLike | None = None,
    ) -> None:
        if (above_listed is None) != (n_listed is None):
            missing = "n_listed" if n_listed is None else "above_listed"
            raise ArgumentError(
                f"{missing} is missing: listed items need above_listed and n_listed."
            )
        if n_listed is not None and _check.flag(replacement, "replacement"):
            raise ArgumentError(
                f"{arg.replacement} must be False with listed items: the others are drawn without "
                "it."
            )
        columns: dict[str, Any] = {"replacement": replacement}
        if above_listed is None or n_listed is None or not np.any(n_listed):
            ranks = integers(above, "above") + 1
            single = SampledRanks(ranks, n_negatives, n_items, replacement=replacement, user=user)
            columns |= {"above": single.ranks - 1, "n_negatives": single.n_negatives}
            columns |= {"user": single.user, "above_listed": None, "n_listed": None}
            columns["n_items"] = np.broadcast_to(np.asarray(single.n_items), single.n_rows)
        else:
            drawn, listed = (
                np.broadcast_to(np.asarray(n), np.shape(above)) for n in (n_negatives, n_listed)
            )
            strata = ScannedRanks(above_listed, listed, above, drawn, n_items, k=1, user=user)
            columns |= {"above": strata.above_drawn, "n_negatives": strata.n_drawn}
            columns |= {"above_listed": strata.above_listed, "n_listed": strata.n_listed}
            columns |= {"user": strata.user, "n_items": strata.n_items}
        columns["item"] = None if item is None else labels(item, "item", columns["above"].size)
        vars(self).update(columns)
        for name in ("n_negatives", "n_items", "n_listed"):
            if columns[name] is not None:
                _refuse_different(self, columns[name], name)
        _refuse_short(self)

    @classmethod
    def of(cls, ranks: SampledRanks) -> SharedRanks:
        """Read ranks whose targets share a sample, and whose n_items includes all targets.

        Parameters
        ----------
        ranks : SampledRanks
            Ranks among each user's sampled items, such as those of `read`.
            Histories are not used.

        Raises
        ------
        ArgumentError
            If there are no users, if samples grow, if ranks have weights, or if targets have two
            rows (ties="average").
        """
        if ranks.user is None:
            raise ArgumentError(
                f"{arg.user} is missing: targets that share a sample need their users."
            )
        if ranks.stages:
            raise ArgumentError(
                f"{arg.stages} is only for separate samples, which grow for each target. Leave it "
                "out."
            )
        if ranks.row_weights is not None:
            raise ArgumentError(
                "row_weights is only for separate samples. In whole rankings, all users have the "
                "same weight. Leave it out."
            )
        if ranks.half_ranks:
            raise ArgumentError(
                f"{arg.ties('average')} is undefined for targets that share a sample, because it "
                "gives ranks between two items. Rank with 'worst', 'best' or 'random'."
            )
        options: dict[str, Any] = {"user": ranks.user, "replacement": ranks.replacement}
        return cls(ranks.ranks - 1, ranks.n_negatives, ranks.n_items, **options)

    @classmethod
    def of_candidates(
        cls, candidates: StratifiedCandidates, scores: ArrayLike, *, ties: str = "worst"
    ) -> SharedRanks:
        """Rank all targets of each user among the user's listed and drawn items.

        Parameters
        ----------
        candidates : StratifiedCandidates
            The result of `draw_strata`, with any `other_targets`.
        scores : float64, (n,)
            The score of each row of the candidates. Higher is better.
        ties : {"worst", "best"}
            Whether items with the target's score count as above it.
        """
        counts = candidates.counts(scores, ties=ties, keeps_targets=False)
        row = candidates.row[candidates.is_target]
        n_others = 0 if candidates.keeps_targets else np.bincount(row)[row] - 1
        user, item = (c[candidates.is_target] for c in (candidates.user, candidates.item))
        return cls.of_counts(counts, candidates.n_items + n_others, user, item)

    @classmethod
    def of_counts(
        cls, counts: Counts, n_items: ArrayLike, user: NDArray[Any], item: NDArray[Any]
    ) -> SharedRanks:
        """Return ranks from the counts of strata without other targets."""
        return cls(
            counts.above_drawn,
            counts.n_drawn,
            n_items,
            user=user,
            replacement=False,
            above_listed=counts.above_listed,
            n_listed=counts.n_listed,
            item=item,
        )

    def __repr__(self) -> str:
        n_listed = f"n_listed={span(self.n_listed)}, " if self.n_listed is not None else ""
        return (
            f"SharedRanks({self.n_rows} targets of {self.n_users} users, {n_listed}"
            f"n_negatives={span(self.n_negatives)}, n_items={span(self.n_items)}, "
            f"replacement={self.replacement})"
        )

    @property
    def has_strata(self) -> bool:
        """Whether items of a proxy's list are ranked for certain."""
        return self.n_listed is not None

    @cached_property
    def targets(self) -> SampledRanks:
        """The rank of each target among the sampled items alone, as for a user with one target.

        It is defined without strata.
        """
        return SampledRanks(
            self.above + 1,
            self.n_negatives,
            one_size(self.n_candidates),
            replacement=self.replacement,
            user=self.user,
        )

    def scanned(self, rows: Ints, weights: Floats, k: int) -> ScannedRanks:
        """Return the counts of some targets with weights, as for users with one target."""
        zeros = np.zeros(self.n_rows, np.int64)
        listed = [zeros if c is None else c for c in (self.above_listed, self.n_listed)]
        n_drawn = np.broadcast_to(np.asarray(self.n_negatives), self.n_rows)
        columns = (*listed, self.above, n_drawn, self.n_candidates, self.owner)
        above_listed, n_listed, above, n_drawn, n_items, user = (c[rows] for c in columns)
        counts = (above_listed, n_listed, above, n_drawn)
        return ScannedRanks(*counts, n_items, k=k, user=user, row_weights=weights)

    @property
    def n_rows(self) -> int:
        """The number of targets."""
        return self.above.size

    @property
    def n_candidates(self) -> Ints:
        """The number of items that each target is ranked among, without the user's other targets.

        int64, (n,); including the target itself.
        """
        return self.n_items.astype(np.int64) - self.n_pos + 1

    @cached_property
    def n_pos(self) -> Ints:
        """The number of targets of each row's user: int64, (n,)."""
        return np.bincount(self.owner)[self.owner].astype(np.int64)

    @cached_property
    def position(self) -> Ints:
        """The position of each target among those of its user, from 1: int64, (n,).

        Targets with equally many sampled items above them have the order of their rows, which
        changes nothing.
        """
        above = self.above if self.above_listed is None else self.above + self.above_listed
        order = np.lexsort((above, self.owner))
        first_rows = np.cumsum(np.bincount(self.owner)) - np.bincount(self.owner)
        position = np.empty(self.n_rows, np.int64)
        position[order] = np.arange(self.n_rows) - first_rows[self.owner[order]] + 1
        return position

    @property
    def is_exact(self) -> bool:
        """Whether all items of all users were ranked, so that the ranks are exact."""
        n_listed = 0 if self.n_listed is None else self.n_listed
        is_whole = np.asarray(self.n_negatives) + n_listed == self.n_candidates - 1
        repeats = self.replacement and int(np.max(self.n_negatives)) > 1
        return bool(is_whole.all()) and not repeats


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

    With a proxy, draw the items by `draw_strata`, and rank them by `SharedRanks.of_candidates`.

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
    size = _check.cutoff(n_negatives, name="n_negatives")
    if ties == "average":
        raise ArgumentError(
            f"{arg.ties('average')} is undefined for targets that share a sample, because it gives "
            "ranks between two items. Use 'worst', 'best', 'random' or 'id'."
        )
    plan = read_plan(
        targets, exclude=exclude, overlap=overlap, other_targets="exclude", users=users
    )
    streams = np.zeros_like(plan.targets)
    doubled_above, _ = rank_targets(
        scores, plan, streams, (size,), replacement=replacement, ties=ties, seed=seed
    )
    return SharedRanks(
        doubled_above // 2,
        size,
        plan.n_items + np.bincount(plan.rows)[plan.rows] - 1,
        user=plan.user,
        replacement=replacement,
        item=plan.targets,
    )


def _refuse_different(ranks: SharedRanks, values: int | Ints, name: str) -> None:
    """Raise if the targets of a user have different sizes."""
    column = np.broadcast_to(values, ranks.n_rows)
    order = np.argsort(ranks.owner, kind="stable")
    is_different = (np.diff(ranks.owner[order]) == 0) & (np.diff(column[order]) != 0)
    if is_different.any():
        row = order[1:][np.argmax(is_different)]
        raise ArgumentError(
            f"{name} must be the same for all targets of a user, which share one sample, got "
            f"different numbers for user {_check.label(ranks.user[row])}."
        )


def _refuse_short(ranks: SharedRanks) -> None:
    """Raise if a user has fewer items besides the targets than were drawn and listed."""
    n_ranked = np.asarray(ranks.n_negatives) + (0 if ranks.n_listed is None else ranks.n_listed)
    is_short = ranks.n_candidates <= n_ranked
    if not is_short.any():
        return
    row = int(np.argmax(is_short))
    n_drawn = int(np.broadcast_to(n_ranked, ranks.n_rows)[row])
    raise ArgumentError(
        f"{arg.n_items} must be at least {arg.n_negatives} plus the number of the user's targets, "
        f"got {ranks.n_items[row]} items, {n_drawn} of them "
        f"drawn{' or listed' * ranks.has_strata}, and {ranks.n_pos[row]} targets of user "
        f"{_check.label(ranks.user[row])}. {arg.n_items} includes all targets of a user."
    )
