"""Threads: results in order, no task after an error, and every running one waited for."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from podium.errors import ArgumentError
from podium.executors import Executor, Threads, local

AT_MOST = 600.0  # seconds: only threads that hang take so long


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_results_are_in_the_tasks_order(n_workers: int) -> None:
    executor: Executor = Threads(n_workers)
    assert list(executor.map(lambda x: x * x, range(6))) == [0, 1, 4, 9, 16, 25]
    assert list(executor.map(len, [])) == []


def test_threads_work_at_the_same_time() -> None:
    barrier = threading.Barrier(3, timeout=AT_MOST)  # only three at a time get through
    assert sorted(Threads(3).map(lambda _: barrier.wait(), range(3))) == [0, 1, 2]


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
def test_thing_does_its_calls_in_order_and_one_at_a_time(n_workers: int) -> None:
    executor = Threads(n_workers)
    held = executor.hold([_Counter(), _Counter()])
    made = [held.call(i % 2, "add", 1) for i in range(40)]
    assert executor.get(made) == [1 + i // 2 for i in range(40)]
    held.release()


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_call_takes_what_another_thing_makes(n_workers: int) -> None:
    executor = Threads(n_workers)
    held = executor.hold([_Counter() for _ in range(3)])
    made = 1
    for i in range(30):
        made = held.call(i % 3, "add", made)
    totals = [0, 0, 0]
    expected = 1
    for i in range(30):
        totals[i % 3] += expected
        expected = totals[i % 3]
    assert executor.get([made]) == [expected]
    held.release()


def test_error_reaches_all_that_need_the_value() -> None:
    executor = Threads(2)
    held = executor.hold([_Counter(), _Counter()])
    failed = held.call(0, "fail")
    with pytest.raises(ValueError, match="no"):
        executor.get([held.call(1, "add", failed)])
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


def test_worker_count_is_checked() -> None:
    assert Threads().n_workers >= 1
    with pytest.raises(ArgumentError, match="n_workers must be an integer >= 1 or None"):
        Threads(0)
