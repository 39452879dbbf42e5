"""What a sampled evaluation observed: the rank of each held-out item among sampled ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.sampled.design import Design, Floats, Ints, read_stages, refuse_large
from podium.types import PerRow

_HIGHEST = 2**53 - 1  # the largest that float64 tells from its neighbours


@dataclass(frozen=True, eq=False)
class SampledRanks:
    """Ranks of held-out items (targets) among items sampled uniformly from the others.

    Parameters
    ----------
    ranks : int, (n,)
        From 1 to n_negatives + 1.
    n_negatives : int or int, (n,)
        Sampled items beside the target. Samples of several sizes have to be said to be such: one
        number means that all have that size, an array gives the size of each.
    n_items : int or int, (n,)
        Items that the sample is drawn from, the target among them; of each target where users'
        catalogues differ because seen items were left out.
    replacement : bool
        Whether an item could be drawn twice.
    user : (n,), optional
        Whose target it is, integers or strings: every user counts once, with equal weights for
        the user's targets. Without it each target is a user of its own.
    stages : sequence of int, optional
        Sizes at which a growing sample could end, because the target was not first in it; the
        last is the largest. Then n_negatives is the size that each sample ended with.
    history : int, (n,), optional
        How many of the user's own (training) items, the target not counted, are among the items
        that the sample is drawn from: 0 where seen items were left out. Most models rank these
        first, of which `Smooth` makes use; no other estimator reads it.

    Raises
    ------
    ArgumentError
        For a rank below 1 or above n_negatives + 1, n_negatives of n_items or more, more than
        10 ** 8 items, no ranks,
        columns of different lengths, numbers that are not whole; for a history below 0 or above
        n_items - 1; for stages that do not rise, and for a rank that a sample that grows in
        these stages cannot end with.

    Notes
    -----
    A user's targets are cases of their own: each stands for a ranking in which the user's other
    targets are not candidates, or count as any other item.

    Examples
    --------
    >>> ranks = SampledRanks([1, 3, 1], 4, 100)
    >>> ranks.counts.tolist()
    [2.0, 0.0, 1.0, 0.0, 0.0]
    >>> SampledRanks([1, 3, 1], 4, 100, user=["a", "a", "b"]).counts.tolist()
    [1.5, 0.0, 0.5, 0.0, 0.0]
    """

    ranks: Ints
    n_negatives: int | Ints
    n_items: int | Ints
    replacement: bool = True
    user: NDArray[Any] | None = None
    stages: tuple[int, ...] = ()
    history: Ints | None = None

    def __init__(
        self,
        ranks: ArrayLike,
        n_negatives: ArrayLike,
        n_items: ArrayLike,
        *,
        replacement: bool = True,
        user: ArrayLike | None = None,
        stages: Any = None,
        history: ArrayLike | None = None,
    ) -> None:
        observed = _integers(ranks, "ranks")
        if not observed.size:
            raise ArgumentError("ranks must hold the rank of at least one user's target, got none.")
        found = {
            "ranks": observed,
            "n_negatives": _sizes(n_negatives, "n_negatives", observed.size),
            "n_items": _sizes(n_items, "n_items", observed.size),
            "replacement": _check.flag(replacement, "replacement"),
            "user": _users(user, observed.size),
            "stages": read_stages(stages),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)
        own = _own_items(history, self.n_items, self.n_rows)
        object.__setattr__(self, "history", own)
        refuse_large(self.most_items)
        self._refuse_too_many()
        self._refuse_outside()
        self._refuse_off_stage()

    def __repr__(self) -> str:
        return (
            f"SampledRanks({self.n_rows} ranks of {self.n_users} users, "
            f"n_negatives={_span(self.n_negatives)}, n_items={_span(self.n_items)}, "
            f"replacement={self.replacement}{f', stages={self.stages}' if self.stages else ''}"
            f"{'' if self.history is None else f', history={_span(self.history)}'})"
        )

    @property
    def n_rows(self) -> int:
        return self.ranks.size

    @property
    def n_users(self) -> int:
        return self.n_rows if self.user is None else int(self._users_rows[1].size)

    @property
    def most_items(self) -> int:
        """Items of the largest catalogue: ranks in the whole catalogue go from 1 to it."""
        return int(np.max(self.n_items))

    @cached_property
    def weights(self) -> PerRow:
        """What each rank counts: 1 / n_users over the number of its user's ranks; the sum is 1."""
        if self.user is None:
            return np.full(self.n_rows, 1.0 / self.n_rows)
        owner, sizes = self._users_rows
        return 1.0 / (sizes.size * sizes[owner])

    @cached_property
    def owner(self) -> Ints:
        """The user's number of each row, from 0 to n_users - 1: int64, (n,)."""
        return np.arange(self.n_rows) if self.user is None else self._users_rows[0]

    @property
    def counts(self) -> Floats:
        """How many users had each outcome of a common design: float64, (n_negatives + 1,).

        A user of m targets counts 1 / m for each, so that the sum is n_users. With a fixed size,
        outcome r - 1 is rank r.

        Raises
        ------
        ArgumentError
            If the samples have several designs; see `designs`.
        """
        return self._single()[1]

    @property
    def design(self) -> Design:
        """The design that all samples have.

        Raises
        ------
        ArgumentError
            If there are several; see `designs`.
        """
        return self._single()[0]

    @cached_property
    def designs(self) -> tuple[tuple[Design, Floats], ...]:
        """Each design and how many users had each of its outcomes, as in `counts`."""
        found: list[tuple[Design, Floats]] = []
        for design, rows in self.design_rows:
            users = self.weights[rows] * self.n_users
            counts = np.bincount(self.outcomes[rows], users, design.n_outcomes)
            found.append((design, counts.astype(np.float64)))
        return tuple(found)

    @cached_property
    def outcomes(self) -> Ints:
        """The outcome of each row in its design, from 0: int64, (n,); see `Design`."""
        found = np.empty(self.n_rows, np.int64)
        for design, rows in self.design_rows:
            sizes = np.broadcast_to(self.n_negatives, self.n_rows)[rows]
            found[rows] = design.outcomes(self.ranks[rows], sizes if self.stages else None)
        return found

    @cached_property
    def design_rows(self) -> tuple[tuple[Design, Ints], ...]:
        """Each design, and the rows that have it, rising."""
        size = self.stages[-1] if self.stages else self.n_negatives
        span = self.most_items + 1
        keys = np.broadcast_to(np.asarray(size) * span + np.asarray(self.n_items), self.n_rows)
        kinds, place = np.unique(keys, return_inverse=True)
        rows = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
        return tuple(
            (Design(kind // span, kind % span, self.replacement, self.stages), mine)
            for kind, mine in zip(kinds.tolist(), rows, strict=True)
        )

    def _single(self) -> tuple[Design, Floats]:
        first, *others = self.designs
        if others:
            raise ArgumentError(
                f"ranks come from {len(self.designs)} designs (n_negatives "
                f"{_span(self.n_negatives)}, n_items {_span(self.n_items)}), which have no common "
                "counts. Read `designs`."
            )
        return first

    @cached_property
    def _users_rows(self) -> tuple[Ints, Ints]:
        """Return each row's user as a number, and the rows of each user."""
        labels: NDArray[Any] = np.asarray(self.user)
        found = np.unique(labels, return_inverse=True, return_counts=True)
        return found[1].astype(np.int64), found[2].astype(np.int64)

    def _refuse_too_many(self) -> None:
        many = np.broadcast_to(self.n_negatives >= np.asarray(self.n_items), self.n_rows)
        if many.any():
            row = int(np.argmax(many))
            n, items = (
                int(np.broadcast_to(v, self.n_rows)[row]) for v in (self.n_negatives, self.n_items)
            )
            raise ArgumentError(
                f"n_negatives must be below n_items, got {n} of {items} items"
                f"{self._where(row)}. n_items counts the whole catalogue, the target too."
            )

    def _refuse_outside(self) -> None:
        bad = (self.ranks < 1) | (self.ranks > self.n_negatives + 1)
        if bad.any():
            row = int(np.argmax(bad))
            most = int(np.broadcast_to(self.n_negatives, self.n_rows)[row]) + 1
            raise ArgumentError(
                f"ranks must lie from 1 to n_negatives + 1 = {most}, got {self.ranks[row]}"
                f"{self._where(row)} ({int(bad.sum())} such). Ranks count from 1, and "
                "n_negatives does not count the target."
            )

    def _refuse_off_stage(self) -> None:
        if not self.stages:
            return
        ends = np.asarray(self.stages)
        sizes = np.broadcast_to(self.n_negatives, self.n_rows)
        place = np.minimum(np.searchsorted(ends, sizes), ends.size - 1)
        batch = ends[place] - np.concatenate([[0], ends[:-1]])[place]
        early = (self.ranks == 1) & (place < ends.size - 1)
        bad = (ends[place] != sizes) | early | (self.ranks > batch + 1)
        if bad.any():
            row = int(np.argmax(bad))
            raise ArgumentError(
                f"stages {self.stages} do not allow rank {self.ranks[row]} among {sizes[row]} "
                f"sampled items{self._where(row)}: a sample ends at one of these sizes, as soon "
                "as the target is not first, and only the last addition can hold better items."
            )

    def _where(self, row: int) -> str:
        return f" at row {row}" + (
            "" if self.user is None else f" (user {_check.label(self.user[row])})"
        )


def _integers(values: ArrayLike, name: str) -> Ints:
    """Return whole numbers as int64."""
    array = _check.array(values, name)
    if array.dtype.kind in "iu":
        numbers = _check.one_dimensional(array, name)
        whole = numbers <= _HIGHEST
    else:
        numbers = _check.column(values, name)
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= _HIGHEST)  # False for nan
    if not whole.all():
        row = int(np.argmin(whole))
        limit = " below 2 ** 53" if np.abs(numbers[row]) > _HIGHEST else ""
        raise ArgumentError(
            f"{name} must be whole numbers{limit}, got {numbers[row]:g} at row {row}."
        )
    return numbers.astype(np.int64)


def _sizes(values: ArrayLike, name: str, n_rows: int) -> int | Ints:
    """Return one size >= 1, or one of each row."""
    if np.ndim(values) == 0:
        return _check.cutoff(values, name=name)
    found = _integers(values, name)
    if found.size != n_rows:
        raise ArgumentError(
            f"{name} must be one number or one for each of the {n_rows} ranks, got {found.size}."
        )
    if found.min() < 1:
        row = int(np.argmin(found))
        raise ArgumentError(f"{name} must be >= 1, got {found[row]} at row {row}.")
    return found


def _users(user: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return a label of each row, or None."""
    if user is None:
        return None
    labels = _check.one_dimensional(_check.array(user, "user").copy(), "user")
    if labels.dtype.kind == "O":
        if not all(isinstance(label, str) for label in labels):
            raise ArgumentError("user must hold integers or strings, got other objects.")
        labels = labels.astype(str)
    if labels.size != n_rows:
        raise ArgumentError(
            f"user must have one label for each of the {n_rows} ranks, got {labels.size}."
        )
    return labels


def _own_items(history: ArrayLike | None, n_items: int | Ints, n_rows: int) -> Ints | None:
    """Return each row's number of the user's own items, all of them other than the target."""
    if history is None:
        return None
    found = _integers(history, "history")
    if found.size != n_rows:
        raise ArgumentError(
            f"history must have one number for each of the {n_rows} ranks, got {found.size}."
        )
    most = np.broadcast_to(n_items, n_rows) - 1
    bad = (found < 0) | (found > most)
    if bad.any():
        row = int(np.argmax(bad))
        raise ArgumentError(
            f"history must lie from 0 to n_items - 1 = {most[row]}, got {found[row]} at row {row}: "
            "it counts the user's own items in the catalogue, without the target."
        )
    return found


def _span(values: int | Ints) -> str:
    """Return one size, or the least and the largest, as text."""
    low, high = int(np.min(values)), int(np.max(values))
    return str(low) if low == high else f"{low} .. {high}"
