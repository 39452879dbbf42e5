"""Threads: results in order, no task after an error, and every running one waited for."""

from __future__ import annotations

import threading
import time

import pytest

from podium.errors import ArgumentError
from podium.executors import Executor, Threads


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_results_are_in_the_tasks_order(n_workers: int) -> None:
    executor: Executor = Threads(n_workers)
    assert executor.map(lambda x: x * x, range(6)) == [0, 1, 4, 9, 16, 25]
    assert executor.map(len, []) == []


def test_threads_work_at_the_same_time() -> None:
    barrier = threading.Barrier(3, timeout=30)  # only three at a time get through
    assert sorted(Threads(3).map(lambda _: barrier.wait(), range(3))) == [0, 1, 2]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_error_ends_the_map_once_running_tasks_have_ended(error: type[BaseException]) -> None:
    begun, ended = [], []
    failing = threading.Event()

    def task(number: int) -> None:
        begun.append(number)
        if number == 0:
            failing.set()
            raise error("stop")
        failing.wait(30)
        time.sleep(0.01)
        ended.append(number)

    with pytest.raises(error, match="stop"):
        Threads(2).map(task, range(200))
    assert sorted(begun) == sorted([0, *ended])
    assert len(begun) < 200


def test_reference_is_the_value_itself() -> None:
    value = [1]
    executor = Threads(2)
    assert executor.get(executor.put(value)) is value


def test_worker_count_is_checked() -> None:
    assert Threads().n_workers >= 1
    with pytest.raises(ArgumentError, match="n_workers must be an integer >= 1 or None"):
        Threads(0)
