"""podium's choice of a recommender, compared with the best of 50 draws of each of five models.

The data are the parts that `podium split` wrote (`--parts FOLDER`), or synthetic interactions. All
models are measured on the validation pairs that `podium.tuning.search("auto", ...)` selects. The
best draw of each is fitted again to the whole training part, and measured once on the test part:
among all items that a user does not have, for users and items of the training part. Each runs on
one thread. Differences are paired by user.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix

from benchmarks import _harness
from benchmarks.factorization import make_interactions
from podium import tuning
from podium.catalogue.lists import measured
from podium.data.interactions import opened
from podium.metrics import Measure, parse
from podium.recommenders import EASE, Factorization, Popularity
from podium.tuning import Integers, LogUniform, Uniform
from podium.tuning.candidates import candidates
from podium.tuning.of_events import divided
from podium.tuning.of_pairs import known_pairs
from podium.types import PerGroup

SMALL = ("--draws=2", "--users=100", "--items=60", "--budget=5", "--only", "EASE")
AUTO = "podium, auto"
USERS = 500  # whose scores are in memory at a time

Scores = Callable[[Any], Any]
"""Returns scores of users, or a pair of factors, as `measured` reads them."""


@dataclass(frozen=True)
class Task:
    """The pairs to learn from, and those of the test part, of the same users and items."""

    events: Any
    pairs: csr_matrix
    test: csr_matrix
    measure: Measure


def ease(pairs: csr_matrix, options: dict[str, Any]) -> Scores:
    """Return the scores of EASE."""
    return EASE(**options, precision="single").fit(pairs).as_scores


def factorization(pairs: csr_matrix, options: dict[str, Any]) -> Scores:
    """Return the scores of podium's factorization."""
    return Factorization(**options).fit(pairs).as_scores


def als(pairs: csr_matrix, options: dict[str, Any]) -> Scores:
    """Return the scores of implicit's ALS."""
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(**options, num_threads=1, random_state=0)
    model.fit(pairs, show_progress=False)
    return lambda users: (model.user_factors[users], model.item_factors)


def ials(pairs: csr_matrix, options: dict[str, Any]) -> Scores:
    """Return the scores of irspack's iALS."""
    from irspack import IALSRecommender

    model = IALSRecommender(pairs, **options, n_threads=1).learn()
    return lambda users: (model.get_user_embedding()[users], model.get_item_embedding())


def rp3beta(pairs: csr_matrix, options: dict[str, Any]) -> Scores:
    """Return the scores of irspack's RP3beta."""
    from irspack import RP3betaRecommender

    weights = RP3betaRecommender(pairs, **options, n_threads=1).learn().W
    return lambda users: (pairs[users] @ weights).toarray()


FACTORS = [32, 64, 128, 256]
PEERS: dict[str, tuple[Any, Any]] = {
    "EASE": (ease, {"l2": LogUniform(10, 10_000)}),
    "podium, factorization": (factorization, tuning.default_grid(Factorization())),
    "implicit, ALS": (
        als,
        {
            "factors": FACTORS,
            "regularization": LogUniform(0.001, 10),
            "alpha": LogUniform(0.3, 100),
            "iterations": [10, 15, 30],
        },
    ),
    "irspack, iALS": (
        ials,
        {
            "n_components": FACTORS,
            "alpha0": LogUniform(0.003, 1),
            "reg": LogUniform(0.0001, 0.1),
        },
    ),
    "irspack, RP3beta": (
        rp3beta,
        {
            "alpha": LogUniform(0.2, 2),
            "beta": Uniform(0.0, 1.2),
            "top_k": Integers(10, 1000),
            "normalize_weight": [False, True],
        },
    ),
}


def on_users(scores: Scores, users: Any, truth: Any, seen: Any, measure: Measure) -> PerGroup:
    """Return the measure of each user."""
    places = range(0, users.size, USERS)
    rows = [slice(first, first + USERS) for first in places]
    return np.concatenate([measured(scores(users[r]), truth[r], seen[r], measure) for r in rows])


def on_test(scores: Scores, task: Task) -> PerGroup:
    """Return the measure of each user of the test part."""
    users = np.flatnonzero(np.diff(task.test.indptr))
    return on_users(scores, users, task.test[users], task.pairs[users], task.measure)


def by_auto(task: Task, args: argparse.Namespace) -> tuple[Scores, str]:
    """Return podium's choice, and its text."""
    found = tuning.search("auto", task.events, measure=task.measure, budget=args.budget)
    return found.estimator.as_scores, found.best_params["model"]


def by_draws(name: str, task: Task, args: argparse.Namespace) -> tuple[Scores, str]:
    """Return the best of the draws of a model, fitted to all pairs."""
    fitted, space = PEERS[name]
    parts = divided(task.events, None, None, 0.1, 0, None)
    valid, train = known_pairs(parts), csr_matrix(parts.train)
    draws = candidates(space, args.draws, 0)

    def mean(options: dict[str, Any]) -> float:
        scores = fitted(train, options)
        return float(np.nanmean(on_users(scores, *valid, task.measure)))

    best = max(draws, key=mean)
    return fitted(task.pairs, best), str(best)


def tasks(args: argparse.Namespace) -> Task:
    """Return the task of the parts of a split, or of synthetic interactions."""
    measure = parse(args.measure)
    if args.parts is None:
        made = make_interactions(args.users, args.items, 30 * args.users)
        return Task(made.train, csr_matrix(made.train), csr_matrix(made.test), measure)
    events = opened(pl.read_parquet(args.parts / "train.parquet"))
    reader = Popularity().fit(events)
    known, _ = opened(pl.read_parquet(args.parts / "test.parquet")).known_to(events)
    test = reader.pairs_like(known, "test", every_row=True)
    return Task(events, csr_matrix(reader.user_items_), csr_matrix(test), measure)


def main(argv: list[str] | None = None) -> None:
    """Print the mean of each model on the test part, its difference from auto, and its time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=Path, help="a folder that `podium split` wrote")
    parser.add_argument("--measure", default="ndcg@20")
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--budget", type=float, default=300.0, help="CPU seconds of auto")
    parser.add_argument("--users", type=int, default=3_000)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--only", nargs="+", help="the beginnings of the names of models")
    args = parser.parse_args(argv)
    task = tasks(args)
    rows = list(_rows(task, args))
    _harness.table(
        f"{args.measure} of {np.count_nonzero(np.diff(task.test.indptr)):,} users on the test part",
        ("model", "mean", "% of auto", "minus auto", "± s.e.", "CPU s"),
        rows,
    )


def _rows(task: Task, args: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    methods: dict[str, Any] = {AUTO: by_auto}
    for name in PEERS:
        methods[name] = lambda task, args, name=name: by_draws(name, task, args)
    auto = np.empty(0)
    for name, method in methods.items():
        if args.only and not name.startswith((AUTO, *args.only)):
            continue
        start = time.process_time()
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # irspack draws bars
                scores, text = method(task, args)
        except ImportError as error:
            print(f"left out: {name}: {error}")
            continue
        seconds = time.process_time() - start
        own = on_test(scores, task)
        auto = auto if auto.size else own
        gap = (own - auto)[~np.isnan(own)]
        error = gap.std(ddof=1) / np.sqrt(gap.size)
        print(f"{name}: {np.nanmean(own):.4f}, {seconds:.0f} CPU s, {text}", flush=True)
        percent = 100 * np.nanmean(own) / np.nanmean(auto)
        mean = f"{np.nanmean(own):.4f}"
        yield name, mean, f"{percent:.1f}", f"{gap.mean():+.4f}", f"{error:.4f}", f"{seconds:.0f}"


if __name__ == "__main__":
    main()
