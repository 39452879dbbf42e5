"""The grammar of names, ``name(param=value, …)@k``: parsing and writing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from podium.errors import ArgumentError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_:-]*")
"""The pattern of names."""

_FORM = re.compile(rf"\s*({NAME.pattern})\s*(?:\((.*)\))?\s*(?:@\s*([^\s@]*))?\s*", re.DOTALL)


class Text(NamedTuple):
    """The parts of a text ``name(param=value, …)@k``; the values are strings."""

    name: str
    params: dict[str, str]
    k: int | None


def read(text: object, noun: str, form: str) -> Text:
    """Divide a text into its parts.

    Parameters
    ----------
    text : str
    noun, form : str
        The kind and the form of the text, for messages.

    Raises
    ------
    ArgumentError
        If the text has another form or names a parameter twice, or k is not an integer >= 1.

    Examples
    --------
    >>> read("ndcg(gain=exp2)@10", "measure", "name@k")
    Text(name='ndcg', params={'gain': 'exp2'}, k=10)
    """
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    parts = None if match is None else divided(match[2] or "")
    if match is None or parts is None:
        raise ArgumentError(f"{noun} {text!r} is not of the form {form}.")
    params: dict[str, str] = {}
    for part in filter(None, parts):
        param, equals, value = (word.strip() for word in part.partition("="))
        if not param or not equals or not value or param in params:
            raise ArgumentError(
                f"{noun} must have parameters of the form param=value, each once, got {text!r}."
            )
        params[param] = value
    return Text(match[1], params, None if match[3] is None else _cutoff(match[3], text))


def _cutoff(word: str, text: object) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise ArgumentError(f"k must be an integer >= 1, got {word!r} in {text!r}.")
    if int(word) >= 2**63:
        raise ArgumentError(f"k must be an integer below 2 ** 63, got {word} in {text!r}.")
    return int(word)


def divided(text: str) -> list[str] | None:
    """Divide a text at the commas outside parentheses; return None if these do not match.

    Examples
    --------
    >>> divided("prior=bv(gamma=0.5,a=1), b=2")
    ['prior=bv(gamma=0.5,a=1)', 'b=2']
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return None
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return None if depth else [part.strip() for part in parts]


def write(name: str, params: Mapping[str, Any], k: int | None) -> str:
    """Return the text of a name, parameters and a cutoff; `read` is the inverse."""
    inside = ",".join(f"{param}={word(value)}" for param, value in params.items())
    return f"{name}{f'({inside})' if inside else ''}{'' if k is None else f'@{k}'}"


def word(value: object) -> str:
    """Return a value as it is written in a text."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
