"""Checks of arguments, with the messages that podium's own functions give."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from numbers import Integral, Real
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from podium.errors import ArgumentError, MissingExtraError

T = TypeVar("T", bound=str)


def integer(value: Any, name: str, *, low: int = 0) -> int:
    """Return value as an int of at least `low`; True and False are refused."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise ArgumentError(f"{name} must be an integer >= {low}, got {value!r}.")
    return int(value)


def cutoff(value: Any, name: str = "k") -> int:
    """Return value as an int >= 1."""
    return integer(value, name, low=1)


def optional(value: Any, name: str) -> int | None:
    """Return value as an int >= 1, or None."""
    return None if value is None else cutoff(value, name)


def number(value: Any, name: str, *, low: float, strict: bool = False) -> float:
    """Return value as a finite float of at least `low`, or above `low` if strict."""
    is_number = isinstance(value, Real) and low <= float(value) < np.inf
    if not is_number or (strict and value == low):
        sign = ">" if strict else ">="
        raise ArgumentError(f"{name} must be a number {sign} {low:g}, got {value!r}.")
    return float(value)


def positive(value: Any, name: str) -> float:
    """Return value as a float > 0."""
    return number(value, name, low=0.0, strict=True)


_RULES = {
    **dict.fromkeys(("alpha", "learning_rate"), positive),
    **dict.fromkeys(("beta", "l2", "l2_power"), partial(number, low=0.0)),
    "random_state": integer,
}


def renamed(model: Any, **names: str) -> dict[str, Any]:
    """Return checked parameters of a model, as the keywords of the package that fits it.

    Parameters
    ----------
    model : dataclass
    **names : str
        The model's parameter by the package's keyword. Those without a rule here are counts.
    """
    given = cast("dict[str, Any]", vars(model))
    return {theirs: _RULES.get(ours, cutoff)(given[ours], ours) for theirs, ours in names.items()}


def choice(value: Any, name: str, options: Sequence[T]) -> T:
    """Return value if it is one of the options, else raise with the nearest one."""
    if value in options:
        return value
    by_lower_case = {option.lower(): option for option in options}
    near = difflib.get_close_matches(str(value).lower(), by_lower_case, n=1)
    hint = f" Did you mean {by_lower_case[near[0]]!r}?" if near else ""
    known = ", ".join(map(repr, options))
    raise ArgumentError(f"{name} must be one of {known}, got {value!r}.{hint}")


def extra(module: str, name: str, purpose: str) -> ModuleType:
    """Import an optional package, or raise with the extra of the studies that contains it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(
            f"{purpose} needs {module}, which is not installed. Run: "
            f"pip install './studies[{name}]' in a copy of podium's repository."
        ) from None
