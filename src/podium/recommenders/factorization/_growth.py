"""New interactions of a fitted model: known users and items keep their rows, new ones get rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from podium import _check
from podium.errors import ArgumentError, arg
from podium.executors import Executor
from podium.progress import or_silent
from podium.recommenders._pairs import Ints, Pairs, with_seen
from podium.recommenders.factorization._descent import Factors, State
from podium.recommenders.factorization._passes import History, learned, report_end
from podium.recommenders.factorization._settings import Settings
from podium.types import Labels, Progress

_GROWN = 5  # the number of this purpose in the seeds of random draws


@dataclass(frozen=True, eq=False)
class Side:
    """The users, or the items, of a model and of new pairs together.

    Attributes
    ----------
    size : int
        The number of users or items.
    labels : (size,), or None
        The ids in ascending order, if both have ids.
    old, new : int64
        The positions of the model's users or items, and of those of the new pairs.
    """

    size: int
    labels: Labels | None
    old: Ints
    new: Ints

    @classmethod
    def of(cls, old: Labels | None, new: Labels | None, n_old: int, n_new: int) -> Side:
        """Unite the ids; without ids, a position stands for the same row in both."""
        if old is None or new is None:
            if old is not new:
                ids, rows = ("a table", "a matrix") if new is None else ("a matrix", "a table")
                raise ArgumentError(f"{arg.user_items} must be {ids}, as in fit, got {rows}.")
            return cls(max(n_old, n_new), None, np.arange(n_old), np.arange(n_new))
        if old.dtype.kind != new.dtype.kind and "U" in (old.dtype.kind, new.dtype.kind):
            raise ArgumentError(
                f"{arg.user_items} must hold ids such as {_check.label(old[0])}, as in fit, got "
                f"{_check.label(new[0])}."
            )
        labels = np.union1d(old, new)
        positions = [
            np.searchsorted(labels, old_or_new).astype(np.int64) for old_or_new in (old, new)
        ]
        return cls(labels.size, labels, *positions)


@dataclass(frozen=True, eq=False)
class Growth:
    """The pairs of a model united with new pairs."""

    pairs: Pairs
    users: Side
    items: Side
    touched: Ints  # the users with new pairs, in ascending order

    @classmethod
    def of(cls, old: Pairs, new: Pairs, *, add_up: bool) -> Growth:
        """Unite the pairs of a model with new pairs of the same scale.

        If a pair occurs in both, it gets the sum of the weights, or keeps its weight without
        `add_up`.
        """
        users = Side.of(old.user_labels, new.user_labels, old.n_users, new.n_users)
        items = Side.of(old.item_labels, new.item_labels, old.n_items, new.n_items)
        shape = (users.size, items.size)
        placed = (
            _placed(old, users.old, items.old, shape),
            _placed(new, users.new, items.new, shape),
        )
        total = placed[0] + placed[1] if add_up else placed[0].maximum(placed[1])
        touched = users.new[np.diff(new.offsets) > 0]
        total.sort_indices()
        return cls(Pairs.of(total, old.scale, users.labels, items.labels), users, items, touched)

    def factors(self, old: Factors, seed: int) -> Factors:
        """Return the model's factors at their new positions; new rows are drawn as in a fit."""
        # The sizes are part of the seed, so that the draws differ each time the model grows.
        purpose = (_GROWN, *old.items.shape, old.users.shape[0])
        grown = Factors.draw(self.pairs, old.users.shape[1], seed, purpose)
        grown.users[self.users.old] = old.users
        grown.items[self.items.old], grown.bias[self.items.old] = old.items, old.bias
        return grown

    def with_seen(self, old: Pairs, new: Pairs) -> Pairs:
        """Return the pairs, and with weight 0 those of the model and the new ones of weight 0."""
        shape = self.pairs.shape
        united = with_seen(self.pairs, _placed(old, self.users.old, self.items.old, shape))
        return with_seen(united, _placed(new, self.users.new, self.items.new, shape))

    @property
    def new_items(self) -> Ints:
        """The items that the model does not have yet."""
        return np.setdiff1d(np.arange(self.items.size), self.items.old)

    def touched_pairs(self) -> Pairs:
        """Return all pairs, old and new, of the users with new pairs."""
        return Pairs.of(self.pairs.matrix()[self.touched], self.pairs.scale)


def learn_new_items(
    growth: Growth,
    factors: Factors,
    settings: Settings,
    executor: Executor,
    progress: Progress | None,
) -> None:
    """Write the rows of new items, learned in passes over the users with new pairs."""
    pairs = growth.touched_pairs()
    initial = Factors(factors.users[growth.touched], factors.items, factors.bias).copy()
    state = State(initial, np.ones(pairs.items.size, np.float32))
    found, history = learned(
        pairs, settings, executor, or_silent(progress), start=(state, History())
    )
    report_end(history, settings.learning_rate)
    new = growth.new_items
    factors.items[new], factors.bias[new] = found.items[new], found.bias[new]


def _placed(pairs: Pairs, users: Ints, items: Ints, shape: tuple[int, int]) -> Any:
    coo = pairs.matrix().tocoo()
    return sparse.csr_array((coo.data, (users[coo.row], items[coo.col])), shape=shape)
