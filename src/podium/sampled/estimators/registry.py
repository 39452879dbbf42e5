"""The registry of estimators by name, and estimators as text."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, TypeVar

from podium import _check
from podium.errors import ArgumentError
from podium.sampled.estimators.base import Estimator

E = TypeVar("E", bound=type[Estimator])

REGISTRY: dict[str, type[Estimator]] = {}
"""Every estimator class by its name; the law tests loop over it and read the declarations."""

ALIASES = {"auto": "smooth", "bv-ranks": "bv"}
"""Other names: the default, and what the literature calls BV's distribution of ranks."""

_FORM = re.compile(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*")


def register(cls: E) -> E:
    """Enter an estimator class, a frozen dataclass with a class attribute `name`."""
    REGISTRY[cls.name] = cls
    return cls


def get(name: str | Estimator, **params: Any) -> Estimator:
    """Make an estimator from its text; ``get("bv(gamma=0.1)")`` is ``get("bv", gamma=0.1)``.

    Parameters
    ----------
    name : str or Estimator
        A name of `REGISTRY`, or ``name(param=value, …)``; an estimator is returned as it is.
    **params
        The estimator's own parameters.

    Raises
    ------
    ArgumentError
        For an unknown name (with the nearest known one), or parameters that do not fit.

    Examples
    --------
    >>> get("naive")
    Naive()
    """
    if isinstance(name, Estimator):
        if params:
            raise ArgumentError(f"{name} has its parameters already, got {sorted(params)} too.")
        return name
    base, own = parse(name)
    known = _check.choice(ALIASES.get(base, base), "estimator", list(REGISTRY))
    cls = REGISTRY[known]
    for param, value in own.items():
        if param in params:
            raise ArgumentError(
                f"{param} is given twice: as {value!r} in {name!r} and as {params[param]!r}. "
                "Keep one."
            )
    fields = [field.name for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]
    _check.known_parameters(base, fields, [*own, *params])
    return cls(**own, **params)


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Read the text of an estimator: its name, and the parameters that the text gives.

    Parameters
    ----------
    text : str
        ``name`` or ``name(param=value, …)``; values are none, true, false, numbers and else
        text, which may have parentheses of its own.

    Raises
    ------
    ArgumentError
        For another form.

    Examples
    --------
    >>> parse("bv(gamma=0.1)")
    ('bv', {'gamma': 0.1})
    """
    match = _FORM.fullmatch(str(text))
    if match is None:
        raise ArgumentError(
            f"estimator {text!r} is not of the form name or name(param=value), as bv(gamma=0.1)."
        )
    name, inside = match.groups()
    return name, _check.parameters(inside or "", "estimator", text)


def text(estimator: Estimator) -> str:
    """Return an estimator as `get` reads it, with the parameters that are not its defaults.

    Raises
    ------
    ArgumentError
        Where a parameter is an object that has no text, as a prior that was given outright.

    Examples
    --------
    >>> text(get("bv", gamma=0.5)), text(get("bv(gamma=0.1)"))
    ('bv(gamma=0.5)', 'bv')
    """
    fields = [f for f in dataclasses.fields(estimator) if f.init]  # type: ignore[arg-type]
    values = [(f.name, getattr(estimator, f.name), f.default) for f in fields]
    given = ",".join(f"{name}={_word(value)}" for name, value, usual in values if value != usual)
    return f"{estimator.name}({given})" if given else estimator.name


def _word(value: Any) -> str:
    if isinstance(value, Estimator):
        return text(value)
    if value is not None and not isinstance(value, str | int | float):
        raise ArgumentError(f"{value!r} has no text that reads back. Give a number or a name.")
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
