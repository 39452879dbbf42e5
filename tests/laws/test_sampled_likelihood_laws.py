"""Laws of likelihood estimators and identification bounds for any sampled ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.sampled import MLE, Design, RankDistribution, SampledRanks
from podium.sampled.bounds import identification_bounds
from podium.sampled.estimators.likeliest import flattest
from podium.sampled.likelihood import em, likelihood
from podium.sampled.sums import grid

LAW = settings(max_examples=settings().max_examples // 2)


@st.composite
def observed(draw: st.DrawFn, most_items: int = 3000) -> SampledRanks:
    """Draw sampled ranks, which need not be likely under any distribution."""
    n_negatives = draw(st.integers(1, 60))
    n_items = draw(st.integers(n_negatives + 1, most_items))
    sampled = draw(st.lists(st.integers(1, n_negatives + 1), min_size=1, max_size=60))
    return SampledRanks(sampled, n_negatives, n_items, replacement=draw(st.booleans()))


@given(observed())
@LAW
def test_likelihood_never_falls_over_steps(ranks: SampledRanks) -> None:
    outcomes = likelihood(ranks)
    chances = outcomes.chances(np.arange(1.0, outcomes.n_items + 1))
    values = [outcomes.shares @ np.log(em(outcomes, n) @ chances) for n in (1, 2, 5, 20, 60)]
    assert np.diff(values).min() >= -1e-6


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.sampled_from([1, 100]))
@LAW
def test_full_sample_gives_the_ranks(exact: list[int], n_steps: int) -> None:
    full_sample = SampledRanks(exact, 29, 30, replacement=False)
    expected = np.bincount(np.asarray(exact) - 1, minlength=30) / len(exact)
    assert MLE(n_steps=n_steps).fit(full_sample).probabilities == pytest.approx(expected, abs=1e-12)


@given(observed(), st.sampled_from([0.001, 0.01, 1.0]))
@LAW
def test_mes_gives_a_distribution(ranks: SampledRanks, eta: float) -> None:
    probabilities = flattest(likelihood(ranks), eta)
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-9)
    assert probabilities.min() >= 0


@given(st.integers(1, 20_000), st.integers(1, 200), st.integers(1, 300), st.integers(0, 100))
@LAW
def test_grid_weights_count_every_rank(n_items: int, size: int, factors: int, margin: int) -> None:
    nodes = grid(n_items, size, factors, margin)
    assert nodes.weights.sum() == pytest.approx(n_items)
    assert nodes.ranks.size <= n_items
    assert nodes.ranks.size == 1 or np.diff(nodes.ranks).min() > 0
    assert nodes.ranks.min() >= 1 - 1e-9
    assert nodes.ranks.max() <= n_items + 1e-9
    mean = nodes.weights @ nodes.ranks / n_items
    assert mean == pytest.approx((n_items + 1) / 2)
    line = nodes.interpolate(nodes.ranks)
    assert line == pytest.approx(np.arange(1.0, n_items + 1), abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("exact", [[1], [400], [3, 250], [1, 400]])
def test_bounds_hold_adversarial_truths(exact: list[int]) -> None:
    """The bounds hold for targets that all rank first, all last, or at two ranks."""
    rng, ranks = np.random.default_rng(0), np.tile(exact, 600 // len(exact))
    sampled = SampledRanks(1 + rng.binomial(50, (ranks - 1) / 399), 50, 400)
    truth = RankDistribution.of_ranks(ranks, 400)
    for measure in ("recall@10", "ndcg@10", "ap@10"):
        low, high = identification_bounds(sampled, measure)
        assert low <= truth.expect(measure) <= high
        assert high - low < 0.6
    wide = identification_bounds(sampled, "recall@10", confidence=0.999)
    narrow = identification_bounds(sampled, "recall@10", confidence=0.5)
    assert wide.low <= narrow.low <= narrow.high <= wide.high


@pytest.mark.long
def test_bounds_hold_the_truth_as_often_as_they_say() -> None:
    weights = np.arange(1.0, 201.0) ** -0.9
    truth = RankDistribution(weights / weights.sum())
    shares = truth.probabilities @ Design(30, 200).probabilities()
    rng, n_covered = np.random.default_rng(1), 0
    for _ in range(40):
        counts = rng.multinomial(500, shares / shares.sum())
        ranks = SampledRanks(np.repeat(np.arange(1, 32), counts), 30, 200)
        low, high = identification_bounds(ranks, "recall@10")
        n_covered += low <= truth.expect("recall@10") <= high
    assert n_covered >= 38
