"""A Ray cluster from here: how to reach it, how large it is, and whether it has this podium."""

from __future__ import annotations

import os
import socket
from typing import Any, NoReturn
from urllib.parse import urlsplit

import podium
from podium import _check
from podium.errors import ArgumentError
from podium.executors import _local

try:
    import ray
    from ray import exceptions
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError:
    _check.extra("ray", "ray", "podium.executors.Ray")  # says how to install it
    raise

PATIENCE = 60.0  # seconds in which a node has to answer, or a worker to begin
_KNOCK = 5.0  # seconds in which an address has to accept a connection, and to answer
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS = 4  # the frame that both sides of HTTP/2 begin with, which gRPC and so Ray speaks
_CLIENT_PORT = 10001  # where "ray://HOST" leads


def connect(address: str | None, n_workers: int | None) -> bool:
    """Connect to a cluster, or start one; tell whether that was done here."""
    anywhere = address in (None, "auto")
    if ray.is_initialized():
        if anywhere:
            return False
        raise ArgumentError(
            f"address {address!r}: this process has a Ray cluster already. Leave the address out "
            "to use that one, or call ray.shutdown() before."
        )
    where = os.environ.get("RAY_ADDRESS") or "auto" if anywhere else str(address)
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if where == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        n_processors = _local.processors() if n_workers is None else n_workers
        ray.init("local", num_cpus=n_processors, include_dashboard=False, **quiet)
        return True
    advice = "Start one with `ray start --head`, or give 'local'."
    try:
        _knock(where)
        advice += " A cluster that wants a token wants RAY_AUTH_MODE=token here, too."
        ray.init(where, **quiet)
    except (OSError, ImportError, RuntimeError, ValueError, exceptions.RayError) as wrong:
        raise ArgumentError(
            f"address {where!r}: no Ray cluster answers there ({first_line(wrong)}). {advice}"
        ) from None
    return True


def _knock(address: str) -> None:
    """Raise if no Ray listens at an address: Ray itself would try for minutes."""
    scheme, _, rest = address.rpartition("://")
    if address == "auto" or scheme not in ("", "ray"):
        return
    place = urlsplit(f"//{rest}")
    port = place.port or (_CLIENT_PORT if scheme else None)
    if place.hostname is None or port is None:
        raise ValueError("it wants HOST:PORT")
    with socket.create_connection((place.hostname, port), timeout=_KNOCK) as line:
        if os.environ.get("RAY_USE_TLS", "0") in ("", "0"):
            _greet(line)


def _greet(line: socket.socket) -> None:
    """Raise unless the other side answers as a server of gRPC does."""
    line.sendall(_GREETING)
    try:
        with line.makefile("rb") as answers:
            answer = answers.read(4)
    except TimeoutError:
        raise ConnectionError(f"what listens there is silent for {_KNOCK:.0f} s") from None
    if len(answer) < 4 or answer[3] != _SETTINGS:
        raise ConnectionError("what listens there is no Ray")


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or what it is."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def processors() -> int:
    """Return how many processors the cluster has now."""
    return int(ray.cluster_resources().get("CPU", 0))


def number_of_workers(asked: int | None, there: int) -> int:
    """Return the number of workers: what was asked for, or what is there."""
    if there < (asked or 1):
        raise ArgumentError(
            f"n_workers={asked or 1}, but the cluster has {there} processors. Ask for fewer, or "
            "add nodes with `ray start --address`."
        )
    return asked or there


def refuse_other_versions() -> None:
    """Raise if a node has no podium or another version: its bits would be others."""

    def version() -> str:  # in a function, so that it travels as code and needs no podium there
        try:
            import podium
        except ImportError:
            return "none"
        return podium.__version__

    ask, nodes = ray.remote(version), [node for node in ray.nodes() if node["Alive"]]
    there = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in nodes]
    calls = [ask.options(num_cpus=0, scheduling_strategy=place).remote() for place in there]
    ray.wait(calls, num_returns=len(calls), timeout=PATIENCE)
    for node, call in zip(nodes, calls, strict=True):
        try:
            found = ray.get(call, timeout=0)
        except (exceptions.GetTimeoutError, exceptions.RayError):
            continue  # it has gone, or hardly lives: a worker that begins there says it again
        if found != podium.__version__:
            refuse_node(node["NodeManagerAddress"], found)


def refuse_node(node: str, found: str) -> NoReturn:
    """Raise that a node has another podium than this."""
    raise ArgumentError(
        f"address: the node {node} has podium {found}, and here is {podium.__version__}. Install "
        "the same version on all nodes."
    )
