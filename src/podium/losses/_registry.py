"""The registry of losses by name, and losses as plain dictionaries for model files."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from podium import _check
from podium.errors import ArgumentError
from podium.losses.base import Loss

L = TypeVar("L", bound=type[Any])

REGISTRY: dict[str, type[Any]] = {}
"""Every loss class by its name; the law tests loop over it and read the declarations.

A class with several names stands under each: make the loss with `get`, which knows what
parameters a name stands for, and read the declarations from that.
"""

_FIXED: dict[str, dict[str, Any]] = {}
_FORM = re.compile(r"\s*([^\s()@]+)\s*(?:\(([^()]*)\))?\s*(?:@\s*(\S*))?\s*")


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
        A name of `REGISTRY`, or its text as `parse` reads it, ``name(param=value, …)@k``.
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
    >>> get("logistic(per=group)") == get("logistic", per="group")
    True
    """
    base, own = parse(name)
    cls = REGISTRY[_check.choice(base, "loss", list(REGISTRY))]
    for param, value in own.items():
        if param in params:
            raise ArgumentError(
                f"{param} is given twice: as {value!r} in {name!r} and as {params[param]!r}. "
                "Keep one."
            )
    params = {**own, **params}
    return _make(base, cls, {**params, **_fixed(base, params)})


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Read the text of a loss: its name, and the parameters that the text gives, k too.

    Parameters
    ----------
    text : str
        ``name``, ``name@k`` or ``name(param=value, …)@k``; values are none, true, false, numbers
        and else text. Whether there is a loss of that name is for `get` to say.

    Raises
    ------
    ArgumentError
        For another form, or a k that is no integer >= 1.

    Examples
    --------
    >>> parse("listmle(head=relevant)@10")
    ('listmle', {'head': 'relevant', 'k': 10})
    """
    match = _FORM.fullmatch(str(text))
    if match is None:
        raise ArgumentError(
            f"loss {text!r} is not of the form name@k or name(param=value)@k, as pap-ramp@30."
        )
    name, inside, cutoff = match.groups()
    params = _check.parameters(inside or "", "loss", text)
    if cutoff is not None:
        params["k"] = _cutoff(text, cutoff, params)
    return name, params


def is_registered(text: str) -> bool:
    """Tell whether a text begins with a name of `REGISTRY`; what follows is for `parse` to say.

    Examples
    --------
    >>> is_registered("listmle(head=relevant)@10"), is_registered("lambdarank")
    (True, False)
    """
    return re.split(r"[@(]", text)[0].strip() in REGISTRY


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


def text(loss: Any) -> str:
    """Return a registered loss as `get` reads it, with the parameters that are not its defaults.

    Examples
    --------
    >>> text(get("listmle(head=relevant,ties=fixed)@10"))
    'listmle(head=relevant)@10'
    """
    params = spec(loss)
    name, k = params.pop("name"), params.pop("k", None)
    usual = {field.name: field.default for field in dataclasses.fields(loss)}
    given = ",".join(f"{key}={_word(v)}" for key, v in params.items() if v != usual[key])
    return f"{name}{f'({given})' if given else ''}{'' if k is None else f'@{k}'}"


def _word(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def from_spec(description: Mapping[str, Any]) -> Loss:
    """Make the loss that `spec` described."""
    params = dict(description)
    return get(params.pop("name", ""), **params)


def _cutoff(text: str, cutoff: str, params: Mapping[str, Any]) -> int:
    if "k" in params:
        raise ArgumentError(f"k is given twice in {text!r}. Keep one.")
    if not cutoff.isdecimal():
        raise ArgumentError(f"k must be an integer >= 1, got {cutoff!r} in {text!r}.")
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
    _check.known_parameters(name, [f.name for f in fields], params)
    for field in fields:
        if field.default is dataclasses.MISSING and field.name not in params:
            raise ArgumentError(
                f"{name} needs {field.name}: write '{name}@10', or pass {field.name}=10."
            )
    return cls(**params)
