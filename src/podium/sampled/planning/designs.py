"""The designs of a plan: which sizes are tried, and what each costs and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.progress import or_silent
from podium.sampled.design import Design
from podium.sampled.planning.outlook import Outlook, Question
from podium.types import Progress

Kind: TypeAlias = Literal["fixed", "growing", "all"]

FIXED = 1
GROWTHS = (FIXED, 8, 64)
"""Last size over first: a fixed size, doubled up to three times, doubled up to six times."""

_SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
_STARTS = (10, *_SIZES)
_USUAL = 400  # last size that a table has anyhow
_DIGITS = 2  # of a size between two of the ladder

Ask = Callable[[tuple[int, ...]], float]


@dataclass(frozen=True)
class PlannedDesign:
    """What one way of drawing items costs, and how far its estimate will be off.

    Attributes
    ----------
    kind : {"fixed", "growing", "all"}
        Samples of one size; of a size that grows while the target comes first; all items ranked.
    n_negatives : int
        Items beside the target, the last size if it grows.
    stages : tuple of int
        Sizes of a sample that grows, as `sample_ranks` takes them; empty otherwise.
    n_scored : float
        Items scored for a user on average, the target too.
    share : float
        Of the items that ranking all of them scores.
    std_error, bias, error : float
        Standard error over users and drawn items, bias, and the root of the sum of their squares,
        in units of the measure: under the expected distribution that makes the error largest.
    errors : dict of str to float
        The error under each distribution that was expected: "pilot"; or "steep", "bent", "flat".
    reaches : bool
        Whether it is within the goal.
    """

    kind: Kind
    n_negatives: int
    stages: tuple[int, ...]
    n_scored: float
    share: float
    std_error: float
    bias: float
    error: float
    errors: dict[str, float]
    reaches: bool

    @property
    def text(self) -> str:
        """The design in words: ``100``, ``25 … 200`` (doubled each time) or ``all items``."""
        if self.kind == "all":
            return "all items"
        return f"{self.stages[0]} … {self.n_negatives}" if self.stages else str(self.n_negatives)


@dataclass(frozen=True, eq=False)
class Table:
    """Designs by their stages, filled as a search asks for them.

    Attributes
    ----------
    question : Question
    goal : float
    ignore_bias : bool
        Hold the standard error alone to the goal.
    replacement : bool
    """

    question: Question
    goal: float
    ignore_bias: bool
    replacement: bool

    def rows(
        self, ladders: Sequence[Family], *, whole: bool, progress: Progress | None
    ) -> tuple[PlannedDesign, ...]:
        """Search the ladders, and return what was looked at from the cheapest, all items last.

        Parameters
        ----------
        ladders : sequence of Family
        whole : bool
            Look at all sizes, wherever the goal is reached.
        progress : callable or None
        """
        report, found = or_silent(progress), dict[tuple[int, ...], PlannedDesign]()
        all_items = self._of_all()
        most = sum(len(family.sizes) + 1 for family in ladders)

        def ask(stages: tuple[int, ...]) -> float:
            found[stages] = self._of(stages)
            report(len(found), max(most, len(found) + 1), found[stages].text)
            return self._judged(found[stages])

        for family in ladders:
            if whole:
                for size in family.sizes:
                    ask(family.stages(size))
            else:
                climb(family, ask, self.goal, reachable=all_items.reaches)
        report(len(found), len(found), "")
        return (*sorted(found.values(), key=lambda each: each.n_scored), all_items)

    def _of(self, stages: tuple[int, ...]) -> PlannedDesign:
        n_items = self.question.expected.cells.n_items
        design = Design(stages[-1], n_items, self.replacement, stages)
        kind: Kind = "growing" if design.grows else "fixed"
        return self._made(kind, design.n_negatives, stages, self.question.ask(design))

    def _of_all(self) -> PlannedDesign:
        last = self.question.expected.cells.n_items - 1
        return self._made("all", last, (last,), self.question.ask_all())

    def _made(
        self, kind: Kind, last: int, stages: tuple[int, ...], found: Mapping[str, Outlook]
    ) -> PlannedDesign:
        worst = max(found.values(), key=self._judged)
        n_scored = max(each.n_scored for each in found.values())
        return PlannedDesign(
            kind=kind,
            n_negatives=last,
            stages=stages if kind == "growing" else (),
            n_scored=n_scored,
            share=n_scored / self.question.expected.cells.n_items,
            std_error=worst.std_error,
            bias=worst.bias,
            error=worst.error,
            errors={name: each.error for name, each in found.items()},
            reaches=self._judged(worst) <= self.goal,
        )

    def _judged(self, found: Outlook | PlannedDesign) -> float:
        return found.std_error if self.ignore_bias else found.error


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
    """Return what a plan looks at: the sizes that were asked for, or the usual ones.

    Of these, samples of a fixed size hold up to half of the catalogue. `grows` says whether the
    method can read samples that grow.
    """
    growths = GROWTHS if grows else (FIXED,)
    if sizes is not None:
        asked = sorted({_check.cutoff(size, name="sizes") for size in sizes})
        if not asked or asked[-1] >= n_items:
            raise ArgumentError(
                f"sizes must be numbers of sampled items below n_items = {n_items}, got {asked}."
            )
        return tuple(
            Family(each, tuple(size for size in asked if size >= each)) for each in growths
        )
    half = (n_items - 1) // 2
    fixed = tuple(size for size in _SIZES if size <= half) or ((half,) if half else ())
    last = min(n_items - 1, _SIZES[-1])
    growing = [
        Family(each, tuple(start * each for start in _STARTS if start * each <= last))
        for each in growths[1:]
    ]
    return (Family(FIXED, fixed), *growing)


def largest(climbed: Iterable[Family]) -> int:
    """Return the largest sample of all families; 1 if they are empty."""
    return max((family.sizes[-1] for family in climbed if family.sizes), default=1)


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
