"""Made listening data of the Million Song Dataset's shape, at any size, in bounded memory.

What users like is left out: a song's popularity alone decides who hears it. So speed and memory
can be measured on these data, and quality cannot.
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
"""Users, songs, and pairs of both, of the collection that yun2014 factorises."""

_BLOCK = 2**14  # users that are drawn at a time: decides the numbers, so it is fixed
_FEWEST = 10.0  # songs of a user before scaling: the published collection has no user with fewer
_SPREAD = 1.1  # standard deviation of the logarithm of the songs beyond those
_HEAD = 50.0  # songs r = 0, 1, … are heard in proportion to 1 / (r + _HEAD): the first by 0.2 %

_ORDER, _PAIRS = 1, 2  # purpose numbers in the seeds of draws


@dataclass(frozen=True)
class Shape:
    """How many users, songs and drawn pairs there are: all songs, and a fraction of the rest."""

    n_users: int
    n_items: int
    n_pairs: int

    @classmethod
    def of(cls, fraction: float) -> Shape:
        """Return the shape of a fraction of the users, each with its songs."""
        return cls(max(1, round(fraction * N_USERS)), N_ITEMS, max(1, round(fraction * N_PAIRS)))


def draw(shape: Shape, seeds: Sequence[int]) -> csr_array[Any]:
    """Draw who hears what.

    Parameters
    ----------
    shape : Shape
    seeds : sequence of int
        What everything random derives from.

    Returns
    -------
    int8, (n_users, n_items), sparse
        Ones. A song that a user draws twice counts once, so there are fewer pairs than drawn: of
        the full shape 49.3 million.

    Notes
    -----
    Cost: about 4 s for the full shape. Memory: 5 bytes a pair, and 50 MB.
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
    """Return how many songs each of some users hears, and which, rising."""
    n_users, n_items = stop - first, shape.n_items
    ends = [shape.n_pairs * user // shape.n_users for user in (first, stop)]
    activity = np.cumsum(_FEWEST + 3 * _FEWEST * rng.lognormal(-(_SPREAD**2) / 2, _SPREAD, n_users))
    drawn = np.diff(np.rint(activity / activity[-1] * (ends[1] - ends[0])), prepend=0.0)
    user = np.repeat(np.arange(n_users), drawn.astype(np.int64))
    place = _HEAD * np.expm1(rng.random(user.size) * np.log1p(n_items / _HEAD))
    pairs = user * n_items + songs[np.minimum(place.astype(np.int64), n_items - 1)]
    pairs.sort()
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return np.bincount(pairs // n_items, minlength=n_users), pairs % n_items


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
    kept = passes[-max(1, asked.n_passes - 1) :]
    seconds, cpu = (statistics.median(column.tolist()) for column in kept.T)
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
