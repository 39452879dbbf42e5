"""Tasks in threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from podium import _check

T = TypeVar("T")
R = TypeVar("R")


class Threads:
    """Threads of this process; they share its memory, so a reference is the value itself.

    They run at the same time where tasks release the interpreter's lock, as compiled kernels do.

    Parameters
    ----------
    n_workers : int, optional
        Threads at a time; as many as this process has processors without it.

    Examples
    --------
    >>> Threads(2).map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, n_workers: int | None = None) -> None:
        asked = _check.cutoff(n_workers, name="n_workers", required=False)
        self.n_workers = _processors() if asked is None else asked

    def put(self, value: T) -> T:
        """Return the value: threads find it where it is."""
        return value

    def get(self, reference: T) -> T:
        """Return the value, which its own reference is."""
        return reference

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> list[R]:
        """Return the function's result for each task, in the tasks' order.

        After an interrupt or an error no new task begins, and those that run are waited for.
        """
        todo = list(tasks)
        n_threads = min(self.n_workers, len(todo))
        if n_threads < 2:
            return [function(task) for task in todo]
        with ThreadPoolExecutor(n_threads) as pool:
            results = [pool.submit(function, task) for task in todo]
            try:
                return [result.result() for result in results]
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
