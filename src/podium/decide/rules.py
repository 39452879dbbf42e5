"""The rules of a gate: the measures, their limits, the level and the kind of looks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from podium.errors import ArgumentError, arg
from podium.metrics import Measure
from podium.protocol import Protocol

Looks: TypeAlias = Literal["once", "any time", "until horizon"]


@dataclass(frozen=True)
class Rules:
    """What a gate requires of a candidate.

    Attributes
    ----------
    protocol : Protocol
        Its measures are the primary one, those of the guards, then further ones of floors. Its
        level is that of the intervals of all users.
    limits : tuple of float
        The difference candidate - base that the primary measure and each guard must not reach.
    floors : tuple of (Measure, float)
        The values that the candidate must reach.
    looks : {"once", "any time", "until horizon"}
        When the gate may be used: once, or again whenever users arrive, or until `horizon` users.
    horizon : int or None
    """

    protocol: Protocol
    limits: tuple[float, ...]
    floors: tuple[tuple[Measure, float], ...] = ()
    looks: Looks = "once"
    horizon: int | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The primary measure, those of the guards, then further ones of floors."""
        return self.protocol.measures

    @classmethod
    def of(cls, protocol: Protocol, *, has_state: bool) -> Rules:
        """Check and return the rules of a protocol, for a gate with or without a state.

        Raises
        ------
        ArgumentError
            If a measure is named twice or cannot be used with these looks, or if repeated looks
            have no state, or a single look has a state or a horizon.
        """
        primary = protocol.required_measures()[0]
        if primary.metric.reads != "relevance":
            raise ArgumentError(
                f"{arg.measures} must begin with a measure of relevance, such as ndcg@10, got "
                f"{primary}. It can be a guard."
            )
        margin, horizon = protocol.margin, protocol.horizon
        limit = 0.0 - margin if primary.metric.higher_is_better else margin  # not -0.0
        measures = (primary, *(measure for measure, _ in protocol.guards))
        _refuse_twice(measures, "measures", "guards")
        floors = protocol.at_least
        _refuse_twice([measure for measure, _ in floors], "at_least")
        for measure, floor in floors:
            low, high = measure.metric.bounds
            if not low <= floor <= high:
                raise ArgumentError(
                    f"{arg.at_least}: {measure} is between {low:g} and {high:g}, got {floor:g}. "
                    "Pass a value that it can have."
                )
        measures += tuple(measure for measure, _ in floors if measure not in measures)
        looks: Looks = "once"
        if _is_sequential(protocol, has_state=has_state):
            looks = "any time" if horizon is None else "until horizon"
        limits = (limit, *(limit for _, limit in protocol.guards))
        rules = cls(protocol.replace(measures=measures), limits, floors, looks, horizon)
        rules.check_looks()
        return rules

    def check_looks(self) -> None:
        """Refuse what has no valid interval in repeated looks."""
        if self.looks == "once":
            return
        if "n_pos" in self.protocol.by:
            raise ArgumentError(
                f"{arg.by('n_pos')} divides all users again at each look, so it can't be combined "
                f"with {arg.state}. Use 'engagement' or a column of users."
            )
        if self.looks == "any time" and self.protocol.weight is not None:
            raise ArgumentError(
                f"{arg.weight} has no valid interval with {arg.state} alone. Pass {arg.horizon}."
            )
        for measure in self.measures:
            if not measure.metric.is_mean:
                raise ArgumentError(
                    f"{measure} is not a mean over users, so {arg.state} has no interval for it. "
                    "Leave it out, or use the gate once."
                )
            if self.looks == "any time" and math.isinf(width(measure)):
                raise ArgumentError(
                    f"{measure} has no bounds, which {arg.state} requires. Leave it out, or pass "
                    f"{arg.horizon}."
                )


def fixed(protocol: Protocol) -> dict[str, Any]:
    """Return the rules of a gate that no look may change, with the texts of measures."""
    fields = vars(protocol)
    return {
        "measures": [measure.canonical for measure in protocol.measures],
        **{name: fields[name] for name in ("margin", "horizon", "level", "cluster", "weight")},
        "by": list(protocol.by),
        **{n: {m.canonical: x for m, x in fields[n]} for n in ("guards", "at_least")},
    }


def width(measure: Measure) -> float:
    """Return the largest difference between two users' values; infinite without bounds.

    The values of measures that are not means over users, such as coverage@10, have no bounds.
    """
    low, high = measure.metric.bounds
    return high - low if measure.metric.is_mean else math.inf


def _is_sequential(protocol: Protocol, *, has_state: bool) -> bool:
    """Return whether looks are repeated; refuse rules that contradict this."""
    if protocol.sequential and not has_state:
        raise ArgumentError(
            f"{arg.sequential(True)} requires {arg.state}, the file that keeps earlier users."
        )
    if has_state and protocol.sequential is False:
        raise ArgumentError(
            f"{arg.state} has no effect if the gate is used once. Leave it out, or pass "
            f"{arg.sequential(True)}."
        )
    if protocol.horizon is not None and not has_state:
        raise ArgumentError(
            f"{arg.horizon} requires {arg.state}, the file that keeps earlier users. Leave it out "
            "to use the gate once."
        )
    return has_state


def _refuse_twice(measures: Sequence[Measure], *names: str) -> None:
    for i, measure in enumerate(measures):
        if measure in measures[:i]:
            where = " and ".join(str(arg[name]) for name in names)
            raise ArgumentError(f"{where}: {measure} is named twice. Keep one.")
