"""Intervals of the default estimator: inside the bounds, in the order of measures, and honest."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import beta, norm

from podium.sampled import (
    RankDistribution,
    SampledRanks,
    Smooth,
    evaluate,
    identification_bounds,
    simulate_ranks,
)

RISING = ("r_precision", "recall@3", "recall@10", "recall@30", "recall@1000")  # each is worth more
ORDERED = (("ap@10", "ndcg@10"), ("ndcg@10", "recall@10"), ("ap@10", "ap"), ("ndcg@10", "ndcg"))


def lognormal(n_items: int, median: float, deviation: float, seed: int) -> np.ndarray:
    """Exact ranks of 1,000 users."""
    places = np.arange(1, n_items + 1) + 0.5
    law = norm.cdf((np.log(places) - np.log(median)) / deviation)
    drawn = np.random.default_rng(seed).random(1000) * law[-1]
    return np.minimum(np.searchsorted(law, drawn), n_items - 1) + 1


def steep(n_items: int, seed: int) -> SampledRanks:
    return simulate_ranks(lognormal(n_items, n_items / 20, 1.5, seed), n_items, 99, seed=seed)


@pytest.mark.long
@pytest.mark.parametrize("n_items", [3706, 100_000])
def test_intervals_lie_inside_the_bounds_in_the_order_of_measures(n_items: int) -> None:
    names = dict.fromkeys([*RISING, *(name for pair in ORDERED for name in pair)])
    found = evaluate(steep(n_items, seed=0), list(names))
    for name in names:
        one = found.summary(name)
        assert one.bounds is not None
        assert one.bounds.low <= one.interval.low <= one.mean
        assert one.mean <= one.interval.high <= one.bounds.high
    for less, more in (*pairwise(RISING), *ORDERED):
        first, second = found.summary(less), found.summary(more)
        assert first.mean <= second.mean
        assert first.interval.low <= second.interval.low + 1e-6
        assert first.interval.high <= second.interval.high + 1e-6


def test_result_says_where_the_prior_decides() -> None:
    """Of a hundred sampled items among 100,000, the first ten are never one by chance."""
    open_ = evaluate(steep(100_000, seed=0), "recall@10").summary("recall@10")
    bounds = identification_bounds(steep(100_000, seed=0), "recall@10")
    assert open_.prior_decides
    assert open_.interval == pytest.approx(bounds)
    assert open_.std_error < (bounds.high - bounds.low) / 3.9
    assert open_.as_json()["prior_decides"] is True
    known = evaluate(steep(1000, seed=0), "recall@100").summary("recall@100")
    assert not known.prior_decides


@pytest.mark.long
@pytest.mark.parametrize(("n_items", "n_users"), [(3706, 6040), (20_000, 5000)])
def test_intervals_hold_a_peak_at_rank_1(n_items: int, n_users: int) -> None:
    """Half of the users' top ten is at rank 1, which no sample shows."""
    law, held = beta.cdf(np.arange(1, n_items + 1) / n_items, 0.3, 4), np.zeros(2)
    for seed in range(20):
        exact = np.searchsorted(law, np.random.default_rng(seed).random(n_users)) + 1
        truth = RankDistribution.of_ranks(exact, n_items)
        found = Smooth().posterior(simulate_ranks(exact, n_items, 99, seed=seed))
        for i, name in enumerate(("ndcg@10", "ap@10")):
            low, high = found.interval(name)
            held[i] += low <= truth.expect(name) <= high
    assert (held >= 17).all()  # of 20


def test_intervals_without_bounds_are_those_with_them_where_the_prior_decides() -> None:
    ranks = steep(100_000, seed=1)
    alone, both = (evaluate(ranks, "ndcg@10", bounds=each) for each in (False, True))
    assert alone.summary("ndcg@10").interval == both.summary("ndcg@10").interval
