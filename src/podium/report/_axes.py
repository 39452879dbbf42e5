"""Scales from values to pixels, and axes with ticks and labels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from podium.report import _numbers, _text
from podium.report._svg import Canvas

TICK_SIZE = 12
LABEL_SIZE = 12.5
TITLE_SIZE = 15
TITLE_LINE = 20
_SPACINGS = (64, 52, 42, 34, 90, 120, 160)  # pixels between ticks, in the order of preference
X_AXIS = 24  # height of the tick labels below a plot
X_LABEL = 20  # height of the axis label below the tick labels


@dataclass(frozen=True)
class Scale:
    """A linear map from values in [low, high] to pixels in [start, end]."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, spacing: float) -> list[float]:
        """Return round values at least about `spacing` pixels apart."""
        length = abs(self.end - self.start)
        return _numbers.ticks(self.low, self.high, max(1, int(length / spacing)))


@dataclass(frozen=True)
class LogScale(Scale):
    """A map on which equal factors have equal lengths; `low` is above 0."""

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, spacing: float) -> list[float]:
        """Return multiples of powers of ten, by 1, 2, 5 or 1, 3 or 1, at least `spacing` apart."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        fallback: list[float] = []
        for steps in ((1, 2, 5), (1, 3), (1,)):
            values = [step * 10.0**power for power in range(first, last + 1) for step in steps]
            values = [value for value in values if self.low <= value <= self.high]
            gaps = [abs(self(b) - self(a)) for a, b in itertools.pairwise(values)]
            if values and min(gaps, default=math.inf) >= spacing:
                return values
            fallback = fallback or values[:1]
        return fallback or [math.sqrt(self.low * self.high)]


def domain(
    values: Iterable[float], *, include: Sequence[float] = (), pad: float = 0.05
) -> tuple[float, float]:
    """Return bounds around all finite values, padded by a share of their span."""
    finite_values = [v for v in (*values, *include) if math.isfinite(v)]
    if not finite_values:
        return 0.0, 1.0
    low, high = min(finite_values), max(finite_values)
    span = (high - low) or abs(high) * 0.2 or 1.0
    return low - pad * span, high + pad * span


def title(canvas: Canvas, text: str) -> float:
    """Write the title, on several lines if necessary; return the y below it."""
    lines = _text.wrap(_text.printable(text), TITLE_SIZE * _text.BOLD, canvas.width - 8)
    for i, line in enumerate(lines):
        canvas.text(4, 18 + i * TITLE_LINE, line, size=TITLE_SIZE, bold=True)
    return 8 + len(lines) * TITLE_LINE + (8 if lines else 0)


def x_axis(
    canvas: Canvas,
    scale: Scale,
    top: float,
    bottom: float,
    *,
    label: str = "",
    signed: bool = False,
    integer_ticks: bool = False,
) -> float:
    """Draw vertical grid lines, tick labels and the label; return the y below them."""
    values, labels = _fitting_ticks(scale, signed=signed, integer_ticks=integer_ticks)
    for value, text in zip(values, labels, strict=True):
        x = scale(value)
        canvas.line(x, top, x, bottom, tone="grid")
        half = _text.width(text, TICK_SIZE) / 2
        middle = max(half + 2, min(x, canvas.width - half - 2))
        canvas.text(middle, bottom + 16, text, size=TICK_SIZE, anchor="middle", tone="muted")
    canvas.line(scale.start, bottom, scale.end, bottom, tone="axis")
    if not label:
        return bottom + X_AXIS
    # The label may use the full width of the figure. It is centred if it fits, else shifted.
    half = _text.width(label, LABEL_SIZE) / 2
    middle = (scale.start + scale.end) / 2
    middle = max(half + 4, min(middle, canvas.width - half - 4))
    canvas.text(
        middle,
        bottom + X_AXIS + 13,
        label,
        size=LABEL_SIZE,
        anchor="middle",
        tone="muted",
        room=canvas.width - 8,
    )
    return bottom + X_AXIS + X_LABEL


def y_axis(canvas: Canvas, scale: Scale, left: float, right: float) -> None:
    """Draw horizontal grid lines with ticks at the left."""
    values, labels = y_ticks(scale)
    for value, text in zip(values, labels, strict=True):
        y = scale(value)
        canvas.line(left, y, right, y, tone="grid")
        canvas.text(left - 8, y + 4, text, size=TICK_SIZE, anchor="end", tone="muted")


def y_ticks(scale: Scale) -> tuple[list[float], list[str]]:
    """Return the values of the ticks of a y axis, and their labels."""
    values = scale.ticks(44)
    return values, _numbers.tick_labels(values)


def y_room(scale: Scale) -> float:
    """Return the width in pixels of the tick labels of a y axis."""
    return max(_text.width(text, TICK_SIZE) for text in y_ticks(scale)[1]) + 12


def _fitting_ticks(
    scale: Scale, *, signed: bool, integer_ticks: bool
) -> tuple[list[float], list[str]]:
    """Return ticks that do not overlap: at a wide spacing if two of them fit, else closer."""
    candidates: list[list[float]] = []
    for spacing in _SPACINGS:
        values = scale.ticks(spacing)
        if integer_ticks:
            values = [v for v in values if v == round(v)]
        labels = _numbers.tick_labels(values, signed=signed) if values else []
        widest = max((_text.width(text, TICK_SIZE) for text in labels), default=0.0)
        gap = scale(values[1]) - scale(values[0]) if len(values) > 1 else math.inf
        if gap >= widest + 8:
            candidates.append(values)
        if len(values) > 1 and candidates:
            break
    values = max(candidates, key=len) if candidates else scale.ticks(math.inf)
    return values, _numbers.tick_labels(values, signed=signed)
