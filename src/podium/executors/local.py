"""The interface of all executors, and tasks in threads of this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from podium import _check
from podium._one_thread import n_processors
from podium.errors import ArgumentError, arg

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2  # tasks per worker that can start before the next result is read


class Held(Protocol):
    """Objects held by the workers. Each object stays on one worker and runs its calls in order."""

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        """Start a method of an object without waiting; return a reference to its result.

        Arguments can be references, also to results of other workers. The method starts when their
        values exist, and receives the values.
        """
        ...

    def release(self) -> None:
        """Release the workers. Pending calls are dropped; running ones are ended or waited for."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Runs independent tasks, several at a time, and holds objects on the workers."""

    @property
    def n_workers(self) -> int:
        """The maximum number of simultaneous tasks."""
        ...

    def put(self, value: Any) -> Any:
        """Return a reference to a value, for arguments of calls."""
        ...

    def get(self, references: list[Any]) -> list[Any]:
        """Return the values of references. Wait until all of them exist.

        Raises
        ------
        WorkerLost
            If a worker was lost before it computed one of the values.
        """
        ...

    def map(self, function: Callable[..., R], tasks: Iterable[T], *shared: Any) -> Iterator[R]:
        """Yield ``function(task, *shared)`` for each task, in the tasks' order.

        Tasks are taken from the iterable when they can start, and not more than twice as many as
        there are workers before the next result is read. All tasks have ended when the iterator
        ends, is closed or raises the error of a task. Functions must be defined in a module, so
        that another process can import them.
        """
        ...

    def hold(self, things: Sequence[Any]) -> Held:
        """Give objects to the workers. With fewer workers, neighbouring objects share one."""
        ...


class Threads:
    """Threads of this process. They share its memory, so nothing is copied.

    They run in parallel if the tasks release the interpreter's lock, as compiled kernels do.

    Parameters
    ----------
    n_workers : int, optional
        The number of threads. By default, the number of processors that this process can use.

    Examples
    --------
    >>> list(Threads(2).map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, n_workers: int | None = None) -> None:
        n_requested = _check.cutoff(n_workers, name="n_workers", required=False)
        self.n_workers = n_processors() if n_requested is None else n_requested

    def put(self, value: T) -> T:
        """Return the value itself, because threads share memory."""
        return value

    def get(self, references: list[Any]) -> list[Any]:
        """Return the values of references; wait for those that are results of calls."""
        return [_value(reference) for reference in references]

    def map(self, function: Callable[..., R], tasks: Iterable[T], *shared: Any) -> Iterator[R]:
        """Yield ``function(task, *shared)`` for each task, in the tasks' order.

        After an interrupt or an error, no new task starts, and the method waits for running tasks.
        """
        if self.n_workers < 2:
            yield from (function(task, *shared) for task in tasks)
            return
        unread: deque[Future[R]] = deque()
        pool = ThreadPoolExecutor(self.n_workers)
        try:
            for task in tasks:
                if len(unread) == AHEAD * self.n_workers:
                    yield unread.popleft().result()
                unread.append(pool.submit(function, task, *shared))
            while unread:
                yield unread.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def hold(self, things: Sequence[Any]) -> _Held:
        """Hold objects in this process; their calls run in up to `n_workers` threads."""
        return _Held(things, min(self.n_workers, len(things)))


class _Held:
    """Objects in this process. Each object waits for its previous call before it runs the next."""

    def __init__(self, things: Sequence[Any], n_threads: int) -> None:
        self._objects = list(things)
        self._last: list[Any] = [None] * len(self._objects)
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        """Run the method now without a pool, or else when a thread and the arguments are free."""
        function = getattr(self._objects[number], method)
        if self._pool is None:
            return function(*arguments)
        future = self._pool.submit(_after, self._last[number], function, arguments)
        self._last[number] = future
        return future

    def release(self) -> None:
        """Wait for running calls and start no others."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _after(previous: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a function when the previous call and the arguments are complete.

    This cannot deadlock: threads take calls in the order of submission, and a call needs only
    earlier ones, so that the earliest unfinished call can always run.
    """
    _value(previous)
    return function(*[_value(argument) for argument in arguments])


def _value(reference: Any) -> Any:
    return cast("Future[Any]", reference).result() if isinstance(reference, Future) else reference


def or_threads(executor: Executor | None) -> Executor:
    """Return the executor, or if it is None, threads on all processors of this process."""
    if executor is None:
        return Threads()
    is_executor = isinstance(executor, Executor)  # pyright: ignore[reportUnnecessaryIsInstance]
    if isinstance(executor, type) or not is_executor:
        raise ArgumentError(
            f"{arg.executor} must be an executor such as Threads(2) or Ray('local'), got "
            f"{executor!r}."
        )
    return executor
