"""Tasks on a Ray cluster: processes on this machine, or on many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import podium
from podium import _check
from podium.errors import ArgumentError
from podium.executors._local import processors
from podium.executors._protocol import WorkerLost

try:
    import ray
    from ray import exceptions
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError:
    raise ImportError(
        'Ray is not installed. Install it with: pip install "podium[ray]"'
    ) from None

T = TypeVar("T")
R = TypeVar("R")

_PATIENCE = 60.0  # seconds in which a worker has to begin


class Ray:
    """Processes of a Ray cluster.

    Things that `hold` is given live in actors, one a worker; what they make goes from worker to
    worker through Ray's object stores, not through this process.

    Parameters
    ----------
    address : str, optional
        Of a cluster: "HOST:PORT", "ray://HOST:PORT", or "auto" for the one that runs on this
        machine. "local" starts Ray here, until the executor is closed. Without it, the cluster
        that this process is connected to, or else as "auto".
    n_workers : int, optional
        Actors, each with a processor of its own; as many as the cluster has processors without
        it.

    Raises
    ------
    ImportError
        If Ray is not installed.
    ArgumentError
        If no cluster is found, or a node has no podium, or another version of it.

    Notes
    -----
    The bits of a result are promised for processors of one type, wherever they are.

    Examples
    --------
    >>> with Ray("local", n_workers=2) as executor:  # doctest: +SKIP
    ...     model = RoBiRank().fit(user_items, executor=executor)
    """

    def __init__(self, address: str | None = None, n_workers: int | None = None) -> None:
        asked = _check.cutoff(n_workers, name="n_workers", required=False)
        self._connected_here = _connect(address, asked)
        try:
            _refuse_other_versions()
        except BaseException:
            self.close()
            raise
        self.n_workers = _cluster_processors() if asked is None else asked

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """End the connection, if this executor made it; and the cluster, if it is "local"."""
        if self._connected_here:
            ray.shutdown()
        self._connected_here = False

    def put(self, value: Any) -> Any:
        """Put a value into the object store; return its reference."""
        return ray.put(value)

    def get(self, references: list[Any]) -> list[Any]:
        """Return the values that references stand for; arrays among them may only be read.

        Raises
        ------
        WorkerLost
            If an actor, or the node that it was on, has gone.
        """
        try:
            return ray.get(references)
        except exceptions.RayError as error:
            raise _meant(error) from None

    def map(self, function: Callable[..., R], tasks: Iterable[T], *shared: Any) -> list[R]:
        """Return ``function(task, *shared)`` for each task; `shared` is sent to a node once."""
        remote = ray.remote(_call).options(num_cpus=1)
        sent = [ray.put(value) for value in (function, *shared)]
        return self.get([remote.remote(task, *sent) for task in tasks])

    def hold(self, things: Sequence[Any]) -> _Held:
        """Give things to actors, neighbours to one, and wait until they have them."""
        workers = _begin(min(self.n_workers, len(things)))
        homes = [workers[i * len(workers) // len(things)] for i in range(len(things))]
        held = _Held(workers, homes)
        self.get([w.take.remote(i, t) for i, (w, t) in enumerate(zip(homes, things, strict=True))])
        return held


class _Held:
    """Things in actors. An actor does its calls one at a time, in the order they came in."""

    def __init__(self, workers: list[Any], homes: list[Any]) -> None:
        self._workers, self._homes = workers, homes

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        return self._homes[number].call.remote(number, method, *arguments)

    def release(self) -> None:
        for worker in self._workers:
            ray.kill(worker)


class _Worker:
    """What an actor is: things by their numbers."""

    def __init__(self) -> None:
        self._things: dict[int, Any] = {}

    def ready(self) -> bool:
        return True

    def take(self, number: int, thing: Any) -> None:
        self._things[number] = thing

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        return getattr(self._things[number], method)(*arguments)


def _begin(n_workers: int) -> list[Any]:
    """Start actors that are never restarted, and no call of theirs twice; return those that are.

    After a loss a cluster may still count on a node that has gone: whoever begins will do.
    """
    actor = ray.remote(_Worker).options(
        num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
    )
    workers = [actor.remote() for _ in range(n_workers)]
    calls = [worker.ready.remote() for worker in workers]
    ray.wait(calls, num_returns=len(calls), timeout=_PATIENCE)
    ready = [w for w, call in zip(workers, calls, strict=True) if _is_ready(call)]
    for worker in workers:
        if worker not in ready:
            ray.kill(worker)
    if not ready:
        raise WorkerLost(
            f"No worker began within {_PATIENCE:.0f} s. Look at `ray status`: are its processors "
            "taken?"
        )
    return ready


def _is_ready(call: Any) -> bool:
    try:
        return ray.get(call, timeout=0)
    except (exceptions.GetTimeoutError, exceptions.RayError):
        return False


def _call(task: Any, function: Callable[..., Any], *shared: Any) -> Any:
    return function(task, *shared)


def _connect(address: str | None, n_workers: int | None) -> bool:
    """Connect to a cluster, or start one; tell whether that was done here."""
    if address is None and ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address == "local":
        n_processors = processors() if n_workers is None else n_workers
        ray.init("local", num_cpus=n_processors, include_dashboard=False, **quiet)
        return True
    try:
        ray.init(address or "auto", **quiet)
    except (ConnectionError, OSError, RuntimeError, ValueError) as wrong:
        raise ArgumentError(
            f"address {address or 'auto'!r}: no Ray cluster there ({_first_line(wrong)}). Start "
            "one with `ray start --head`, or give 'local'."
        ) from None
    return True


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _cluster_processors() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _refuse_other_versions() -> None:
    """Raise if a node has no podium or another version: its bits would be others."""

    def version() -> str:  # in a function, so that it travels as code and needs no podium there
        try:
            import podium
        except ImportError:
            return "none"
        return podium.__version__

    nodes = [node for node in ray.nodes() if node["Alive"]]
    ask = ray.remote(version)
    calls = [
        ask.options(
            num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote()
        for node in nodes
    ]
    for node, found in zip(nodes, ray.get(calls), strict=True):
        if found != podium.__version__:
            raise ArgumentError(
                f"address: the node {node['NodeManagerAddress']} has podium {found}, and here is "
                f"{podium.__version__}. Install the same version on all nodes."
            )


def _meant(error: exceptions.RayError) -> BaseException:
    """Return what a task raised, or WorkerLost where it had no chance to."""
    cause: BaseException = error
    while isinstance(cause, exceptions.RayTaskError) and cause.cause is not None:
        cause = cause.cause
    lost = (
        exceptions.RayActorError,
        exceptions.ObjectLostError,
        exceptions.WorkerCrashedError,
        exceptions.NodeDiedError,
        exceptions.LocalRayletDiedError,
    )
    if isinstance(cause, lost):
        return WorkerLost(f"A worker of the cluster has gone ({_first_line(cause)}).")
    return cause
