"""Executors: who does the tasks of a fit, and how many at a time.

`map` does tasks that need nothing of each other; `hold` gives things to the workers, which keep
them and do what they are asked, on values that other workers made. How many workers there are
never changes a result: a fit divides its work by the data's shape, and seeds each task by what
the task is.
"""

from typing import TYPE_CHECKING, Any

from podium.errors import WorkerLost
from podium.executors._local import Threads, or_threads
from podium.executors._protocol import Executor, Held

if TYPE_CHECKING:
    from podium.executors.ray import Ray

__all__ = ["Executor", "Held", "Ray", "Threads", "WorkerLost", "or_threads"]


def __getattr__(name: str) -> Any:
    """Load Ray when it is asked for: it is an extra."""
    if name == "Ray":
        from podium.executors.ray import Ray

        return Ray
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
