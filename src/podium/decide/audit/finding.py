"""Findings of an audit, their severity, and the audit as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from podium._json import plain
from podium.data.frames import NO_FRAMES, Origin
from podium.results import Result

Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

# A fault that concerns fewer than one in a thousand rows and moves the measure by at most a tenth
# of its standard error cannot change a conclusion: a change of 0.1 standard errors moves a p value
# of 0.05 to 0.06 at most. Such a fault is a note.
_SMALL_SHARE = 0.001
_SMALL_CHANGE = 0.1
_IN_JSON = (
    *("check", "severity", "run", "count", "total", "noun", "text", "examples", "effects"),
    "remedy",
)


@dataclass(frozen=True)
class Effect:
    """The mean of the measure with a fault and without it.

    Attributes
    ----------
    run : str
        The name of the run, or "a popularity list" for a list of the most popular
        items.
    measure : str
    with_fault, without_fault : float
        The means, in units of the measure; nan if undefined.
    std_error : float
        The standard error of the mean with the fault.
    """

    run: str
    measure: str
    with_fault: float
    without_fault: float
    std_error: float

    @property
    def change(self) -> float:
        """The mean with the fault minus the mean without it."""
        return self.with_fault - self.without_fault

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form; nan becomes None."""
        return {name.removesuffix("_fault"): value for name, value in plain(vars(self)).items()}


@dataclass(frozen=True)
class Finding:
    """One kind of fault in an evaluation, with its count and its effects.

    Attributes
    ----------
    check : str
        The name of the check, such as "train-test-overlap".
    severity : {"error", "warning", "note"}
        "error" if the measure is wrong, "warning" if its meaning differs from the expected one,
        and "note" for other facts that a reader of the results should know.
    text : str
        The fault, in one or two sentences.
    remedy : str
        The command or the change that removes the fault.
    run : str
        The name of the run, or "" if the fault is in the training or test part.
    count, total : int
        The number of faulty pairs, users or other things, and the number that were checked.
    noun : str
        What is counted, such as "pairs" or "users".
    examples : tuple of str
        Up to 3 users, items or pairs: the first in the order of ids.
    effects : tuple of Effect
        The measure with and without the fault, for each run that it concerns.
    """

    check: str
    severity: Severity
    text: str
    remedy: str
    run: str = ""
    count: int = 0
    total: int = 0
    noun: str = "pairs"
    examples: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()

    @property
    def effect(self) -> Effect | None:
        """The effect with the largest change, of either sign; None if there is none."""
        known = [effect for effect in self.effects if effect.change == effect.change]
        return max(known, key=lambda effect: abs(effect.change), default=None)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        effects = [effect.as_json() for effect in self.effects]
        values = {**plain(vars(self)), "effects": effects}
        return {name: values[name] for name in _IN_JSON}


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


def weigh(severity: Severity, count: int, total: int, effects: Sequence[Effect]) -> Severity:
    """Return the severity, or "note" if the fault is far too small to matter."""
    is_rare = count < _SMALL_SHARE * total
    is_priced = bool(effects) and all(e.change == e.change for e in effects)
    if is_rare and is_priced and all(_is_small(effect) for effect in effects):
        return "note"
    return severity


def _is_small(effect: Effect) -> bool:
    return abs(effect.change) <= _SMALL_CHANGE * effect.std_error
