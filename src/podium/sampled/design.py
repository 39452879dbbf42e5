"""The design of a sample: how many of a catalogue's items a target was ranked among, and how.

What an estimator may use of a target is the outcome of its sample. A design says which outcomes
there are and how likely each is for a target of a given rank in the whole catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from podium import _check
from podium.errors import ArgumentError

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

MOST_ITEMS = 10**8  # beyond it, numbers by rank don't fit in memory

_CELLS = 2**20  # of a block of probabilities: 8 MiB


@dataclass(frozen=True)
class Design:
    """Samples of one size, or of a size that grows while the target comes first.

    Parameters
    ----------
    n_negatives : int
        Sampled items beside the target, at most n_items - 1; the last size if it grows.
    n_items : int
        Items of the catalogue, the target among them.
    replacement : bool
        Whether an item can be drawn twice.
    stages : tuple of int
        Rising sizes that end in n_negatives. A sample of one of these sizes is final unless the
        target comes first in it; otherwise items are added up to the next size. Empty, or one
        size, for a fixed size.

    Notes
    -----
    Outcomes are numbered from 0 to n_negatives. With a fixed size the number is the sampled rank
    minus 1. In a design that grows, outcome 0 is a target that was first to the end, and any
    other is the size before the last addition plus the number of items found above the target.

    References
    ----------
    li2023.

    Examples
    --------
    >>> Design(2, 5).probabilities([1, 3]).round(6).tolist()
    [[1.0, 0.0, 0.0], [0.25, 0.5, 0.25]]
    >>> Design(4, 5, replacement=False).probabilities([2]).tolist()
    [[0.0, 1.0, 0.0, 0.0, 0.0]]
    """

    n_negatives: int
    n_items: int
    replacement: bool = True
    stages: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n_items = _check.cutoff(self.n_items, name="n_items")
        refuse_large(n_items)
        n_negatives = _check.cutoff(self.n_negatives, name="n_negatives")
        if n_negatives >= n_items:
            raise ArgumentError(
                f"n_negatives must be below n_items, got {n_negatives} of {n_items} items. With "
                "that many, rank all items instead: podium.catalogue.target_ranks."
            )
        stages = read_stages(self.stages) or (n_negatives,)
        if stages[-1] != n_negatives:
            raise ArgumentError(
                f"stages must end in n_negatives = {n_negatives}, got {stages[-1]}."
            )
        object.__setattr__(self, "n_items", n_items)
        object.__setattr__(self, "n_negatives", n_negatives)
        object.__setattr__(self, "replacement", _check.flag(self.replacement, "replacement"))
        object.__setattr__(self, "stages", stages)

    @property
    def n_outcomes(self) -> int:
        return self.n_negatives + 1

    @property
    def grows(self) -> bool:
        return len(self.stages) > 1

    def outcomes(self, ranks: ArrayLike, sizes: ArrayLike | None = None) -> Ints:
        """Number the outcomes of samples.

        Parameters
        ----------
        ranks : int, (n,)
            Sampled ranks, from 1.
        sizes : int, (n,), optional
            Items that each sample ended with, each of them one of `stages`; the last without it.
        """
        above = np.asarray(ranks, dtype=np.int64) - 1
        ends = np.asarray(self.stages)
        last = np.searchsorted(ends, self.n_negatives if sizes is None else np.asarray(sizes))
        before = np.concatenate([[0], ends[:-1]])
        return np.where(above == 0, 0, before[last] + above)

    @cached_property
    def above(self) -> Ints:
        """Items found above the target, by outcome: int64, (n_outcomes,)."""
        outcome = np.arange(self.n_outcomes)
        return outcome - self._before

    @cached_property
    def sizes(self) -> Ints:
        """Items that a sample ends with, by outcome: int64, (n_outcomes,)."""
        ends = np.asarray(self.stages)
        last = np.searchsorted(ends, np.arange(self.n_outcomes))
        return np.concatenate([[self.n_negatives], ends[last[1:]]])

    @cached_property
    def _before(self) -> Ints:
        """The size before the last addition, by outcome; 0 for outcome 0."""
        ends = np.concatenate([[0], np.asarray(self.stages)])
        last = np.searchsorted(ends[1:], np.arange(self.n_outcomes))
        return np.concatenate([[0], ends[last[1:]]])

    @cached_property
    def log_ways(self) -> Floats:
        """Log of the number of orders in which an outcome can come: float64, (n_outcomes,)."""
        size = np.where(self.above > 0, self.sizes - self._before, 0)
        return gammaln(size + 1) - gammaln(self.above + 1) - gammaln(size - self.above + 1)

    def probabilities(self, ranks: ArrayLike | None = None) -> Floats:
        """Return how likely each outcome is for a target of each rank.

        Parameters
        ----------
        ranks : int, (n,), optional
            Ranks in the whole catalogue, from 1 to n_items; all of them without it, which takes
            n_items x n_outcomes numbers: see `blocks`.

        Returns
        -------
        float64, (n, n_outcomes)
            Rows sum to 1.

        Notes
        -----
        With replacement, the number above the target is binomial with the chance
        (rank - 1) / (n_items - 1); without, hypergeometric.

        References
        ----------
        jin2021, equation 16.
        """
        asked = np.arange(1, self.n_items + 1) if ranks is None else _check.array(ranks, "ranks")
        better = asked.astype(np.float64) - 1.0
        worse = self.n_items - 1.0 - better
        below = self.sizes - self.above
        with np.errstate(divide="ignore"):
            logs = self._powers(better, self.above) + self._powers(worse, below)
        total = self._powers(np.array([self.n_items - 1.0]), self.sizes)
        logs += self.log_ways - total
        return np.exp(logs, out=logs)

    def _powers(self, base: Floats, exponents: Ints) -> Floats:
        """Return logs of base ** exponent, or of base (base - 1) ... to as many factors."""
        if self.replacement:
            with np.errstate(invalid="ignore"):  # 0 ** 0 is 1, set below
                logs: Floats = np.log(base)[:, None] * exponents.astype(np.float64)
            logs[:, exponents == 0] = 0.0
            return logs
        steps = np.arange(int(exponents.max(initial=0)), dtype=np.float64)
        factors = np.log(np.maximum(base[:, None] - steps, 0.0))
        sums = np.concatenate([np.zeros((base.size, 1)), np.cumsum(factors, axis=1)], axis=1)
        return sums[:, exponents]

    def blocks(self, n_ranks: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Yield the probabilities of ranks 1 .. n_ranks in blocks of at most 8 MiB, or one rank.

        Parameters
        ----------
        n_ranks : int, optional
            All ranks without it.

        Yields
        ------
        slice, float64 (n, n_outcomes)
            Places of the block's ranks, from 0, and their probabilities.
        """
        stop = self.n_items if n_ranks is None else min(n_ranks, self.n_items)
        step = max(1, _CELLS // self.n_outcomes)
        for start in range(0, stop, step):
            end = min(start + step, stop)
            yield slice(start, end), self.probabilities(np.arange(start + 1, end + 1))


def refuse_large(n_items: int) -> None:
    """Raise for a catalogue of more ranks than fit in memory."""
    if n_items > MOST_ITEMS:
        raise ArgumentError(
            f"n_items must be at most {MOST_ITEMS:,}, since numbers are held for each rank, got "
            f"{n_items}."
        )


def read_stages(stages: Iterable[int] | None) -> tuple[int, ...]:
    """Return rising sizes of a sample that grows; none for None or an empty sequence."""
    sizes = tuple(_check.cutoff(size, name="stages") for size in stages or ())
    if any(b <= a for a, b in pairwise(sizes)):
        raise ArgumentError(f"stages must rise, as (100, 200, 400), got {sizes}.")
    return sizes
