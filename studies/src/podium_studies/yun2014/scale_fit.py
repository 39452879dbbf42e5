"""Fits to synthetic listening data with the shape of the Million Song Dataset, at any size.

Users draw songs by popularity only, so that these data measure speed and memory, but not quality.
The data are drawn in bounded memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import statistics
import sys
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.errors import PodiumError
from podium.executors import Executor, Threads
from podium.recommenders import Factorization

N_USERS, N_ITEMS, N_PAIRS = 1_129_318, 386_133, 49_824_519
"""The numbers of users, songs and pairs of the collection in yun2014."""

_BLOCK = 2**14  # users per draw; fixed, because the draws depend on it
_FEWEST = 10.0  # fewest songs of a user before scaling, as in the published collection
_SPREAD = 1.1  # standard deviation of the logarithm of the songs above _FEWEST
_HEAD = 50.0  # song r = 0, 1, … has a probability proportional to 1 / (r + _HEAD): the first 0.2 %

_ORDER, _PAIRS = 1, 2  # numbers of the purposes in seeds


@dataclass(frozen=True)
class Shape:
    """The numbers of users, songs and drawn pairs."""

    n_users: int
    n_items: int
    n_pairs: int

    @classmethod
    def of(cls, fraction: float) -> Shape:
        """Return the shape with all songs and this fraction of users and pairs."""
        return cls(max(1, round(fraction * N_USERS)), N_ITEMS, max(1, round(fraction * N_PAIRS)))


def draw(shape: Shape, seeds: Sequence[int]) -> csr_array[Any]:
    """Draw the songs of each user.

    Parameters
    ----------
    shape : Shape
    seeds : sequence of int
        The seeds of all random numbers.

    Returns
    -------
    int8, (n_users, n_items), sparse
        Ones. Repeated draws of a song by a user count once, so that there are fewer pairs than
        draws: 49.3 million for the full shape.

    Notes
    -----
    Cost: about 4 s for the full shape. Memory: 5 bytes per pair, and 50 MB.
    """
    songs = np.random.default_rng([*seeds, _ORDER]).permutation(shape.n_items).astype(np.int32)
    items = np.empty(shape.n_pairs, np.int32)
    offsets = np.zeros(shape.n_users + 1, np.int32)
    end = 0
    for first in range(0, shape.n_users, _BLOCK):
        stop = min(first + _BLOCK, shape.n_users)
        rng = np.random.default_rng([*seeds, _PAIRS, first])
        counts, heard = _block(shape, first, stop, songs, rng)
        items[end : end + heard.size] = heard
        offsets[first + 1 : stop + 1] = end + np.cumsum(counts)
        end += heard.size
    rows = (np.ones(end, np.int8), items[:end], offsets)
    return csr_array(rows, shape=(shape.n_users, shape.n_items))


def _block(
    shape: Shape, first: int, stop: int, songs: NDArray[np.int32], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of songs of each user in a block, and the songs, rising per user."""
    n_users, n_items = stop - first, shape.n_items
    ends = [shape.n_pairs * user // shape.n_users for user in (first, stop)]
    activity = np.cumsum(_FEWEST + 3 * _FEWEST * rng.lognormal(-(_SPREAD**2) / 2, _SPREAD, n_users))
    n_drawn = np.diff(np.rint(activity / activity[-1] * (ends[1] - ends[0])), prepend=0.0)
    user = np.repeat(np.arange(n_users), n_drawn.astype(np.int64))
    position = _HEAD * np.expm1(rng.random(user.size) * np.log1p(n_items / _HEAD))
    pairs = user * n_items + songs[np.minimum(position.astype(np.int64), n_items - 1)]
    pairs.sort()
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return np.bincount(pairs // n_items, minlength=n_users), pairs % n_items


_STATUS = Path("/proc/self/status")


def in_process(**settings: Any) -> dict[str, Any]:
    """Measure a fit in a separate process, whose peak memory is that of this fit."""
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return pool.submit(measure, **settings).result()
    except BrokenProcessPool as error:
        raise PodiumError(
            "The process of a fit was killed, most often because memory ran out. Use a smaller "
            "fraction or fewer factors."
        ) from error


def measure(
    fraction: float, seeds: Sequence[int], executor: str, n_workers: int, **options: Any
) -> dict[str, Any]:
    """Draw the data, fit, and return times and memory; the first of several passes is left out.

    Parameters
    ----------
    fraction : float
        The fraction of the full shape's users.
    seeds : sequence of int
        The seeds of the data.
    executor : {"threads", "ray"}
    n_workers : int
    options : n_factors, n_negatives, n_epochs, n_blocks
        The options of the factorization. With n_blocks=None, it follows from the data's shape.
    """
    start = time.perf_counter()
    pairs = draw(Shape.of(fraction), seeds)
    drawing_seconds, before = time.perf_counter() - start, peak_memory()
    ends: list[tuple[float, float]] = []

    def progress(done: int, total: int, note: str) -> None:
        ends.append((time.perf_counter(), time.process_time()))

    fixed: dict[str, Any] = {"loss": "robirank", "l2": 0.025, "negatives": "unseen", "gain": "one"}
    model = Factorization(**fixed, **options)
    with _workers(executor, n_workers) as workers:
        started = (time.perf_counter(), time.process_time())
        model.fit(pairs, executor=workers, progress=progress)
    passes = np.diff(np.array([started, *ends]), axis=0)
    counted = passes[-max(1, options["n_epochs"] - 1) :]
    seconds, cpu = (statistics.median(column.tolist()) for column in counted.T)
    digest = hashlib.sha256()
    for array in (model.user_factors_, model.item_factors_, model.item_bias_):
        digest.update(np.ascontiguousarray(array).data)
    return {
        "users": pairs.shape[0],
        "items": pairs.shape[1],
        "pairs": int(pairs.nnz),
        "blocks": model.n_blocks_,
        "seconds": seconds,
        "first": float(passes[0, 0]),
        "cpu": cpu if executor == "threads" else float("nan"),
        "memory": peak_memory(),
        "before": before,
        "drawing": drawing_seconds,
        "cost": float(model.history_["cost"][-1]),
        "factors": digest.hexdigest()[:16],
    }


def peak_memory() -> float:
    """Return the peak memory of this process in MiB; nan if the system does not report it."""
    if _STATUS.exists():
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    try:
        import resource
    except ImportError:
        return float("nan")
    unit = 1024 if sys.platform == "darwin" else 1  # macOS reports bytes, other systems kibibytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit / 1024


@contextlib.contextmanager
def _workers(executor: str, n_workers: int) -> Generator[Executor]:
    if executor == "threads":
        yield Threads(n_workers)
        return
    from podium.executors import Ray

    with Ray("local", n_workers=n_workers) as ray:
        yield ray
