"""Training a linear ranker: an iteration compared with its two products."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import _harness
from benchmarks._harness import Timing
from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.rankers import LinearRanker
from podium.rankers.objective import LinearObjective

SHAPE = (670_000, 150, 2_500)  # rows, features and groups of the Behance data
K = 10
REPEATS = 11
SMALL = ("--rows=2000",)
BLOCK = 5_000  # rows per float64 block, so that the check does not raise the peak of memory
L2 = 1e-3


def make(n: int, d: int, n_groups: int, dtype: Any, noise: float = 0.5) -> tuple[Any, Any, Any]:
    """Return features, relevance (one sixth positive, as in the Behance data) and qid.

    The labels are a linear function of the features plus noise, above a threshold.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=dtype)
    utility = X @ (rng.standard_normal(d) / np.sqrt(d)).astype(dtype)
    utility += noise * rng.standard_normal(n, dtype=dtype)
    y = (utility > 0.967 * np.sqrt(1 + noise**2)).astype(np.float64)
    return X, y, np.sort(rng.integers(0, n_groups, n))


def iteration(name: str, shape: tuple[int, int, int]) -> Timing:
    """Fit to measure memory, then time in turns one value and gradient, and the products."""
    loss = losses.get(name, k=K, clip=True)
    _fit(loss, *make(3000, 10, 20, np.float32))  # to compile
    X, y, qid = make(*shape, np.float32)
    before = _peak_mib()
    _fit(loss, X, y, qid)
    extra = _peak_mib() - before
    objective = LinearObjective(X, loss, loss.prepare(y, Groups.from_qid(qid)), L2)
    w = np.random.default_rng(1).standard_normal(shape[1]) / np.sqrt(shape[1])
    _compare(objective, w)
    by_row = objective.loss_at(objective.scores(w))[1].astype(np.float32)
    narrow = w.astype(np.float32)
    calls: list[Callable[[], Any]] = [
        lambda: objective.evaluate(w),
        lambda: X @ narrow,
        lambda: X.T @ by_row,
    ]
    times = [[_cpu(call) for call in calls] for _ in range(_harness.times(REPEATS))]
    iteration_s, forward_s, backward_s = (
        statistics.median(column) for column in zip(*times, strict=True)
    )
    return Timing(name, iteration_s, 0.0, 0.0, extra, {"products": forward_s + backward_s})


def _compare(objective: LinearObjective, w: Any) -> None:
    """Exit if the objective differs from that of NumPy in float64, computed block by block."""
    starts = range(0, objective.features.shape[0], BLOCK)
    scores = np.concatenate([_float64_rows(objective, i) @ w for i in starts])
    values, by_row = objective.loss.value_and_grad(scores, objective.target)
    grad = L2 * w
    for i in starts:
        grad += _float64_rows(objective, i).T @ by_row[i : i + BLOCK]
    point = objective.evaluate(w)
    differences = (
        abs(point.objective - np.nanmean(values) - L2 / 2 * w @ w),
        float(np.abs(point.grad - grad).max()),
    )
    if max(differences) > 1e-9:
        raise SystemExit(f"{objective.loss!r} differs from NumPy by {differences}")


def _float64_rows(objective: LinearObjective, start: int) -> Any:
    return objective.features[start : start + BLOCK].astype(np.float64)


def _fit(loss: Any, X: Any, y: Any, qid: Any) -> None:
    ranker = LinearRanker(loss, solver="subgradient", l2=L2, max_iter=3)
    # A fit may be refused because it ends at zero, after all iterations.
    with warnings.catch_warnings(), contextlib.suppress(ArgumentError):
        warnings.simplefilter("ignore")
        ranker.fit(X, y, qid)


def _cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(argv: list[str] | None = None) -> None:
    """Print milliseconds, ratios and memory by surrogate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=SHAPE[0])
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        n_groups = max(1, args.rows * SHAPE[2] // SHAPE[0])  # of the same size
        with threadpool_limits(1):  # a waiting thread of BLAS would count as CPU time
            timing = iteration(args.entry, (args.rows, SHAPE[1], n_groups))
        _harness.report(timing)
        return
    _iterations(args.rows)


def _surrogates() -> list[str]:
    classes = losses.REGISTRY.items()
    return [name for name, cls in classes if "clip" in {f.name for f in dataclasses.fields(cls)}]


def _iterations(rows: int) -> None:
    out: list[tuple[Any, ...]] = []
    for name in _surrogates():
        timing = _harness.in_process("benchmarks.pap_training", name, ["--rows", str(rows)])
        if isinstance(timing, str):
            raise SystemExit(f"{name}: {timing}")
        products = timing.values["products"]
        ratio = timing.cpu_s / products
        out.append((name, 1e3 * timing.cpu_s, 1e3 * products, ratio, timing.extra_mib))
    _harness.table(
        f"One full-batch iteration, {rows:,} x {SHAPE[1]} float32, k={K}, CPU",
        ("loss", "iteration ms", "X @ w and X.T @ g ms", "ratio", "fit's extra MiB"),
        out,
    )


if __name__ == "__main__":
    main()
