"""Shared samples with listed items, against all samples of small catalogues and exact rankings."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import betabinom

import podium
from podium.sampled import SharedRanks, draw_candidates, evaluate, sample_ranks
from podium.sampled.ranks import ScannedRanks
from podium.sampled.scanning.measured import ScanFit

N_USERS, N_ITEMS = 30, 24
RNG = np.random.default_rng(5)
SCORES = RNG.normal(size=(N_USERS, N_ITEMS))
PROXY = SCORES + RNG.normal(size=SCORES.shape)
IS_TARGET = RNG.random(SCORES.shape) < 0.12
TARGETS: Any = csr_array(IS_TARGET.astype(float))
MEASURES = ("pap@3", "ndcg@3", "recall@3", "precision@4", "ap@4", "rr@4", "hit_rate@2", "f1@4")


def exact(measure: str) -> float:
    """Measure the whole rankings of users with a target by podium.measure."""
    users = np.flatnonzero(IS_TARGET.any(axis=1))
    qid = np.repeat(users, N_ITEMS)
    relevance = IS_TARGET[users].ravel().astype(float)
    ranking = podium.Ranking.from_scores(SCORES[users].ravel(), relevance, qid=qid)
    return float(podium.metrics.parse(measure)(ranking).mean())


def sample(
    certain: int,
    uniform: int,
    seed: int = 0,
    scores: Any = SCORES,
    targets: Any = TARGETS,
    proxy: Any = PROXY,
) -> SharedRanks:
    drawn = draw_candidates(targets, proxy=proxy, certain=certain, uniform=uniform, seed=seed)
    return drawn.ranks(scores[drawn.row, drawn.item], shared=True)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("method", ["auto", "naive"])
@pytest.mark.parametrize(("certain", "uniform"), [(4, N_ITEMS), (N_ITEMS, 1), (N_ITEMS - 1, 1)])
def test_sample_of_all_items_gives_the_exact_value(
    measure: str, method: str, certain: int, uniform: int
) -> None:
    shared = sample(certain, uniform)
    assert shared.is_exact
    found = evaluate(shared, measure, estimator=method).summary(measure)
    assert found.mean == pytest.approx(exact(measure), abs=1e-12)
    assert found.bounds == pytest.approx((found.mean, found.mean), abs=1e-12)
    assert (found.biased, found.interval_of, found.error_from) == (False, "exact", "users")


def test_counts_are_those_of_the_lists_and_of_all_samples() -> None:
    certain, uniform = 5, 3
    shared = sample(certain, uniform)
    row = 0
    for user in np.flatnonzero(IS_TARGET.any(axis=1)).tolist():
        own = np.flatnonzero(IS_TARGET[user])
        order = [i for i in np.argsort(-PROXY[user]) if i not in own]
        listed, rest = SCORES[user][order[:certain]], SCORES[user][order[certain:]]
        possible = [
            tuple((np.array(drawn)[:, None] > SCORES[user][own]).sum(axis=0))
            for drawn in itertools.combinations(rest, uniform)
        ]
        rows = slice(row, row + own.size)
        np.testing.assert_array_equal(
            shared.ranks.above_listed[rows], (listed[:, None] > SCORES[user][own]).sum(axis=0)
        )
        assert tuple(shared.ranks.above_drawn[rows]) in possible
        row += own.size
    assert row == shared.n_rows


def test_draws_of_a_user_are_uniform() -> None:
    """Enumerate the draws of two from four unlisted items: their frequencies over seeds."""
    lone: Any = csr_array(([1.0, 1.0], ([0, 0], [0, 5])), shape=(1, 8))
    scores = np.array([[2.5, 7.0, 6.0, 1.0, 5.0, 4.5, 4.0, 3.0]])
    proxy = np.array([9.0, 8.0, 7.0, 1.0, 1.0, 9.0, 1.0, 1.0])  # lists items 1 and 2
    n_seeds, rest = 600, scores[0][[3, 4, 6, 7]]
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(n_seeds):
        shared = sample(2, 2, seed, scores, lone, proxy)
        assert shared.ranks.above_listed.tolist() == [2, 2]
        key = tuple(shared.ranks.above_drawn.tolist())
        counts[key] = counts.get(key, 0) + 1
    expected: dict[tuple[int, ...], float] = {}
    for drawn in itertools.combinations(rest, 2):
        key = tuple((np.array(drawn)[:, None] > scores[0][[0, 5]]).sum(axis=0).tolist())
        expected[key] = expected.get(key, 0.0) + n_seeds / 6
    assert set(counts) == set(expected)
    assert sum((counts[k] - e) ** 2 / e for k, e in expected.items()) < 15


@pytest.mark.parametrize("measure", ["pap@3", "ndcg@3", "recall@3", "ap@3"])
def test_estimate_is_the_expectation_given_all_counts(measure: str) -> None:
    """The rest of each target is enumerated, with the fitted distribution of its group."""
    shared = sample(5, 6)
    parsed = podium.metrics.parse(measure)
    fits, expected = ScanFit(shared, is_naive=False), 0.0
    for group in shared.parts(parsed):
        fit = fits._fit(group)  # pyright: ignore[reportPrivateUsage]
        for row in group.rows.tolist():
            place = int(shared.position[row]), int(shared.n_pos[row])
            n_others = int(shared.n_candidates[row]) - 1
            term = podium.metrics.rank_weights(parsed, N_ITEMS, position=place[0], n_pos=place[1])
            padded = np.append(term, np.zeros(N_ITEMS))
            c, b = int(shared.ranks.above_listed[row]), int(shared.ranks.above_drawn[row])
            n_rest = n_others - 11
            alpha, beta = (float(s[0]) for s in fit.shapes(np.array([c])))
            rest = betabinom(n_rest, alpha + b, beta + 6 - b)
            expected += sum(padded[c + b + j] * rest.pmf(j) for j in range(n_rest + 1))
    found = evaluate(shared, measure, bounds=False).means[measure]
    assert found == pytest.approx(expected / shared.n_users, abs=1e-9)


def test_without_listed_items_the_design_is_uniform() -> None:
    wanted = sample_ranks(SCORES, TARGETS, 6, replacement=False, seed=3, shared=True)
    drawn = draw_candidates(TARGETS, uniform=6, seed=3)
    found = drawn.ranks(SCORES[drawn.row, drawn.item], shared=True)
    for shared in (wanted, found):
        assert not shared.has_strata
        assert shared.n_items.tolist() == wanted.n_items.tolist()
        assert shared.item.tolist() == wanted.item.tolist()


def test_users_with_one_target_have_the_estimates_of_scans() -> None:
    rng = np.random.default_rng(0)
    listed, above = rng.integers(0, 20, 400), rng.binomial(60, 0.003, 400)
    single = ScannedRanks(listed, [40] * 400, above, [60] * 400, 2000, k=10)
    shared = SharedRanks(single)
    for name in ("recall@10", "ndcg@10", "pap@10"):
        wanted = evaluate(single, name).summary(name)
        found = evaluate(shared, name, level=0.975).summary(name)
        assert found.mean == pytest.approx(wanted.mean, rel=1e-9)
        assert found.bounds == pytest.approx(wanted.bounds, rel=1e-9)
        assert found.std_error == pytest.approx(wanted.std_error, rel=0.2)


def test_bounds_hold_for_all_draws_of_small_catalogues() -> None:
    """The lower bound fails in fewer than 5 % of samples, and the upper one never."""
    names = ["recall@3", "pap@3"]
    truth = {name: exact(name) for name in names}
    n_low = 0
    for seed in range(40):
        shared = sample(4, 8, seed)
        found = evaluate(shared, names)
        for name in names:
            bounds = found.summary(name).bounds
            assert bounds is not None
            assert truth[name] <= bounds.high + 1e-12
            n_low += truth[name] < bounds.low
    assert n_low <= 4
