"""Laws of likelihood estimators and identification bounds for any sampled ranks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from podium.sampled import (
    MLE,
    Design,
    RankDistribution,
    SampledRanks,
    likelihood_gap,
    maximum_likelihood,
)
from podium.sampled.bounds import identification_bounds, population_bounds
from podium.sampled.estimators.mes import flattest
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
    values = em(likelihood(ranks), 60).log_likelihood
    assert values.shape == (60,)
    assert np.diff(values).min() >= -1e-9


@given(observed())
@LAW
def test_maximum_has_no_rank_that_gains(ranks: SampledRanks) -> None:
    maximum = maximum_likelihood(ranks)
    assert maximum.gap <= 1e-8
    distribution = RankDistribution(maximum.probabilities)
    assert likelihood_gap(ranks, distribution) == pytest.approx(maximum.gap, abs=1e-9)
    outcomes = likelihood(ranks)
    outcome_probabilities = maximum.masses @ outcomes.chances(maximum.ranks.astype(np.float64))
    gain = outcomes.slope(outcome_probabilities)
    assert gain.max() <= 1.0 + 1e-8
    # Every rank with mass has a gain of 1.
    assert maximum.masses @ gain[maximum.ranks - 1] == pytest.approx(1.0)


@given(observed())
@LAW
def test_no_steps_are_more_likely_than_the_maximum(ranks: SampledRanks) -> None:
    best = maximum_likelihood(ranks).log_likelihood
    assert em(likelihood(ranks), 200).log_likelihood[-1] <= best + 1e-8


@given(observed())
@LAW
def test_maximum_sits_at_few_places(ranks: SampledRanks) -> None:
    """By Lindsay's bound, at most (n_negatives + 2) / 2 ranks or pairs of neighbours have mass."""
    maximum, outcomes = maximum_likelihood(ranks, 1e-11), likelihood(ranks)
    outcome_probabilities = maximum.masses @ outcomes.chances(maximum.ranks.astype(np.float64))
    # Otherwise many distributions are equally likely.
    assume(np.abs(outcome_probabilities - outcomes.shares).max() > 1e-3)
    ranks_with_mass = maximum.ranks[maximum.masses > 1e-4]
    n_atoms = 1 + int((np.diff(ranks_with_mass) > 2).sum())
    assert n_atoms <= (np.max(ranks.n_negatives) + 2) / 2 + 1


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.sampled_from([1, 100, None]))
@LAW
def test_full_sample_gives_the_ranks(exact: list[int], n_steps: int | None) -> None:
    full_sample = SampledRanks(exact, 29, 30, replacement=False)
    expected = np.bincount(np.asarray(exact) - 1, minlength=30) / len(exact)
    assert MLE(n_steps=n_steps).fit(full_sample).probabilities == pytest.approx(expected, abs=1e-12)
    assert maximum_likelihood(full_sample).probabilities == pytest.approx(expected, abs=1e-7)


@given(observed(), st.sampled_from([0.001, 0.01, 1.0]))
@LAW
def test_mes_closes_its_duality_gap(ranks: SampledRanks, eta: float) -> None:
    result = flattest(likelihood(ranks), eta)
    assert result.probabilities.sum() == pytest.approx(1.0, abs=1e-9)
    assert result.probabilities.min() >= 0
    assert abs(result.gap) <= 1e-10 * max(1.0, eta)


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


@given(
    st.dictionaries(st.integers(1, 300), st.floats(0.05, 1.0), min_size=1, max_size=6),
    st.integers(1, 40),
    st.sampled_from(["recall@5", "ndcg@10", "rr", "rank_auc"]),
)
@settings(max_examples=settings().max_examples // 3)
def test_population_bounds_hold_the_truth(
    masses: dict[int, float], size: int, measure: str
) -> None:
    weights = np.zeros(300)
    for rank, mass in masses.items():
        weights[rank - 1] = mass
    truth = RankDistribution(weights / weights.sum())
    low, high = population_bounds(truth, measure, n_negatives=size)
    assert low - 1e-9 <= truth.expect(measure) <= high + 1e-9


def test_more_samples_never_leave_more_open() -> None:
    weights = np.arange(1.0, 201.0) ** -0.8
    truth = RankDistribution(weights / weights.sum())
    widths = [
        high - low
        for size in (1, 5, 20, 80)
        for low, high in [population_bounds(truth, "recall@10", n_negatives=size)]
    ]
    assert all(b < a for a, b in itertools.pairwise(widths))


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
