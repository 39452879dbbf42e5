"""The terminal's progress bar: on stderr, only where somebody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.types import Progress

_PAUSE = 0.05  # seconds between two drawings: a solver's step can take microseconds


@contextmanager
def progress(what: str) -> Generator[Progress]:
    """Give a progress callback that draws a bar on a terminal and does nothing in a pipe.

    The bar is gone when the block ends, however it ends.
    """
    if not sys.stderr.isatty():
        from podium.progress import silent

        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        drawn = 0.0

        def show(done: int, total: int, note: str) -> None:
            nonlocal drawn
            now = time.monotonic()
            if now - drawn >= _PAUSE or done == total:
                drawn = now
                bar.update(task, completed=done, total=total, description=note)

        yield show
