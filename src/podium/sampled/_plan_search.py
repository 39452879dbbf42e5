"""Which designs a plan looks at: sizes that double, of a fixed size or grown to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

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
    """Designs that differ in size alone."""

    growth: int
    starts: tuple[int, ...]

    @property
    def last(self) -> int:
        """The largest sample of all."""
        return self.starts[-1] * self.growth

    def stages(self, start: int) -> tuple[int, ...]:
        """Return the sizes at which a sample of this family can end."""
        return tuple(start * 2**i for i in range(self.growth.bit_length()))


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
        yield Family(growth, tuple(start for start in _STARTS if start * growth <= last))


def given(sizes: Sequence[int], n_items: int, *, grows: bool) -> Iterator[Family]:
    """Yield the same for the sizes that were asked for, as the last ones of samples that grow."""
    yield Family(FIXED, tuple(sizes))
    for growth in GROWTHS[1:] if grows else ():
        starts = sorted({-(-size // growth) for size in sizes if size >= growth})
        yield Family(growth, tuple(start for start in starts if start * growth < n_items))


def climb(family: Family, ask: Ask, goal: float, *, reachable: bool) -> None:
    """Ask for the errors of a family's designs, up to one within the goal, and one between.

    Parameters
    ----------
    family : Family
    ask : callable
        From stages to the error.
    goal : float
    reachable : bool
        Whether ranking all items is within the goal.
    """
    before: tuple[int, float] | None = None
    for start in family.starts:
        last = start * family.growth
        if last > _USUAL and not reachable:
            return
        error = ask(family.stages(start))
        if error <= goal:
            if before is not None:
                _between(family, ask, goal, before, (start, error))
            _rest(family, ask, start)
            return
        before = start, error


def _rest(family: Family, ask: Ask, reached: int) -> None:
    """Ask for the usual sizes of a fixed sample too, so that a table shows what more would give."""
    for start in family.starts:
        if family.growth == FIXED and reached < start <= _USUAL:
            ask(family.stages(start))


def _between(
    family: Family, ask: Ask, goal: float, missed: tuple[int, float], met: tuple[int, float]
) -> None:
    """Ask for the size at which a power law between two errors meets the goal."""
    (small, worse), (large, better) = missed, met
    share = np.log(worse / goal) / np.log(worse / max(better, 1e-300))
    start = _rounded_up(float(small * (large / small) ** share))
    if small < start < large:
        ask(family.stages(start))


def _rounded_up(size: float) -> int:
    unit = 10 ** max(int(np.floor(np.log10(size))) + 1 - _DIGITS, 0)
    return int(np.ceil(size / unit - 1e-9)) * unit
