"""Checks of what several recommenders are given."""

from __future__ import annotations

from typing import Any

from podium import _check
from podium.errors import ArgumentError


def random_state(value: Any) -> int:
    """Check a seed under its parameter's name."""
    try:
        return _check.seed(value)
    except ArgumentError:
        raise ArgumentError(f"random_state must be an integer >= 0, got {value!r}.") from None
