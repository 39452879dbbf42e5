"""The result of planning: designs with their errors, and the designs that reach a goal."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from podium.report import Table
from podium.report.pictures import Pictures, chosen_measure, estimated
from podium.report.results import Result
from podium.report.views import Numbers, View
from podium.sampled.planning.designs import Kind, PlannedDesign
from podium.sampled.planning.view import plan_numbers, plan_table, plan_view

_DIGITS = 6  # decimals of numbers of items


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
        times = min(
            float(self.everything.std_error) / float(self.goal), 1e9
        )  # so that it is finite
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
            **{
                name: None if chosen_design is None else self.designs.index(chosen_design)
                for name, chosen_design in chosen.items()
            },
            "designs": [_as_json(design, self.n_users) for design in self.designs],
            "conventions": dict(self.conventions),
        }

    def _pictures(self, measure: Any) -> Pictures:
        chosen_measure([self.measure], measure)
        return {"errors": estimated.plan_errors(self.as_json())}

    def _view(self) -> View:
        return plan_view(self)

    def _table(self) -> Table:
        return plan_table(self)

    def _numbers(self) -> Numbers:
        return plan_numbers(self)

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
        "n_scored": round(design.n_scored, _DIGITS),
        "n_scored_in_all": round(design.n_scored * n_users, _DIGITS),
    }
