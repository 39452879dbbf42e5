"""Protocols as text: files in TOML, and the JSON form of results."""

from __future__ import annotations

import json
import textwrap
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from podium._fields import Field
from podium.errors import DataError

NAME = "podium.toml"
"""The file that the command line reads in the working folder."""

OF_GATE = "gate"
"""The table of a file with the rules of a gate."""

_WIDTH = 96


def read(path: Path) -> dict[str, Any]:
    """Return the fields of a protocol in a file, without the rules of a gate."""
    return {name: value for name, value in content(path).items() if name != OF_GATE}


def rules_of_gate(path: Path) -> dict[str, Any]:
    """Return the rules of a gate in a file."""
    rules = content(path).get(OF_GATE, {})
    if not isinstance(rules, dict):
        raise DataError(f"{path}: {OF_GATE} must be a table, [{OF_GATE}], got {rules!r}.")
    return cast("dict[str, Any]", rules)


def content(path: Path) -> dict[str, Any]:
    """Return all keys of a file in TOML, or the protocol of a result in JSON.

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
    fields: Mapping[str, Field],
    stated: Mapping[str, Any],
    of_package: Mapping[str, Any],
    notes: Mapping[str, str],
) -> str:
    """Return a protocol in TOML, with a comment for each field.

    Parameters
    ----------
    fields : mapping of str to Field
        The declarations of all fields.
    stated : mapping
        The fields that the protocol states.
    of_package : mapping
        The conventions that hold because of `like`.
    notes : mapping
        A further sentence for the comments of some fields.
    """
    parts: list[str] = []
    for name, field in fields.items():
        held = of_package.get(name)
        default = field.default if held is None else f"{_value(held)}, as {stated['like']} has it"
        text = field.text.replace("--", "")
        comment = f"{text} Default: {default}. {notes.get(name, '')}".rstrip()
        parts += textwrap.wrap(comment, _WIDTH, initial_indent="# ", subsequent_indent="# ")
        parts += [f"{name} = {_value(stated[name])}" if name in stated else f"# {name} =", ""]
    return "\n".join(parts)


def _value(value: Any) -> str:
    """Return a value in TOML, whose texts and lists have the form of JSON."""
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
