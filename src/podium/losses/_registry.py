"""The registry of losses by name, and losses as plain dictionaries for model files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.errors import ArgumentError
from podium.losses.base import Loss
from podium.registry import Values

REGISTRY: Values[Loss] = Values("loss", "name@k or name(param=value)@k, as pap-ramp@30", base=Loss)
"""Every loss class by its name; the law tests loop over it and read the declarations.

A class with several names stands under each: make the loss with `get`, which sets the parameters
that a name stands for, and read the declarations from that.
"""

register, register_as = REGISTRY.register, REGISTRY.register_as
get, parse, split = REGISTRY.make, REGISTRY.parse, REGISTRY.split


def is_registered(text: str) -> bool:
    """Return whether a text begins with a name of `REGISTRY`, however it goes on.

    Examples
    --------
    >>> is_registered("listmle(head=relevant)@10"), is_registered("lambdarank")
    (True, False)
    """
    return REGISTRY.find(text.partition("@")[0].partition("(")[0].strip()) is not None


def spec(loss: Any) -> dict[str, Any]:
    """Return a registered loss as a dictionary that JSON can hold; `from_spec` reads it back.

    Examples
    --------
    >>> spec(get("logistic"))
    {'name': 'logistic', 'per': 'row', 'min_relevance': 1.0}
    """
    if not isinstance(loss, Loss) or REGISTRY.get(loss.name) is not type(loss):
        raise ArgumentError(
            f"loss {loss!r} is not in the registry and cannot be written down. Enter its class "
            "with podium.losses.register first."
        )
    return {"name": loss.name, **REGISTRY.params(loss)}


def from_spec(description: Mapping[str, Any]) -> Loss:
    """Make the loss that `spec` described."""
    params = dict(description)
    return get(params.pop("name", ""), **params)
