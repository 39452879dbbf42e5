"""Features, labels and groups of a study, and its three parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_TRAIN, _VALID = 0.6, 0.5  # of all rows, and of the others


class Draws(Protocol):
    """What NumPy's generators share, the old one and the new."""

    def random(self, size: Any = None, /) -> Any:
        """Return uniform draws from [0, 1)."""
        ...


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, labels and groups of the same rows.

    Attributes
    ----------
    X : float, (n_rows, n_features)
    y : float64, (n_rows,)
        1 for a positive, else 0.
    qid : (n_rows,)
        Group of each row, integers or strings.
    """

    X: NDArray[Any]
    y: NDArray[np.float64]
    qid: NDArray[Any]

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return some of the rows, by position or mask."""
        return Rows(self.X[rows], self.y[rows], self.qid[rows])

    def with_negatives(self, k: int) -> Rows:
        """Keep the groups with at least one positive and k negatives."""
        _, codes, sizes = np.unique(self.qid, return_inverse=True, return_counts=True)
        hits = np.bincount(codes, weights=self.y, minlength=sizes.size)
        return self.take(((hits >= 1) & (sizes - hits >= k))[codes])


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows to train on, to choose by, and to report on."""

    train: Rows
    valid: Rows
    test: Rows

    def __iter__(self) -> Iterator[Rows]:
        return iter((self.train, self.valid, self.test))

    def scaled(self) -> Parts:
        """Return float32 features, (x - middle) / range by the training rows, groups numbered.

        A feature that does not vary in training becomes 0 there. A group has one number in all
        parts.
        """
        low, high = self.train.X.min(axis=0), self.train.X.max(axis=0)
        middle, span = (high + low) / 2, np.where(high > low, high - low, 1.0)
        labels = np.unique(np.concatenate([np.unique(part.qid) for part in self]))
        return Parts(
            *(
                Rows(
                    ((part.X - middle) / span).astype(np.float32),
                    part.y,
                    np.searchsorted(labels, part.qid),
                )
                for part in self
            )
        )

    def for_cutoff(self, k: int) -> Parts:
        """Keep, in each part, the groups with a positive and at least k negatives there."""
        return Parts(*(part.with_negatives(k) for part in self))

    def training_on(self, train: Rows) -> Parts:
        """Return the same parts with other rows to train on."""
        return replace(self, train=train)


def drawn(rows: Rows, rng: Draws) -> Parts:
    """Put each row into train, valid or test with the probabilities 0.6, 0.2 and 0.2.

    Groups are drawn for in falling order of their rows, one at a time, as in the reference code
    of hiranandani2020.

    Parameters
    ----------
    rows : Rows
    rng : numpy.random.Generator or RandomState
    """
    _, codes, sizes = np.unique(rows.qid, return_inverse=True, return_counts=True)
    by_group: list[Any] = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    part = np.empty(codes.size, np.int64)
    for code in np.argsort(-sizes, kind="stable"):
        of_group: NDArray[np.int64] = by_group[code]
        train = rng.random(of_group.size) <= _TRAIN
        valid = rng.random(int(np.count_nonzero(~train))) <= _VALID
        part[of_group[train]] = 0
        part[of_group[~train]] = 2 - valid
    return Parts(*(rows.take(part == number) for number in range(3)))
