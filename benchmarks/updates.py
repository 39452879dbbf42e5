"""Compared pairs per second of the factorization, beside implicit's BPR and the speed of memory.

A compared pair is a user, a positive item and a negative item. In a pass, implicit compares each
positive with one negative, and podium with as many as an entry says, which a batch shares.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from benchmarks import _harness
from benchmarks.factorization import FACTORS, check_equal, make_interactions
from podium._kernels import kernel

PASSES = 3
REPEATS = 3
SMALL = ("--shapes=small", "--pairs=3000")
N_ITEMS = {"small": 4_000, "songs": 386_133}
CEILING = "random rows read and written"

Fit = Callable[[csr_array[Any], int, int], None]


def make_pairs(shape: str, fraction: float, n_pairs: int) -> csr_array[Any]:
    """Return pairs of few items, which fit in a cache, or of many songs, which do not."""
    if shape == "small":
        return make_interactions(6_000, N_ITEMS["small"], n_pairs).train
    from podium_studies.yun2014.scale import draw, shape_of

    return draw(*shape_of(fraction), [0]).astype(np.float32)


def _podium(**options: Any) -> Fit:
    def fit(pairs: csr_array[Any], passes: int, threads: int) -> None:
        from podium.executors import Threads
        from podium.recommenders import Factorization

        model = Factorization(FACTORS, n_epochs=passes, gain="one", prior=0.0, **options)
        model.fit(pairs, executor=Threads(threads))

    return fit


def _implicit(pairs: csr_array[Any], passes: int, threads: int) -> None:
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(factors=FACTORS - 1, iterations=passes, num_threads=threads)
    model.fit(csr_matrix(pairs), show_progress=False)


# Name -> function that fits, and the number of negatives of a pair in a pass.
ENTRIES: dict[str, tuple[Fit, int]] = {
    f"podium {name}, {n} negatives": (_podium(n_negatives=n, **options), n)
    for name, n, options in (
        ("robirank", 8, {}),
        ("robirank", 128, {}),
        ("robirank", 256, {}),
        ("robirank, unseen", 128, {"negatives": "unseen"}),
        ("softmax", 128, {"loss": "softmax"}),
        ("softmax of cosines", 128, {"loss": "softmax(temperature=0.1)", "similarity": "cosine"}),
    )
} | {"implicit bpr": (_implicit, 1)}


@kernel
def touch_rows(rows, n):
    """Add 1 to every number in n random rows."""
    state = np.uint64(88172645463325252)
    for _ in range(n):
        state ^= state >> np.uint64(12)
        state ^= state << np.uint64(25)
        state ^= state >> np.uint64(27)
        high = (state * np.uint64(2685821657736338717)) >> np.uint64(32)
        row = rows[np.int64((high * np.uint64(rows.shape[0])) >> np.uint64(32))]
        for j in range(row.size):
            row[j] += np.float32(1.0)


def ceiling(n_items: int, n_rows: int) -> _harness.Timing:
    """Time random reads and writes of rows with the length of an item's factors."""
    rows = np.zeros((n_items, FACTORS), np.float32)
    touch_rows(rows, 10)
    if rows.sum() != 10 * FACTORS:
        raise SystemExit("the ceiling did not write all of its rows")
    values = {"updates": float(n_rows)}
    return _harness.time_call(CEILING, lambda: touch_rows(rows, n_rows) or values, REPEATS)


def time_passes(name: str, pairs: csr_array[Any], threads: int) -> _harness.Timing:
    """Time a pass as the difference between a fit of several passes and a fit of one."""
    fit, updates = ENTRIES[name]
    start = time.perf_counter()
    fit(pairs[:64], 1, threads)
    first = time.perf_counter() - start
    times = []
    for _ in range(_harness.times(REPEATS)):
        (cpu_1, wall_1), (cpu_n, wall_n) = (
            _seconds(fit, pairs, passes, threads) for passes in (1, 1 + PASSES)
        )
        times.append(((cpu_n - cpu_1) / PASSES, (wall_n - wall_1) / PASSES))
    cpu, wall = (statistics.median(column) for column in zip(*times, strict=True))
    values = {"updates": float(pairs.nnz) * updates}
    return _harness.Timing(name, cpu, wall, first, 0.0, values)


def _seconds(fit: Fit, pairs: csr_array[Any], passes: int, threads: int) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    fit(pairs, passes, threads)
    return time.process_time() - cpu, time.perf_counter() - wall


def main(argv: list[str] | None = None) -> None:
    """Check that threads do not change the result, then time passes in one process per entry."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="*", default=list(N_ITEMS), choices=N_ITEMS)
    parser.add_argument(
        "--fraction", type=float, default=0.05, help="The share of the users in the song data."
    )
    parser.add_argument(
        "--pairs", type=int, default=1_000_000, help="Number of pairs with few items."
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        _harness.report(_timing(args))
        return
    check_equal(make_interactions(500, 1_000, 20_000))
    os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1")
    for shape in args.shapes:
        _compare(shape, args)


def _timing(args: argparse.Namespace) -> _harness.Timing:
    (shape,) = args.shapes
    if args.entry == CEILING:
        return ceiling(N_ITEMS[shape], 10 * args.pairs)
    return time_passes(args.entry, make_pairs(shape, args.fraction, args.pairs), args.threads)


def _compare(shape: str, args: argparse.Namespace) -> None:
    """Print the compared pairs per CPU second, and the gain of a second thread."""
    options = [f"--shapes={shape}", f"--fraction={args.fraction}", f"--pairs={args.pairs}"]
    ceiling_timing = _harness.in_process("benchmarks.updates", CEILING, options)
    if isinstance(ceiling_timing, str):
        raise SystemExit(ceiling_timing)
    ceiling_rate = ceiling_timing.values["updates"] / ceiling_timing.cpu_s / 1e6
    rows: list[tuple[Any, ...]] = [(CEILING, "–", ceiling_rate, 1.0, "–", "–")]
    for name in ENTRIES:
        one, two = (
            _harness.in_process("benchmarks.updates", name, [*options, f"--threads={n}"])
            for n in (1, 2)
        )
        if isinstance(one, str) or isinstance(two, str):
            print(f"left out: {name}: {one if isinstance(one, str) else two}")
            continue
        rate = one.values["updates"] / one.cpu_s / 1e6
        rows.append(
            (name, one.cpu_s, rate, rate / ceiling_rate, one.wall_s, one.wall_s / two.wall_s)
        )
    _harness.table(
        f"{shape}: {FACTORS} factors, a pass; load average {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count()} processors",
        ("entry", "CPU s", "M pairs / CPU s", "x random rows", "wall s", "speedup, two threads"),
        rows,
    )


if __name__ == "__main__":
    main()
