"""What every executor can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Executor(Protocol):
    """Does tasks that do not depend on each other, some at a time."""

    @property
    def n_workers(self) -> int:
        """Tasks that may run at a time."""
        ...

    def put(self, value: Any) -> Any:
        """Return a reference to a value, which tasks can `get`."""
        ...

    def get(self, reference: Any) -> Any:
        """Return the value that a reference stands for."""
        ...

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> list[R]:
        """Return the function's result for each task, in the tasks' order.

        All tasks have ended when it returns, or raises what one of them raised.
        """
        ...
