"""The registry of losses by name, and losses as plain dictionaries for model files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from podium import _check
from podium.errors import ArgumentError
from podium.types import Loss

L = TypeVar("L", bound=type[Any])

REGISTRY: dict[str, type[Any]] = {}
"""Every loss class by its name; the law tests loop over it and read the declarations.

A class with several names stands under each: make the loss with `get`, which knows what
parameters a name stands for, and read the declarations from that.
"""

_FIXED: dict[str, dict[str, Any]] = {}


def register(cls: L) -> L:
    """Enter a loss class, a frozen dataclass with a class attribute `name`, into the registry."""
    REGISTRY[cls.name] = cls
    return cls


def register_as(name: str, **fixed: Any) -> Callable[[L], L]:
    """Enter a loss class under a name that stands for some of its parameters.

    The attribute `name` of a loss with these parameters must be that name; `get` sets them.
    """

    def enter(cls: L) -> L:
        REGISTRY[name], _FIXED[name] = cls, fixed
        return cls

    return enter


def get(name: str, **params: Any) -> Loss:
    """Make a loss from its name; ``get("pap-avg@10")`` is ``get("pap-avg", k=10)``.

    Parameters
    ----------
    name : str
        A name of `REGISTRY`, with ``@k`` where the loss has a cutoff.
    **params
        The loss's own parameters.

    Raises
    ------
    ArgumentError
        For an unknown name (with the nearest known one), or parameters that do not fit.

    Examples
    --------
    >>> get("pap-avg@10")
    PApAverage(k=10, clip=False, min_relevance=1.0)
    """
    base, at, cutoff = str(name).partition("@")
    cls = REGISTRY[_check.choice(base, "loss", list(REGISTRY))]
    if at:
        params = {"k": _cutoff(name, cutoff, params), **params}
    return _make(base, cls, {**params, **_fixed(base, params)})


def spec(loss: Any) -> dict[str, Any]:
    """Return a registered loss as a dictionary that JSON can hold; `from_spec` reads it back.

    Examples
    --------
    >>> spec(get("logistic"))
    {'name': 'logistic', 'per': 'row', 'min_relevance': 1.0}
    """
    name = getattr(loss, "name", None)
    if REGISTRY.get(str(name)) is not type(loss):
        raise ArgumentError(
            f"loss {loss!r} is not in the registry and cannot be written down. Enter its class "
            "with podium.losses.register first."
        )
    fixed = _FIXED.get(str(name), {})
    params = {key: value for key, value in dataclasses.asdict(loss).items() if key not in fixed}
    return {"name": name, **params}


def from_spec(description: Mapping[str, Any]) -> Loss:
    """Make the loss that `spec` described."""
    params = dict(description)
    return get(params.pop("name", ""), **params)


def _cutoff(name: str, cutoff: str, params: Mapping[str, Any]) -> int:
    if "k" in params:
        raise ArgumentError(f"k is given twice: in {name!r} and as k={params['k']!r}. Keep one.")
    if not cutoff.isdecimal():
        raise ArgumentError(f"k must be an integer >= 1, got {cutoff!r} in {name!r}.")
    return int(cutoff)


def _fixed(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the name stands for, unless a parameter says something else."""
    fixed = _FIXED.get(name, {})
    for param, value in fixed.items():
        if params.get(param, value) != value:
            raise ArgumentError(
                f"{name} stands for {param}={value!r}, got {param}={params[param]!r}. "
                f"Leave {param} out."
            )
    return fixed


def _make(name: str, cls: type[Any], params: Mapping[str, Any]) -> Any:
    fields = dataclasses.fields(cls)
    known = [f.name for f in fields]
    for param in params:
        if param not in known:
            raise ArgumentError(
                f"{name} has no parameter {param!r}.{_check.nearest(param, known)} "
                f"It takes {_check.listed(known)}."
            )
    for field in fields:
        if field.default is dataclasses.MISSING and field.name not in params:
            raise ArgumentError(
                f"{name} needs {field.name}: write '{name}@10', or pass {field.name}=10."
            )
    return cls(**params)
