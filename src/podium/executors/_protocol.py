"""What every executor can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Held(Protocol):
    """Things that live with the workers: each stays where it is, and does its calls in order."""

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        """Ask a thing to do something, without waiting; return a reference to what it returns.

        Arguments may be references, which the thing receives as values once they are there: it
        may be another worker that makes them.
        """
        ...

    def release(self) -> None:
        """End it all: calls that have not begun never do, and those that run are ended."""
        ...


class Executor(Protocol):
    """Does tasks that do not depend on each other, some at a time; holds things that do."""

    @property
    def n_workers(self) -> int:
        """Tasks that may run at a time."""
        ...

    def put(self, value: Any) -> Any:
        """Return a reference to a value, for arguments of calls."""
        ...

    def get(self, references: list[Any]) -> list[Any]:
        """Return the values that references stand for, once all are there.

        Raises
        ------
        WorkerLost
            If a worker went before it had made one.
        """
        ...

    def map(self, function: Callable[..., R], tasks: Iterable[T], *shared: Any) -> list[R]:
        """Return ``function(task, *shared)`` for each task, in the tasks' order.

        All tasks have ended when it returns, or raises what one of them raised. Functions are of
        a module, so that another process finds them.
        """
        ...

    def hold(self, things: Sequence[Any]) -> Held:
        """Give things to the workers, neighbours to one where there are more things."""
        ...
