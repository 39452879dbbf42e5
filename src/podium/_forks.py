"""Detection of threads that a fork lost: the child process has none and would wait forever."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from podium.errors import ForkError


class Pool:
    """The threads of a library, and the process that started them.

    Parameters
    ----------
    library : str
        The library's name, for messages.
    has_begun : function, optional
        A function that returns whether the threads run in this process, whatever started them. It
        is called before each fork.

    Examples
    --------
    >>> pool = Pool("Polars")
    >>> pool.enter()
    """

    def __init__(self, library: str, has_begun: Callable[[], bool] | None = None) -> None:
        self._library, self._has_begun = library, has_begun
        self._home: int | None = None
        if has_begun is not None and sys.platform != "win32":
            os.register_at_fork(before=self._record_home)

    def refuse_lost(self) -> None:
        """Raise if this process was forked from the process that has the threads.

        Raises
        ------
        ForkError
            If a process was forked after the threads had started.
        """
        if self._home not in (None, os.getpid()):
            raise ForkError(
                f"This process was forked after {self._library} had started its threads, and would "
                "wait for them forever. Start processes with "
                "multiprocessing.get_context('spawn')."
            )

    def enter(self) -> None:
        """Record that the threads are used in this process, or raise as `refuse_lost` does."""
        self.refuse_lost()
        self._home = os.getpid()

    def _record_home(self) -> None:
        if self._home is None and self._has_begun is not None and self._has_begun():
            self._home = os.getpid()


def thread_named(pattern: str) -> bool:
    """Return whether this process has a thread whose name starts with a pattern (Linux only)."""
    names = (_name(thread) for thread in Path("/proc/self/task").glob("*/comm"))
    return any(re.match(pattern, name) for name in names)


def _name(thread: Path) -> str:
    try:
        return thread.read_text(encoding="utf-8", errors="replace")
    except OSError:  # the thread has ended
        return ""
