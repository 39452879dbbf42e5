"""Features, labels and groups of a study, divided into three parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_TRAIN, _VALID = 0.6, 0.5  # shares of all rows, and of the rest


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, labels and groups of the same rows.

    Attributes
    ----------
    X : float, (n_rows, n_features)
    y : float64, (n_rows,)
        The labels: 1 for a positive, 0 for a negative; or grades.
    qid : (n_rows,)
        The group of each row, integers or strings.
    item : (n_rows,), optional
        The item of each row, for studies that use it.
    """

    X: NDArray[Any]
    y: NDArray[np.float64]
    qid: NDArray[Any]
    item: Any = None

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return the rows at some positions or in a mask."""
        item = None if self.item is None else self.item[rows]
        return Rows(self.X[rows], self.y[rows], self.qid[rows], item)

    def with_negatives(self, k: int) -> Rows:
        """Return the rows of groups with at least one positive and k negatives."""
        _, codes, sizes = np.unique(self.qid, return_inverse=True, return_counts=True)
        hits = np.bincount(codes, weights=self.y, minlength=sizes.size)
        return self.take(((hits >= 1) & (sizes - hits >= k))[codes])


class Parts(NamedTuple):
    """Rows for training, validation and test."""

    train: Rows
    valid: Rows
    test: Rows

    def scaled(self) -> Parts:
        """Return the parts with scaled float32 features and integer groups.

        A feature becomes (x - middle) / range, with middle and range of the training rows. A
        feature that is constant in the training rows becomes 0 there. A group has the same number
        in all parts.
        """
        low, high = self.train.X.min(axis=0), self.train.X.max(axis=0)
        middle, span = (high + low) / 2, np.where(high > low, high - low, 1.0)
        labels = np.unique(np.concatenate([np.unique(part.qid) for part in self]))

        def scaled(part: Rows) -> Rows:
            X = ((part.X - middle) / span).astype(np.float32)
            return replace(part, X=X, qid=np.searchsorted(labels, part.qid))

        return Parts(*map(scaled, self))

    def for_cutoff(self, k: int) -> Parts:
        """Return the parts with only their groups with a positive and at least k negatives."""
        return Parts(*(part.with_negatives(k) for part in self))


def drawn(rows: Rows, rng: Any) -> Parts:
    """Assign each row to train, valid or test with the probabilities 0.6, 0.2 and 0.2.

    Groups are processed in falling order of their numbers of rows, one after another. This order
    of draws is that of the reference code of hiranandani2020.

    Parameters
    ----------
    rows : Rows
    rng : numpy.random.Generator or RandomState
    """
    _, codes, sizes = np.unique(rows.qid, return_inverse=True, return_counts=True)
    by_group: list[Any] = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    part = np.empty(codes.size, np.int64)
    for code in np.argsort(-sizes, kind="stable"):
        group_rows: NDArray[np.int64] = by_group[code]
        train = rng.random(group_rows.size) <= _TRAIN
        valid = rng.random(int(np.count_nonzero(~train))) <= _VALID
        part[group_rows[train]] = 0
        part[group_rows[~train]] = 2 - valid
    return Parts(*(rows.take(part == number) for number in range(3)))
