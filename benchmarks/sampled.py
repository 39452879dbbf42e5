"""Likelihood estimators from sampled ranks, compared with equation 21 in NumPy over every rank.

The peer is the paper's expectation maximisation: each step is two products with the table of the
probabilities of all ranks. First both make the same number of steps, whose results are compared
before they are timed. `--coverage N` prints instead how often the default intervals contain the
exact mean, in N simulations of each of several designs.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import _harness

N_USERS, N_NEGATIVES = 6_040, 99
LARGE = 1_000_000
SMALL = (
    *("--items=200", "--large=1000", "--repeats=1"),
    *("--samples=1", "--sizes=5", "--users=1000"),
)
SETTINGS = ("mle", "wmle", "mes")


def draw_ranks(
    n_items: int, n_users: int = N_USERS, seed: int = 0, *, n_negatives: int = N_NEGATIVES
) -> Any:
    """Return sampled ranks; the users' exact ranks follow Beta(1.3, 20), as for a good model."""
    from podium.sampled import SampledRanks

    rng = np.random.default_rng(seed)
    above = rng.binomial(n_negatives, rng.beta(1.3, 20.0, n_users))
    return SampledRanks(above + 1, n_negatives, n_items)


def table_of(ranks: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the peer's table of probabilities, (n_items, n_outcomes), and the observed shares."""
    design, counts = ranks.designs[0]
    return design.probabilities(), counts / counts.sum()


def numpy_steps(table: np.ndarray, shares: np.ndarray, n_steps: int) -> np.ndarray:
    """Return the rank probabilities after steps of equation 21, vectorised."""
    probabilities = np.full(table.shape[0], 1.0 / table.shape[0])
    for _ in range(n_steps):
        probabilities = probabilities * (table @ (shares / (probabilities @ table)))
    return probabilities


def check_equal() -> None:
    """Exit if podium's steps and the peer's give different distributions."""
    from podium.sampled import MLE

    ranks = draw_ranks(3_706)
    table, shares = table_of(ranks)
    for n_steps in (1, 100):
        differences = np.abs(
            MLE(n_steps).fit(ranks).probabilities - numpy_steps(table, shares, n_steps)
        )
        if differences.sum() > 1e-7:
            raise SystemExit(
                f"podium and NumPy differ by {differences.sum():.1e} after {n_steps} steps"
            )


def time_entry(name: str, n_items: int, repeats: int) -> _harness.Timing:
    """Time one estimator, or the peer with or without the computation of its table."""
    ranks = draw_ranks(n_items)
    if name.startswith("numpy"):
        table, shares = table_of(ranks)

        def steps() -> _harness.Values:
            probabilities = table if "table ready" in name else table_of(ranks)[0]
            return {"recall@10": float(numpy_steps(probabilities, shares, 100)[:10].sum())}

        return _harness.time_call(name, steps, repeats)
    from podium.sampled import get

    warnings.simplefilter("ignore")  # wmle warns that it is biased
    estimator = get(name)
    return _harness.time_call(
        name, lambda: {"recall@10": estimator.fit(ranks).expect("recall@10")}, repeats
    )


def time_repeats(n_items: int, n_samples: int) -> list[tuple[str, float]]:
    """Return the CPU seconds of repeated estimates, by registered estimator."""
    from podium.sampled import REGISTRY, get

    samples = [draw_ranks(n_items, seed=seed) for seed in range(n_samples)]
    warnings.simplefilter("ignore")
    rows: list[tuple[str, float]] = []
    for name in sorted(REGISTRY):
        estimator = get(name)
        cpu, _ = _cpu(lambda e=estimator: [e.estimate(ranks, "recall@10") for ranks in samples])
        rows.append((name, cpu))
    return [*rows, ("all", sum(cpu for _, cpu in rows))]


def ranks_without_seen(n_sizes: int = 743, n_users: int = N_USERS, seed: int = 0) -> Any:
    """Return sampled ranks of users without their seen items: catalogues of `n_sizes` sizes."""
    from podium.sampled import SampledRanks

    rng = np.random.default_rng(seed)
    sizes = np.unique(np.geomspace(19, 2_314, 3 * n_sizes).astype(np.int64))[:n_sizes]
    items = 3_706 - rng.choice(sizes, n_users, p=(1 / sizes) / (1 / sizes).sum())
    exact = 1 + rng.binomial(items - 1, rng.beta(1.3, 20.0, n_users))
    return SampledRanks(
        1 + rng.hypergeometric(exact - 1, items - exact, N_NEGATIVES),
        N_NEGATIVES,
        items,
        replacement=False,
    )


def time_defaults(n_items: int, n_users: int, repeats: int) -> list[tuple[str, float]]:
    """Return the median CPU seconds of the default's fits, a bootstrap and bounds.

    The bootstrap makes 200 fits of `mle` to resamples of `n_users` users.
    """
    from podium.sampled import Smooth, evaluate, identification_bounds

    smooth, few, many = Smooth(), draw_ranks(n_items), draw_ranks(n_items, n_users)
    larger = draw_ranks(n_items, n_negatives=min(1_000, n_items - 1))
    without = ranks_without_seen()
    with_replacement = dataclasses.replace(without, replacement=True)
    calls: dict[str, Callable[[], Any]] = {
        f"smooth, {N_NEGATIVES} negatives": lambda: smooth.fit(few),
        "smooth, 1,000 negatives": lambda: smooth.fit(larger),
        f"bootstrap of {n_users:,} users": lambda: evaluate(
            many, "recall@10", estimator="mle", bounds=False
        ),
        "bounds, 743 sizes": lambda: identification_bounds(without, "recall@10"),
        "bounds, 743 sizes, replacement": lambda: identification_bounds(
            with_replacement, "recall@10"
        ),
    }
    return [
        (name, statistics.median(_cpu(call)[0] for _ in range(repeats)))
        for name, call in calls.items()
    ]


def time_user_catalogues(n_sizes: int) -> list[tuple[str, float]]:
    """Return the CPU seconds of one estimate and of the bounds, with catalogues of many sizes."""
    from podium.sampled import get, identification_bounds

    ranks = ranks_without_seen(n_sizes)
    rows: list[tuple[str, float]] = []
    for name in ("naive", "bv", "cls", "mle", "auto"):
        estimator = get(name)
        cpu, _ = _cpu(lambda e=estimator: e.estimate(ranks, "recall@10"))
        rows.append((name, cpu))
    cpu, _ = _cpu(lambda: identification_bounds(ranks, "recall@10"))
    return [*rows, ("bounds", cpu)]


def _rank_distributions() -> dict[str, tuple[int, int, np.ndarray]]:
    """Return designs by name: items, users, and the cumulative probabilities of the rank."""
    from scipy.stats import beta, norm

    def lognormal(n_items: int, median: float, deviation: float) -> np.ndarray:
        ranks = np.arange(1, n_items + 1) + 0.5
        return norm.cdf((np.log(ranks) - np.log(median)) / deviation)

    def power(n_items: int, shift: float, exponent: float) -> np.ndarray:
        return np.cumsum((np.arange(1.0, n_items + 1) + shift) ** -exponent)

    designs = {
        f"lognormal, N/20, 1.5, {n:,}": (n, 1_000, lognormal(n, n / 20, 1.5))
        for n in (3_706, 17_000, 100_000)
    }
    designs["lognormal, N/50, 2, 100,000"] = (100_000, 1_000, lognormal(100_000, 2_000, 2.0))
    for n, users in ((3_706, 6_040), (20_000, 5_000), (17_000, 1_000)):
        for shift, exponent in ((20, 1.0), (60, 1.2), (100, 1.5), (5, 0.6), (0, 0.5), (0, 0.9)):
            name = f"power law, {shift}, {exponent}, {n:,}, {users:,}"
            designs[name] = (n, users, power(n, shift, exponent))
        ranks = np.arange(1, n + 1) / n
        designs[f"Beta(.5, 2), {n:,}, {users:,}"] = (n, users, beta.cdf(ranks, 0.5, 2))
        designs[f"Beta(.3, 4), {n:,}, {users:,}"] = (n, users, beta.cdf(ranks, 0.3, 4))
        designs[f"lognormal, N/10, 1, {n:,}, {users:,}"] = (n, users, lognormal(n, n / 10, 1.0))
    return {name: (n, users, law / law[-1]) for name, (n, users, law) in designs.items()}


def coverage(repeats: int) -> list[tuple[Any, ...]]:
    """Return how often intervals contain the exact mean, and how often the prior decides them."""
    from podium.sampled import RankDistribution, evaluate, simulate_ranks

    rows: list[tuple[Any, ...]] = []
    names = ("recall@10", "ndcg@10")
    for label, (n_items, n_users, law) in _rank_distributions().items():
        is_covered, widths = np.zeros((repeats, 2)), np.zeros((repeats, 2))
        prior_decides = np.zeros(repeats)
        for seed in range(repeats):
            quantiles = np.random.default_rng(seed).random(n_users)
            exact = np.minimum(np.searchsorted(law, quantiles), n_items - 1) + 1
            ranks = simulate_ranks(exact, n_items, N_NEGATIVES, seed=seed)
            truth = RankDistribution.of_ranks(exact, n_items)
            result = evaluate(ranks, names, bounds=False)
            for i, name in enumerate(names):
                low, high = result.summary(name).interval
                is_covered[seed, i] = low <= truth.expect(name) <= high
                widths[seed, i] = high - low
            prior_decides[seed] = result.summary(names[0]).prior_decides
        rows.append(
            (label, *is_covered.mean(axis=0), *np.median(widths, axis=0), prior_decides.mean())
        )
    return rows


def _cpu(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    value = call()
    return time.process_time() - start, value


def main(argv: list[str] | None = None) -> None:
    """Compare values, then time steps, a large catalogue, repeats and many sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=3_706)
    parser.add_argument("--large", type=int, default=LARGE)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--samples", type=int, default=100, help="Number of samples per estimator.")
    parser.add_argument("--users", type=int, default=1_000_000, help="Users of the bootstrap.")
    parser.add_argument("--sizes", type=int, default=743, help="Number of catalogue sizes.")
    parser.add_argument("--coverage", type=int, metavar="N")
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        _harness.report(time_entry(args.entry, args.items, args.repeats))
        return
    if args.coverage:
        columns = ("ranks", "recall@10", "ndcg@10", "recall width", "ndcg width", "prior decides")
        _harness.table("Coverage of 95 % intervals", columns, coverage(args.coverage))
        return
    os.environ.update(OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMP_NUM_THREADS="1")
    check_equal()
    _compare(args.items, args.repeats, ("numpy", "numpy, table ready", *SETTINGS))
    _compare(args.large, 3, SETTINGS)
    _harness.table(
        f"{args.samples} repeats: {args.items:,} items",
        ("estimator", "CPU s"),
        time_repeats(args.items, args.samples),
    )
    _harness.table(
        f"Defaults: {args.items:,} items, {N_USERS:,} users",
        ("call", "CPU s"),
        time_defaults(args.items, args.users, args.repeats),
    )
    _harness.table(
        f"{N_USERS:,} users, seen items left out",
        ("estimator", "CPU s"),
        time_user_catalogues(args.sizes),
    )


def _compare(n_items: int, repeats: int, names: tuple[str, ...]) -> None:
    options = [f"--items={n_items}", f"--repeats={repeats}"]
    rows: list[tuple[Any, ...]] = []
    for name in names:
        timing = _harness.in_process("benchmarks.sampled", name, options)
        if isinstance(timing, str):
            print(f"left out: {name}: {timing}")
            continue
        rows.append((name, timing.cpu_s, timing.extra_mib, timing.values["recall@10"]))
    _harness.table(
        f"{n_items:,} items, {N_USERS:,} users, {N_NEGATIVES} negatives",
        ("entry", "CPU s", "extra MiB", "recall@10"),
        rows,
    )


if __name__ == "__main__":
    main()
