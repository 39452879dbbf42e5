"""The result of a gate: its claims and the decision that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from podium.data.frames import NO_FRAMES, Origin
from podium.decide.claims import Claim, Verdict
from podium.decide.ties import Decision, Ties, decision_of
from podium.decide.unjudged import Unjudged
from podium.evaluation.finding import Finding
from podium.results import Result
from podium.types import Labels

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
