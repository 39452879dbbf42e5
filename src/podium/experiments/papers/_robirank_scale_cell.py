"""One fit on made listening data in a process of its own: seconds a pass, and peak memory."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import statistics
import sys
import time
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from podium.errors import PodiumError
from podium.executors import Executor, Threads
from podium.experiments.papers._robirank_scale_data import Shape, draw
from podium.recommenders import Factorization

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Asked:
    """What is fitted, by whom, and how often.

    Attributes
    ----------
    fraction : float
        Of the full shape's users.
    n_factors, n_negatives, n_passes : int
    n_blocks : int or None
        None: as the data's shape tells.
    executor : {"threads", "ray"}
    n_workers : int
    seeds : tuple of int
    """

    fraction: float
    n_factors: int
    n_negatives: int
    n_passes: int
    n_blocks: int | None
    executor: str
    n_workers: int
    seeds: tuple[int, ...]


def in_process(asked: Asked) -> dict[str, Any]:
    """Measure in a process of its own, whose peak memory is that of this fit alone."""
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return pool.submit(measure, asked).result()
    except BrokenProcessPool as error:
        raise PodiumError(
            "The process of a fit was killed, most often for want of memory. Take a smaller "
            "fraction, or fewer factors."
        ) from error


def measure(asked: Asked) -> dict[str, Any]:
    """Draw the data and fit; of the passes, the first is left out where there are more."""
    began = time.perf_counter()
    pairs = draw(Shape.of(asked.fraction), asked.seeds)
    drawn, before = time.perf_counter() - began, peak_memory()
    ends: list[tuple[float, float]] = []

    def progress(done: int, total: int, note: str) -> None:
        ends.append((time.perf_counter(), time.process_time()))

    model = Factorization(
        asked.n_factors,
        n_negatives=asked.n_negatives,
        n_epochs=asked.n_passes,
        n_blocks=asked.n_blocks,
        negatives="unseen",
        gain="one",
    )
    with _workers(asked) as executor:
        started = (time.perf_counter(), time.process_time())
        model.fit(pairs, executor=executor, progress=progress)
    passes = np.diff(np.array([started, *ends]), axis=0)
    seconds, cpu = (statistics.median(column.tolist()) for column in passes[-_kept(asked) :].T)
    return {
        "users": pairs.shape[0],
        "items": pairs.shape[1],
        "pairs": int(pairs.nnz),
        "blocks": model.n_blocks_,
        "seconds": seconds,
        "first": float(passes[0, 0]),
        "cpu": cpu if asked.executor == "threads" else float("nan"),
        "memory": peak_memory(),
        "before": before,
        "drawing": drawn,
        "cost": float(model.history_["cost"][-1]),
        "factors": _sum(model.user_factors_, model.item_factors_, model.item_bias_),
    }


def peak_memory() -> float:
    """Return the most MiB that this process has had in memory; nan where that is not told."""
    if _STATUS.exists():
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    try:
        import resource
    except ImportError:
        return float("nan")
    unit = 1024 if sys.platform == "darwin" else 1  # macOS tells bytes, others kibibytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit / 1024


def _kept(asked: Asked) -> int:
    return max(1, asked.n_passes - 1)


@contextlib.contextmanager
def _workers(asked: Asked) -> Generator[Executor]:
    if asked.executor == "threads":
        yield Threads(asked.n_workers)
        return
    from podium.executors import Ray

    with Ray("local", n_workers=asked.n_workers) as executor:
        yield executor


def _sum(*arrays: Any) -> str:
    """Return a checksum of arrays' bits."""
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).data)
    return whole.hexdigest()[:16]
