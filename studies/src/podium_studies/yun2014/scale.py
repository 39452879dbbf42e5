"""RoBiRank's factorization at scale: seconds per pass and memory, varying one setting at a time.

The listening data are synthetic, with the shape of the Million Song Dataset at any size, and drawn
in bounded memory. Users draw songs by popularity only, so that these data measure speed and memory,
but not quality.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import multiprocessing
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.executors import Executor, Threads
from podium.recommenders import Factorization
from podium_studies.cells import key, mean, repeats, select
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study

N_USERS, N_ITEMS, N_PAIRS = 1_129_318, 386_133, 49_824_519
"""The numbers of users, songs and pairs of the collection in yun2014."""

_BLOCK = 2**14  # users per draw; fixed, because the draws depend on it
_FEWEST = 10.0  # fewest songs of a user before scaling, as in the published collection
_SPREAD = 1.1  # standard deviation of the logarithm of the songs above _FEWEST
_HEAD = 50.0  # song r = 0, 1, … has a probability proportional to 1 / (r + _HEAD): the first 0.2 %

_ORDER, _PAIRS = 1, 2  # numbers of the purposes in seeds


def shape_of(fraction: float) -> tuple[int, int]:
    """Return this fraction of the numbers of users and pairs."""
    return max(1, round(fraction * N_USERS)), max(1, round(fraction * N_PAIRS))


def draw(
    n_users: int, n_pairs: int, seeds: Sequence[int], n_items: int = N_ITEMS
) -> csr_array[Any]:
    """Draw the songs of each user.

    Parameters
    ----------
    n_users, n_pairs : int
        The numbers of users and of draws.
    seeds : sequence of int
        The seeds of all random numbers.
    n_items : int

    Returns
    -------
    int8, (n_users, n_items), sparse
        Ones. Repeated draws of a song by a user count once, so that there are fewer pairs than
        draws: 49.3 million for the full shape.

    Notes
    -----
    Cost: about 4 s for the full shape. Memory: 5 bytes per pair, and 50 MB.
    """
    songs = np.random.default_rng([*seeds, _ORDER]).permutation(n_items).astype(np.int32)
    items = np.empty(n_pairs, np.int32)
    offsets = np.zeros(n_users + 1, np.int32)
    end = 0
    for first in range(0, n_users, _BLOCK):
        stop = min(first + _BLOCK, n_users)
        n_drawn = n_pairs * stop // n_users - n_pairs * first // n_users
        rng = np.random.default_rng([*seeds, _PAIRS, first])
        counts, heard = _block(stop - first, n_drawn, songs, rng)
        items[end : end + heard.size] = heard
        offsets[first + 1 : stop + 1] = end + np.cumsum(counts)
        end += heard.size
    return csr_array((np.ones(end, np.int8), items[:end], offsets), shape=(n_users, n_items))


def _block(
    n_users: int, n_pairs: int, songs: NDArray[np.int32], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of songs of each user in a block, and the songs, rising per user."""
    activity = np.cumsum(_FEWEST + 3 * _FEWEST * rng.lognormal(-(_SPREAD**2) / 2, _SPREAD, n_users))
    n_drawn = np.diff(np.rint(activity / activity[-1] * n_pairs), prepend=0.0)
    user = np.repeat(np.arange(n_users), n_drawn.astype(np.int64))
    position = _HEAD * np.expm1(rng.random(user.size) * np.log1p(songs.size / _HEAD))
    place = np.minimum(position.astype(np.int64), songs.size - 1)
    pairs = np.unique(user * songs.size + songs[place])
    return np.bincount(pairs // songs.size, minlength=n_users), pairs % songs.size


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
    pairs = draw(*shape_of(fraction), seeds)
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
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    peaks = (float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    return next(peaks, float("nan"))


def _workers(executor: str, n_workers: int) -> AbstractContextManager[Executor]:
    if executor == "threads":
        return nullcontext(Threads(n_workers))
    from podium.executors import Ray

    return Ray("local", n_workers=n_workers)


_AUTO = "auto"  # the number of blocks follows from the data's shape


def cells(recipe: Recipe) -> Iterable[str]:
    """Return the keys: fits that vary one setting at a time; workers only if Ray is installed."""
    fits = itertools.product(repeats(recipe), _varied(recipe.parameters))
    return dict.fromkeys(key(repeat=repeat, **fit) for repeat, fit in fits)


def _varied(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    vary = parameters["vary"]
    on_ray = {"fraction": parameters["fraction"], "factors": parameters["factors"], "blocks": _AUTO}
    usual = {**on_ray, "threads": 1}
    yield usual
    for name in ("threads", "blocks", "factors"):
        for value in vary[name]:
            yield usual | {name: value}
    for share in vary["shares"]:
        yield usual | {"fraction": share * parameters["fraction"]}
    for workers in vary["workers"] if importlib.util.find_spec("ray") else ():
        yield on_ray | {"workers": workers}


def run(recipe: Recipe, context: Any, **cell: Any) -> Result:
    """Compute one cell, which is one fit, in a process whose peak memory is that of the fit."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, **asked(recipe, **cell)).result()


def asked(recipe: Recipe, **cell: Any) -> dict[str, Any]:
    """Return the settings of a cell's fit."""
    executor, axis = ("ray", "workers") if "workers" in cell else ("threads", "threads")
    return {
        "fraction": float(cell["fraction"]),
        "n_factors": cell["factors"],
        "n_negatives": recipe.parameters["negatives"],
        "n_epochs": recipe.parameters["passes"],
        "n_blocks": None if cell["blocks"] == _AUTO else cell["blocks"],
        "executor": executor,
        "n_workers": cell[axis],
        "seeds": (recipe.seed, cell["repeat"]),
    }


_QUANTITIES = {
    "users": "users",
    "pairs": "pairs",
    "blocks": "blocks",
    "seconds a pass": "seconds",
    "seconds of the first pass": "first",
    "CPU seconds a pass": "cpu",
    "peak memory, MiB": "memory",
    "memory before the fit, MiB": "before",
    "cost": "cost",
}
"""The quantities of fits that are averaged, by their names in figures."""

DIFFERING = "fits by other threads or workers whose factors differ in a bit"
"""The name of the figure that counts fits that the number of workers changed."""


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the sizes, seconds, memory and speed of each kind of fit, averaged over repeats.

    The CPU seconds of Ray workers are not known, and left out.
    """
    kinds: dict[str, list[Result]] = {}
    for key_parts, result in select(cells):
        kinds.setdefault(_name(key_parts), []).append(result)
    updates = recipe.parameters["negatives"] / 1e6
    figures: dict[str, Measured] = {}
    for name, results in kinds.items():
        for title, quantity in _QUANTITIES.items():
            figures[f"{name}: {title}"] = mean(result[quantity] for result in results)
        speeds = (updates * result["pairs"] / result["cpu"] for result in results)
        figures[f"{name}: million updates a CPU second"] = mean(speeds)
    figures[DIFFERING] = Measured(float(n_differing(cells)))
    return {name: figure for name, figure in figures.items() if np.isfinite(figure.value)}


def n_differing(cells: Cells) -> int:
    """Return the number of fits whose factors differ from those of an otherwise equal fit."""
    sums: dict[tuple[Any, ...], set[str]] = {}
    for key_parts, result in select(cells):
        settings = tuple(key_parts[name] for name in ("repeat", "fraction", "factors", "blocks"))
        sums.setdefault(settings, set()).add(result["factors"])
    return sum(len(checksums) - 1 for checksums in sums.values())


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid]:
    """Yield a table of all fits."""
    names = dict.fromkeys(_name(key_parts) for key_parts, _ in select(cells))
    title = "Means over repeats. Before the fit: peak memory after the data were drawn"
    yield Grid(title, names, [*_QUANTITIES], "{}: {}", digits=2, head="fit")


def _name(key_parts: Mapping[str, Any]) -> str:
    titles = {"threads": "threads", "workers": "Ray workers"}
    workers = (f"{title} {key_parts[axis]}" for axis, title in titles.items() if axis in key_parts)
    usual = f"users × {key_parts['fraction']}, {key_parts['factors']} factors"
    return ", ".join([usual, f"blocks {key_parts['blocks']}", *workers])


STUDY = Study(cells, run, fold, shown=shown)
"""The study of speed and memory. Times are results here, and differ between runs."""
