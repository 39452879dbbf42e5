"""A limit of BLAS to one thread, and the numbers of threads and processors.

With several threads, BLAS adds in another order, which changes the last bits of results.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import ExitStack
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneBlasThread:
    """A context in which BLAS uses one thread; the last of overlapping contexts ends the limit.

    The limit concerns the whole process. If each context restored the previous limit, the first one
    to end would remove the limit of the others.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = threading.Lock(), 0, ExitStack()
        self._found: tuple[int, ThreadpoolController] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit.enter_context(self.libraries().limit(limits=1, user_api="blas"))
            self._inside += 1

    def libraries(self) -> ThreadpoolController:
        """Return the loaded libraries, which are searched again only after an import.

        A search takes 2 ms, and libraries are loaded by imports.
        """
        if self._found is None or self._found[0] != len(sys.modules):
            self._found = len(sys.modules), ThreadpoolController()
        return self._found[1]

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.close()


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
    return max((pool["num_threads"] for pool in pools if _is_blas(pool)), default=1)


def _is_blas(pool: dict[str, Any]) -> bool:
    return pool["user_api"] == "blas"
