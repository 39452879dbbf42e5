"""A pool of worker processes; one that dies is replaced, and its input is a problem."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# A worker ends itself after CPU_SECONDS of an input; the pool kills one that sleeps.
SILENCE_SECONDS = 1800


@dataclass(frozen=True)
class Input:
    """The family, seed and index that determine an input."""

    family: str
    seed: int
    index: int


@dataclass(frozen=True)
class Problem:
    """A problem of an input: a short text and details."""

    input: Input
    case: str
    what: str
    detail: str


def run(inputs: Iterable[Input], n_workers: int) -> Iterator[list[Problem]]:
    """Yield the problems of each input, in the order in which the inputs end."""
    tasks, answers = iter(inputs), queue.Queue[Any]()
    lock = threading.Lock()

    def take() -> Input | None:
        with lock:
            return next(tasks, None)

    threads = [
        threading.Thread(target=_serve, args=(take, answers), daemon=True) for _ in range(n_workers)
    ]
    for thread in threads:
        thread.start()
    n_ended = 0
    while n_ended < n_workers:
        answer = answers.get()
        if answer is None:
            n_ended += 1
        elif isinstance(answer, Exception):
            raise answer
        else:
            yield answer


def _serve(take: Any, answers: queue.Queue[Any]) -> None:
    """Give inputs to a worker until none is left, and replace the worker if it dies."""
    try:
        task = take()
        while task is not None:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                worker = _Worker(Path(folder))
                try:
                    while task is not None and worker.is_alive:
                        answers.put(worker.ask(task))
                        task = take()
                finally:
                    worker.end()
        answers.put(None)
    except Exception as error:
        answers.put(error)


class _Worker:
    """A process of `tests.fuzz.worker`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
            encoding="utf-8",
        )
        self.is_alive = self._read() == "ready"
        if not self.is_alive:
            raise RuntimeError(f"a worker did not start: {self._said()}")

    def ask(self, task: Input) -> list[Problem]:
        """Return the problems of an input, after which the worker may be dead."""
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):
            stdin.write(f"{task.family} {task.seed} {task.index}\n")
            stdin.flush()
        answer = self._read()
        if answer is None:
            self.is_alive = False
            return [Problem(task, "", self._death(), self._said())]
        problems = [Problem(task, answer["case"], what, why) for what, why in answer["problems"]]
        # Peak memory never falls, so this process could not detect a second such input.
        self.is_alive = not any(problem.what == "memory" for problem in problems)
        return problems

    def end(self) -> None:
        """End the process, and wait for it."""
        self._process.kill()
        self._process.communicate()

    def _read(self) -> Any:
        """Return the next answer, or None if the worker died."""
        assert self._process.stdout is not None
        alarm = threading.Timer(SILENCE_SECONDS, self._process.kill)
        alarm.start()
        line = self._process.stdout.readline()
        alarm.cancel()
        return json.loads(line) if line else None

    def _death(self) -> str:
        status = self._process.wait()
        if status == -getattr(signal, "SIGPROF", 0):
            return "hang"
        if status == -getattr(signal, "SIGKILL", 0):
            return "hang (asleep), or killed for its memory"
        with suppress(ValueError):
            return f"crash {signal.Signals(-status).name}"
        return f"crash, status {status}"

    def _said(self) -> str:
        errors = self._folder / "err"
        return errors.read_text("utf-8", "replace")[-2000:] if errors.exists() else ""
