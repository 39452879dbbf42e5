"""Threads: results in order, no task after an error, and every running one waited for."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.raised import raises

from podium.errors import ArgumentError
from podium.executors import Executor, Threads, local

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
