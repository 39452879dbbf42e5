"""Fits at the same time, in threads, with the warnings of each.

Parallel fits run in threads rather than processes: the loops of podium, LightGBM, XGBoost and NumPy
release the lock, all fits read the same features without a copy, and nothing has to be pickled. The
executor of the standard library is therefore enough, and joblib is not needed.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from podium.errors import ConvergenceWarning
from podium.types import Progress

R = TypeVar("R")

_PAUSE = 0.2  # seconds


class Stopped(BaseException):
    """The exception that ends a fit. Not an `Exception`, so that it is not taken for a failure."""


def as_finished(tasks: Sequence[Callable[[Progress], R]], n_jobs: int) -> Generator[tuple[int, R]]:
    """Yield the position and result of each task as it finishes; leaving early ends the others.

    A single job runs in the calling thread. After an early exit, fits with a `progress` callback
    end at their next iteration, and others when they are done.
    """
    is_stopped = threading.Event()

    def progress(done: int, total: int, note: str) -> None:
        del done, total, note  # the search reports its own progress
        if is_stopped.is_set():
            raise Stopped

    if n_jobs == 1 or len(tasks) == 1:
        yield from ((i, task(progress)) for i, task in enumerate(tasks))
        return
    pool = ThreadPoolExecutor(min(n_jobs, len(tasks)), thread_name_prefix="podium-tuning")
    try:
        places = {pool.submit(task, progress): i for i, task in enumerate(tasks)}
        while places:
            # A wait without a timeout could miss a Ctrl-C that comes just before it.
            done = wait(places, timeout=_PAUSE, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=lambda f: places[f]):
                yield places.pop(future), future.result()
    finally:
        is_stopped.set()
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def caught_warnings() -> Generator[Callable[[], str]]:
    """Collect convergence warnings by thread; the yielded function returns the calling thread's.

    `warnings` has one state for all threads, so it is set once, around all of them.
    """
    messages: dict[int, list[str]] = {}

    def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
        if issubclass(category, ConvergenceWarning | SklearnConvergenceWarning):
            messages.setdefault(threading.get_ident(), []).append(str(message))
        else:
            default_show(message, category, *place)

    def take_warnings() -> str:
        return " ".join(dict.fromkeys(messages.pop(threading.get_ident(), [])))

    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("always", SklearnConvergenceWarning)
        default_show, warnings.showwarning = warnings.showwarning, show
        yield take_warnings
