"""Results in a form that JSON can hold."""

from __future__ import annotations

import math
from typing import Any

from podium.evaluation.stats import PairedTest, Summary


def as_json(result: Summary | PairedTest) -> dict[str, Any]:
    """Return a result as a dict for JSON: nan becomes None, and an interval a list."""
    return {name: number(value) for name, value in vars(result).items()}


def number(value: Any) -> Any:
    """Return None for nan and infinity, a list for a tuple, and anything else unchanged."""
    if isinstance(value, tuple):
        bounds: list[float] = [float(v) for v in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return [number(v) for v in bounds]
    return None if isinstance(value, float) and not math.isfinite(value) else value
