"""A fit on a Ray cluster of two nodes: the same bits as in one thread, whoever is lost on the way.

One cluster serves all tests; what they make of it they undo.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from tests.raised import raises

import podium.executors
from podium.data.storage import Storage
from podium.errors import ArgumentError, DataError, NoWorkerError
from podium.executors import Threads
from podium.recommenders import Factorization, Popularity

pytestmark = pytest.mark.filterwarnings("ignore:.*order of equal scores")

ray = pytest.importorskip("ray", reason="Ray is absent: pip install 'podium[ray]'")

N_BLOCKS, N_PASSES = 4, 3
SOON = 600.0  # seconds: only what hangs takes so long


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes, with one and two processors, to which this process is connected."""
    from ray.cluster_utils import Cluster

    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500}
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": quick}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        started = Cluster(initialize_head=True, head_node_args={**head, **_small()})
        started.add_node(num_cpus=2, **_small())
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        ray.init(started.address, logging_level="ERROR", log_to_driver=False)
        yield started
        ray.shutdown()
        ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
        started.shutdown()


def _small() -> dict[str, int]:
    return {"object_store_memory": 80 * 2**20}


def _ray(n_workers: int | None = None) -> Any:
    return podium.executors.Ray(n_workers=n_workers)


def _likes(seed: int = 0) -> csr_array[Any]:
    rng = np.random.default_rng(seed)
    return csr_array((rng.random((60, 50)) < 0.2) * rng.integers(1, 4, (60, 50)).astype(float))


def _held_out() -> csr_array[Any]:
    return csr_array(((_likes().toarray() == 0) & (_likes(9).toarray() > 0)).astype(float))


def _model(**changes: Any) -> Factorization:
    settings = {"n_factors": 8, "n_epochs": N_PASSES, "n_blocks": N_BLOCKS, "learning_rate": 0.02}
    return Factorization(**{**settings, **changes})


def _bits(model: Factorization) -> list[bytes]:
    arrays = (model.user_factors_, model.item_factors_, model.item_bias_, *model.history_.values())
    return [array.tobytes() for array in arrays]


def _in_one_thread(**changes: Any) -> list[bytes]:
    return _bits(_model(**changes).fit(_likes(), executor=Threads(1)))


def _stop_after(n_passes: int) -> Any:
    def progress(done: int, total: int | None, note: str = "") -> None:
        if done == n_passes:
            raise KeyboardInterrupt

    return progress


def _watched(executor: Any, *, at: int | None = None) -> list[Any]:
    """Return a list of what the executor will hold; a worker is killed at a call, once it ended."""
    hold, seen, number = executor.hold, list[Any](), itertools.count(1)

    def watching(things: Any) -> Any:
        held = hold(things)
        seen.append(held)
        call = held.call

        def counted(*arguments: Any) -> Any:
            reference = call(*arguments)
            if next(number) == at:
                ray.wait([reference], timeout=SOON)
                ray.kill(held._workers[0])
            return reference

        held.call = counted
        return held

    executor.hold = watching
    return seen


@pytest.mark.long
@pytest.mark.parametrize("at", [None, N_BLOCKS**2 + 2 * N_BLOCKS, N_BLOCKS**2 + 2 * N_BLOCKS + 7])
def test_factors_are_those_of_one_thread_whoever_dies(cluster: Any, at: int | None) -> None:
    """Between the first pass and the second one, or in it."""
    executor = _ray(2 if at else 3)
    seen = _watched(executor, at=at)
    fitted = _model().fit(_likes(), executor=executor)
    assert _bits(fitted) == _in_one_thread()
    assert len(seen) == (2 if at else 1)
    folded = fitted.fold_in(_likes(3), executor=_ray(2))
    assert folded.tobytes() == fitted.fold_in(_likes(3), executor=Threads(1)).tobytes()


@pytest.fixture
def interruptible() -> Generator[None]:
    """Let an interrupt be one: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.long
def test_interrupt_keeps_the_last_pass_and_leaves_no_worker(
    cluster: Any, interruptible: None
) -> None:
    def progress(done: int, total: int | None, note: str = "") -> None:
        if done == 2:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

    executor, model = _ray(2), _model(n_epochs=100_000)
    seen = _watched(executor)
    with pytest.raises(KeyboardInterrupt):
        model.fit(_likes(), executor=executor, progress=progress)
    assert model.stop_reason_ == "interrupted"
    one = _model(n_epochs=100_000)
    with pytest.raises(KeyboardInterrupt):
        one.fit(_likes(), executor=Threads(1), progress=_stop_after(model.n_epochs_))
    assert _bits(model) == _bits(one)
    for worker in seen[0]._workers:
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(worker.ready.remote(podium.__version__))


@pytest.mark.long
def test_map_is_in_the_tasks_order_until_the_executor_is_closed(cluster: Any) -> None:
    executor = _ray(2)
    assert list(executor.map(pow, [2, 3, 4, 5], 3)) == [8, 27, 64, 125]
    assert list(executor.map(pow, [], 3)) == []
    executor.close()
    for call in (lambda: executor.map(abs, [1]), lambda: executor.hold([1])):
        with pytest.raises(ArgumentError):
            call()
    for n_workers in (9, 0):
        with raises(ArgumentError, "n_workers"):
            _ray(n_workers)


def _tables(folder: Path) -> tuple[Path, Path]:
    """Write a truth and a run as folders of shuffled files, so that spill files are needed."""
    rng = np.random.default_rng(0)
    users = np.repeat(rng.permutation(3000), 5)
    items = np.argsort(rng.random((3000, 50)), axis=1)[:, :5].ravel()
    for name, column in (("truth", "relevance"), ("run", "score")):
        table = {"user": users, "item": items + (name == "run"), column: rng.integers(0, 3, 15_000)}
        podium.data.write_parts(table, folder / name, n_rows=5000)
    return folder / "truth", folder / "run"


@pytest.mark.long
def test_measures_ranks_and_lists_are_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    tables, executor = _tables(tmp_path), _ray(3)
    storages = [Storage(executor=e) for e in (None, executor)]
    here, there = (podium.measure(*tables, "ndcg@5", storage=s) for s in storages)
    assert here.values["ndcg@5"].tobytes() == there.values["ndcg@5"].tobytes()
    assert here.as_json() == there.as_json()
    for model in (_model().fit(_likes()), Popularity().fit(_likes())):
        ranks = [model.ranks(_held_out(), executor=e).tobytes() for e in (None, executor)]
        assert ranks[0] == ranks[1]
        lists = [model.recommend(k=4, executor=e)[0].tolist() for e in (None, executor)]
        assert lists[0] == lists[1]


@pytest.mark.long
def test_table_that_a_node_lacks_is_named(cluster: Any, tmp_path: Path) -> None:
    tables = _tables(tmp_path)

    def hide(done: int, total: int | None, note: str = "") -> None:
        (tables[1] / "part-00001.parquet").unlink(missing_ok=True)

    for path in tables:  # sorted by user, so that files are read when their users are measured
        rows = pl.read_parquet(path).sort("user")
        rows.slice(0, 7500).write_parquet(path / "part-00000.parquet")
        rows.slice(7500).write_parquet(path / "part-00001.parquet")
        (path / "part-00002.parquet").unlink()
    with pytest.raises(DataError, match=r"part-00001\.parquet"):
        podium.measure(*tables, "ndcg@5", storage=Storage(executor=_ray(2), progress=hide))


@pytest.mark.long
def test_workers_that_end_at_once_are_said_to(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podium.executors import ray as module

    class Ending(module._Worker):
        def __init__(self) -> None:
            os._exit(1)

    monkeypatch.setattr(module, "_Worker", Ending)
    with pytest.raises(NoWorkerError):
        _ray(2).hold([1, 2])


@pytest.mark.long
def test_other_version_here_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(podium, "__version__", "99.0")
    with pytest.raises(ArgumentError, match=r"99\.0"):
        _ray()
    assert ray.is_initialized()  # the connection was there before


@pytest.mark.long
def test_node_without_podium_is_refused(cluster: Any, tmp_path: Path) -> None:
    package = tmp_path / "podium"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    node = cluster.add_node(num_cpus=0, env_vars={"PYTHONPATH": path}, **_small())
    with pytest.raises(ArgumentError, match=f"none, but this process has {podium.__version__}"):
        _ray()
    cluster.remove_node(node)
    end = time.monotonic() + SOON
    while sum(node["Alive"] for node in ray.nodes()) != 2:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.long
def test_second_cluster_is_refused(cluster: Any) -> None:
    with raises(ArgumentError, "address"):
        podium.executors.Ray("local")
    podium.executors.Ray("auto").close()
    assert ray.is_initialized()  # who connects disconnects


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nowhere", "127.0.0.1:many"]
)
def test_address_where_nobody_listens_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with raises(ArgumentError, "address"):
        podium.executors.Ray(address)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with raises(ArgumentError, "address"):
        podium.executors.Ray()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_address_where_something_else_listens_is_refused(
    monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    def serve() -> None:
        line, _ = server.accept()
        with line:
            line.sendall(answer)
            while line.recv(100):
                pass

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr("podium.executors.ray._ANSWER_TIMEOUT", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        with raises(ArgumentError, "address"):
            podium.executors.Ray(f"127.0.0.1:{server.getsockname()[1]}")
