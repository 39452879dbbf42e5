"""Numbers of results as the text of table cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from podium._numbers import LONG, NOTHING, measured

_SMALLEST_P = 1e-4
_CERTAIN = 0.9995  # probabilities above this would round to 1.000


def number(value: float | None, sign: str = "") -> str:
    """Return a number as the text of a table cell; a rounded 0 has no minus."""
    return NOTHING if value is None else measured(value, sign)


def change(value: float | None) -> str:
    """Return a difference as the text of a table cell."""
    return number(value, "+")


def span(bounds: Iterable[float | None] | None, sign: str = "") -> str:
    """Return the two ends of an interval as the text of a table cell; empty without an interval."""
    if bounds is None:
        return ""
    low, high = bounds
    if low is None or high is None:
        return NOTHING
    return f"[{number(low, sign)}, {number(high, sign)}]"


def changes(bounds: Iterable[float | None] | None) -> str:
    """Return the two ends of the interval of a difference as the text of a table cell."""
    return span(bounds, "+")


def judgements(unjudged: Mapping[str, Any] | None) -> str:
    """Return the range of a difference over judgements; empty if the measure has none."""
    return "" if unjudged is None else changes((unjudged["low"], unjudged["high"]))


def p_value(value: float | None) -> str:
    """Return a p value as the text of a table cell."""
    if value is None:
        return NOTHING
    return f"<{_SMALLEST_P:.4f}" if value < _SMALLEST_P else f"{value:.4f}"


def probability(value: float | None) -> str:
    """Return a probability as the text of a table cell."""
    if value is None:
        return NOTHING
    return f">{_CERTAIN - 0.0005:.3f}" if value > _CERTAIN else f"{value:.3f}"


def count(value: int | None) -> str:
    """Return a number of users as the text of a table cell."""
    return NOTHING if value is None else str(value)


def percent(value: float | None) -> str:
    """Return a relative difference as the text of a table cell."""
    if value is None:
        return NOTHING
    return f"{100 * value:+.2e}%" if abs(value) >= LONG else f"{100 * value:+.1f}%"


def percentage(level: float) -> str:
    """Return the level of an interval as text, such as "95 %" for 0.95."""
    return f"{100 * level:.4g} %"


def dashes(tables: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the meaning of a dash, if a table has one."""
    if any(cell in (NOTHING, None) for table in tables for row in table["rows"] for cell in row):
        yield f"{NOTHING} means undefined, or not available for this measure or number of users."
