"""Checked inputs of draws: the targets, the items that are not candidates, and keys of users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._ties import label_keys
from podium.catalogue.sparse import Overlap, Rows, read_excluded, read_relevant, split_overlap
from podium.errors import ArgumentError, arg
from podium.groups import row_offsets
from podium.sampled import _columns
from podium.sampled.design import Floats, Ints
from podium.types import Labels

DRAW, THIN = 2, 3  # purpose numbers in a seed; random ties of the catalogue use 1
_LEAST_SHARE = 1e-6  # the smallest share of the popularity that a user's candidates must have


@dataclass(frozen=True, eq=False)
class DrawPlan:
    """The targets of users, and the items that cannot be their candidates.

    Attributes
    ----------
    labels, keys : (n_users,)
        The labels of users as the caller gives them, and as 64 bits.
    rows, targets : int64, (n_targets,)
        The row of each target's user, in increasing order, and the item.
    hidden : Rows
        The items of each user that are not candidates. The target need not be among them.
    n_items : int64, (n_targets,)
        The number of possible candidates plus 1 for the target.
    catalogue_size : int
        The number of items of the whole catalogue.
    """

    labels: Labels
    keys: NDArray[np.uint64]
    rows: Ints
    targets: Ints
    hidden: Rows
    n_items: Ints
    catalogue_size: int

    @property
    def sizes(self) -> int | Ints:
        """n_items, as one number if it is the same for all targets."""
        first = int(self.n_items[0])
        return first if (self.n_items == first).all() else self.n_items

    @property
    def user(self) -> Labels:
        return self.labels[self.rows]

    def target_slice(self, start: int, stop: int) -> slice:
        """Return the slice of the targets of users start .. stop - 1."""
        first_row, end_row = np.searchsorted(self.rows, [start, stop])
        return slice(int(first_row), int(end_row))

    def require_candidates(self, n_negatives: int) -> None:
        """Raise unless each target has at least n_negatives candidates."""
        is_short = self.n_items <= n_negatives
        if is_short.any():
            first = int(np.argmax(is_short))
            raise ArgumentError(
                f"{arg.n_negatives} must be below the number of items to rank, got {n_negatives}, "
                f"but {int(is_short.sum())} targets have too few items, first user "
                f"{_check.label(self.user[first])} with {self.n_items[first]} items. Draw fewer, "
                "or rank all items: podium.catalogue.target_ranks."
            )

    def cumulative(self, popularity: ArrayLike | None) -> Floats:
        """Return the running sum of the items' popularity; an empty array for uniform draws."""
        if popularity is None:
            return np.empty(0)
        weights = _check.weights(popularity, self.catalogue_size, name="popularity")
        total = weights.sum()
        available = total - self._unavailable_weight(weights)
        if not (available > _LEAST_SHARE * total).all():
            first = int(np.argmin(available))
            raise ArgumentError(
                "popularity leaves no item to draw for user "
                f"{_check.label(self.user[first])}: nearly all of it belongs to the target and to "
                "excluded items. Add a constant to popularity, or exclude fewer items."
            )
        return np.cumsum(weights)

    def _unavailable_weight(self, weights: Floats) -> Floats:
        owner = np.repeat(np.arange(self.labels.size), self.hidden.sizes)
        hidden = np.bincount(owner, weights[self.hidden.items], self.labels.size)
        return hidden[self.rows] + weights[self.targets] * (self.n_target_gaps > 0)

    def n_own_items(self, history: Any) -> Ints | None:
        """Return the number of the user's own items among each target's candidates: (n_targets,).

        Parameters
        ----------
        history : scipy.sparse matrix, (n_users, n_items), or None
        """
        if history is None:
            return None
        shape = self.labels.size, self.catalogue_size
        own_rows = read_excluded(history, shape, "history")
        visible, _ = split_overlap(own_rows, "history", self.hidden, "drop")
        pairs = np.repeat(np.arange(shape[0]), visible.sizes) * shape[1] + visible.items
        target_is_own = np.isin(self.rows * shape[1] + self.targets, pairs, assume_unique=True)
        return visible.sizes[self.rows] - target_is_own

    @property
    def n_target_gaps(self) -> Ints:
        """1 if the target is not among its user's hidden items, otherwise 0: (n_targets,)."""
        return self.catalogue_size - self.n_items + 1 - self.hidden.sizes[self.rows]


def read_plan(
    targets: Any,
    *,
    exclude: Any,
    overlap: Overlap,
    other_targets: str,
    users: ArrayLike | None,
) -> DrawPlan:
    """Check the targets and the excluded items, and label the users."""
    if not _check.is_sparse(targets) or len(targets.shape) != 2:
        shape_note = f" of shape {targets.shape}" if hasattr(targets, "shape") else ""
        raise ArgumentError(
            "targets must be a scipy.sparse matrix of users x items, got "
            f"{type(targets).__name__}{shape_note}. Wrap it: scipy.sparse.csr_array(targets)."
        )
    shape: tuple[int, int] = targets.shape
    excluded = read_excluded(exclude, shape)
    kept_targets, _ = split_overlap(
        read_relevant(targets, "targets", shape), "targets", excluded, overlap
    )
    if not kept_targets.items.size:
        raise ArgumentError("targets must hold at least one user's target, got none.")
    labels = np.arange(shape[0]) if users is None else _columns.labels(users, "users")
    if labels.shape != (shape[0],):
        raise ArgumentError(
            f"{arg.users} must have one label for each of the {shape[0]} rows, got shape "
            f"{labels.shape}."
        )
    rows = np.repeat(np.arange(shape[0]), kept_targets.sizes)
    hidden = excluded.block(0, shape[0])
    n_items = shape[1] - excluded.sizes[rows]
    if _check.choice(other_targets, "other_targets", ("keep", "exclude")) == "exclude":
        hidden = _union(hidden, kept_targets.block(0, shape[0]), shape)
        n_items = shape[1] - hidden.sizes[rows] + 1
    return DrawPlan(
        labels,
        label_keys(labels),
        rows,
        kept_targets.items.astype(np.int64),
        hidden,
        n_items,
        shape[1],
    )


def draw_bits(seed: int, purpose: int = DRAW) -> np.uint64:
    """Return the 64 random bits for drawing candidates, or for selecting some of them."""
    return np.random.SeedSequence([_check.seed(seed), purpose]).generate_state(1, np.uint64)[0]


def _union(left: Rows, right: Rows, shape: tuple[int, int]) -> Rows:
    """Return the items of either, in increasing order and distinct within a user."""
    owners = [np.repeat(np.arange(shape[0]), rows.sizes) for rows in (left, right)]
    pairs = np.unique(np.concatenate(owners) * shape[1] + np.concatenate([left.items, right.items]))
    sizes = np.bincount(pairs // shape[1], minlength=shape[0])
    return Rows(row_offsets(sizes), (pairs % shape[1]).astype(np.int64), np.ones(pairs.size))
