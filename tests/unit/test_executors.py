"""Executors: results in order, errors that end a map, parts that give the bits of one process."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from tests.raised import raises

import podium
from podium.catalogue import ScoreFunction, target_ranks
from podium.data.storage import Storage
from podium.errors import ArgumentError, DataError
from podium.executors import Executor, Threads, local
from podium.recommenders import EASE, Factorization, Popularity

pytestmark = pytest.mark.filterwarnings("ignore:.*order of equal scores")

T = TypeVar("T")
R = TypeVar("R")
MEASURES = ["ndcg@5", "pap@3", "recall@5"]


class Copying(Threads):
    """An executor whose tasks and results are copied, as between processes."""

    def map(self, function: Callable[..., R], tasks: Iterable[T], *shared: Any) -> Iterator[R]:
        for task in tasks:
            call = pickle.loads(pickle.dumps((function, task, *shared)))
            yield pickle.loads(pickle.dumps(call[0](*call[1:])))


EXECUTORS = [Threads(3), Copying(2)]
IDS = ["threads", "copies"]


def tables() -> dict[str, pl.DataFrame]:
    """Return a truth and a run with ties, users in random order, and a user without a list."""
    rng = np.random.default_rng(0)
    users = rng.permutation(5000)[:200]

    def table(n: int, column: str, values: Any) -> pl.DataFrame:
        items = np.argsort(rng.random((200, 40)), axis=1)[:, :n].ravel()
        return pl.DataFrame({"user": np.repeat(users, n), "item": items, column: values})

    run = table(8, "score", rng.integers(0, 5, 1600) / 4)
    truth = table(4, "relevance", rng.integers(0, 3, 800))
    return {"truth": truth, "run": run.filter(pl.col("user") != users[5])}


def written(folder: Path, frames: dict[str, pl.DataFrame]) -> dict[str, Path]:
    """Write each table as a folder of several files."""
    for name, frame in frames.items():
        podium.data.write_parts(frame.to_dict(), folder / name, n_rows=700)
    return {name: folder / name for name in frames}


@pytest.mark.parametrize("executor", EXECUTORS, ids=IDS)
@pytest.mark.parametrize("on_disk", [False, True], ids=["frames", "files"])
def test_measures_are_those_in_memory(tmp_path: Path, executor: Threads, on_disk: bool) -> None:
    frames = tables()
    given: dict[str, Any] = written(tmp_path, frames) if on_disk else frames
    options: dict[str, Any] = {"missing": "zero", "by": "n_pos"}
    storage = Storage(executor=executor)
    here = podium.measure(frames["truth"], frames["run"], MEASURES, **options)
    there = podium.measure(given["truth"], given["run"], MEASURES, storage=storage, **options)
    assert {n: v.tobytes() for n, v in here.values.items()} == {
        n: v.tobytes() for n, v in there.values.items()
    }
    assert here.as_json() == there.as_json()


def test_folder_that_workers_do_not_have_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(Threads):
        def map(self, function: Any, tasks: Any, *shared: Any) -> Iterator[Any]:
            raise FileNotFoundError(2, "No such file or directory")

    paths = written(tmp_path, tables())
    with pytest.raises(DataError, match="all nodes of a cluster"):
        podium.measure(paths["truth"], paths["run"], "rr", storage=Storage(executor=Elsewhere(8)))


def _square(users: Any) -> Any:
    """Return scores with ties, computed from the row numbers of users."""
    return (users[:, None] * np.arange(1, 31)) % 7 + 0.0


@pytest.mark.parametrize("executor", EXECUTORS, ids=IDS)
@pytest.mark.parametrize("ties", ["worst", "average", "random"])
def test_ranks_are_those_of_one_process(executor: Threads, ties: Any) -> None:
    rng = np.random.default_rng(1)
    truth = csr_array(rng.random((50, 30)) < 0.1, dtype=float)
    seen = csr_array((rng.random((50, 30)) < 0.2) & ~truth.toarray().astype(bool))
    factors = rng.integers(-2, 3, (50, 3)) / 2, rng.integers(-2, 3, (30, 3)) / 2
    forms: list[Any] = [factors, factors[0] @ factors[1].T, ScoreFunction(_square, 50, 30)]
    for scores in forms:
        options: dict[str, Any] = {"exclude": seen, "ties": ties, "seed": 3}
        here = target_ranks(scores, truth, **options)
        assert here.tobytes() == target_ranks(scores, truth, executor=executor, **options).tobytes()
    assert target_ranks(factors, csr_array((50, 30)), executor=executor).size == 0


@pytest.mark.parametrize("executor", EXECUTORS, ids=IDS)
@pytest.mark.parametrize("model", [Popularity(), EASE(), Factorization(n_factors=4, n_epochs=2)])
def test_lists_and_ranks_of_models_are_those_of_one_process(
    monkeypatch: pytest.MonkeyPatch, executor: Threads, model: Any
) -> None:
    monkeypatch.setattr("podium.recommenders._base._PART", 7)
    rng = np.random.default_rng(2)
    likes = rng.random((40, 25)) < 0.2
    fitted = model.fit(csr_array(likes, dtype=float))
    options: dict[str, Any] = {"k": 5, "deny": [1, 2]}
    here, there = (fitted.recommend(**options, executor=e) for e in (None, executor))
    assert [part.tobytes() for part in here] == [part.tobytes() for part in there]
    assert fitted.recommend([], 5, executor=executor)[0].shape == (0, 5)
    held_out = csr_array((rng.random((40, 25)) < 0.1) & ~likes, dtype=float)
    assert fitted.ranks(held_out).tobytes() == fitted.ranks(held_out, executor=executor).tobytes()


AT_MOST = 600.0  # seconds: only threads that hang take so long


@pytest.mark.parametrize("n_workers", [1, 3])
def test_results_are_in_the_tasks_order(n_workers: int) -> None:
    executor: Executor = Threads(n_workers)
    barrier = threading.Barrier(n_workers, timeout=AT_MOST)  # so many at a time get through

    def squared(x: int) -> int:
        barrier.wait()
        return x * x

    assert list(executor.map(squared, range(6))) == [0, 1, 4, 9, 16, 25]
    assert list(executor.map(len, [])) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_error_ends_the_map_once_running_tasks_have_ended(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    begun, ended = [], []
    cancelled = threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            cancelled.set()
            super().shutdown(wait=wait)

    def task(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise error("stop")
        cancelled.wait(AT_MOST)
        ended.append(number)

    monkeypatch.setattr(local, "ThreadPoolExecutor", Pool)
    with pytest.raises(error, match="stop"):
        list(Threads(2).map(task, range(200)))
    assert sorted(begun) == sorted([0, *ended])
    assert len(begun) <= 3  # the one that failed, and one in each thread


class _Counter:
    """Counts, slowly enough that two calls at once would lose one."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, number: int) -> int:
        before = self.total
        time.sleep(0.001)
        self.total = before + number
        return self.total

    def fail(self) -> None:
        raise ValueError("no")


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_things_do_their_calls_in_order_with_what_others_make(n_workers: int) -> None:
    executor = Threads(n_workers)
    held = executor.hold([_Counter() for _ in range(3)])
    alone = [held.call(2, "add", 1) for _ in range(20)]
    assert executor.get(alone) == list(range(1, 21))
    made: Any = 1
    totals, expected = [0, 0], 1
    for i in range(30):
        made = held.call(i % 2, "add", made)
        totals[i % 2] += expected
        expected = totals[i % 2]
    assert executor.get([made]) == [expected]
    with pytest.raises(ValueError, match="no"):
        executor.get([held.call(1, "add", held.call(0, "fail"))])
    held.release()


def test_released_things_do_nothing_more() -> None:
    counter, gate = _Counter(), threading.Event()

    class Gate:
        def wait(self) -> int:
            gate.wait(AT_MOST)
            return 1

    held = Threads(2).hold([counter, Gate()])
    held.call(1, "wait")
    waiting: list[Any] = [held.call(0, "add", held.call(1, "wait")) for _ in range(3)]
    waiting[-1].add_done_callback(lambda _: gate.set())  # called when it is cancelled
    held.release()
    assert all(reference.cancelled() for reference in waiting)
    assert counter.total == 0
    with raises(ArgumentError, "n_workers"):
        Threads(0)
