"""Factorization of synthetic interactions: speed, quality and threads, compared with implicit."""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from benchmarks import _harness
from benchmarks._harness import Values

FACTORS = 64
EPOCHS = 20
SMALL = ("--users=100", "--items=200", "--pairs=3000", "--epochs=2")
NEGATIVES = 128
MEASURES = ["precision@1", "ndcg@10"]

Factors = NDArray[np.float32]
Fit = Callable[[csr_array[Any], int, int], tuple[Factors, Factors]]


@dataclass(frozen=True)
class Data:
    """Interactions of users with tastes: a training part, and one fifth held out."""

    train: csr_array[Any]
    test: csr_array[Any]


def make_interactions(n_users: int, n_items: int, n_pairs: int, seed: int = 0) -> Data:
    """Draw pairs: items by a power law that is shifted by 60 tastes, users by a log-normal law."""
    rng = np.random.default_rng(seed)
    activity = rng.lognormal(0.0, 1.0, n_users)
    user = rng.choice(n_users, size=int(1.4 * n_pairs), p=activity / activity.sum())
    weight = 1.0 / np.arange(1, n_items + 1) ** 0.8
    item = rng.choice(n_items, size=user.size, p=weight / weight.sum())
    taste = rng.integers(0, 60, n_users)[user]
    by_taste = rng.random(user.size) < 0.85
    item = np.where(by_taste, (item + taste * (n_items // 60)) % n_items, item)
    item = rng.permutation(n_items)[item]
    pairs = np.unique(user.astype(np.int64) * n_items + item)
    pairs = rng.permutation(pairs)[:n_pairs]
    is_held_out = rng.random(pairs.size) < 0.2
    return Data(
        _matrix(pairs[~is_held_out], n_users, n_items),
        _matrix(pairs[is_held_out], n_users, n_items),
    )


def _matrix(pairs: NDArray[np.int64], n_users: int, n_items: int) -> csr_array[Any]:
    places = (pairs // n_items, pairs % n_items)
    matrix = csr_array((np.ones(pairs.size, np.float32), places), shape=(n_users, n_items))
    matrix.sort_indices()
    return matrix


def _podium(loss: str, **options: Any) -> Fit:
    settings = {"n_negatives": NEGATIVES, "prior": 0.0, **options}

    def fit(train: csr_array[Any], epochs: int, threads: int) -> tuple[Factors, Factors]:
        from podium.executors import Threads
        from podium.recommenders import Factorization

        model = Factorization(FACTORS, loss=loss, n_epochs=epochs, **settings)
        model.fit(train, executor=Threads(threads))
        ones = np.ones((train.shape[0], 1), np.float32)
        return (
            np.hstack([model.user_factors_, ones]),
            np.hstack([model.item_factors_, model.item_bias_[:, None]]),
        )

    return fit


def _implicit(method: str, **options: Any) -> Fit:
    def fit(train: csr_array[Any], epochs: int, threads: int) -> tuple[Factors, Factors]:
        from implicit.cpu.als import AlternatingLeastSquares
        from implicit.cpu.bpr import BayesianPersonalizedRanking

        kind = {"als": AlternatingLeastSquares, "bpr": BayesianPersonalizedRanking}[method]
        model = kind(factors=FACTORS, iterations=epochs, num_threads=threads, **options)
        model.fit(csr_matrix(train), show_progress=False)
        return model.user_factors, model.item_factors

    return fit


# Name -> function that fits, and the number of negatives per pair in a pass (0: not comparable).
ENTRIES: dict[str, tuple[Fit, int]] = {
    "podium softmax": (_podium("softmax"), NEGATIVES),
    "podium robirank": (_podium("robirank"), NEGATIVES),
    "podium robirank, 8 negatives": (_podium("robirank", n_negatives=8, l2=0.025), 8),
    "podium bpr": (_podium("bpr", learning_rate=0.4), NEGATIVES),
    "implicit bpr": (_implicit("bpr", learning_rate=0.05, regularization=0.005), 1),
    "implicit als": (_implicit("als", regularization=10.0, alpha=2.0), 0),
}


def measured(factors: tuple[Factors, Factors], data: Data) -> Values:
    """Return the measures of factors on the held-out pairs, without seen items."""
    from podium.catalogue import rank_blocks
    from podium.evaluation import evaluate

    return evaluate(rank_blocks(factors, data.test, exclude=data.train, depth=10), MEASURES).means


def time_fit(name: str, data: Data, epochs: int, threads: int) -> _harness.Timing:
    """Fit once on a few users to compile, then time one complete fit and measure its quality."""
    fit, _ = ENTRIES[name]
    start = time.perf_counter()
    fit(data.train[:64], 1, threads)
    first = time.perf_counter() - start
    before = _peak_mib()
    cpu, wall = time.process_time(), time.perf_counter()
    factors = fit(data.train, epochs, threads)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    extra = _peak_mib() - before
    return _harness.Timing(name, cpu, wall, first, extra, measured(factors, data))


def check_equal(data: Data) -> None:
    """Exit if podium's factors differ between one and three threads."""
    fit, _ = ENTRIES["podium robirank"]
    for factors_1, factors_3 in zip(fit(data.train, 3, 1), fit(data.train, 3, 3), strict=True):
        if factors_1.tobytes() != factors_3.tobytes():
            raise SystemExit("podium's factors depend on the number of threads")


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(argv: list[str] | None = None) -> None:
    """Check that threads do not change the result, then time each entry in a separate process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=6_000)
    parser.add_argument("--items", type=int, default=4_000)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        data = make_interactions(args.users, args.items, args.pairs)
        _harness.report(time_fit(args.entry, data, args.epochs, args.threads))
        return
    check_equal(make_interactions(500, 1_000, 20_000))
    os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1")
    for threads in sorted({1, args.threads}):
        _compare(args, threads)


def _compare(args: argparse.Namespace, threads: int) -> None:
    options = [f"--{key}={getattr(args, key)}" for key in ("users", "items", "pairs", "epochs")]
    n_train = make_interactions(args.users, args.items, args.pairs).train.nnz
    rows = []
    for name, (_, updates) in ENTRIES.items():
        timing = _harness.in_process(
            "benchmarks.factorization", name, [*options, f"--threads={threads}"]
        )
        if isinstance(timing, str):
            print(f"left out: {name}: {timing}")
            continue
        rate = n_train * updates * args.epochs / timing.cpu_s / 1e6
        values = [timing.values[measure] for measure in MEASURES]
        rows.append((name, timing.cpu_s, timing.wall_s, rate or "–", *values))
    _harness.table(
        f"{args.users:,} users x {args.items:,} items, {n_train:,} pairs, {FACTORS} factors, "
        f"{args.epochs} passes, threads: {threads}",
        ("entry", "CPU s", "wall s", "M pairs / CPU s", *MEASURES),
        rows,
    )


if __name__ == "__main__":
    main()
