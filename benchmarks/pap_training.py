"""Training a linear ranker: an iteration beside its two bare products, and the bundle's time."""

from __future__ import annotations

import argparse
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
from podium.groups import Groups
from podium.rankers import LinearRanker
from podium.rankers.objective import LinearObjective

SHAPE = (670_000, 150, 2_500)  # rows, features, groups of the Behance data
BUNDLE_SHAPE = (40_000, 90, 640)  # and of MovieLens-100K
K = 10
REPEATS = 11
SMALL = ("--rows=2000", "--bundle-rows=600")
BLOCK = 5_000  # rows at once in float64, so that the check leaves the peak of memory alone
L2 = 1e-3


def make(n: int, d: int, n_groups: int, dtype: Any, noise: float = 0.5) -> tuple[Any, Any, Any]:
    """Return features, relevance (a sixth positive, as in Behance's) and qid.

    A linear function explains the labels up to noise.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=dtype)
    utility = X @ (rng.standard_normal(d) / np.sqrt(d)).astype(dtype)
    utility += noise * rng.standard_normal(n, dtype=dtype)
    y = (utility > 0.967 * np.sqrt(1 + noise**2)).astype(np.float64)
    return X, y, np.sort(rng.integers(0, n_groups, n))


def iteration(name: str, shape: tuple[int, int, int]) -> Timing:
    """Fit, for the memory; then time one value and gradient and the products, in turns."""
    loss = losses.get(name, k=K, clip=True)
    _fit(loss, *make(3000, 10, 20, np.float32))  # compiles
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
        lambda: objective.value_and_grad(w),
        lambda: X @ narrow,
        lambda: X.T @ by_row,
    ]
    taken = [[_cpu(call) for call in calls] for _ in range(_harness.times(REPEATS))]
    ours, forth, back = (statistics.median(column) for column in zip(*taken, strict=True))
    return Timing(name, ours, 0.0, 0.0, extra, {"products": forth + back})


def bundle(name: str, shape: tuple[int, int, int]) -> Timing:
    """Fit by the bundle solver to a relative gap of 1e-4."""
    X, y, qid = make(*shape, np.float64)
    loss = losses.get(name, k=K, clip=True)
    ranker = LinearRanker(loss, solver="bundle", l2=L2, tol=1e-4, max_iter=5000)
    start = time.process_time()
    ranker.fit(X, y, qid)
    taken = time.process_time() - start
    target = loss.prepare(y, Groups.from_qid(qid))
    values = loss.value_and_grad(X @ ranker.coef_, target)[0]
    value = np.nanmean(values) + L2 / 2 * ranker.coef_ @ ranker.coef_
    if abs(value - ranker.objective_) > 1e-9 * value:
        raise SystemExit(f"{name}: objective {value:.12g} against {ranker.objective_:.12g}")
    zero = np.nanmean(loss.value_and_grad(np.zeros(y.size), target)[0])
    found = {"gap": ranker.gap_ / ranker.objective_, "share": ranker.objective_ / zero}
    return Timing(name, taken, 0.0, 0.0, 0.0, {**found, "iterations": ranker.n_iter_})


def _compare(objective: LinearObjective, w: Any) -> None:
    """Stop unless the objective is what NumPy makes of the loss in float64, block by block."""
    starts = range(0, objective.features.shape[0], BLOCK)
    scores = np.concatenate([_wide(objective, i) @ w for i in starts])
    values, by_row = objective.loss.value_and_grad(scores, objective.target)
    grad = L2 * w
    for i in starts:
        grad += _wide(objective, i).T @ by_row[i : i + BLOCK]
    value, ours = objective.value_and_grad(w)
    wrong = abs(value - np.nanmean(values) - L2 / 2 * w @ w), float(np.abs(ours - grad).max())
    if max(wrong) > 1e-9:
        raise SystemExit(f"{objective.loss!r} differs from NumPy by {wrong}")


def _wide(objective: LinearObjective, start: int) -> Any:
    return objective.features[start : start + BLOCK].astype(np.float64)


def _fit(loss: Any, X: Any, y: Any, qid: Any) -> None:
    ranker = LinearRanker(loss, solver="subgradient", l2=L2, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(X, y, qid)


def _cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(argv: list[str] | None = None) -> None:
    """Print milliseconds, ratios and memory by surrogate, then the bundle's seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=SHAPE[0])
    parser.add_argument("--bundle-rows", type=int, default=BUNDLE_SHAPE[0])
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    shape = scaled(SHAPE, args.rows)
    small = scaled(BUNDLE_SHAPE, args.bundle_rows)
    if args.entry:
        part, _, name = args.entry.partition(":")
        with threadpool_limits(1):  # a waiting thread of BLAS would count as CPU time
            done = bundle(name, small) if part == "bundle" else iteration(name, shape)
        _harness.report(done)
        return
    _iterations(args.rows)
    _bundles(small)


def scaled(shape: tuple[int, int, int], rows: int) -> tuple[int, int, int]:
    """Return a shape of so many rows, whose groups are as large."""
    return rows, shape[1], max(1, rows * shape[2] // shape[0])


def _surrogates() -> list[str]:
    classes = losses.REGISTRY.items()
    return [name for name, cls in classes if "clip" in {f.name for f in dataclasses.fields(cls)}]


def _iterations(rows: int) -> None:
    out: list[tuple[Any, ...]] = []
    for name in _surrogates():
        done = _harness.in_process(
            "benchmarks.pap_training", f"iteration:{name}", ["--rows", str(rows)]
        )
        if isinstance(done, str):
            raise SystemExit(f"{name}: {done}")
        products = done.values["products"]
        ratio = done.cpu_s / products
        out.append((name, 1e3 * done.cpu_s, 1e3 * products, ratio, done.extra_mib))
    _harness.table(
        f"One full-batch iteration, {rows:,} x {SHAPE[1]} float32, k={K}, CPU",
        ("loss", "iteration ms", "X @ w and X.T @ g ms", "ratio", "fit's extra MiB"),
        out,
    )


def _bundles(shape: tuple[int, int, int]) -> None:
    out: list[tuple[Any, ...]] = []
    for name in _surrogates():
        if not losses.get(name, k=K).convex:
            continue
        done = _harness.in_process(
            "benchmarks.pap_training", f"bundle:{name}", [f"--bundle-rows={shape[0]}"]
        )
        if isinstance(done, str):
            raise SystemExit(f"{name}: {done}")
        v = done.values
        out.append((name, done.cpu_s, int(v["iterations"]), f"{v['gap']:.1e}", v["share"]))
    n, d, groups = shape
    _harness.table(
        f"Bundle solver to a relative gap of 1e-4, {n:,} x {d} in {groups} groups, l2={L2:g}",
        ("loss", "CPU s", "iterations", "gap", "of the objective at 0"),
        out,
    )


if __name__ == "__main__":
    main()
