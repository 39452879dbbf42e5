"""The designs that a plan looked at, and what each costs and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from podium.progress import or_silent
from podium.sampled.design import Design
from podium.sampled.planning.errors import Outlook, Question
from podium.sampled.planning.search import Family, climb
from podium.types import Progress

Kind: TypeAlias = Literal["fixed", "growing", "all"]


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
