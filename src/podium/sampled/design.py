"""The design of a sample: how many items a target was ranked among, and how they were drawn.

An estimator uses only the outcome of a target's sample. The design defines the possible outcomes,
and the probability of each for a target with a given rank in the whole catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
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
    """Samples of one size from a catalogue.

    Parameters
    ----------
    n_negatives : int
        The number of sampled items beside the target, at most n_items - 1.
    n_items : int
        The number of items of the catalogue, including the target.
    replacement : bool
        Whether an item can be drawn twice.

    Notes
    -----
    Outcomes are numbered from 0 to n_negatives. The number is the sampled rank minus 1, which is
    the number of sampled items above the target.

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

    def __post_init__(self) -> None:
        n_items = _check.cutoff(self.n_items, name="n_items")
        refuse_large(n_items)
        n_negatives = _check.cutoff(self.n_negatives, name="n_negatives")
        if n_negatives >= n_items:
            raise ArgumentError(
                f"{arg.n_negatives} must be below {arg.n_items}, got {n_negatives} of {n_items} "
                "items. Draw fewer, or rank all items: podium.catalogue.target_ranks."
            )
        replacement = _check.flag(self.replacement, "replacement")
        vars(self).update(n_items=n_items, n_negatives=n_negatives, replacement=replacement)

    @property
    def n_outcomes(self) -> int:
        """The number of possible ranks among the sampled items and the target."""
        return self.n_negatives + 1

    @property
    def repeats(self) -> bool:
        """Whether an item can be drawn twice; a single draw repeats nothing."""
        return self.replacement and self.n_negatives > 1

    @property
    def is_whole(self) -> bool:
        """Whether a sample is the whole catalogue, so that ranks are exact."""
        return not self.repeats and self.n_negatives == self.n_items - 1

    @cached_property
    def log_ways(self) -> Floats:
        """The log of the number of orders that give an outcome: float64, (n_outcomes,)."""
        return log_choices(self.n_negatives, np.arange(self.n_outcomes))

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
        if self.replacement:
            logs = self._log_powers(better, worse)
        else:
            size = self.n_negatives
            logs = _log_products(better, size)
            logs += _log_products(worse, size)[:, ::-1]
            logs += self.log_ways - _log_products(np.array([self.n_items - 1.0]), size)[:, -1:]
        return np.exp(logs, out=logs)

    def chances(self, ranks: Floats | Ints) -> Floats:
        """Return the probabilities for ranks of a larger catalogue too; 0 beyond the own one."""
        inside = ranks <= self.n_items
        if inside.all():
            return self.probabilities(ranks)
        chances = np.zeros((ranks.size, self.n_outcomes))
        chances[inside] = self.probabilities(ranks[inside])
        return chances

    def _log_powers(self, better: Floats, worse: Floats) -> Floats:
        """Return the log of each outcome's probability with replacement, by one product."""
        above = np.arange(self.n_outcomes)
        below = self.n_negatives - above
        with np.errstate(divide="ignore"):
            log_better, log_worse = np.log(better), np.log(worse)
        constant = self.log_ways - self.n_negatives * np.log(self.n_items - 1.0)
        bases = np.stack([np.maximum(log_better, 0.0), np.maximum(log_worse, 0.0)], axis=1)
        logs: Floats = bases @ np.stack([above, below]).astype(np.float64)
        logs += constant
        # A power of 0 is 0, or 1 if the exponent is 0. Between ranks, numbers below 1 are rare.
        for log_base, exponents in ((log_better, above), (log_worse, below)):
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


def _log_products(base: Floats, n_factors: int) -> Floats:
    """Return logs of base (base - 1) ... with 0 to n_factors factors: (n, n_factors + 1)."""
    products = np.zeros((base.size, n_factors + 1))
    factors = base[:, None] - np.arange(n_factors, dtype=np.float64)
    np.maximum(factors, 0.0, out=factors)
    with np.errstate(divide="ignore"):
        np.log(factors, out=factors)
    np.cumsum(factors, axis=1, out=products[:, 1:])
    return products


def refuse_large(n_items: int) -> None:
    """Raise if the catalogue has more ranks than fit in memory."""
    if n_items > MOST_ITEMS:
        raise ArgumentError(
            f"{arg.n_items} must be at most {MOST_ITEMS:,}, because arrays over all ranks must fit "
            f"in memory, got {n_items}."
        )
