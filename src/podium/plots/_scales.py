"""Scales from values to points, the limits of axes, and ticks whose labels do not overlap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from podium import _numbers, _text
from podium.errors import ArgumentError

TICK_SIZE = 12
_ROUNDING = 1e-12  # relative difference of values that are equal but for the rounding of sums
_SPACINGS = (64, 52, 42, 34, 90, 120, 160)  # points between ticks, in the order of preference
_LINES = 44  # points between the ticks of a vertical axis


@dataclass(frozen=True)
class Scale:
    """A linear map from values in [low, high] to points in [start, end]."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, spacing: float) -> list[float]:
        """Return round values at least about `spacing` points apart."""
        length = abs(self.end - self.start)
        return _numbers.ticks(self.low, self.high, max(1, int(length / spacing)))


@dataclass(frozen=True)
class LogScale(Scale):
    """A map on which equal factors have equal lengths; `low` is above 0."""

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, spacing: float) -> list[float]:
        """Return multiples of powers of ten, by 1, 2, 5 or 1, 3 or 1, at least `spacing` apart.

        If the axis is so short that only one of them fits, the ticks have equal steps.
        """
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        fallback: list[float] = []
        for steps in ((1, 2, 5), (1, 3), (1,)):
            values = [step * 10.0**power for power in range(first, last + 1) for step in steps]
            values = [value for value in values if self.low <= value <= self.high]
            gaps = [abs(self(b) - self(a)) for a, b in itertools.pairwise(values)]
            if len(values) > 1 and min(gaps) >= spacing:
                return values
            fallback = fallback or values[:1]
        return self._equal_ticks(spacing) or fallback or [math.sqrt(self.low * self.high)]

    def _equal_ticks(self, spacing: float) -> list[float]:
        """Return several values with equal steps, at least `spacing` apart; none if none fit."""
        for n in range(max(2, int(abs(self.end - self.start) / spacing)), 1, -1):
            values = [v for v in _numbers.ticks(self.low, self.high, n) if v > 0]
            if len(values) > 1 and abs(self(values[-1]) - self(values[-2])) >= spacing:
                return values
        return []


def domain(
    values: Iterable[float], *, include: Sequence[float] = (), pad: float = 0.05
) -> tuple[float, float]:
    """Return bounds around all finite values, padded by a share of their span."""
    finite_values = [v for v in (*values, *include) if math.isfinite(v)]
    if not finite_values:
        return 0.0, 1.0
    low, high = min(finite_values), max(finite_values)
    span = high - low
    if span <= _ROUNDING * max(abs(low), abs(high)):
        span = abs(high) * 0.2 or 1.0
    return low - pad * span, high + pad * span


def around(
    values: Iterable[float], ends: tuple[float, float], pad: float, *, log: bool, name: str
) -> Scale:
    """Return a scale that contains all finite values, with some padding."""
    finite = [value for value in values if math.isfinite(value)]
    if not log:
        return Scale(*domain(finite, pad=pad), *ends)
    if min(finite) <= 0:
        raise ArgumentError(
            f"{name} must be above 0 with log_{name}=True, got {min(finite):g}. "
            f"Pass log_{name}=False."
        )
    low, high = domain(map(math.log, finite), pad=pad)
    return LogScale(math.exp(low), math.exp(high), *ends)


def across_ticks(scale: Scale, *, signed: bool = False, integers: bool = False) -> list[float]:
    """Return ticks that do not overlap: at a wide spacing if two of them fit, else closer."""
    candidates: list[list[float]] = []
    for spacing in _SPACINGS:
        values = scale.ticks(spacing)
        if integers:
            values = [v for v in values if v == round(v)]
        gap = abs(scale(values[1]) - scale(values[0])) if len(values) > 1 else math.inf
        if gap >= room(values, signed=signed) + 8:
            candidates.append(values)
        if len(values) > 1 and candidates:
            break
    return max(candidates, key=len) if candidates else scale.ticks(math.inf)


def up_ticks(scale: Scale) -> list[float]:
    """Return the ticks of a vertical axis."""
    return scale.ticks(_LINES)


def room(values: Sequence[float], *, signed: bool = False) -> float:
    """Return the width in points of the widest label of some ticks."""
    labels = _numbers.tick_labels(values, signed=signed) if values else []
    return max((_text.width(text, TICK_SIZE) for text in labels), default=0.0)
