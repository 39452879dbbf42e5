"""Numbers as text with consistent decimals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

NOTHING = "–"
MINUS = "−"
LONG = 1e9  # larger numbers are written with a power of ten


def to_float(value: Any) -> float:
    """Return a number as a float, and None (undefined in JSON) as nan."""
    return math.nan if value is None else float(value)


def decimals(values: Iterable[Any]) -> int:
    """Return the decimals that give the largest value 3 significant digits; at least 3 below 10.

    Examples
    --------
    >>> [decimals([v, math.nan, None]) for v in (0.312, 1.0, 9.99, 12.34, 123.4, 0.0123)]
    [3, 3, 3, 1, 0, 4]
    """
    sizes = [abs(v) for v in map(to_float, values) if math.isfinite(v)]
    largest = max(sizes, default=1.0) or 1.0
    if largest >= 10:
        return max(0, 3 - math.ceil(math.log10(largest)))
    return min(9, max(3, 2 - math.floor(math.log10(largest))))


def measured(value: float, sign: str = "") -> str:
    """Return a value of a measure with four decimals, or with a power of ten if it is large.

    A rounded 0 has no minus. `sign` is "+" if values above 0 get a sign.

    Examples
    --------
    >>> measured(-0.00001), measured(0.25, "+"), measured(3.15e199)
    ('0.0000', '+0.2500', '3.15e+199')
    """
    return f"{value:{sign}.2e}" if abs(value) >= LONG else f"{value:{sign}z.4f}"


def fixed(value: Any, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number with fixed decimals and a typographic minus; a dash if undefined.

    Examples
    --------
    >>> [fixed(value) for value in (-0.1234, 12345.6, None, -math.inf)]
    ['−0.123', '12,345.600', '–', '−∞']
    >>> [fixed(value, signed=True) for value in (0.1234, -0.0001, math.nan, math.inf)]
    ['+0.123', '0.000', '–', '+∞']
    """
    number = to_float(value)
    if math.isnan(number):
        return NOTHING
    form = ".2e" if abs(number) >= LONG else f",.{digits}f"
    text = f"{number:{form}}" if math.isfinite(number) else ("∞" if number > 0 else "-∞")
    if not text.strip("-0.,"):
        return text.lstrip("-")
    return ("+" if signed and number > 0 else "") + text.replace("-", MINUS)


def bounds(low: Any, high: Any, digits: int = 3, *, signed: bool = False) -> str:
    """Return an interval as text, such as "[0.298, 0.326]"; a dash if undefined."""
    if math.isnan(to_float(low)) or math.isnan(to_float(high)):
        return NOTHING
    return f"[{fixed(low, digits, signed=signed)}, {fixed(high, digits, signed=signed)}]"
