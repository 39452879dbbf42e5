"""Many fits at a time: threads, warnings and what stops them.

Threads rather than processes: the loops of podium, LightGBM, XGBoost and NumPy release the lock,
all fits read the same features without a copy, and nothing has to be pickled. So the executor of
the standard library does, and joblib would add a dependency for nothing.
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

R = TypeVar("R")

_PAUSE = 0.2  # seconds


class Stop:
    """Whether fits that are running should end; a `progress` callback of theirs raises then."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def progress(self, done: int, total: int, note: str) -> None:
        """Raise `Stopped` once it is set; what is shown is the search's progress, not a fit's."""
        del done, total, note
        if self._event.is_set():
            raise Stopped


class Stopped(BaseException):
    """A fit was told to end. No failure of its own, so no handler of failures may see it."""


def each(tasks: Sequence[Callable[[Stop], R]], n_jobs: int) -> Generator[tuple[int, R]]:
    """Yield each task's place and result as it is done; leaving early ends those that run.

    One job runs in the calling thread. More end at their next iteration where a fit takes
    `progress`, else when it is done.
    """
    stop = Stop()
    if n_jobs == 1 or len(tasks) == 1:
        yield from ((i, task(stop)) for i, task in enumerate(tasks))
        return
    pool = ThreadPoolExecutor(min(n_jobs, len(tasks)), thread_name_prefix="podium-tuning")
    try:
        places = {pool.submit(task, stop): i for i, task in enumerate(tasks)}
        while places:
            # A wait without end could miss a Ctrl-C that comes just before it.
            done = wait(places, timeout=_PAUSE, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=lambda f: places[f]):
                yield places.pop(future), future.result()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def caught_warnings() -> Generator[Callable[[], str]]:
    """Collect the convergence warnings of each thread; the function takes the calling thread's.

    `warnings` has one state for all threads, so it is set once around all of them.
    """
    heard: dict[int, list[str]] = {}

    def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
        if issubclass(category, ConvergenceWarning | SklearnConvergenceWarning):
            heard.setdefault(threading.get_ident(), []).append(str(message))
        else:
            usual(message, category, *place)

    def take() -> str:
        return " ".join(dict.fromkeys(heard.pop(threading.get_ident(), [])))

    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("always", SklearnConvergenceWarning)
        usual, warnings.showwarning = warnings.showwarning, show
        yield take
