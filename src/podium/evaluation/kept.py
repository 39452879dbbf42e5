"""The tables that an evaluation keeps for the lists and curves of its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from podium.metrics import Measure
from podium.protocol import Conventions
from podium.types import Labels

if TYPE_CHECKING:
    from podium.data import Run, Truth
    from podium.data.join import Whole
    from podium.ranking import Ranking

_SAMPLED_USERS = 10_000
"""The users of curves if the tables are on disk, at equal distances in the order of ids."""


@dataclass(frozen=True, eq=False)
class KeptTables:
    """The tables of an evaluation, which `keep_lists=True` keeps.

    Attributes
    ----------
    truth : Truth
        The table as it was passed to `measure` if it was measured in parts.
    run : Run
        The same.
    measured : dict of str to (Measure, Conventions)
        Each measure of relevance as it was computed, with the options that a package fixes, and
        its conventions; by the text of the measure.
    shown : Conventions
        The conventions of measures of the items shown.
    facts : Whole, optional
        The facts of whole tables that were measured in parts, and can be read again.
    """

    truth: Any
    run: Any
    measured: dict[str, tuple[Measure, Conventions]]
    shown: Conventions
    facts: Whole | None = None

    def conventions_of(self, measure: str) -> Conventions:
        """Return the conventions of the lists that a measure read."""
        return self.measured[measure][1] if measure in self.measured else self.shown

    def truth_of(self, labels: Labels) -> Truth | None:
        """Return a truth with all rows of these users; None if there are none."""
        from podium.data.some_users import truth_of_users

        return self.truth if self.facts is None else truth_of_users(self.truth, labels)

    def run_of(self, labels: Labels) -> Run | None:
        """Return a run with all rows of these users; None if there are none."""
        from podium.data.some_users import run_of_users

        return self.run if self.facts is None else run_of_users(self.run, labels)

    def sampled(self, labels: Labels) -> Labels:
        """Return the users whose lists give a curve: all of them, or some of tables on disk."""
        return labels if self.facts is None else labels[:: labels.size // _SAMPLED_USERS + 1]

    def ranker(self, truth: Truth | None, labels: Labels) -> Callable[..., Ranking] | None:
        """Return a function from conventions to the lists of users; None without lists.

        `truth` is that of these users, from `truth_of`.
        """
        from podium.data.build import ranked, ranking_of_some

        if self.facts is None:
            return None if truth is None else partial(ranked, truth, self.run)
        run = self.run_of(labels)
        if truth is None or run is None:
            return None
        return partial(ranking_of_some, truth, run, self.facts)
