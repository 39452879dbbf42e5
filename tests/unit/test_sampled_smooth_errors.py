"""Standard errors of the smooth estimator against simulations: dependent targets, full samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.sampled import SampledRanks, Smooth, compare, evaluate, simulate_ranks
from podium.sampled.estimators.smooth import _draw_users
from podium.sampled.estimators.smooth.cells import Cells, n_observed
from podium.sampled.likelihood import likelihood

N_ITEMS, N_NEGATIVES, N_USERS = 600, 49, 150


def law(n_items: int, shift: float) -> NDArray[np.float64]:
    """Cumulative chances of a shifted power law of the rank."""
    weights = (np.arange(1.0, n_items + 1) + shift) ** -1.2
    return np.cumsum(weights / weights.sum())


def targets(shift: float, alike: bool, n_each: int, seed: int) -> SampledRanks:
    """Sampled ranks of several targets a user: of one exact rank for all, or independent."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(N_USERS), n_each)
    place = rng.random(N_USERS)[user] if alike else rng.random(user.size)
    exact = np.minimum(np.searchsorted(law(N_ITEMS, shift), place), N_ITEMS - 1) + 1
    return simulate_ranks(exact, N_ITEMS, N_NEGATIVES, user=user, seed=seed)


@pytest.mark.long
@pytest.mark.parametrize(("n_each", "alike"), [(1, False), (8, False), (8, True)])
def test_errors_are_what_users_and_draws_let_estimates_vary(n_each: int, alike: bool) -> None:
    """At least the deviation over simulations, and less than twice: priors leave more open."""
    found: list[list[float]] = []
    for seed in range(25):
        a, b = targets(2.0, alike, n_each, seed), targets(5.0, alike, n_each, 1000 + seed)
        one = evaluate(a, "recall@10", bounds=False).summary("recall@10")
        both = compare({"a": a, "b": b}, "recall@10", bounds=False).summary("recall@10")
        found.append([one.mean, one.std_error, both.difference, both.std_error])
    mean, error, gain, error_of_gain = np.array(found).T
    assert 0.85 < error.mean() / mean.std(ddof=1) < 2
    assert 0.85 < error_of_gain.mean() / gain.std(ddof=1) < 2


def test_draws_are_of_finitely_many_users() -> None:
    """About as many draws have nobody at rank 1 as the binomial distribution of users gives."""
    shares = np.diff(law(1000, 2.0), prepend=0.0)
    drawn = _draw_users(np.tile(shares, (2000, 1)), np.ones(1000), 10.0, np.random.default_rng(0))
    assert drawn.sum(axis=1) == pytest.approx(np.ones(2000))
    with_nobody = float((drawn[:, 0] == 0).mean())
    assert with_nobody == pytest.approx((1 - shares[0]) ** 10, rel=0.15)


def test_targets_that_are_alike_count_as_one() -> None:
    ranks = targets(2.0, alike=False, n_each=1, seed=0).ranks
    once = Smooth().posterior(SampledRanks(ranks, N_NEGATIVES, N_ITEMS))
    user = np.repeat(np.arange(N_USERS), 3)
    thrice = Smooth().posterior(SampledRanks(np.repeat(ranks, 3), N_NEGATIVES, N_ITEMS, user=user))
    assert thrice.expect("recall@10") == pytest.approx(once.expect("recall@10"))
    assert thrice.std_error("recall@10") == pytest.approx(once.std_error("recall@10"))


@pytest.mark.parametrize(
    ("ranks", "user", "expected"),
    [
        ([1, 4, 4, 1], None, 4),
        ([1, 4, 4, 1], [1, 1, 2, 2], 4),
        ([1, 1, 4, 4], [1, 1, 2, 2], 2),
        ([1, 8, 4, 2], [1, 1, 2, 2], 4),
        ([1, 2, 4, 2], [1, 1, 1, 2], 1 / (3 * (1 / 6) ** 2 + (1 / 2) ** 2)),
        ([3, 3, 3, 3], [1, 1, 2, 2], 2),
        ([1, 5, 9, 2], [1, 1, 1, 1], 1),
    ],
)
def test_correlation_within_users_decides_what_their_targets_count(
    ranks: list[int], user: list[int] | None, expected: float
) -> None:
    assert n_observed(SampledRanks(ranks, 9, 60, user=user)) == pytest.approx(expected)


def test_outcomes_that_nobody_had_are_put_together_with_their_neighbours() -> None:
    ranks = SampledRanks([1, 2, 40, 2], 99, 1000)
    cells = Cells.of(1000, 99)
    seen, unseen, designs = cells.outcomes(likelihood(ranks))
    assert designs.tolist() == [0] * (seen.shape[1] + unseen.shape[1])
    assert seen.shape[1] == 3
    assert 30 < unseen.shape[1] < 2 * np.pi * np.sqrt(99) + 3
    assert seen.sum(axis=1) + unseen.sum(axis=1) == pytest.approx(np.ones(cells.sizes.size))
    all_seen = cells.outcomes(likelihood(SampledRanks(np.arange(1, 101), 99, 1000)))
    assert all_seen[1].shape == (cells.sizes.size, 0)


@pytest.mark.parametrize("n_items", [300, 1000])
@pytest.mark.parametrize("missing", [0.1, 3, 2, 1])
def test_nearly_full_samples_give_nearly_exact_measures(n_items: int, missing: float) -> None:
    """The error is that of users: the measure of theirs is known to a part of it."""
    n_negatives = n_items - (int(missing * n_items) if missing < 1 else int(missing))
    rng = np.random.default_rng(0)
    exact = np.searchsorted(law(n_items, 2.0), rng.random(800)) + 1
    ranks = simulate_ranks(exact, n_items, n_negatives, replacement=False, seed=1)
    found = evaluate(ranks, ["recall@10", "recall@100"], bounds=False)
    for measure, k in (("recall@10", 10), ("recall@100", 100)):
        truth = float(np.mean(exact <= k))
        of_users = np.sqrt(truth * (1 - truth) / 800)
        one = found.summary(measure)
        assert one.mean == pytest.approx(truth, abs=of_users / 2)
        assert 0.8 * of_users < one.std_error < 1.1 * of_users


@pytest.mark.parametrize(
    ("history", "options", "expected"),
    [
        (None, {}, None),
        ([5, 60, 5, 60], {}, "read"),
        ([5, 60, 5, 60], {"estimator": "bv"}, "not read"),
        ([0, 0, 0, 0], {}, "not read"),
        ([7, 7, 7, 7], {}, "not read"),
    ],
)
def test_record_says_whether_history_is_in_the_estimate(
    history: list[int] | None, options: dict[str, Any], expected: str | None
) -> None:
    drawn = [2, 9, 1, 4] * 10
    plain = SampledRanks(drawn, 19, 200)
    told = SampledRanks(drawn, 19, 200, history=None if history is None else history * 10)
    found = evaluate(told, "recall@10", bounds=False, **options)
    assert found.conventions["history"] == expected
    same = evaluate(plain, "recall@10", bounds=False, **options).means
    assert (found.means == same) == (expected != "read")


def test_history_of_full_samples_is_not_read() -> None:
    ranks = SampledRanks([1, 3, 9], 9, 10, replacement=False, history=[0, 3, 5])
    assert evaluate(ranks, "recall@3", bounds=False).conventions["history"] == "not read"
