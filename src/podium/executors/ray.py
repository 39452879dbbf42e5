"""Tasks on a Ray cluster: processes on this machine, or on several machines."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, cast
from urllib.parse import urlsplit

import podium
from podium import _check
from podium._one_thread import n_processors
from podium.errors import ArgumentError, NoWorkerError, WorkerLost, arg, warn
from podium.executors.local import AHEAD, R, T

try:
    import ray
    from ray import exceptions
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError:
    _check.extra("ray", "ray", "podium.executors.Ray")  # says how to install it
    raise

START_TIMEOUT = 60.0  # seconds in which a node must answer, or a worker must start
_ANSWER_TIMEOUT = 5.0  # seconds in which an address must accept a connection and answer
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS = 4  # the first frame of both sides of HTTP/2, which gRPC and therefore Ray uses
_CLIENT_PORT = 10001  # the default port of "ray://HOST"


class Ray:
    """Processes of a Ray cluster.

    Objects that `hold` receives live in actors, one per worker. Their results are sent from worker
    to worker through Ray's object stores, not through this process.

    Parameters
    ----------
    address : str, optional
        The address of a cluster: "HOST:PORT", "ray://HOST:PORT", or "auto" for the cluster that
        runs on this machine or that RAY_ADDRESS names. "local" starts Ray on this machine until the
        executor is closed. By default, the cluster to which this process is connected, or else
        "auto".
    n_workers : int, optional
        The number of actors or simultaneous tasks, each with one processor. By default, the number
        of processors of the cluster.

    Raises
    ------
    MissingExtraError
        If Ray is not installed.
    ArgumentError
        If no cluster is found, it has fewer processors than n_workers, or a node lacks podium or
        has another version of it.

    Warns
    -----
    PodiumWarning
        If some workers did not start in time and the fit continues with the others, or if no task
        has ended after a minute.

    Notes
    -----
    Results are bitwise equal if all processors are of one type.

    Examples
    --------
    >>> with Ray("local", n_workers=2) as executor:  # doctest: +SKIP
    ...     model = Factorization().fit(user_items, executor=executor)
    """

    def __init__(self, address: str | None = None, n_workers: int | None = None) -> None:
        n_requested = _check.cutoff(n_workers, name="n_workers", required=False)
        self._connected_here = connect(address, n_requested)
        self._closed = False
        try:
            refuse_other_versions()
            n_available = processors()
            if n_available < (n_requested or 1):
                raise ArgumentError(
                    f"{arg.n_workers(n_requested or 1)}, but the cluster has {n_available} "
                    f"processors. Pass a smaller {arg.n_workers}, or add nodes with `ray start "
                    "--address`."
                )
            self.n_workers = n_requested or n_available
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Return the executor."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """Close the connection if this executor opened it, and stop a "local" cluster."""
        if self._connected_here:
            ray.shutdown()
        self._connected_here, self._closed = False, True

    def put(self, value: Any) -> Any:
        """Put a value into the object store; return its reference."""
        self._refuse_closed()
        return ray.put(value)

    def get(self, references: list[Any]) -> list[Any]:
        """Return the values of references; arrays among them are read-only.

        Raises
        ------
        WorkerLost
            If an actor or its node was lost.
        """
        try:
            return ray.get(references)
        except exceptions.RayError as error:
            raise _original_error(error) from None

    def map(self, function: Callable[..., R], tasks: Iterable[T], *shared: Any) -> Iterator[R]:
        """Yield ``function(task, *shared)`` for each task; `shared` is sent to each node once.

        A task whose worker is lost runs again on another one. After an interrupt or an error, no
        new task starts, and the method waits for running tasks. They are not cancelled, because Ray
        aborts a process that cancels a task which is about to end (seen with 2.60).
        """
        self._refuse_closed()
        return self._results(tasks, [ray.put(value) for value in (function, *shared)])

    def _results(self, tasks: Iterable[Any], shared: list[Any]) -> Iterator[Any]:
        remote = ray.remote(_call).options(num_cpus=1)
        unread: deque[Any] = deque()
        running: list[Any] = []
        values: dict[Any, Any] = {}
        patience: float | None = START_TIMEOUT  # for the first task that ends

        def end_one() -> None:
            nonlocal running, patience
            ended, waiting = ray.wait(running, timeout=patience)
            if not ended:
                warn(
                    f"No task has ended within {START_TIMEOUT:.0f} s. Check with `ray status` "
                    "whether other jobs use the processors of the cluster: tasks wait for free "
                    "ones without a limit."
                )
                ended, waiting = ray.wait(running)
            running, patience = waiting, None
            values.update(zip(ended, self.get(ended), strict=True))

        def first() -> Any:
            while unread[0] not in values:
                end_one()
            return values.pop(unread.popleft())

        try:
            for task in tasks:
                if len(unread) == AHEAD * self.n_workers:
                    yield first()
                if len(running) == self.n_workers:
                    end_one()
                running.append(remote.remote(task, *shared))
                unread.append(running[-1])
            while unread:
                yield first()
        finally:
            if running:
                ray.wait(running, num_returns=len(running))

    def hold(self, things: Sequence[Any]) -> _Held:
        """Give objects to actors, neighbouring ones to the same, and wait until they are stored."""
        self._refuse_closed()
        workers = _start_workers(min(self.n_workers, len(things)))
        homes = [workers[i * len(workers) // len(things)] for i in range(len(things))]
        held = _Held(workers, homes)
        try:
            self.get([home.store.remote(i, things[i]) for i, home in enumerate(homes)])
        except BaseException:
            held.release()
            raise
        return held

    def _refuse_closed(self) -> None:
        """Raise if the executor is closed: Ray would start a new cluster with other settings."""
        if self._closed:
            raise ArgumentError(
                "executor is closed. Create another Ray(…), or fit inside the with block."
            )


class _Held:
    """Objects in actors. An actor runs its calls one at a time, in the order of arrival."""

    def __init__(self, workers: list[Any], homes: list[Any]) -> None:
        self._workers, self._homes = workers, homes

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        return self._homes[number].call.remote(number, method, *arguments)

    def release(self) -> None:
        _kill(self._workers)


class _Worker:
    """The class of the actors: objects by their numbers."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}

    def ready(self, version: str) -> str:
        """Return the id of the actor's node, or raise if it has another version of podium."""
        if version != podium.__version__:
            raise ArgumentError(f"the node has podium {podium.__version__}, not {version}")
        return ray.get_runtime_context().get_node_id()

    def store(self, number: int, value: Any) -> None:
        self._objects[number] = value

    def call(self, number: int, method: str, *arguments: Any) -> Any:
        return getattr(self._objects[number], method)(*arguments)


def _start_workers(n_workers: int) -> list[Any]:
    """Start actors without restarts or retried calls; return those that started.

    Neighbours in the list share a node if possible, so that values passed between them stay on it.
    """
    actor = ray.remote(_Worker).options(
        num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
    )
    n_workers = min(n_workers, max(processors(), 1))  # fewer after the loss of a node
    workers = [actor.remote() for _ in range(n_workers)]
    calls = [worker.ready.remote(podium.__version__) for worker in workers]
    try:
        nodes = _answers(calls)
    except BaseException:
        _kill(workers)
        raise
    _kill([w for w, node in zip(workers, nodes, strict=True) if not isinstance(node, str)])
    started = [(node, i) for i, node in enumerate(nodes) if isinstance(node, str)]
    advice = "Check with `ray status` whether all processors are in use."
    if not started:
        raise NoWorkerError(f"No worker started ({first_line(cast('Any', nodes[0]))}). {advice}")
    if len(started) < n_workers:
        warn(
            f"{len(started)} of {n_workers} Ray workers started, and the fit continues with these. "
            f"{advice}"
        )
    return [workers[i] for _, i in sorted(started)]


def _answers(calls: list[Any]) -> list[str | Exception]:
    """Return the result of each call, or the error if it failed or did not end in time."""
    ray.wait(calls, num_returns=len(calls), timeout=START_TIMEOUT)
    answers: list[str | Exception] = []
    for call in calls:
        try:
            answers.append(ray.get(call, timeout=0))
        except (exceptions.GetTimeoutError, exceptions.RayError) as error:
            answers.append(error)
    return answers


def _kill(workers: list[Any]) -> None:
    for worker in workers:
        ray.kill(worker)


def _call(task: Any, function: Callable[..., Any], *shared: Any) -> Any:
    return function(task, *shared)


def _original_error(error: exceptions.RayError) -> BaseException:
    """Return the error that a task raised, or WorkerLost if the task was interrupted."""
    cause: BaseException = error
    while isinstance(cause, exceptions.RayTaskError) and cause.cause is not None:
        cause = cause.cause
    if isinstance(cause, exceptions.RayError) and not isinstance(cause, exceptions.RayTaskError):
        return WorkerLost(f"A worker of the cluster was lost ({first_line(cause)}).")
    return cause


def connect(address: str | None, n_workers: int | None) -> bool:
    """Connect to a cluster or start one; return False if this process was already connected."""
    any_cluster = address in (None, "auto")
    if ray.is_initialized():
        if any_cluster:
            return False
        raise ArgumentError(
            f"{arg.address} {address!r}: this process is already connected to a Ray cluster. Leave "
            f"{arg.address} out to use that cluster, or call ray.shutdown() first."
        )
    target = os.environ.get("RAY_ADDRESS") or "auto" if any_cluster else str(address)
    settings: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if target == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        n_cpus = n_processors() if n_workers is None else n_workers
        ray.init("local", num_cpus=n_cpus, include_dashboard=False, **settings)
        return True
    advice = "Start one with `ray start --head`, or pass 'local'."
    try:
        _check_address(target)
        advice += " If the cluster requires a token, set RAY_AUTH_MODE=token in this process."
        ray.init(target, **settings)
    except (OSError, ImportError, RuntimeError, ValueError, exceptions.RayError) as error:
        raise ArgumentError(
            f"{arg.address} {target!r}: no Ray cluster answers there ({first_line(error)}). "
            f"{advice}"
        ) from None
    return True


def _check_address(address: str) -> None:
    """Raise if no Ray listens at an address, because Ray itself would retry for minutes."""
    scheme, _, location = address.rpartition("://")
    if address == "auto" or scheme not in ("", "ray"):
        return
    parts = urlsplit(f"//{location}")
    port = parts.port or (_CLIENT_PORT if scheme else None)
    if parts.hostname is None or port is None:
        raise ValueError("the form must be HOST:PORT")
    with socket.create_connection((parts.hostname, port), timeout=_ANSWER_TIMEOUT) as connection:
        if os.environ.get("RAY_USE_TLS", "0") in ("", "0"):
            _check_grpc(connection)


def _check_grpc(line: socket.socket) -> None:
    """Raise unless the other side answers like a gRPC server."""
    line.sendall(_PREFACE)
    try:
        with line.makefile("rb") as answers:
            answer = answers.read(4)
    except TimeoutError:
        raise ConnectionError(f"the server did not answer for {_ANSWER_TIMEOUT:.0f} s") from None
    if len(answer) < 4 or answer[3] != _SETTINGS:
        raise ConnectionError("the server is not Ray")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the error's type if the message is empty."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def processors() -> int:
    """Return the current number of processors of the cluster."""
    return int(ray.cluster_resources().get("CPU", 0))


def refuse_other_versions() -> None:
    """Raise if a node lacks podium or has another version, whose results could differ."""

    def version() -> str:  # a local function is sent as code, so the node needs no podium
        try:
            import podium
        except ImportError:
            return "none"
        return podium.__version__

    remote_version, nodes = ray.remote(version), [node for node in ray.nodes() if node["Alive"]]
    strategies = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in nodes]
    calls = [
        remote_version.options(num_cpus=0, scheduling_strategy=strategy).remote()
        for strategy in strategies
    ]
    for node, node_version in zip(nodes, _answers(calls), strict=True):
        # A node that does not answer was lost or is slow.
        if isinstance(node_version, str) and node_version != podium.__version__:
            raise ArgumentError(
                f"address: the node {node['NodeManagerAddress']} has podium {node_version}, but "
                f"this process has {podium.__version__}. Install the same version on all nodes."
            )
