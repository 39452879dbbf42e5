"""Threads that another library keeps: a forked process has none of them and would wait for ever."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from podium.errors import ForkError


class Pool:
    """The threads of a library, and the process in which they began.

    Parameters
    ----------
    library : str
        The library's name, for messages.
    has_begun : function, optional
        Returns whether the threads run in this process, whoever began them. It is called before
        each fork.

    Examples
    --------
    >>> pool = Pool("Polars")
    >>> pool.enter()
    """

    def __init__(self, library: str, has_begun: Callable[[], bool] | None = None) -> None:
        self._library, self._has_begun = library, has_begun
        self._home: int | None = None
        if has_begun is not None and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._look)

    def refuse_lost(self) -> None:
        """Raise if the threads stayed behind in the process that this one was forked from.

        Raises
        ------
        ForkError
            If a process forked after the threads had begun.
        """
        if self._home not in (None, os.getpid()):
            raise ForkError(
                f"This process was forked after {self._library} had begun its threads, and would "
                "wait for them for ever. Start processes by 'spawn', such as "
                "multiprocessing.get_context('spawn')."
            )

    def enter(self) -> None:
        """Note that the threads are used here, or raise as `refuse_lost` does."""
        self.refuse_lost()
        self._home = os.getpid()

    def _look(self) -> None:
        if self._home is None and self._has_begun is not None and self._has_begun():
            self._home = os.getpid()


def thread_named(pattern: str) -> bool:
    """Return whether Linux shows a thread of this process whose name begins with a pattern."""
    names = (_name(thread) for thread in Path("/proc/self/task").glob("*/comm"))
    return any(re.match(pattern, name) for name in names)


def _name(thread: Path) -> str:
    try:
        return thread.read_text(encoding="utf-8", errors="replace")
    except OSError:  # the thread has ended
        return ""
