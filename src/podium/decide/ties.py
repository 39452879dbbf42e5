"""What a gate would decide with relevant items first among equal scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from podium.decide.claiming import claims
from podium.decide.claims import Claim, Verdict
from podium.decide.pairs import Pairs
from podium.decide.state import State
from podium.evaluation.open_ties import OpenTies
from podium.metrics import Measure

Decision: TypeAlias = Literal["pass", "fail", "cannot tell"]


def decision_of(claims: Sequence[Claim]) -> Decision:
    """Return the decision that follows from claims; see `Gate.decision`."""
    if any(claim.verdict == "inferior" for claim in claims):
        return "fail"
    required = [claim for claim in claims if claim.role != "segment"]
    return "pass" if all(claim.holds for claim in required) else "cannot tell"


@dataclass(frozen=True)
class Ties:
    """The claims with relevant items first among equal scores; a gate has those with them last.

    Attributes
    ----------
    n_lists, n_users : int
        The number of users for whom a value of either run depends on the order, and of all users.
    last, first : tuple of Claim
        The claims with relevant items last and first, in the same order.
    """

    n_lists: int
    n_users: int
    last: tuple[Claim, ...]
    first: tuple[Claim, ...]

    @property
    def decisions(self) -> tuple[Decision, Decision]:
        """The decisions with relevant items last and first."""
        return decision_of(self.last), decision_of(self.first)

    @property
    def decide(self) -> bool:
        """Whether the decision depends on the order of equal scores."""
        last, first = self.decisions
        return last != first

    @property
    def verdict(self) -> Verdict:
        """The verdict on the primary measure that holds in both orders."""
        one, other = self.last[0], self.first[0]
        if one.verdict == other.verdict:
            return one.verdict
        return "non-inferior" if one.holds and other.holds else "cannot tell"

    def reasons(self, base: str, candidate: str) -> Iterator[str]:
        """Yield the sentences of both orders on claims whose verdicts differ."""
        yield self.sentence
        for last, first in zip(self.last, self.first, strict=True):
            if last.verdict != first.verdict:
                yield f"Relevant items last: {last.sentence(base, candidate)}"
                yield f"Relevant items first: {first.sentence(base, candidate)}"

    @property
    def sentence(self) -> str:
        """The number of lists, and whether their order changes the decision, as sentences."""
        last, first = self.decisions
        lists = (
            f"The order of equal scores decides the values of {self.n_lists:,} of "
            f"{self.n_users:,} users."
        )
        if self.decide:
            return (
                f"{lists} The decision is '{last}' with relevant items last and '{first}' with "
                "relevant items first. Break ties in the model. If the order that users see is "
                "known, pass it with --ties RULE (ties= in Python)."
            )
        claim = self.first[0]
        return (
            f"{lists} With relevant items first, the difference in {claim.measure} is "
            f"{claim.difference:+.4f} [{claim.interval.low:+.4f}, {claim.interval.high:+.4f}], and "
            "the decision is the same."
        )

    def as_json(self, base: str, candidate: str) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "n_lists": self.n_lists,
            "n_users": self.n_users,
            "decisions": dict(zip(("last", "first"), self.decisions, strict=True)),
            "claims_first": [claim.as_json(base, candidate) for claim in self.first],
            "sentence": self.sentence,
        }


def ties_of(state: State, pairs: Pairs, best: Pairs, last: Sequence[Claim]) -> Ties | None:
    """Return what the order of equal scores changes; None if this is too little to be seen.

    Parameters
    ----------
    state : State
        The users of all looks.
    pairs, best : Pairs
        The users of this look, with relevant items last and first among equal scores.
    last : sequence of Claim
        The claims with relevant items last.
    """
    measures = state.rules.measures
    n_tied = pairs.n_changed(best, measures)
    if not n_tied:
        return None
    first = tuple(claims(_with_values(state, best)))
    ties = Ties(n_tied, pairs.n_users, tuple(last), first)
    matters = ties.decide or ties.verdict != last[0].verdict
    return ties if matters or _matters(ties, pairs, best, measures) else None


def _with_values(state: State, best: Pairs) -> State:
    """Return the state with other values for the users of a look.

    Earlier users whom the look does not have again keep their values.
    """
    from podium.data.users import user_positions

    place = user_positions(state.pairs.labels, best.labels)
    columns = dict(state.pairs.columns)
    for name in columns:
        if name.startswith(("base ", "candidate ")):
            columns[name] = np.where(place < 0, columns[name], best.columns[name][place])
    return replace(state, pairs=Pairs(columns))


def _matters(ties: Ties, pairs: Pairs, best: Pairs, measures: Sequence[Measure]) -> bool:
    """Return whether a mean over the users of a look changes in its printed digits."""
    return any(
        OpenTies(ties.n_lists, ties.n_users, last, first).matters
        for measure in measures
        for last, first in zip(
            *(of_order.of_measure(measure).means() for of_order in (pairs, best)), strict=True
        )
    )
