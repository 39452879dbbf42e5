"""A Ray cluster: connection, size, and a check of the versions of podium on its nodes."""

from __future__ import annotations

import os
import socket
from typing import Any, NoReturn
from urllib.parse import urlsplit

import podium
from podium import _check
from podium._one_thread import n_processors
from podium.errors import ArgumentError, arg

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


def number_of_workers(n_requested: int | None, n_available: int) -> int:
    """Return the number of workers: the requested number, or all processors of the cluster."""
    if n_available < (n_requested or 1):
        raise ArgumentError(
            f"{arg.n_workers(n_requested or 1)}, but the cluster has {n_available} processors. "
            f"Pass a smaller {arg.n_workers}, or add nodes with `ray start --address`."
        )
    return n_requested or n_available


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
    ray.wait(calls, num_returns=len(calls), timeout=START_TIMEOUT)
    for node, call in zip(nodes, calls, strict=True):
        try:
            node_version = ray.get(call, timeout=0)
        except (exceptions.GetTimeoutError, exceptions.RayError):
            continue  # the node was lost or is slow; workers check the version again
        if node_version != podium.__version__:
            refuse_node(node["NodeManagerAddress"], node_version)


def refuse_node(node: str, version: str) -> NoReturn:
    """Raise an error for a node with another version of podium."""
    raise ArgumentError(
        f"address: the node {node} has podium {version}, but this process has "
        f"{podium.__version__}. Install the same version on all nodes."
    )
