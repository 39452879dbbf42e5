"""The cost of podium's objective and metric in a fit of LightGBM or XGBoost, by loss and size."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb

from benchmarks import _harness
from podium import losses
from podium.rankers.boosting import (
    lightgbm_metric,
    lightgbm_objective,
    xgboost_metric,
    xgboost_objective,
)

N_TREES = 60
# Rows, features and groups: MovieLens as prepared in the pAp@k paper, and ten times as many rows.
SHAPES = {"movielens": (41_700, 90, 638), "large": (417_000, 90, 2_500)}
SMALL = ("--rows=600", "--trees=2")
MAX_SHARE = 0.15  # the largest share of the fit's CPU seconds for the objective


@dataclass
class Timed:
    """A callback that sums the CPU seconds of its calls; its deep copy (by LightGBM) is itself."""

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
    """Return features, labels of which 37 % are positive, and unequal group sizes."""
    rng = np.random.default_rng(seed)
    share = rng.lognormal(0.0, 0.9, n_groups)
    sizes = np.maximum((share / share.sum() * n).astype(int), 12)
    X = rng.standard_normal((int(sizes.sum()), d), dtype=np.float32)
    utility = X[:, 0] * X[:, 1] + X[:, 2] + 2.0 * rng.standard_normal(len(X))
    return X, (utility > np.quantile(utility, 0.63)).astype(float), sizes


class LightGBM:
    """Fits of LightGBM on one data set, which is binned only once."""

    def __init__(self, shape: tuple[int, int, int], threads: int, n_trees: int) -> None:
        X, y, sizes = problem(*shape, seed=0)
        self.train = lgb.Dataset(X, y, group=sizes, params={"verbosity": -1}).construct()
        V, v, sizes = problem(shape[0] // 3, *shape[1:], seed=1)
        self.valid = lgb.Dataset(V, v, group=sizes, reference=self.train).construct()
        self.threads, self.n_trees = threads, n_trees

    def fit(self, loss: Any) -> tuple[Timed, Timed]:
        objective, metric = Timed(lightgbm_objective(loss)), Timed(lightgbm_metric("pap@10"))
        params = {"objective": objective, "num_threads": self.threads, "verbosity": -1}
        lgb.train(params, self.train, self.n_trees, valid_sets=[self.valid], feval=metric)
        return objective, metric


class XGBoost:
    """Fits of XGBoost on one data set, with trees of the same size."""

    def __init__(self, shape: tuple[int, int, int], threads: int, n_trees: int) -> None:
        X, y, sizes = problem(*shape, seed=0)
        self.train = xgb.QuantileDMatrix(X, y, group=sizes, nthread=threads)
        V, v, sizes = problem(shape[0] // 3, *shape[1:], seed=1)
        self.valid = xgb.QuantileDMatrix(V, v, group=sizes, ref=self.train, nthread=threads)
        self.threads, self.n_trees = threads, n_trees

    def fit(self, loss: Any) -> tuple[Timed, Timed]:
        objective, metric = Timed(xgboost_objective(loss)), Timed(xgboost_metric("pap@10"))
        params = {"nthread": self.threads, "grow_policy": "lossguide", "max_leaves": 31}
        xgb.train(
            {**params, "max_depth": 0, "base_score": 0.0, "disable_default_eval_metric": True},
            self.train,
            self.n_trees,
            obj=objective,
            custom_metric=metric,
            evals=[(self.valid, "valid")],
            verbose_eval=False,
        )
        return objective, metric


LIBRARIES = {"lightgbm": LightGBM, "xgboost": XGBoost}


def shares(library: Any, loss: Any) -> tuple[float, float, float, float]:
    """Fit once, and return the CPU seconds of the fit and of the callbacks."""
    start = time.process_time()
    objective, metric = library.fit(loss)
    total = time.process_time() - start
    ms_per_tree = 1000 / library.n_trees
    return total, objective.cpu_s * ms_per_tree, objective.cpu_s / total, metric.cpu_s * ms_per_tree


def loss_of(name: str) -> Any:
    """Return the loss, with cutoff 10 if it has a cutoff and that is feasible."""
    if name == "listnet-luce":  # its cost is n ** k
        return losses.get(name)
    has_cutoff = "k" in losses.REGISTRY[name].__dataclass_fields__
    return losses.get(f"{name}@10" if has_cutoff else name)


def main(argv: list[str] | None = None) -> None:
    """Print the cost of a fit and podium's share of it, by library, shape and loss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)  # others would wait in a busy loop
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--losses", nargs="+", choices=losses.REGISTRY, default=losses.REGISTRY)
    parser.add_argument("--rows", type=int, help="Number of rows. Default: those of the shapes.")
    parser.add_argument("--trees", type=int, default=N_TREES)
    options = parser.parse_args(argv)
    for name in options.libraries:
        for shape in options.shapes:
            n_rows, d, n_groups = SHAPES[shape]
            if options.rows:
                n_rows, n_groups = options.rows, max(1, n_groups * options.rows // n_rows)
            library = LIBRARIES[name]((n_rows, d, n_groups), options.threads, options.trees)
            rows = []
            for loss in options.losses:
                shares(library, loss_of(loss))  # to compile
                total, objective_ms, share, metric_ms = shares(library, loss_of(loss))
                verdict = "" if share <= MAX_SHARE else f"above {MAX_SHARE:.0%}"
                rows.append((loss, total, objective_ms, f"{share:.1%}", metric_ms, verdict))
            title = (
                f"{name}, {shape}: {n_rows:,} rows, {n_groups} groups, {options.trees} trees, CPU"
            )
            columns = ("loss", "fit, s", "objective, ms", "share of the fit", "pap@10, ms", "")
            _harness.table(title, columns, rows)


if __name__ == "__main__":
    main()
