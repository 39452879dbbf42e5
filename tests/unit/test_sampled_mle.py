"""Likelihood estimators: what they are on cases that can be worked out, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from podium.errors import ArgumentError, ConvergenceWarning, PodiumWarning
from podium.sampled import (
    MLE,
    WMLE,
    Design,
    RankDistribution,
    SampledRanks,
    likelihood_gap,
    maximum_likelihood,
)
from podium.sampled.estimators import mle as newton
from podium.sampled.likelihood import likelihood

ONE_EACH = SampledRanks([1, 2], 1, 3)  # chances of rank 1: 1, 1/2, 0


def test_mle_step_of_one_negative_is_worked_out() -> None:
    """From 1/3 each both outcomes have 1/2: a rank gains (1 - t) + t = 1, so that none moves."""
    assert MLE(n_steps=5).fit(ONE_EACH).probabilities == pytest.approx([1 / 3, 1 / 3, 1 / 3])


def test_mle_step_weighs_ranks_by_how_well_they_explain() -> None:
    first = SampledRanks([1, 1], 1, 3)
    assert MLE(n_steps=1).fit(first).probabilities == pytest.approx([2 / 3, 1 / 3, 0])
    assert MLE(n_steps=2).fit(first).probabilities == pytest.approx([4 / 5, 1 / 5, 0])


def test_maximum_of_one_user_is_the_likeliest_rank() -> None:
    """r - 1 of n above: theta = (r - 1) / n is the rank 1 + (N - 1) theta."""
    for sampled, rank in ((1, 1), (4, 31), (11, 101)):
        found = maximum_likelihood(SampledRanks([sampled], 10, 101))
        assert found.ranks.tolist() == [rank]
        assert found.masses.tolist() == [1.0]
        chance = Design(10, 101).probabilities([rank])[0, sampled - 1]
        assert found.log_likelihood == pytest.approx(np.log(chance))


def test_likelihood_gap_is_infinite_where_an_observation_is_impossible() -> None:
    assert likelihood_gap(ONE_EACH, RankDistribution([1.0, 0.0, 0.0])) == np.inf


def test_mle_says_when_it_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "_MOST_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps at a gap of"):
        MLE(n_steps=None).fit(SampledRanks([1, 1, 2, 6, 9], 10, 60))


def test_wmle_is_the_likelihood_of_reweighted_users() -> None:
    """Weights 1 and 1/2 of ranks 1 and 2: the same as twice as many users of rank 1."""
    with pytest.warns(PodiumWarning, match="gives users with small sampled ranks larger weights"):
        found = WMLE(weight="ap", scale=1.0).fit(SampledRanks([1, 2], 9, 50))
    assert found.probabilities == pytest.approx(
        MLE().fit(SampledRanks([1, 1, 2], 9, 50)).probabilities
    )


def test_wmle_takes_the_papers_weights_and_a_callers() -> None:
    ranks = np.array([1.0, 20.0])
    assert WMLE().weights(ranks) == pytest.approx([1 / np.log2(1.1), 1 / np.log2(3.0)])
    assert WMLE(weight="ap", scale=10.0).weights(ranks) == pytest.approx([10.0, 0.5])
    assert WMLE(weight=np.exp, scale=20.0).weights(ranks) == pytest.approx(np.exp([0.05, 1.0]))
    constant = WMLE(weight=np.ones_like)
    observed = SampledRanks([1, 2, 5], 9, 50)
    with pytest.warns(PodiumWarning):
        found = constant.fit(observed)
    assert found.probabilities == pytest.approx(MLE().fit(observed).probabilities)


def test_wmle_refuses_weights_that_are_none() -> None:
    for bad, message in ((np.zeros_like, "got 0 for all"), (np.negative, "must be >= 0")):
        with pytest.warns(PodiumWarning), pytest.raises(ArgumentError, match=message):
            WMLE(weight=bad).fit(ONE_EACH)


def test_mle_reads_catalogues_of_different_sizes() -> None:
    ranks = SampledRanks([1, 2, 3, 1], 5, [40, 50, 45, 50])
    assert MLE().fit(ranks).n_items == 50
    assert maximum_likelihood(ranks).gap <= 1e-8
    rows = likelihood(ranks).chances(np.array([41.0]))[0]
    first = likelihood(ranks).parts[0]
    assert first[0].n_items == 40
    assert rows[0] == 0
