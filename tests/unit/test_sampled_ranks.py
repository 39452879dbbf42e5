"""SampledRanks, Design and RankDistribution: conventions and every error."""

from __future__ import annotations

import numpy as np
import pytest
from tests.raised import raises

from podium.errors import ArgumentError
from podium.sampled import RankDistribution, SampledRanks, simulate_ranks


def test_users_count_once_whatever_their_targets() -> None:
    ranks = SampledRanks([1, 2, 4], 3, 10, user=["b", "a", "b"])
    assert ranks.n_users == 2
    assert ranks.weights.tolist() == [1 / 4, 1 / 2, 1 / 4]
    assert ranks.owner.tolist() == [1, 0, 1]
    assert ranks.counts.tolist() == [1 / 2, 1, 0, 1 / 2]


def test_columns_are_those_given_whatever_becomes_of_the_arrays() -> None:
    ranks, sizes, user, history = (np.array(each) for each in ([1, 2], [4, 5], [7, 8], [3, 0]))
    found = SampledRanks(ranks, sizes, sizes + 4, user=user, history=history)
    for column in (ranks, sizes, user, history):
        column[:] = 1
    assert (found.n_users, found.n_rows) == (2, 2)
    assert found.user is not None
    assert found.history is not None
    columns = found.ranks, np.asarray(found.n_negatives), found.user, found.history
    assert [column.tolist() for column in columns] == [[1, 2], [4, 5], [7, 8], [3, 0]]


def test_designs_are_told_apart_and_keep_their_rows() -> None:
    ranks = SampledRanks([1, 3, 2, 1], [2, 2, 5, 2], [9, 9, 9, 8])
    found = [(d.n_negatives, d.n_items, rows.tolist()) for d, rows in ranks.design_rows]
    assert found == [(2, 8, [3]), (2, 9, [0, 1]), (5, 9, [2])]
    assert [counts.tolist() for _, counts in ranks.designs] == [
        [1, 0, 0],
        [1, 0, 1],
        [0, 1, 0, 0, 0, 0],
    ]
    assert ranks.most_items == 9
    with pytest.raises(ArgumentError, match="ranks come from 3 designs"):
        ranks.counts  # noqa: B018


def test_growing_samples_have_an_outcome_for_each_rank_and_size() -> None:
    ranks = SampledRanks([1, 3, 2, 2], [6, 2, 4, 6], 10, stages=(2, 4, 6))
    assert ranks.outcomes.tolist() == [0, 2, 3, 5]
    design = ranks.design
    assert design.sizes.tolist() == [6, 2, 2, 4, 4, 6, 6]
    assert design.above.tolist() == [0, 1, 2, 1, 2, 1, 2]
    np.testing.assert_allclose(design.probabilities().sum(axis=1), 1.0)


def test_distribution_of_half_ranks_counts_both_neighbours() -> None:
    found = RankDistribution.of_ranks([1.5, 3.0], 4)
    assert found.probabilities.tolist() == [1 / 4, 1 / 4, 1 / 2, 0]
    assert found.cdf.tolist() == [1 / 4, 1 / 2, 1, 1]
    weighted = RankDistribution.of_ranks([1, 2], 4, weights=[3, 1])
    assert weighted.probabilities.tolist() == [3 / 4, 1 / 4, 0, 0]
    with raises(ArgumentError, "n_items"):
        RankDistribution.of_ranks([5], 4)


def test_simulated_full_sample_is_the_rank_itself() -> None:
    exact = np.arange(1, 21)
    assert simulate_ranks(exact, 20, 19, replacement=False).ranks.tolist() == exact.tolist()
    grown = simulate_ranks(exact, 20, (3, 7, 19), replacement=False, seed=5)
    assert set(np.unique(grown.n_negatives)) == {3, 7, 19}
    assert grown.ranks[0] == 1
    with raises(ArgumentError, "n_items"):
        simulate_ranks([21], 20, 5)
