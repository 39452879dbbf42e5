"""Executors, which run several tasks of a fit at the same time.

`map` runs independent tasks. `hold` gives objects to the workers. A worker keeps its objects and
runs their methods, also on values that other workers computed. The number of workers never changes
a result. The division into tasks depends only on the shape of the data and on parameters, and the
seed of a task does not depend on the worker.
"""

from typing import TYPE_CHECKING, Any

from podium.executors.local import Executor, Held, Threads

if TYPE_CHECKING:
    from podium.executors.ray import Ray

__all__ = ["Executor", "Held", "Ray", "Threads"]


def __getattr__(name: str) -> Any:
    """Load Ray at first use, because it is an optional dependency."""
    if name == "Ray":
        from podium.executors.ray import Ray

        return Ray
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
