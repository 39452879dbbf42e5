"""New interactions of a fitted model: known users and items keep their rows, new ones get some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium import _check
from podium.errors import ArgumentError
from podium.executors import Executor
from podium.progress import or_silent
from podium.recommenders._pairs import Labels, Pairs
from podium.recommenders.factorization._descent import Descent, Factors, State
from podium.recommenders.factorization._parts import Settings
from podium.recommenders.factorization._passes import History, report_end, run
from podium.types import Progress

Ints = NDArray[np.int64]

_GROWN = 5  # purpose number in the seeds of draws


@dataclass(frozen=True, eq=False)
class Side:
    """Users, or items, of a model and of new pairs together.

    Attributes
    ----------
    size : int
    labels : (size,), or None
        Ids, rising, where both have ids.
    old, new : int64
        Where those of the model are among them, and those of the new pairs.
    """

    size: int
    labels: Labels | None
    old: Ints
    new: Ints

    @classmethod
    def of(cls, old: Labels | None, new: Labels | None, n_old: int, n_new: int) -> Side:
        """Unite ids; where there are none, a position stands for the same row in both."""
        if old is None or new is None:
            if old is not new:
                ids, rows = ("a table", "a matrix") if new is None else ("a matrix", "a table")
                raise ArgumentError(f"user_items must be {ids}, as it was in fit, got {rows}.")
            return cls(max(n_old, n_new), None, np.arange(n_old), np.arange(n_new))
        if old.dtype.kind != new.dtype.kind and "U" in (old.dtype.kind, new.dtype.kind):
            raise ArgumentError(
                f"user_items must hold ids such as {_check.label(old[0])}, as in fit, got "
                f"{_check.label(new[0])}."
            )
        labels = np.union1d(old, new)
        places = [np.searchsorted(labels, each).astype(np.int64) for each in (old, new)]
        return cls(labels.size, labels, *places)


@dataclass(frozen=True, eq=False)
class Growth:
    """The pairs of a model and new ones in one."""

    pairs: Pairs
    users: Side
    items: Side
    touched: Ints  # users that new pairs are of, rising

    @classmethod
    def of(cls, old: Pairs, new: Pairs, *, add_up: bool) -> Growth:
        """Put the pairs of a model and new ones of the same scale together.

        A pair that comes again has both weights' sum, or the weight that it had.
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
        labels = (users.labels, items.labels)
        return cls(_as_pairs(total, old.scale, *labels), users, items, touched)

    def factors(self, old: Factors, seed: int) -> Factors:
        """Return the model's factors where they belong, and others drawn as a fit draws them."""
        purpose = (_GROWN, *old.items.shape, old.users.shape[0])  # other numbers each time
        grown = Factors.draw(self.pairs, old.users.shape[1], seed, purpose)
        grown.users[self.users.old] = old.users
        grown.items[self.items.old], grown.bias[self.items.old] = old.items, old.bias
        return grown

    def placed(self, old: Pairs) -> Any:
        """Return pairs of the model as a matrix of all users and items that there are now."""
        return _placed(old, self.users.old, self.items.old, self.pairs.shape)

    @property
    def has_new_items(self) -> bool:
        """Tell whether the model knows fewer items than there are now."""
        return self.items.size > self.items.old.size

    def take_new_items(self, made: Factors, factors: Factors) -> None:
        """Copy the rows of new items, and of no others, from one set of factors to another."""
        new = np.setdiff1d(np.arange(self.items.size), self.items.old)
        factors.items[new], factors.bias[new] = made.items[new], made.bias[new]

    def touched_pairs(self) -> Pairs:
        """Return all pairs, old and new, of the users that new pairs are of."""
        return _as_pairs(self.pairs.matrix()[self.touched], self.pairs.scale, None, None)


def learn_new_items(
    growth: Growth,
    factors: Factors,
    settings: Settings,
    executor: Executor,
    progress: Progress | None,
) -> None:
    """Write rows of new items, from passes over the users that new pairs are of."""
    pairs = growth.touched_pairs()
    begin = Factors(factors.users[growth.touched], factors.items, factors.bias).copy()
    state = State(begin, np.ones(pairs.items.size, np.float32))
    history = History()
    made = run(Descent(pairs, settings, executor, state), history, None, None, or_silent(progress))
    report_end(history, settings.learning_rate, depth=4)
    growth.take_new_items(made, factors)


def _placed(pairs: Pairs, users: Ints, items: Ints, shape: tuple[int, int]) -> Any:
    coo = pairs.matrix().tocoo()
    return sparse.csr_array((coo.data, (users[coo.row], items[coo.col])), shape=shape)


def _as_pairs(matrix: Any, scale: float, users: Labels | None, items: Labels | None) -> Pairs:
    matrix.sort_indices()
    return Pairs(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
        int(matrix.shape[1]),
        scale,
        users,
        items,
    )
