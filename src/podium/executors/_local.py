"""Tasks in threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, cast

from podium import _check
from podium.errors import ArgumentError
from podium.executors._protocol import Executor

T = TypeVar("T")
R = TypeVar("R")


class Threads:
    """Threads of this process; they share its memory, so nothing is copied.

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
        self.n_workers = processors() if asked is None else asked

    def put(self, value: T) -> T:
        """Return the value: threads find it where it is."""
        return value

    def get(self, references: list[Any]) -> list[Any]:
        """Return values: of calls once they are made, and others as they are."""
        return [_value(reference) for reference in references]

    def map(self, function: Callable[..., R], tasks: Iterable[T], *shared: Any) -> list[R]:
        """Return ``function(task, *shared)`` for each task, in the tasks' order.

        After an interrupt or an error no new task begins, and those that run are waited for.
        """
        todo = list(tasks)
        n_threads = min(self.n_workers, len(todo))
        if n_threads < 2:
            return [function(task, *shared) for task in todo]
        with ThreadPoolExecutor(n_threads) as pool:
            results = [pool.submit(function, task, *shared) for task in todo]
            try:
                return [result.result() for result in results]
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def hold(self, things: Sequence[Any]) -> _Held:
        """Keep things here; their calls run in this executor's number of threads."""
        return _Held(things, min(self.n_workers, len(things)))


class _Held:
    """Things of this process. Each waits for its last call before it does the next."""

    def __init__(self, things: Sequence[Any], n_threads: int) -> None:
        self._things = list(things)
        self._last: list[Any] = [None] * len(self._things)
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        """Do it at once in one thread; with several, when threads and arguments are free."""
        function = getattr(self._things[number], method)
        if self._pool is None:
            return function(*arguments)
        made = self._pool.submit(_after, self._last[number], function, arguments)
        self._last[number] = made
        return made

    def release(self) -> None:
        """Wait for what runs, and begin nothing more."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _after(previous: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a function once what it needs is there.

    No deadlock: threads take calls in the order they were made in, and a call needs only earlier
    ones, so the earliest that has not ended always has all it needs.
    """
    _value(previous)
    return function(*[_value(argument) for argument in arguments])


def _value(reference: Any) -> Any:
    return cast("Future[Any]", reference).result() if isinstance(reference, Future) else reference


def or_threads(executor: Executor | None) -> Executor:
    """Return an executor, or threads on all of this process's processors where there is none."""
    if executor is None:
        return Threads()
    if isinstance(executor, type) or not (hasattr(executor, "hold") and hasattr(executor, "map")):
        raise ArgumentError(
            f"executor must be one such as Threads(2) or Ray('local'), got {executor!r}."
        )
    return executor


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
