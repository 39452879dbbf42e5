"""Findings of checks of an evaluation: a fault, its severity, its count and its effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from podium._json import plain
from podium.evaluation.stats import Interval

NO_INTERVAL = Interval(float("nan"), float("nan"))

Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

_IN_JSON = (
    *("check", "severity", "run", "count", "total", "noun", "text", "examples", "effects"),
    "remedy",
)


@dataclass(frozen=True)
class Effect:
    """The mean of the measure with a fault and without it, or the mean difference of two runs.

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
    baseline : str
        The run from which `run` differs, if the means are those of differences per user; or "".
    interval, interval_without : Interval
        The confidence intervals of both means.
    """

    run: str
    measure: str
    with_fault: float
    without_fault: float
    std_error: float
    baseline: str = ""
    interval: Interval = NO_INTERVAL
    interval_without: Interval = NO_INTERVAL

    @property
    def change(self) -> float:
        """The mean with the fault minus the mean without it."""
        return self.with_fault - self.without_fault

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form; nan becomes None."""
        return {name.removesuffix("_fault"): value for name, value in plain(vars(self)).items()}

    def __str__(self) -> str:
        """Return the run, or the difference of two runs."""
        return f"{self.run} - {self.baseline}" if self.baseline else self.run


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
        """The effect on one run with the largest change, of either sign; None if there is none."""
        single = [effect for effect in self.effects if not effect.baseline]
        known = [effect for effect in single if effect.change == effect.change]
        return max(known, key=lambda effect: abs(effect.change), default=None)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        effects = [effect.as_json() for effect in self.effects]
        values = {**plain(vars(self)), "effects": effects}
        return {name: values[name] for name in _IN_JSON}
