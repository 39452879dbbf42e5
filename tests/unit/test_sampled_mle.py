"""Likelihood estimators: what they are on cases that can be worked out, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from podium.errors import ArgumentError, ConvergenceWarning, PodiumWarning
from podium.sampled import (
    MLE,
    WMLE,
    RankDistribution,
    SampledRanks,
    likelihood_gap,
)
from podium.sampled.estimators import mle as newton

ONE_EACH = SampledRanks([1, 2], 1, 3)  # chances of rank 1: 1, 1/2, 0


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
