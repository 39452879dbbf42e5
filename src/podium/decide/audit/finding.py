"""An audit as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from podium._json import plain
from podium.data.frames import NO_FRAMES, Origin
from podium.evaluation.finding import SEVERITIES, Finding, Severity
from podium.results import Result


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """The findings of an audit, and values that put the measure into context.

    Attributes
    ----------
    findings : tuple of Finding
        Errors first, then warnings, then notes.
    context : dict of str to number
        Sizes of the tables, and the values of each run, of a popularity list and of a random list.
    measure : str
    conventions : dict
        The threshold of positives, and how candidates were drawn according to the caller.
    origin : Origin
        The kind of frames that came in.
    """

    findings: tuple[Finding, ...]
    context: dict[str, Any] = field(default_factory=dict[str, Any])
    measure: str = "ndcg@10"
    conventions: dict[str, Any] = field(default_factory=dict[str, Any])
    origin: Origin = NO_FRAMES

    _test: ClassVar[str] = "audit.fails('error'), which is True if there is an error, or findings"

    def of(self, severity: Severity) -> list[Finding]:
        """Return the findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]

    @property
    def worst(self) -> Severity | None:
        """The highest severity of the findings; None without findings."""
        return self.findings[0].severity if self.findings else None

    def fails(self, fail_on: str) -> bool:
        """Return whether a finding is at least as severe as `fail_on`; with "never", False."""
        if fail_on == "never":
            return False
        levels = SEVERITIES[: SEVERITIES.index("warning" if fail_on == "warning" else "error") + 1]
        return self.worst in levels

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/audit.json); nan becomes None."""
        return {
            "measure": self.measure,
            "counts": {severity: len(self.of(severity)) for severity in SEVERITIES},
            "findings": [finding.as_json() for finding in self.findings],
            "context": plain(self.context),
            "conventions": dict(self.conventions),
        }
