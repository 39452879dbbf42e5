"""The design of a sample: how many items a target was ranked among, and how they were drawn.

An estimator uses only the outcome of a target's sample. The design defines the possible outcomes,
and the probability of each for a target with a given rank in the whole catalogue.
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
from podium.errors import ArgumentError, arg

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

MOST_ITEMS = 10**8  # with more items, arrays over all ranks do not fit in memory

_CELLS = 2**20  # the numbers in a block of probabilities: 8 MiB


@dataclass(frozen=True)
class Design:
    """Samples of one size, or of a size that grows while the target comes first.

    Parameters
    ----------
    n_negatives : int
        The number of sampled items beside the target, at most n_items - 1. For a sample that
        grows, the last size.
    n_items : int
        The number of items of the catalogue, including the target.
    replacement : bool
        Whether an item can be drawn twice.
    stages : tuple of int
        Increasing sizes that end in n_negatives. A sample of one of these sizes is final unless
        the target comes first in it; otherwise it grows to the next size. An empty tuple or one
        size means a fixed size.

    Notes
    -----
    Outcomes are numbered from 0 to n_negatives. If the size is fixed, the number is the sampled
    rank minus 1. In a design that grows, outcome 0 is a target that was first at every size. The
    number of any other outcome is the size before the last addition plus the number of items
    above the target.

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
                f"{arg.n_negatives} must be below {arg.n_items}, got {n_negatives} of {n_items} "
                "items. Draw fewer, or rank all items: podium.catalogue.target_ranks."
            )
        stages = read_stages(self.stages) or (n_negatives,)
        if stages[-1] != n_negatives:
            raise ArgumentError(
                f"{arg.stages} must end in {arg.n_negatives} = {n_negatives}, got {stages[-1]}."
            )
        replacement = _check.flag(self.replacement, "replacement")
        vars(self).update(
            n_items=n_items, n_negatives=n_negatives, replacement=replacement, stages=stages
        )

    @property
    def n_outcomes(self) -> int:
        """The number of possible ranks among the sampled items and the target."""
        return self.n_negatives + 1

    @property
    def grows(self) -> bool:
        """Whether items are sampled in several stages."""
        return len(self.stages) > 1

    @property
    def repeats(self) -> bool:
        """Whether an item can be drawn twice; a single draw repeats nothing."""
        return self.replacement and self.n_negatives > 1

    @property
    def is_whole(self) -> bool:
        """Whether a sample is the whole catalogue, so that ranks are exact."""
        return not self.repeats and not self.grows and self.n_negatives == self.n_items - 1

    def outcomes(self, ranks: ArrayLike, sizes: ArrayLike | None = None) -> Ints:
        """Return the numbers of the outcomes of samples.

        Parameters
        ----------
        ranks : int, (n,)
            Sampled ranks, from 1.
        sizes : int, (n,), optional
            The size at which each sample ended, one of `stages`; by default the last one.

        Returns
        -------
        int64, (n,)
        """
        above = np.asarray(ranks, dtype=np.int64) - 1
        ends = np.asarray(self.stages)
        stage = np.searchsorted(ends, self.n_negatives if sizes is None else np.asarray(sizes))
        size_before = np.concatenate([[0], ends[:-1]])
        return np.where(above == 0, 0, size_before[stage] + above)

    @cached_property
    def above(self) -> Ints:
        """The number of items above the target, by outcome: int64, (n_outcomes,)."""
        return np.arange(self.n_outcomes) - self._size_before

    @cached_property
    def sizes(self) -> Ints:
        """The size at which a sample ends, by outcome: int64, (n_outcomes,)."""
        ends = np.asarray(self.stages)
        stage = np.searchsorted(ends, np.arange(self.n_outcomes))
        return np.concatenate([[self.n_negatives], ends[stage[1:]]])

    @cached_property
    def _size_before(self) -> Ints:
        """The size before the last addition, by outcome; 0 for outcome 0."""
        ends = np.concatenate([[0], np.asarray(self.stages)])
        stage = np.searchsorted(ends[1:], np.arange(self.n_outcomes))
        return np.concatenate([[0], ends[stage[1:]]])

    @cached_property
    def log_ways(self) -> Floats:
        """The log of the number of orders that give an outcome: float64, (n_outcomes,)."""
        return log_choices(np.where(self.above > 0, self.sizes - self._size_before, 0), self.above)

    def probabilities(self, ranks: ArrayLike | None = None) -> Floats:
        """Return the probability of each outcome for a target of each rank.

        Parameters
        ----------
        ranks : int, (n,), optional
            Ranks in the whole catalogue, from 1 to n_items. The default is all ranks, which takes
            n_items x n_outcomes numbers; see `blocks`.

        Returns
        -------
        float64, (n, n_outcomes)
            The probabilities. Each row sums to 1.

        Notes
        -----
        The number of items above the target is binomial with probability
        (rank - 1) / (n_items - 1) with replacement, and hypergeometric without.

        References
        ----------
        jin2021, equation 16.
        """
        full_ranks = (
            np.arange(1, self.n_items + 1) if ranks is None else _check.array(ranks, "ranks")
        )
        better = full_ranks.astype(np.float64) - 1.0
        worse = self.n_items - 1.0 - better
        below = self.sizes - self.above
        if self.replacement:
            logs = self._log_powers(better, worse, below)
        else:
            total = _log_products(np.array([self.n_items - 1.0]), self.sizes)
            logs = _log_products(better, self.above)
            logs += _log_products(worse, below)
            logs += self.log_ways - total
        return np.exp(logs, out=logs)

    def chances(self, ranks: Floats | Ints) -> Floats:
        """Return the probabilities for ranks of a larger catalogue too; 0 beyond the own one."""
        inside = ranks <= self.n_items
        if inside.all():
            return self.probabilities(ranks)
        chances = np.zeros((ranks.size, self.n_outcomes))
        chances[inside] = self.probabilities(ranks[inside])
        return chances

    def _log_powers(self, better: Floats, worse: Floats, below: Ints) -> Floats:
        """Return the log of each outcome's probability with replacement, by one product."""
        with np.errstate(divide="ignore"):
            log_better, log_worse = np.log(better), np.log(worse)
        constant = self.log_ways - self.sizes * np.log(self.n_items - 1.0)
        bases = np.stack([np.maximum(log_better, 0.0), np.maximum(log_worse, 0.0)], axis=1)
        logs: Floats = bases @ np.stack([self.above, below]).astype(np.float64)
        logs += constant
        # A power of 0 is 0, or 1 if the exponent is 0. Between ranks, numbers below 1 are rare.
        for log_base, exponents in ((log_better, self.above), (log_worse, below)):
            for row in np.flatnonzero(log_base < 0):
                is_used = exponents > 0
                logs[row, is_used] += log_base[row] * exponents[is_used]
        return logs

    def blocks(self, n_ranks: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Yield the probabilities of ranks 1 .. n_ranks in blocks of 8 MiB at most, or one rank.

        Parameters
        ----------
        n_ranks : int, optional
            The number of ranks; by default all.

        Yields
        ------
        slice, float64 (n, n_outcomes)
            The positions of the block's ranks, from 0, and their probabilities.
        """
        stop = self.n_items if n_ranks is None else min(n_ranks, self.n_items)
        block_size = max(1, _CELLS // self.n_outcomes)
        for start in range(0, stop, block_size):
            block_end = min(start + block_size, stop)
            yield slice(start, block_end), self.probabilities(np.arange(start + 1, block_end + 1))


def log_choices(size: int | Ints, above: Ints) -> Floats:
    """Return the log of the number of ways to choose `above` of `size` items."""
    return gammaln(size + 1) - gammaln(above + 1) - gammaln(size - above + 1)


def _log_products(base: Floats, exponents: Ints) -> Floats:
    """Return logs of base (base - 1) ... with as many factors as the exponents."""
    n_factors = int(exponents.max(initial=0))
    products = np.zeros((base.size, n_factors + 1))
    factors = base[:, None] - np.arange(n_factors, dtype=np.float64)
    np.maximum(factors, 0.0, out=factors)
    with np.errstate(divide="ignore"):
        np.log(factors, out=factors)
    np.cumsum(factors, axis=1, out=products[:, 1:])
    all_exponents = np.arange(n_factors + 1)
    for view, order in ((products, all_exponents), (products[:, ::-1], all_exponents[::-1])):
        if np.array_equal(exponents, order):
            return view
    return products[:, exponents]


def refuse_large(n_items: int) -> None:
    """Raise if the catalogue has more ranks than fit in memory."""
    if n_items > MOST_ITEMS:
        raise ArgumentError(
            f"{arg.n_items} must be at most {MOST_ITEMS:,}, because arrays over all ranks must fit "
            f"in memory, got {n_items}."
        )


def read_stages(stages: Iterable[int] | None) -> tuple[int, ...]:
    """Return the increasing sizes of a growing sample; none for None or an empty sequence."""
    if stages is None:
        return ()
    if not isinstance(stages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"{arg.stages} must be a sequence of sizes, such as (100, 200, 400), got {stages!r}."
        )
    sizes = tuple(_check.cutoff(size, name="stages") for size in stages)
    if any(b <= a for a, b in pairwise(sizes)):
        raise ArgumentError(f"{arg.stages} must increase, such as (100, 200, 400), got {sizes}.")
    return sizes
