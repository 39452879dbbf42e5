"""The rules of a gate: the measures, their limits, the level and the kind of looks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from podium import _check
from podium.errors import ArgumentError, arg
from podium.metrics import Measure, parse
from podium.protocol import Protocol

Looks: TypeAlias = Literal["once", "any time", "until horizon"]


@dataclass(frozen=True)
class Rules:
    """What a gate requires of a candidate.

    Attributes
    ----------
    protocol : Protocol
        Its measures are the primary one, then those of the guards. Its level is that of the
        intervals of all users.
    limits : tuple of float
        The difference candidate - base that each measure must not reach.
    looks : {"once", "any time", "until horizon"}
        When the gate may be used: once, or again whenever users arrive, or until `horizon` users.
    horizon : int or None
    """

    protocol: Protocol
    limits: tuple[float, ...]
    looks: Looks = "once"
    horizon: int | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The primary measure, then those of the guards."""
        return self.protocol.measures

    @classmethod
    def of(
        cls,
        protocol: Protocol,
        margin: float,
        guards: Mapping[str, float],
        *,
        sequential: bool,
        horizon: int | None,
    ) -> Rules:
        """Check and return the rules.

        Raises
        ------
        ArgumentError
            If a measure is unknown, is named twice or cannot be used with these looks, if margin is
            negative, or if horizon is given without sequential.
        """
        primary = protocol.required_measures()[0]
        if primary.metric.reads != "relevance":
            raise ArgumentError(
                f"{arg.measures} must begin with a measure of relevance, such as ndcg@10, got "
                f"{primary}. It can be a guard."
            )
        size = _check.number(margin, "margin", low=0.0)
        sequential = _check.flag(sequential, "sequential")
        first_limit = 0.0 - size if primary.metric.higher_is_better else size  # -size could be -0.0
        guard_limits = _guard_limits(guards)
        measures = (primary, *map(parse, guard_limits))
        limits = (first_limit, *guard_limits.values())
        _refuse_twice(measures)
        looks = "once" if not sequential else "any time" if horizon is None else "until horizon"
        n_users = None if horizon is None else _check.cutoff(horizon, name="horizon")
        rules = cls(protocol.replace(measures=measures), limits, looks, n_users)
        if horizon is not None and not sequential:
            raise ArgumentError(
                f"{arg.horizon} requires {arg.sequential(True)}. Leave it out to use the gate once."
            )
        for gate_measure in measures:
            rules.check_looks(gate_measure)
        return rules

    def check_looks(self, measure: Measure) -> None:
        """Refuse measures for which repeated looks have no valid interval."""
        if self.looks == "once":
            return
        if not measure.metric.is_mean:
            raise ArgumentError(
                f"{measure} is not a mean over users, so {arg.sequential(True)} has no interval "
                "for it. Leave it out, or use the gate once."
            )
        if self.looks == "any time" and math.isinf(width(measure)):
            raise ArgumentError(
                f"{measure} has no bounds, which {arg.sequential(True)} requires. Pass "
                f"{arg.horizon}, or leave the measure out."
            )

    def of_file(self) -> dict[str, Any]:
        """Return the form in which the file of a protocol has the rules."""
        guards = zip(map(str, self.measures[1:]), self.limits[1:], strict=True)
        rules = {"margin": abs(self.limits[0]), "guards": dict(guards), "horizon": self.horizon}
        rules["sequential"] = self.looks != "once"
        return {name: value for name, value in rules.items() if value}

    def as_json(self) -> dict[str, Any]:
        """Return the rules that no look may change, beside the conventions of values."""
        stated = {name: vars(self.protocol)[name] for name in ("level", "cluster", "weight")}
        return {
            "measures": [measure.canonical for measure in self.measures],
            "limits": list(self.limits),
            **stated,
            "by": list(self.protocol.by),
            "looks": self.looks,
            "horizon": self.horizon,
        }


def width(measure: Measure) -> float:
    """Return the largest difference between two users' values; infinite without bounds.

    The values of measures that are not means over users, such as coverage@10, have no bounds.
    """
    low, high = measure.metric.bounds
    return high - low if measure.metric.is_mean else math.inf


def read_guards(texts: Sequence[str]) -> dict[str, float]:
    """Return measures and limits from texts such as "recall@50:-0.005".

    Raises
    ------
    ArgumentError
        If a text has another form, a limit is not a finite number, or a measure is named twice.

    Examples
    --------
    >>> read_guards(["recall@50:-0.005", "coverage@10:-0.01"])
    {'recall@50': -0.005, 'coverage@10': -0.01}
    """
    guards: dict[str, float] = {}
    for text in texts:
        measure, _, limit = text.rpartition(":")
        value = _finite(limit)
        if not measure or value is None:
            raise ArgumentError(
                f"{arg.guard} must be MEASURE:LIMIT, such as recall@50:-0.005, got {text!r}."
            )
        if measure in guards:
            raise ArgumentError(f"{arg.guard} names {measure} twice. Keep one limit.")
        guards[measure] = value
    return guards


def _guard_limits(guards: Any) -> dict[str, float]:
    """Return the limits as floats."""
    if not isinstance(guards, Mapping):
        raise ArgumentError(
            f"{arg.guards} must be a mapping of measures to limits, such as {{'recall@50': "
            f"-0.005}}, got {guards!r}."
        )
    limits = cast("Mapping[Any, Any]", guards)
    return {measure: _limit(measure, limit) for measure, limit in limits.items()}


def _limit(measure: Any, value: Any) -> float:
    limit = _finite(value)
    if limit is None:
        raise ArgumentError(
            f"{arg.guards} must have a number as the limit of {measure}, such as -0.005, got "
            f"{value!r}."
        )
    return limit + 0.0  # -0.0 becomes 0.0


def _finite(value: Any) -> float | None:
    """Return a finite number, or None if the value is not one."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _refuse_twice(measures: Sequence[Measure]) -> None:
    for i, measure in enumerate(measures):
        if measure in measures[:i]:
            raise ArgumentError(f"{arg.measures} and {arg.guards} name {measure} twice. Keep one.")
