"""Scans of users with several targets: users weigh the same, and targets are not independent."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.sampled import ScannedRanks, evaluate

N_LISTED, N_DRAWN, N_ITEMS, K = 20, 20, 500, 10


def _strata(
    n_targets: NDArray[np.int64], in_list: NDArray[np.float64], seed: int
) -> tuple[ScannedRanks, float]:
    """Return strata of users with numbers of targets, and the exact recall at K.

    `in_list` is the share of the items above a user's targets that the proxy lists.
    """
    rng, owner = np.random.default_rng(seed), np.repeat(np.arange(n_targets.size), n_targets)
    above = np.minimum(rng.geometric(0.06, owner.size) - 1, N_ITEMS - 1)
    listed = np.minimum(rng.binomial(above, in_list[owner]), N_LISTED)
    rest = above - listed
    drawn = rng.hypergeometric(rest, N_ITEMS - 1 - N_LISTED - rest, N_DRAWN)
    sizes = np.full((2, owner.size), [[N_LISTED], [N_DRAWN]])
    ranks = ScannedRanks(listed, sizes[0], drawn, sizes[1], N_ITEMS, k=K, user=owner)
    return ranks, float(ranks.means_of_users((above < K).astype(float)).mean())


def _repeated(ranks: ScannedRanks, times: int) -> ScannedRanks:
    """Return each target several times, with the same draws and the same user."""
    columns = (ranks.above_listed, ranks.n_listed, ranks.above_drawn, ranks.n_drawn, ranks.n_items)
    counts, user = [np.tile(column, times) for column in columns], np.tile(ranks.user, times)
    return ScannedRanks(*counts, k=ranks.k, user=user)


def test_users_with_many_targets_do_not_decide_the_estimate() -> None:
    sizes = np.repeat([2, 40], [900, 100])  # the proxy misses what the heavy users like
    distances: list[float] = []
    for seed in range(10):
        ranks, exact = _strata(sizes, np.where(sizes > 2, 0.1, 0.9), seed)
        found = evaluate(ranks, "recall@10").summary("recall@10")
        distances.append((found.mean - exact) / found.std_error)
    assert abs(np.mean(distances)) < 0.7


def test_targets_that_share_their_draws_add_no_information() -> None:
    ranks, _ = _strata(np.ones(800, np.int64), np.full(800, 0.5), 1)
    once, twice, often = (
        evaluate(_repeated(ranks, times), "recall@10").summary("recall@10") for times in (1, 2, 10)
    )
    assert often.mean == pytest.approx(twice.mean, rel=1e-2)
    assert often.std_error == pytest.approx(twice.std_error, rel=2e-2)
    assert often.std_error == pytest.approx(once.std_error, rel=0.1)
