"""A limit of BLAS to one thread, and the numbers of threads and processors.

With several threads, BLAS adds in another order, which changes the last bits of results.
"""

from __future__ import annotations

import abc
import os
import sys
import threading
from contextlib import ExitStack

from threadpoolctl import ThreadpoolController


class SharedLimit(abc.ABC):
    """A context of the whole process; the last of overlapping contexts ends the limit.

    If each context restored the previous limit, the first one to end would remove the limit of the
    others.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self.begin()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self.end()

    @abc.abstractmethod
    def begin(self) -> None:
        """Set the limit."""

    @abc.abstractmethod
    def end(self) -> None:
        """Restore what was before."""


class _OneBlasThread(SharedLimit):
    """A context in which BLAS uses one thread."""

    def __init__(self) -> None:
        super().__init__()
        self._limit = ExitStack()
        self._found: tuple[int, ThreadpoolController] | None = None

    def begin(self) -> None:
        self._limit.enter_context(self.libraries().limit(limits=1, user_api="blas"))

    def end(self) -> None:
        self._limit.close()

    def libraries(self) -> ThreadpoolController:
        """Return the loaded libraries, which are searched again only after an import.

        A search takes 2 ms, and libraries are loaded by imports.
        """
        if self._found is None or self._found[0] != len(sys.modules):
            self._found = len(sys.modules), ThreadpoolController()
        return self._found[1]


one_blas_thread = _OneBlasThread()
"""The context that the whole process shares."""


def n_processors() -> int:
    """Return the number of processors that this process can use."""
    if sys.platform == "linux":
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def blas_threads() -> int:
    """Return the number of threads that BLAS would use."""
    pools = one_blas_thread.libraries().info()
    return max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=1)
