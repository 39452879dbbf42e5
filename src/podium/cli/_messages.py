"""Messages on stderr, one line each, in terms of the command line; and progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from typer.exceptions import TyperException

from podium import errors
from podium.errors import Message, PodiumError, PodiumWarning, Spelling, in_python

if TYPE_CHECKING:
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
    return errors.one_line(str(error) or type(error).__name__)


def usage(error: TyperException) -> str:
    """Return the error in the arguments, and the command that lists the right ones."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "podium"
    message = errors.one_line(error.format_message())
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
