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
"""Every loss class by its name; the law tests loop over it and read the declarations."""


def register(cls: L) -> L:
    """Enter a loss class, a frozen dataclass with a class attribute `name`, into the registry."""
    REGISTRY[cls.name] = cls
    return cls


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
    return _make(cls, params)


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
    return {"name": name, **dataclasses.asdict(loss)}


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


def _make(cls: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    name, known = cls.name, [f.name for f in fields]  # pyright: ignore[reportFunctionMemberAccess]
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
