"""Tasks on a Ray cluster: processes on this machine, or on many."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar

import podium
from podium import _check
from podium.errors import ArgumentError, NoWorkerError, PodiumWarning, WorkerLost
from podium.executors import _cluster

try:
    import ray
    from ray import exceptions
except ImportError:
    _check.extra("ray", "ray", "podium.executors.Ray")  # says how to install it
    raise

T = TypeVar("T")
R = TypeVar("R")


class Ray:
    """Processes of a Ray cluster.

    Things that `hold` is given live in actors, one a worker; what they make goes from worker to
    worker through Ray's object stores, not through this process.

    Parameters
    ----------
    address : str, optional
        Of a cluster: "HOST:PORT", "ray://HOST:PORT", or "auto" for the one that runs on this
        machine or that RAY_ADDRESS names. "local" starts Ray here, until the executor is closed.
        Without it, the cluster that this process is connected to, or else as "auto".
    n_workers : int, optional
        Actors or tasks at a time, each with a processor of its own; as many as the cluster has
        processors without it.

    Raises
    ------
    MissingExtraError
        If Ray is not installed.
    ArgumentError
        If no cluster is found, or it has fewer processors than were asked for, or a node has no
        podium, or another version of it.

    Warns
    -----
    PodiumWarning
        If workers did not begin in time, and those that did go on without them.

    Notes
    -----
    The bits of a result are promised for processors of one type, wherever they are.

    Examples
    --------
    >>> with Ray("local", n_workers=2) as executor:  # doctest: +SKIP
    ...     model = Factorization().fit(user_items, executor=executor)
    """

    def __init__(self, address: str | None = None, n_workers: int | None = None) -> None:
        asked = _check.cutoff(n_workers, name="n_workers", required=False)
        self._connected_here = _cluster.connect(address, asked)
        self._closed = False
        try:
            _cluster.refuse_other_versions()
            self.n_workers = _cluster.number_of_workers(asked, _cluster.processors())
        except BaseException:
            self.close()
            raise

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
        self._connected_here, self._closed = False, True

    def put(self, value: Any) -> Any:
        """Put a value into the object store; return its reference."""
        self._refuse_closed()
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
        """Return ``function(task, *shared)`` for each task; `shared` is sent to a node once.

        After an interrupt or an error no new task begins, and those that run are waited for: Ray
        aborts a process that cancels a task which is about to end (seen with 2.60).
        """
        self._refuse_closed()
        remote = ray.remote(_call).options(num_cpus=1)
        sent = [ray.put(value) for value in (function, *shared)]
        results: list[Any] = []
        running: list[Any] = []
        try:
            for task in tasks:
                if len(running) == self.n_workers:
                    ended, running = ray.wait(running)
                    self.get(ended)
                results.append(remote.remote(task, *sent))
                running.append(results[-1])
            return self.get(results)
        except BaseException:
            if running:
                ray.wait(running, num_returns=len(running))
            raise

    def hold(self, things: Sequence[Any]) -> _Held:
        """Give things to actors, neighbours to one, and wait until they have them."""
        self._refuse_closed()
        workers = _begin(min(self.n_workers, len(things)))
        homes = [workers[i * len(workers) // len(things)] for i in range(len(things))]
        held = _Held(workers, homes)
        try:
            self.get([home.take.remote(i, things[i]) for i, home in enumerate(homes)])
        except BaseException:
            held.release()
            raise
        return held

    def _refuse_closed(self) -> None:
        """Raise after `close`: Ray would start a cluster of its own, with other settings."""
        if self._closed:
            raise ArgumentError("executor is closed. Make another Ray(…), or fit inside its with.")


class _Held:
    """Things in actors. An actor does its calls one at a time, in the order they came in."""

    def __init__(self, workers: list[Any], homes: list[Any]) -> None:
        self._workers, self._homes = workers, homes

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        return self._homes[number].call.remote(number, method, *arguments)

    def release(self) -> None:
        _kill(self._workers)


class _Worker:
    """What an actor is: things by their numbers."""

    def __init__(self) -> None:
        self._things: dict[int, Any] = {}

    def ready(self) -> tuple[str, str]:
        """Return where it is: the node's name, and podium's version there."""
        return ray.get_runtime_context().get_node_id(), podium.__version__

    def take(self, number: int, thing: Any) -> None:
        self._things[number] = thing

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        return getattr(self._things[number], method)(*arguments)


def _begin(n_workers: int) -> list[Any]:
    """Start actors that are never restarted, and no call of theirs twice; return those that began.

    Neighbours in the list share a node where they can: what passes from one to the next then
    stays there.
    """
    actor = ray.remote(_Worker).options(
        num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
    )
    workers = [actor.remote() for _ in range(n_workers)]
    try:
        places = _places([worker.ready.remote() for worker in workers])
    except BaseException:
        _kill(workers)
        raise
    _kill([worker for worker, place in zip(workers, places, strict=True) if place is None])
    begun = [(place, i) for i, place in enumerate(places) if place is not None]
    return [workers[i] for _, i in sorted(begun)]


def _places(calls: list[Any]) -> list[str | None]:
    """Return the nodes of the workers that begin in time, None of the others.

    Soon after a loss a cluster still counts on a node that has gone, and places workers there: no
    more are waited for than it has processors by then.
    """
    end = monotonic() + _cluster.PATIENCE
    while True:
        ended, _ = ray.wait(calls, num_returns=len(calls), timeout=1.0)
        places = [_place(call) for call in calls]
        n_begun = sum(place is not None for place in places)
        wanted = min(len(calls), _cluster.processors())
        if len(ended) == len(calls) or n_begun >= max(wanted, 1) or monotonic() > end:
            break
    if not n_begun:
        raise NoWorkerError(_none_began(calls, n_failed=len(ended)))
    if n_begun < wanted:
        warnings.warn(
            f"{n_begun} of {wanted} Ray workers began; the fit goes on with them. Look at `ray "
            "status`: are the processors taken?",
            PodiumWarning,
            stacklevel=2,
        )
    return places


def _none_began(calls: list[Any], n_failed: int) -> str:
    """Return what to say where no worker has begun: all have failed, or time is up."""
    if n_failed == len(calls):
        return f"No worker began: all {n_failed} ended at once{_reason(calls)}."
    return (
        f"No worker began within {_cluster.PATIENCE:.0f} s{_reason(calls)}. Look at `ray status`: "
        "are the processors taken?"
    )


def _place(call: Any) -> str | None:
    """Return the node of a worker that has begun; refuse one of another version."""
    try:
        node, version = ray.get(call, timeout=0)
    except (exceptions.GetTimeoutError, exceptions.RayError):
        return None
    if version != podium.__version__:
        _cluster.refuse_node(node, version)
    return node


def _reason(calls: list[Any]) -> str:
    """Return why the first worker that failed did, in parentheses."""
    for call in calls:
        try:
            ray.get(call, timeout=0)
        except exceptions.GetTimeoutError:
            continue
        except exceptions.RayError as error:
            return f" ({_cluster.first_line(error)})"
    return ""


def _kill(workers: list[Any]) -> None:
    for worker in workers:
        ray.kill(worker)


def _call(task: Any, function: Callable[..., Any], *shared: Any) -> Any:
    return function(task, *shared)


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
        return WorkerLost(f"A worker of the cluster has gone ({_cluster.first_line(cause)}).")
    return cause
