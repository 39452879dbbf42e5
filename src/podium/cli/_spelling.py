"""How a command shows the parameters of the library: as the options that set them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from typer.models import ArgumentInfo, OptionInfo

from podium.errors import Parameter, Spelling, alternatives

_QUOTES = "'\"]"


@dataclass(frozen=True)
class Sets:
    """A mark in the annotation of an option: the parameter of the library that it sets.

    An option without this mark sets the parameter of its name. `value` is that of a flag, unless it
    is True. An entry is set by NAME=VALUE after the option; its `value` stands for one.
    """

    name: str
    value: object = True
    is_entry: bool = False


def option_name(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter on the command line, such as --out or TRUTH."""
    for item in metadata(parameter):
        if isinstance(item, ArgumentInfo):
            return str(item.metavar)
        if isinstance(item, OptionInfo):  # in an annotation, `default` is the first declaration
            words = [str(word) for word in (item.default, *(item.param_decls or ()))]
            declared = [word.partition("/")[0] for word in words if word.startswith("-")]
            if declared:
                return declared[0]
    return f"--{parameter.name.replace('_', '-')}"


def spelling(parameters: Iterable[inspect.Parameter]) -> Spelling:
    """Return how a command shows the parameters of the library: as the options that set them."""
    options: dict[str, tuple[str, str]] = {}
    entries: dict[str, tuple[str, str]] = {}
    for parameter in parameters:
        marks = [item for item in metadata(parameter) if isinstance(item, Sets)]
        for mark in marks or [Sets(parameter.name)]:
            if mark.is_entry:
                end = f"={mark.value}" if isinstance(mark.value, str) else ""
                entries[mark.name] = f"{option_name(parameter)} {mark.name}", end
            else:
                options[mark.name] = option_name(parameter), str(mark.value)

    def spell(parameter: Parameter) -> str | None:
        name, _, key = parameter.name.partition("[")
        key = key.strip(_QUOTES)
        entry = entries.get(key if name == "columns" else parameter.name)
        texts = parameter.plain_values()
        if entry is not None and parameter.name not in options:
            values = alternatives(texts).replace("True", "true").replace("False", "false")
            return f"{entry[0]}={values}" if values else "".join(entry)
        if parameter.name not in options and key and name in options:
            return f"{options[name][0]} {key.removeprefix('loss__')}"
        option, value = options.get(parameter.name, (None, ""))
        if option is None or not texts or texts == [value]:
            return option
        return None if {"None", "True", "False"} & {*texts} else f"{option} {alternatives(texts)}"

    return spell


def metadata(parameter: inspect.Parameter) -> tuple[Any, ...]:
    return typing.get_args(parameter.annotation)[1:]
