"""Which designs a plan looks at: sizes that double, of a fixed size or grown to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from podium import _check
from podium.errors import ArgumentError

FIXED = 1
GROWTHS = (FIXED, 8, 64)
"""Last size over first: a fixed size, doubled up to three times, doubled up to six times."""

_SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
_STARTS = (10, *_SIZES)
_USUAL = 400  # last size that a table has anyhow
_DIGITS = 2  # of a size between two of the ladder

Ask = Callable[[tuple[int, ...]], float]


@dataclass(frozen=True)
class Family:
    """Designs that differ in size alone.

    Attributes
    ----------
    growth : int
        Last size over first, rounded up to a whole first size.
    sizes : tuple of int
        The last ones, rising, none of them below growth.
    """

    growth: int
    sizes: tuple[int, ...]

    def stages(self, size: int) -> tuple[int, ...]:
        """Return the sizes at which a sample of up to `size` can end: halved, rounded up."""
        return tuple(-(-size // 2**i) for i in reversed(range(self.growth.bit_length())))


def ladders(sizes: Iterable[int] | None, n_items: int, *, grows: bool) -> tuple[Family, ...]:
    """Return what a plan looks at: the sizes that were asked for, or the usual ones."""
    if sizes is None:
        return tuple(families(n_items, grows=grows))
    return tuple(given(_read_sizes(sizes, n_items), grows=grows))


def _read_sizes(sizes: Iterable[int], n_items: int) -> list[int]:
    found = sorted({_check.cutoff(size, name="sizes") for size in sizes})
    if not found or found[-1] >= n_items:
        raise ArgumentError(
            f"sizes must be numbers of sampled items below n_items = {n_items}, got {found}."
        )
    return found


def largest(climbed: Iterable[Family]) -> int:
    """Return the largest sample of all families; 1 if they are empty."""
    return max((family.sizes[-1] for family in climbed if family.sizes), default=1)


def families(n_items: int, *, grows: bool) -> Iterator[Family]:
    """Yield ladders of sizes, fixed ones up to half of the catalogue.

    Parameters
    ----------
    n_items : int
    grows : bool
        Whether the method can read samples that grow.
    """
    half = (n_items - 1) // 2
    fixed = tuple(size for size in _SIZES if size <= half) or ((half,) if half else ())
    yield Family(FIXED, fixed)
    for growth in GROWTHS[1:] if grows else ():
        last = min(n_items - 1, _SIZES[-1])
        sizes = (start * growth for start in _STARTS)
        yield Family(growth, tuple(size for size in sizes if size <= last))


def given(sizes: Sequence[int], *, grows: bool) -> Iterator[Family]:
    """Yield the same for the sizes that were asked for, which rise."""
    for growth in GROWTHS if grows else (FIXED,):
        yield Family(growth, tuple(size for size in sizes if size >= growth))


def climb(family: Family, ask: Ask, goal: float, *, reachable: bool) -> None:
    """Ask for the errors of a family's designs, up to one within the goal, and one between.

    A shrunk estimate from a sample can be nearer than ranking all items, and so within a goal
    that this does not reach: sizes go on as long as their errors may.

    Parameters
    ----------
    family : Family
    ask : callable
        From stages to the error.
    goal : float
    reachable : bool
        Whether ranking all items is within the goal.
    """
    asked: list[tuple[int, float]] = []
    for size in family.sizes:
        if size > _USUAL and not (reachable or _may_reach(family, asked, goal)):
            return
        asked.append((size, ask(family.stages(size))))
        if asked[-1][1] <= goal:
            _between(family, ask, goal, asked)
            _rest(family, ask, size)
            return


def _may_reach(family: Family, asked: Sequence[tuple[int, float]], goal: float) -> bool:
    """Whether errors that go on falling as between the last two sizes reach the goal."""
    if len(asked) < 2:
        return True
    (small, worse), (large, better) = asked[-2:]
    power = np.log(worse / better) / np.log(large / small)
    return bool(better * (large / family.sizes[-1]) ** power <= goal)


def _rest(family: Family, ask: Ask, reached: int) -> None:
    """Ask for the usual sizes of a fixed sample too, so that a table shows what more would give."""
    for size in family.sizes:
        if family.growth == FIXED and reached < size <= _USUAL:
            ask(family.stages(size))


def _between(family: Family, ask: Ask, goal: float, asked: Sequence[tuple[int, float]]) -> None:
    """Ask for the size at which a power law between the last two errors meets the goal."""
    if len(asked) < 2:
        return
    (small, worse), (large, better) = asked[-2:]
    share = np.log(worse / goal) / np.log(worse / max(better, 1e-300))
    start = _rounded_up(float(small / family.growth * (large / small) ** share))
    if small < start * family.growth < large:
        ask(family.stages(start * family.growth))


def _rounded_up(size: float) -> int:
    unit = 10 ** max(int(np.floor(np.log10(size))) + 1 - _DIGITS, 0)
    return int(np.ceil(size / unit - 1e-9)) * unit
