"""BLAS on one thread: more of them add in another order, which changes the last bits."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from threadpoolctl import threadpool_limits


class _OneBlasThread:
    """A context in which BLAS has one thread; of several that overlap, the last one lifts it.

    The limit is one of the whole process: if each restored what it found, the first to leave
    would lift the limit of the others.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit.enter_context(threadpool_limits(1, user_api="blas"))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.close()


one_blas_thread = _OneBlasThread()
"""The process's one such context."""
