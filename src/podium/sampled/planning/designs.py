"""The sizes of samples that a plan evaluates, and the cost and error of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from podium.progress import or_silent
from podium.results import Result
from podium.sampled.design import Design
from podium.sampled.planning.outlook import Outlook, PlannedEstimate
from podium.types import Progress

Kind: TypeAlias = Literal["sample", "all"]

SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
"""The usual sizes of samples. A plan evaluates those of up to half of the catalogue."""

_ALWAYS_EVALUATED = 400  # sizes up to this one are always evaluated
_DIGITS = 2  # of a size between two usual sizes

ErrorOf = Callable[[int], float]


@dataclass(frozen=True)
class PlannedDesign:
    """A number of sampled items, with its cost and the error of its estimate.

    Attributes
    ----------
    kind : {"sample", "all"}
        A sample, or all items.
    n_negatives : int
        The number of items beside the target.
    n_scored : int
        The number of items scored per user, including the target.
    share : float
        The ratio of n_scored to the number of all items.
    std_error, bias, error : float
        The standard error over users and drawn items, the bias, and the root of the sum of their
        squares, in units of the measure. They are those under the expected distribution with the
        largest error.
    errors : dict of str to float
        The error under each expected distribution: "pilot", or "steep", "bent" and "flat".
    reaches : bool
        Whether the error is within the goal.
    """

    kind: Kind
    n_negatives: int
    n_scored: int
    share: float
    std_error: float
    bias: float
    error: float
    errors: dict[str, float]
    reaches: bool

    @property
    def text(self) -> str:
        """The design in words, such as ``100`` or ``all items``."""
        return "all items" if self.kind == "all" else str(self.n_negatives)


def search(
    planned: PlannedEstimate, goal: float, *, replacement: bool, progress: Progress | None
) -> tuple[PlannedDesign, ...]:
    """Search sizes of samples; return the evaluated ones from the cheapest, all items last."""
    report, designs = or_silent(progress), dict[int, PlannedDesign]()
    half = (planned.n_items - 1) // 2
    sizes = tuple(size for size in SIZES if size <= half) or ((half,) if half else ())

    def evaluated(kind: Kind, size: int, outlooks: Mapping[str, Outlook]) -> PlannedDesign:
        worst = max(outlooks.values(), key=lambda outlook: outlook.error)
        return PlannedDesign(
            kind,
            size,
            size + 1,
            (size + 1) / planned.n_items,
            worst.std_error,
            worst.bias,
            worst.error,
            {name: outlook.error for name, outlook in outlooks.items()},
            reaches=worst.error <= goal,
        )

    def error_of(size: int) -> float:
        outlooks = planned.outlooks(Design(size, planned.n_items, replacement))
        designs[size] = evaluated("sample", size, outlooks)
        report(len(designs), max(len(sizes) + 1, len(designs) + 1), designs[size].text)
        return designs[size].error

    all_items = evaluated("all", planned.n_items - 1, planned.outlooks_of_all_items())
    search_sizes(sizes, error_of, goal, reachable=all_items.reaches)
    report(len(designs), len(designs), "")
    return (*(designs[size] for size in sorted(designs)), all_items)


def search_sizes(sizes: Sequence[int], error_of: ErrorOf, goal: float, *, reachable: bool) -> None:
    """Evaluate sizes up to one within the goal, and one between the last two.

    A biased estimate from a sample can have a smaller error than ranking all items, and so reach a
    goal that all items do not reach.

    Parameters
    ----------
    sizes : sequence of int
    error_of : callable
        A function from a size to the error.
    goal : float
    reachable : bool
        Whether ranking all items is within the goal.
    """
    evaluated: list[tuple[int, float]] = []
    for size in sizes:
        if size > _ALWAYS_EVALUATED and not reachable:
            return
        evaluated.append((size, error_of(size)))
        if evaluated[-1][1] <= goal:
            _evaluate_between(error_of, goal, evaluated)
            for larger in sizes:  # the other usual sizes show the effect of more items
                if size < larger <= _ALWAYS_EVALUATED:
                    error_of(larger)
            return


def _evaluate_between(
    error_of: ErrorOf, goal: float, evaluated: Sequence[tuple[int, float]]
) -> None:
    """Evaluate the size at which a power law between the last two errors meets the goal."""
    if len(evaluated) < 2:
        return
    (small, worse), (large, better) = evaluated[-2:]
    share = np.log(worse / goal) / np.log(worse / max(better, 1e-300))
    crossing = float(small * (large / small) ** share)
    unit = 10 ** max(int(np.floor(np.log10(crossing))) + 1 - _DIGITS, 0)
    size = int(np.ceil(crossing / unit - 1e-9)) * unit  # rounded up
    if small < size < large:
        error_of(size)


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """Sizes of samples with their errors, and the cheapest one that reaches a goal.

    Attributes
    ----------
    measure : str
    goal : float
        The largest acceptable error, in units of the measure.
    value : float
        The expected value of the measure.
    n_items, n_users : int
    designs : tuple of PlannedDesign
        The samples from the cheapest to the ranking of all items, which is last.
    conventions : dict
        The method and the assumptions of the plan.
    """

    measure: str
    goal: float
    value: float
    n_items: int
    n_users: int
    designs: tuple[PlannedDesign, ...]
    conventions: dict[str, Any]

    @property
    def everything(self) -> PlannedDesign:
        """The ranking of all items, whose error comes from the choice of users alone.

        A biased estimate from a sample can have a smaller error.
        """
        return self.designs[-1]

    @property
    def best(self) -> PlannedDesign | None:
        """The cheapest design that reaches the goal, all items included; None if there is none."""
        return next((design for design in self.designs if design.reaches), None)

    @property
    def n_users_needed(self) -> int:
        """The number of users with whom the ranking of all items reaches the goal."""
        times = min(self.everything.std_error / self.goal, 1e9)  # so that it is finite
        return max(1, int(np.ceil(self.n_users * times**2)))

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/plan.json)."""
        return {
            "measure": self.measure,
            "goal": self.goal,
            "value": self.value,
            "n_items": self.n_items,
            "n_users": self.n_users,
            "n_users_needed": self.n_users_needed,
            "best": self.best and self.designs.index(self.best),
            "designs": [
                {**asdict(design), "n_scored_in_all": design.n_scored * self.n_users}
                for design in self.designs
            ],
            "conventions": dict(self.conventions),
        }
