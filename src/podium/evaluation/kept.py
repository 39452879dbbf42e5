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
    from podium.data import Truth
    from podium.data.lists import Lists, Whole

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
    of_shown : Conventions
        The conventions of measures of the items shown.
    facts : Whole, optional
        The facts of whole tables that were measured in parts, and can be read again.
    """

    truth: Any
    run: Any
    measured: dict[str, tuple[Measure, Conventions]]
    of_shown: Conventions
    facts: Whole | None = None

    def conventions_of(self, measure: str) -> Conventions:
        """Return the conventions of the lists that a measure read."""
        return self.measured[measure][1] if measure in self.measured else self.of_shown

    def truth_of(self, labels: Labels) -> Truth:
        """Return a truth with all rows of these users."""
        from podium.data.some_users import truth_of_users

        return self.truth if self.facts is None else truth_of_users(self.truth, labels)

    def sampled(self, labels: Labels) -> Labels:
        """Return the users whose lists give a curve: all of them, or some of tables on disk."""
        return labels if self.facts is None else labels[:: labels.size // _SAMPLED_USERS + 1]

    def lists(self, truth: Truth, labels: Labels) -> Callable[..., Lists]:
        """Return a function from conventions to the lists of users.

        `truth` is that of these users, from `truth_of`. Tables in memory have further users.
        """
        from podium.data.lists import Lists, Whole
        from podium.data.some_users import run_of_users

        run = self.run if self.facts is None else run_of_users(self.run, labels)
        facts = self.facts or Whole(float(truth.relevance.min()))
        return partial(Lists.of, truth, run, whole=facts)
