"""Messages on stderr, in which the parameters of the library are shown as options, and progress."""

from __future__ import annotations

import inspect
import sys
import time
import typing
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from typer.exceptions import TyperException
from typer.models import ArgumentInfo, OptionInfo

from podium import errors
from podium.errors import (
    Message,
    Parameter,
    PodiumError,
    PodiumWarning,
    Spelling,
    alternatives,
    in_python,
)
from podium.types import Progress

SPELLING: ContextVar[Spelling] = ContextVar("SPELLING", default=in_python)
"""How the command that runs shows the parameters of the library: as options."""

_PAUSE = 0.05  # seconds between two updates, because a solver's step may take microseconds


def say(text: str) -> None:
    """Write one line to stderr; the parameters that the text names are shown as options."""
    line = errors.one_line(Message(text).render(SPELLING.get()))
    print(f"podium: {line}", file=sys.stderr)


def one_line(error: Exception) -> str:
    """Return the message of an error or a warning on one line, with options for parameters."""
    if isinstance(error, PodiumError | PodiumWarning):
        return error.render(SPELLING.get())
    if isinstance(error, OSError) and error.strerror:
        prefix = f"{error.filename}: " if error.filename else ""
        return f"{prefix}{error.strerror}."
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error or 'nothing is left'}."
    return errors.one_line(str(error) or type(error).__name__)


def usage(error: TyperException) -> str:
    """Return the error in the arguments, and the command that lists the right ones."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "podium"
    message = errors.one_line(error.format_message())
    name = getattr(error, "option_name", "").lstrip("-").replace("-", "_")
    options = () if context is None else context.command.params
    if name and any("--model" in option.opts for option in options):
        message += f". Parameters without an option are passed as --set {name}=VALUE"
    full_stop = "" if message.endswith((".", "?")) else "."
    return f"{message}{full_stop} See '{command} --help'."


@contextmanager
def progress(title: str, unit: str = "") -> Generator[Progress]:
    """Yield a progress callback that draws a bar on a terminal and does nothing in a pipe.

    With a unit, such as "rows", the bar shows how many are done per second, and the time left. The
    bar disappears when the block ends, also after an error.
    """
    if not sys.stderr.isatty():
        from podium.progress import silent

        yield silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = [
        TextColumn(title),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %") if unit else MofNCompleteColumn(),
        TextColumn("{task.description}"),
        *([TimeRemainingColumn()] if unit else []),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        last_update, start = 0.0, time.monotonic()

        def show(done: int, total: int, note: str) -> None:
            nonlocal last_update
            now = time.monotonic()
            if unit and now > start:
                note = f"{note}, {done / (now - start) / 1e6:.1f} million {unit}/s"
            if now - last_update >= _PAUSE or done == total:
                last_update = now
                bar.update(task, completed=done, total=total, description=note)

        yield show


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
            return f"{options[name][0]} {key}"
        option, value = options.get(parameter.name, (None, ""))
        if option is None or not texts or texts == [value]:
            return option
        return None if {"None", "True", "False"} & {*texts} else f"{option} {alternatives(texts)}"

    return spell


def metadata(parameter: inspect.Parameter) -> tuple[Any, ...]:
    return typing.get_args(parameter.annotation)[1:]
