"""The interface of all executors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

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
