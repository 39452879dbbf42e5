"""The result of a gate: its claims, its unjudged items, and the decision in both orders of ties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from podium._numbers import measured
from podium._text import counted
from podium.data.frames import NO_FRAMES, Origin
from podium.decide.claiming import claims
from podium.decide.claims import Claim, Verdict
from podium.decide.pairs import Pairs
from podium.decide.state import State
from podium.evaluation.finding import Finding
from podium.evaluation.open_ties import OpenTies
from podium.metrics import Measure
from podium.results import Result
from podium.types import Labels

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


_ROUNDING = 1e-12  # a difference that is this close to 0 is 0


@dataclass(frozen=True, eq=False)
class Unjudged:
    """The unjudged items of both runs.

    Attributes
    ----------
    n_items : int
        The number of pairs of a user and an unjudged item of either list.
    to_settle : dict
        The columns user and item, one row per item, the most effective first. If these items turn
        out not relevant, no judgement of the others reverses the order in the primary measure. The
        columns are empty if no judgement can reverse it, or if the difference is 0.
    """

    n_items: int
    to_settle: dict[str, Labels]

    @property
    def n_labels(self) -> int:
        """The number of labels that would settle the order."""
        return self.to_settle["item"].size

    def sentence(self, primary: Claim) -> str:
        """Return a sentence on whether judgements could reverse the primary measure's order."""
        reach = primary.unjudged
        if reach is None or np.isnan(reach.low):
            return f"No user has a value of {primary.measure}, so unjudged items have no effect."
        if not self.n_items:
            return "The lists contain no unjudged items."
        low, high = measured(reach.low, "+"), measured(reach.high, "+")
        ends = f"the difference in {primary.measure} lies between {low} and {high}."
        items = counted(self.n_items, "unjudged items")
        if abs(primary.difference) < _ROUNDING:
            return f"The runs are equal if the {items} are not relevant: {ends}"
        if not reach.can_reverse:
            return f"No judgement of the {items} can reverse the order: {ends}"
        labels = (
            "1 label would settle it, if the item turns out not relevant."
            if self.n_labels == 1
            else f"{self.n_labels:,} labels would settle it, if no item turns out relevant."
        )
        return f"Judging the {items} could reverse the order: {ends} {labels}"

    def as_json(self, primary: Claim) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "n_items": self.n_items,
            "n_labels": self.n_labels,
            "sentence": self.sentence(primary),
        }


_RUNS = ("base", "candidate")


@dataclass(frozen=True, eq=False, repr=False)
class Gate(Result):
    """The decision of a gate, and the claims that it follows from.

    Attributes
    ----------
    claims : tuple of Claim
        The primary claim, then one for each guard and each floor, then those of the segments.
    look : dict or None
        The number of this look, its users and its new users, and the horizon. None if the gate is
        not sequential.
    conventions : dict
        The conventions of the values, such as ties, min_relevance and missing.
    base, candidate : str
        The names of the runs in texts.
    unjudged : Unjudged or None
        The unjudged items of both runs; None without unjudged="bounds".
    origin : Origin
        The kind of frames that came in.
    ties : Ties or None
        The claims with relevant items first among equal scores. None if `ties` was passed, or if
        the order of equal scores has no effect that can be seen.
    protocol : dict
        The stated fields of the protocol, with the rules of the gate as the table "gate".
    findings : tuple of Finding
        Errors of an audit of the training rows, lists without a model that were not compared, and
        what the measures can't separate.
    """

    claims: tuple[Claim, ...]
    look: dict[str, Any] | None = None
    conventions: dict[str, Any] = field(default_factory=dict[str, Any])
    base: str = "base"
    candidate: str = "candidate"
    unjudged: Unjudged | None = None
    origin: Origin = NO_FRAMES
    ties: Ties | None = None
    protocol: dict[str, Any] = field(default_factory=dict[str, Any])
    findings: tuple[Finding, ...] = ()

    _test: ClassVar[str] = "gate.passed, which is True for the decision 'pass' alone"

    @property
    def passed(self) -> bool:
        """Whether the decision is "pass", such as in ``assert podium.gate(...).passed``."""
        return self.decision == "pass"

    @property
    def primary(self) -> Claim:
        """The claim on the measure of the gate, over all users."""
        return self.claims[0]

    @property
    def verdict(self) -> Verdict:
        """The verdict of the primary measure, in both orders of equal scores; see `Claim`."""
        return self.primary.verdict if self.ties is None else self.ties.verdict

    @property
    def decision(self) -> Decision:
        """Whether the candidate may replace the base.

        "fail" if the primary measure, a guard, a floor or a segment is inferior; "pass" if the
        primary measure, all guards and all floors hold, and no segment is inferior; otherwise
        "cannot tell". It is "cannot tell" too if the order of equal scores decides, and nobody
        chose it, or if an audit of the training rows has an error.
        """
        decision = decision_of(self.claims)
        if self.errors and decision != "fail":
            return "cannot tell"
        if self.ties is not None and self.ties.decide:
            return "cannot tell"
        return decision

    @property
    def errors(self) -> list[Finding]:
        """The errors of the evaluation, with which no candidate passes."""
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def reasons(self) -> list[str]:
        """The sentences of the claims that prevent a pass; empty if the decision is "pass"."""
        decision = self.decision
        if decision == "pass":
            return []
        if self.errors and decision != "fail":
            return [f"{error.check}: {error.text} {error.remedy}" for error in self.errors]
        if self.ties is not None and self.ties.decide:
            return list(self.ties.reasons(self.base, self.candidate))
        verdict = "inferior" if decision == "fail" else decision
        return [
            claim.sentence(self.base, self.candidate)
            for claim in self.claims
            if claim.verdict == verdict and (claim.role != "segment" or decision == "fail")
        ]

    @property
    def labels_to_settle(self) -> dict[str, Labels] | None:
        """The columns user and item of labels that would settle the order of the runs.

        The order is that of the primary measure, and the most effective labels are first. If none
        of these items turns out relevant, no judgement of the others reverses the order. There are
        no rows if no judgement can reverse it. None without unjudged="bounds".
        """
        return None if self.unjudged is None else self.unjudged.to_settle

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/gate.json); nan becomes None."""
        names, runs = ("decision", "verdict", "reasons"), {n: vars(self)[n] for n in _RUNS}
        return {
            **{name: getattr(self, name) for name in names},
            **runs,
            "claims": [claim.as_json(**runs) for claim in self.claims],
            "look": self.look,
            "unjudged": None if self.unjudged is None else self.unjudged.as_json(self.primary),
            "ties": None if self.ties is None else self.ties.as_json(**runs),
            "findings": [finding.as_json() for finding in self.findings],
            "conventions": dict(self.conventions),
            "protocol": dict(self.protocol),
        }
