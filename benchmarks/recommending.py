"""The best 10 unseen items of every user, compared with implicit with the same factors."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from benchmarks import _harness
from benchmarks._harness import Values

K = 10
FACTORS = 64
REPEATS = 7
SMALL = ("--items=300", "--users=50")
SIZES = {
    3_700: (6_000, 130),
    50_000: (2_000, 100),
}  # items: users, and mean draws of seen items per user

ItemsAndScores = tuple[NDArray[np.int64], NDArray[np.float32]]


@dataclass(frozen=True)
class Model:
    """Factors and biases as after a fit, and the pairs of users and seen items."""

    users: NDArray[np.float32]
    items: NDArray[np.float32]
    bias: NDArray[np.float32]
    seen: csr_array[Any]


def make_model(n_items: int, n_users: int, n_seen: int, seed: int = 0) -> Model:
    """Draw normal factors, log-normal activities of users, and popularity by a power law."""
    rng = np.random.default_rng(seed)
    scale = np.float32(FACTORS**-0.5)
    users = scale * rng.standard_normal((n_users, FACTORS), dtype=np.float32)
    items = scale * rng.standard_normal((n_items, FACTORS), dtype=np.float32)
    bias = scale * rng.standard_normal(n_items, dtype=np.float32)
    activity = rng.lognormal(np.log(n_seen) - 0.5, 1.0, n_users).astype(int)
    user = np.repeat(np.arange(n_users), np.clip(activity, 1, n_items // 3))
    weight = 1.0 / np.arange(1, n_items + 1) ** 0.8
    item = rng.choice(n_items, user.size, p=weight / weight.sum())
    ones = np.ones(user.size, np.float32)
    seen = csr_array((ones, (user, item)), shape=(n_users, n_items))
    seen.sum_duplicates()
    return Model(users, items, bias, seen)


def podium(model: Model) -> Callable[[], ItemsAndScores]:
    from podium.recommenders import Factorization
    from podium.recommenders._pairs import read

    recommender = Factorization(FACTORS)
    recommender.user_factors_, recommender.item_factors_ = model.users, model.items
    recommender.item_bias_ = model.bias
    recommender._hold_pairs(read(model.seen, "one"))
    return lambda: recommender.recommend(k=K)


def implicit(model: Model) -> Callable[[], ItemsAndScores]:
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    recommender = BayesianPersonalizedRanking(factors=FACTORS, num_threads=1)
    recommender.user_factors = np.column_stack([model.users, np.ones(len(model.users), np.float32)])
    recommender.item_factors = np.column_stack([model.items, model.bias])
    users, seen = np.arange(len(model.users)), csr_matrix(model.seen)
    return lambda: recommender.recommend(users, seen, N=K)


def products(model: Model) -> Callable[[], ItemsAndScores]:
    """Return a call that only multiplies, for 256 users at a time: a lower bound for both."""

    def call() -> ItemsAndScores:
        last = np.empty((0, 0), np.float32)
        for start in range(0, len(model.users), 256):
            last = model.users[start : start + 256] @ model.items.T
        return np.empty((0, 0), np.int64), last

    return call


ENTRIES = {"podium": podium, "implicit": implicit, "products alone": products}


def check_equal(model: Model) -> None:
    """Exit if podium's or implicit's items score lower than those of a float64 sort.

    The tolerance allows for exchanged items whose scores differ only in the last bits.
    """
    exact = model.users.astype(float) @ model.items.T.astype(float) + model.bias
    exact[model.seen.nonzero()] = -np.inf
    best = -np.sort(-exact, axis=1)[:, :K]
    for name in ("podium", "implicit"):
        try:
            items = ENTRIES[name](model)()[0]
        except ImportError:
            continue
        item_scores = np.take_along_axis(exact, np.asarray(items, np.int64), 1)
        if not np.allclose(item_scores, best, rtol=0, atol=1e-5):
            raise SystemExit(f"{name} does not return the best items")


def main(argv: list[str] | None = None) -> None:
    """Compare the results for some of the users, then time each entry in a separate process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--users", type=int)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    for n_items in args.items:
        n_users, n_seen = SIZES.get(n_items, (2_000, 100))
        n_users = args.users or n_users
        if args.entry:
            call = ENTRIES[args.entry](make_model(n_items, n_users, n_seen))
            timing = _harness.time_call(args.entry, lambda call=call: _values(call()), REPEATS)
            _harness.report(timing)
        else:
            check_equal(make_model(n_items, min(n_users, 300), n_seen))
            os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1")
            _compare(n_items, n_users)


def _values(results: ItemsAndScores) -> Values:
    return {"scores": float(results[1].sum(dtype=np.float64))}


def _compare(n_items: int, n_users: int) -> None:
    options = [f"--items={n_items}", f"--users={n_users}"]
    podium_s, rows = 0.0, []
    for name in ENTRIES:
        timing = _harness.in_process("benchmarks.recommending", name, options)
        if isinstance(timing, str):
            print(f"left out: {name}: {timing}")
            continue
        podium_s = podium_s or timing.cpu_s
        rows.append((name, timing.cpu_s, timing.cpu_s / podium_s, n_users / timing.cpu_s / 1e3))
    _harness.table(
        f"top {K} of {n_items:,} items for {n_users:,} users, seen items left out, {FACTORS} "
        "factors and a bias, one thread",
        ("entry", "CPU s", "x podium", "1000 users / CPU s"),
        rows,
    )


if __name__ == "__main__":
    main()
