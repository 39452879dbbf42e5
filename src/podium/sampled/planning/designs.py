"""The designs of a plan: the sizes that are evaluated, and the cost and error of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.progress import or_silent
from podium.results import Result
from podium.sampled.design import Design
from podium.sampled.planning.outlook import Outlook, PlannedEstimate
from podium.types import Progress

Kind: TypeAlias = Literal["fixed", "growing", "scan", "strata", "all"]

FIXED = 1
GROWTHS = (FIXED, 8, 64)
"""The ratios of last to first size: a fixed size, up to three doublings, up to six doublings."""

_SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
_STARTS = (10, *_SIZES)
_ALWAYS_EVALUATED = 400  # fixed sizes up to this one are always evaluated
_DIGITS = 2  # of a size between two sizes of the ladder

ErrorOf = Callable[[tuple[int, ...]], float]


@dataclass(frozen=True)
class PlannedDesign:
    """A way of drawing items, with its cost and the error of its estimate.

    Attributes
    ----------
    kind : {"fixed", "growing", "scan", "strata", "all"}
        Samples of one size, samples that grow while the target comes first, scans or strata with a
        proxy, or all items.
    n_negatives : int
        The number of items beside the target; for samples that grow, the last size, and for scans,
        the mean number.
    stages : tuple of int
        The sizes of a sample that grows, in the form that `sample_ranks` accepts; otherwise empty.
    n_scored : float
        The mean number of items scored per user, including the target.
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
    list_share : float or None
        The share of items from a proxy's list, for scans and strata.
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
    list_share: float | None = None

    @property
    def budget(self) -> float:
        """The mean number of scored items per user, without the target."""
        return self.n_scored - 1

    @property
    def text(self) -> str:
        """The design in words, such as ``100``, ``25 … 200`` (doubled each time), ``all items``."""
        if self.kind == "all":
            return "all items"
        if self.list_share is not None:
            n_listed = self.budget * self.list_share
            return f"{n_listed:.3g} listed, {self.budget - n_listed:.3g} random"
        return f"{self.stages[0]} … {self.n_negatives}" if self.stages else str(self.n_negatives)


def search(
    planned: PlannedEstimate,
    families: Sequence[Family],
    goal: float,
    *,
    replacement: bool,
    all_sizes: bool,
    progress: Progress | None,
) -> tuple[PlannedDesign, ...]:
    """Search families of designs; return the evaluated ones from the cheapest, all items last.

    Parameters
    ----------
    planned : PlannedEstimate
    families : sequence of Family
    goal : float
    replacement : bool
    all_sizes : bool
        Whether to evaluate all sizes, even after the goal is reached.
    progress : callable or None
    """
    report, designs = or_silent(progress), dict[tuple[int, ...], PlannedDesign]()
    n_planned = sum(len(family.sizes) + 1 for family in families)

    def evaluated(
        kind: Kind, stages: tuple[int, ...], outlooks: Mapping[str, Outlook]
    ) -> PlannedDesign:
        worst = max(outlooks.values(), key=lambda outlook: outlook.error)
        n_scored = max(outlook.n_scored for outlook in outlooks.values())
        return PlannedDesign(
            kind,
            stages[-1],
            stages if kind == "growing" else (),
            n_scored,
            n_scored / planned.n_items,
            worst.std_error,
            worst.bias,
            worst.error,
            {name: outlook.error for name, outlook in outlooks.items()},
            reaches=worst.error <= goal,
        )

    def error_of(stages: tuple[int, ...]) -> float:
        design = Design(stages[-1], planned.n_items, replacement, stages)
        kind: Kind = "growing" if design.grows else "fixed"
        designs[stages] = evaluated(kind, stages, planned.outlooks(design))
        report(len(designs), max(n_planned, len(designs) + 1), designs[stages].text)
        return designs[stages].error

    all_items = evaluated("all", (planned.n_items - 1,), planned.outlooks_of_all_items())
    for family in families:
        if all_sizes:
            for size in family.sizes:
                error_of(family.stages(size))
        else:
            search_sizes(family, error_of, goal, reachable=all_items.reaches)
    report(len(designs), len(designs), "")
    return (*sorted(designs.values(), key=lambda design: design.n_scored), all_items)


@dataclass(frozen=True)
class Family:
    """Designs that differ only in size.

    Attributes
    ----------
    growth : int
        The ratio of the last size to the first, which is rounded up to an integer.
    sizes : tuple of int
        The last sizes in increasing order, each at least growth.
    """

    growth: int
    sizes: tuple[int, ...]

    def stages(self, size: int) -> tuple[int, ...]:
        """Return the sizes at which a sample of up to `size` can end: halved, rounded up."""
        return tuple(-(-size // 2**i) for i in reversed(range(self.growth.bit_length())))


def ladders(sizes: Iterable[int] | None, n_items: int, *, grows: bool) -> tuple[Family, ...]:
    """Return the families of designs of a plan, with the given sizes or the usual ones.

    The usual samples of a fixed size hold up to half of the catalogue. `grows` says whether the
    method supports samples that grow.
    """
    growths = GROWTHS if grows else (FIXED,)
    if sizes is not None:
        if not isinstance(sizes, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"{arg.sizes} must be a list of numbers, such as [{sizes}], got {sizes}."
            )
        given_sizes = sorted({_check.cutoff(size, name="sizes") for size in sizes})
        if not given_sizes or given_sizes[-1] >= n_items:
            raise ArgumentError(
                f"{arg.sizes} must be numbers of sampled items below {arg.n_items} = {n_items}, "
                f"got {given_sizes}."
            )
        return tuple(
            Family(growth, tuple(size for size in given_sizes if size >= growth))
            for growth in growths
        )
    half = (n_items - 1) // 2
    fixed = tuple(size for size in _SIZES if size <= half) or ((half,) if half else ())
    last_size = min(n_items - 1, _SIZES[-1])
    growing = [
        Family(growth, tuple(start * growth for start in _STARTS if start * growth <= last_size))
        for growth in growths[1:]
    ]
    return (Family(FIXED, fixed), *growing)


def search_sizes(family: Family, error_of: ErrorOf, goal: float, *, reachable: bool) -> None:
    """Evaluate a family's designs up to one within the goal, and one size between the last two.

    A biased estimate from a sample can have a smaller error than ranking all items, and so reach a
    goal that all items do not reach. In that case sizes increase as long as they may reach it.

    Parameters
    ----------
    family : Family
    error_of : callable
        A function from stages to the error.
    goal : float
    reachable : bool
        Whether ranking all items is within the goal.
    """
    evaluated: list[tuple[int, float]] = []
    for size in family.sizes:
        if size > _ALWAYS_EVALUATED and not (reachable or _may_reach(family, evaluated, goal)):
            return
        evaluated.append((size, error_of(family.stages(size))))
        if evaluated[-1][1] <= goal:
            _evaluate_between(family, error_of, goal, evaluated)
            if family.growth == FIXED:  # the other usual sizes show the effect of more items
                for larger in family.sizes:
                    if size < larger <= _ALWAYS_EVALUATED:
                        error_of(family.stages(larger))
            return


def _may_reach(family: Family, evaluated: Sequence[tuple[int, float]], goal: float) -> bool:
    """Return whether errors reach the goal if they fall at the rate of the last two sizes."""
    if len(evaluated) < 2:
        return True
    (small, worse), (large, better) = evaluated[-2:]
    power = np.log(worse / better) / np.log(large / small)
    return bool(better * (large / family.sizes[-1]) ** power <= goal)


def _evaluate_between(
    family: Family, error_of: ErrorOf, goal: float, evaluated: Sequence[tuple[int, float]]
) -> None:
    """Evaluate the size at which a power law between the last two errors meets the goal."""
    if len(evaluated) < 2:
        return
    (small, worse), (large, better) = evaluated[-2:]
    share = np.log(worse / goal) / np.log(worse / max(better, 1e-300))
    first = float(small / family.growth * (large / small) ** share)
    unit = 10 ** max(int(np.floor(np.log10(first))) + 1 - _DIGITS, 0)
    start = int(np.ceil(first / unit - 1e-9)) * unit  # rounded up
    if small < start * family.growth < large:
        error_of(family.stages(start * family.growth))


_DECIMALS = 6  # decimals of numbers of items


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """Designs with their errors, and the designs that reach a goal.

    Attributes
    ----------
    measure : str
    goal : float
        The largest acceptable error, in units of the measure.
    value : float
        The expected value of the measure.
    n_items, n_users : int
    designs : tuple of PlannedDesign
        The designs from the cheapest to the ranking of all items, which is last.
    conventions : dict
        The method and the assumptions of the plan.
    assumed : bool
        Whether the expected value was neither passed nor estimated from a pilot.
    """

    measure: str
    goal: float
    value: float
    n_items: int
    n_users: int
    designs: tuple[PlannedDesign, ...]
    conventions: dict[str, Any]
    assumed: bool = False

    @property
    def fixed(self) -> PlannedDesign | None:
        """The smallest sample of one size that reaches the goal; None if there is none."""
        return self._cheapest("fixed")

    @property
    def growing(self) -> PlannedDesign | None:
        """The cheapest sample that grows and reaches the goal; None if there is none."""
        return self._cheapest("growing")

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
        chosen = {"best": self.best, "fixed": self.fixed, "growing": self.growing}
        return {
            "measure": self.measure,
            "goal": self.goal,
            "value": self.value,
            "n_items": self.n_items,
            "n_users": self.n_users,
            "n_users_needed": self.n_users_needed,
            **{name: d and self.designs.index(d) for name, d in chosen.items()},
            "designs": [_as_json(design, self.n_users) for design in self.designs],
            "conventions": dict(self.conventions),
        }

    def _cheapest(self, kind: Kind) -> PlannedDesign | None:
        return next(
            (design for design in self.designs if design.kind == kind and design.reaches), None
        )


def _as_json(design: PlannedDesign, n_users: int) -> dict[str, Any]:
    fields = asdict(design)
    if design.list_share is None:
        del fields["list_share"]
    return {
        **fields,
        "stages": list(design.stages) or None,
        # Sums of probabilities, which differ in the last digits.
        "n_scored": round(design.n_scored, _DECIMALS),
        "n_scored_in_all": round(design.n_scored * n_users, _DECIMALS),
    }
