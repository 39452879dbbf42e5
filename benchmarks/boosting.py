"""What podium's objective and metric cost inside a LightGBM fit, by loss and size of data."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np

from benchmarks import _harness
from podium import losses
from podium.rankers.boosting import lightgbm_metric, lightgbm_objective

N_TREES = 60
# Rows, features, groups: MovieLens as the pAp@k paper prepares it, and ten times as many rows.
SHAPES = {"movielens": (41_700, 90, 638), "large": (417_000, 90, 2_500)}
MOST = 0.15  # of the fit's CPU seconds that the objective may take


@dataclass
class Timed:
    """A callback and the CPU seconds that its calls took; LightGBM's deep copy is itself."""

    call: Any
    cpu_s: float = 0.0

    def __call__(self, *args: Any) -> Any:
        start = time.thread_time()
        result = self.call(*args)
        self.cpu_s += time.thread_time() - start
        return result

    def __deepcopy__(self, memo: Any) -> Timed:
        return self


def problem(n: int, d: int, n_groups: int, seed: int) -> tuple[Any, Any, Any]:
    """Return features, labels of which 37 % are positive, and unequal sizes of groups."""
    rng = np.random.default_rng(seed)
    share = rng.lognormal(0.0, 0.9, n_groups)
    sizes = np.maximum((share / share.sum() * n).astype(int), 12)
    X = rng.standard_normal((int(sizes.sum()), d), dtype=np.float32)
    utility = X[:, 0] * X[:, 1] + X[:, 2] + 2.0 * rng.standard_normal(len(X))
    return X, (utility > np.quantile(utility, 0.63)).astype(float), sizes


def shares(loss: str, train: lgb.Dataset, valid: lgb.Dataset, threads: int) -> tuple[Any, ...]:
    """Fit once and return CPU seconds, and the callbacks' share of them."""
    objective, metric = Timed(lightgbm_objective(loss)), Timed(lightgbm_metric("pap@10"))
    params = {"objective": objective, "num_threads": threads, "verbosity": -1, "num_leaves": 31}
    start = time.process_time()
    lgb.train(params, train, N_TREES, valid_sets=[valid], feval=metric)
    total = time.process_time() - start
    each = 1000 / N_TREES
    return total, objective.cpu_s * each, objective.cpu_s / total, metric.cpu_s * each


def main(argv: list[str] | None = None) -> None:
    """Print, by shape and loss, what a fit costs and how much of it is podium's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--losses", nargs="+", choices=losses.REGISTRY, default=losses.REGISTRY)
    options = parser.parse_args(argv)
    for shape in options.shapes:
        X, y, sizes = problem(*SHAPES[shape], seed=0)
        train = lgb.Dataset(X, y, group=sizes, params={"verbosity": -1}).construct()
        V, v, valid_sizes = problem(SHAPES[shape][0] // 3, *SHAPES[shape][1:], seed=1)
        valid = lgb.Dataset(V, v, group=valid_sizes, reference=train).construct()
        rows = []
        for name in options.losses:
            has_cutoff = "k" in losses.REGISTRY[name].__dataclass_fields__
            loss = f"{name}@10" if has_cutoff else name
            shares(loss, train, valid, options.threads)  # compiles
            total, each, share, metric = shares(loss, train, valid, options.threads)
            verdict = "" if share <= MOST else f"above {MOST:.0%}"
            rows.append((loss, total, each, f"{share:.1%}", metric, verdict))
        title = f"{shape}: {len(X):,} rows, {sizes.size} groups, {N_TREES} trees, CPU"
        columns = ("loss", "fit, s", "objective, ms", "of the fit", "pap@10, ms", "")
        _harness.table(title, columns, rows)


if __name__ == "__main__":
    main()
