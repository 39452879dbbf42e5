"""podium's choice of a ranker, compared with LightGBM, XGBoost and CatBoost with 30 draws each.

The data are five folds of OHSUMED or of LightGBM's example (`--collection NAME --data FOLDER`), or
of synthetic lists like those of LETOR. Each fold has three parts for training, one for validation
and one for test. Every library grows up to 300 trees with its own ranking objective, and stops
early by ndcg(gain=exp2)@10 on the validation queries, by which the best of the draws is chosen.
`auto` is `podium.tuning.search("auto", ...)` with the same measure on the same queries. Each runs
on one thread. A query without relevant rows counts 0. Differences are paired by query.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _harness
from podium import tuning
from podium.metrics import parse
from podium.rankers.boosting import LightGBMRanker, XGBoostRanker
from podium.ranking import Ranking
from podium.tuning import Integers, LogUniform, Uniform
from podium.tuning.candidates import candidates
from podium_studies.rows import Parts, Rows
from podium_studies.study import DataSet
from podium_studies.xia2009.top_losses import READERS

MEASURE = "ndcg(gain=exp2)@10"
SMALL = ("--draws=2", "--trees=5", "--queries=40", "--folds=1")
AUTO = "podium, auto"
TREES = {"learning_rate": LogUniform(0.01, 0.3), "feature_share": Uniform(0.3, 1.0)}
PEERS: dict[str, tuple[Any, Any]] = {
    "LightGBM, lambdarank": (
        LightGBMRanker("lambdarank", n_threads=1),
        TREES
        | {
            "n_leaves": Integers(4, 63),
            "min_rows_in_leaf": Integers(5, 200),
            "l2": LogUniform(0.01, 100),
        },
    ),
    "XGBoost, rank:ndcg": (
        XGBoostRanker("rank:ndcg", n_threads=1),
        TREES
        | {
            "n_leaves": Integers(4, 63),
            "min_hessian_in_leaf": LogUniform(0.01, 30),
            "l2": LogUniform(0.01, 100),
        },
    ),
}
YETI = {
    "learning_rate": LogUniform(0.01, 0.3),
    "rsm": Uniform(0.3, 1.0),
    "depth": Integers(3, 8),
    "l2_leaf_reg": LogUniform(1, 100),
}
"""The names and ranges of CatBoost's parameters."""

Scorer = Callable[[Any], Any]  # returns the scores of features


def by_auto(fold: Parts, args: argparse.Namespace) -> tuple[Scorer, str]:
    """Return podium's choice, and its text."""
    del args
    train, valid = ((rows.X, rows.y, rows.qid) for rows in (fold.train, fold.valid))
    found = tuning.search("auto", *train, eval_set=valid, measure=MEASURE)
    return found.estimator.predict, found.best_params["model"]


def by_trees(name: str, fold: Parts, args: argparse.Namespace) -> tuple[Scorer, str]:
    """Return the best of the draws of LightGBM or XGBoost."""
    model, grid = PEERS[name]
    train, valid = ((rows.X, rows.y, rows.qid) for rows in (fold.train, fold.valid))
    found = tuning.search(
        model.set_params(n_trees=args.trees),
        *train,
        grid=grid,
        n_trials=args.draws,
        eval_set=valid,
        measure=MEASURE,
    )
    return found.estimator.predict, ""


def by_catboost(fold: Parts, args: argparse.Namespace) -> tuple[Scorer, str]:
    """Return the best of the draws of CatBoost's YetiRank."""
    import catboost

    train, valid = (
        catboost.Pool(rows.X, rows.y, group_id=rows.qid) for rows in (fold.train, fold.valid)
    )
    fixed = {"loss_function": "YetiRank", "eval_metric": "NDCG:top=10;type=Exp", "thread_count": 1}
    fixed |= {"iterations": args.trees, "od_wait": 50, "allow_writing_files": False}

    def fitted(options: dict[str, Any]) -> Any:
        model = catboost.CatBoost({**fixed, **options, "random_seed": 0, "verbose": False})
        return model.fit(train, eval_set=valid, use_best_model=True)

    models = [fitted(options) for options in candidates(YETI, args.draws, 0)]
    best = max(models, key=lambda model: values(model.predict, fold.valid).mean())
    return best.predict, ""


def values(score: Scorer, rows: Rows) -> Any:
    """Return the measure of each query; 0 without a relevant row."""
    ranking = Ranking.from_scores(score(rows.X), rows.y, rows.qid)
    return np.nan_to_num(parse(MEASURE)(ranking))


def main(argv: list[str] | None = None) -> None:
    """Print the mean of each method, its difference from podium's choice, and its time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", choices=READERS, default="letor-like")
    parser.add_argument("--data", type=Path, default=Path(), help="the folder of the collection")
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only", nargs="+", help="the beginnings of the names of methods")
    args = parser.parse_args(argv)
    options = {"within": "querylevelnorm", "seed": 0, "queries": args.queries}
    source = DataSet("", "", "", "")
    collection = READERS[args.collection](args.data, source, options)
    methods: dict[str, Any] = {AUTO: by_auto}
    for name in PEERS:
        methods[name] = lambda fold, args, name=name: by_trees(name, fold, args)
    methods["CatBoost, YetiRank"] = by_catboost
    found: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for name, method in methods.items():
        if args.only and not name.startswith(tuple(args.only)):
            continue
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fits = [(method(fold, args), fold.test) for fold in collection[: args.folds]]
        except ImportError as error:
            print(f"left out: {name}: {error}")
            continue
        seconds[name] = time.process_time() - start
        found[name] = np.concatenate([values(score, test) for (score, _), test in fits])
        print(name, *[text for (_, text), _ in fits], sep="\n  ", flush=True)
    _harness.table(
        f"{MEASURE} on the test queries of {args.folds} folds, {args.draws} draws per library",
        ("method", "mean", "% of auto", "minus auto", "± s.e.", "CPU s"),
        [_row(name, found, seconds[name]) for name in found],
    )


def _row(name: str, found: dict[str, Any], seconds: float) -> tuple[Any, ...]:
    own, auto = found[name], found.get(AUTO, found[name])
    gap = own - auto
    mean, error = gap.mean(), gap.std(ddof=1) / np.sqrt(gap.size)
    percent = 100 * own.mean() / auto.mean()
    return (
        name,
        f"{own.mean():.4f}",
        f"{percent:.1f}",
        f"{mean:+.4f}",
        f"{error:.4f}",
        f"{seconds:.0f}",
    )


if __name__ == "__main__":
    main()
