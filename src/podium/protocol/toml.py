"""Protocols as text: files in TOML, and the JSON form of results."""

from __future__ import annotations

import json
import textwrap
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from podium._fields import FIELDS, OF_GATE, RULES_OF_GATE
from podium.errors import DataError

NAME = "podium.toml"
"""The file that the command line reads in the working folder."""

_WIDTH = 96


def read(path: Path) -> dict[str, Any]:
    """Return the content of a file in TOML, or the protocol of a result in JSON.

    Raises
    ------
    DataError
        If the file can't be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".json":
            return tomllib.loads(text)
        result: Any = json.loads(text)
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}. Check the path.") from None
    except ValueError as error:
        raise DataError(f"{path} is not a protocol: {error}. Correct the file.") from None
    protocol: Any = cast("Any", result).get("protocol") if isinstance(result, dict) else None
    if not isinstance(protocol, dict):
        raise DataError(
            f"{path} has no protocol. Pass a result of podium measure, compare or gate, or a file "
            "in TOML."
        )
    return cast("dict[str, Any]", protocol)


def write(
    stated: Mapping[str, Any], of_package: Mapping[str, Any], notes: Mapping[str, str]
) -> str:
    """Return a protocol in TOML, with a comment for each field.

    Parameters
    ----------
    stated : mapping
        The JSON form of a protocol.
    of_package : mapping
        The conventions that hold because of `like`.
    notes : mapping
        A further sentence for the comments of some fields.
    """
    rules = stated.get(OF_GATE, {})
    parts: list[str] = []
    for name, field in FIELDS.items():
        if name == RULES_OF_GATE[0]:
            parts += [f"[{OF_GATE}]" if rules else f"# [{OF_GATE}]", ""]
        held = of_package.get(name)
        default = field.default if held is None else f"{_value(held)}, as {stated['like']} has it"
        text = field.text.replace("--", "")
        comment = f"{text} Default: {default}. {notes.get(name, '')}".rstrip()
        parts += textwrap.wrap(comment, _WIDTH, initial_indent="# ", subsequent_indent="# ")
        values = rules if name in RULES_OF_GATE else stated
        parts += [line(name, values.get(name)), ""]
    return "\n".join(parts)


def line(name: str, value: Any) -> str:
    """Return the line of a field; that of None is a comment.

    Examples
    --------
    >>> line("guards", {"recall@50": -0.005}), line("ties", None)
    ('guards = {"recall@50" = -0.005}', '# ties =')
    """
    return f"# {name} =" if value is None else f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    """Return a value in TOML, whose texts and lists have the form of JSON."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        parts = [f"{_value(name)} = {_value(part)}" for name, part in pairs]
        return f"{{{', '.join(parts)}}}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
