"""SampledRanks, and estimators on them: names, values that can be worked out, refusals."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.raised import raises

from podium.errors import ArgumentError, PodiumWarning
from podium.sampled import (
    BV,
    CLS,
    MLE,
    WMLE,
    RankDistribution,
    SampledRanks,
    get,
    parse,
    simulate_ranks,
)
from podium.sampled.estimators.naive import Naive, UnbiasedRank

RANKS = SampledRanks([1, 1, 2, 5], 9, 100)


def test_texts_read_back_with_their_parameters() -> None:
    for written in ("bv(gamma=0.01)", "cls", "mes(eta=0.1)"):
        assert str(get(written)) == written
        assert parse(str(get(written))) == get(written)
    assert parse("bv( gamma = 0.5 )") == BV(0.5)
    assert get("bv", gamma=0.5) == get("bv(gamma=0.5)") == get(BV(0.5))


def test_naive_is_the_measure_among_the_sampled_items() -> None:
    assert Naive().estimate(RANKS, "recall@1") == 2 / 4
    assert Naive().estimate(RANKS, "rr") == (1 + 1 + 1 / 2 + 1 / 5) / 4
    assert Naive().estimate(RANKS, "auc") == (9 + 9 + 8 + 5) / 9 / 4


def test_numbers_of_numpy_have_a_text() -> None:
    for value in (get("mle", n_steps=np.int64(5)), get("mes", eta=np.float32(0.5))):
        assert get(str(value)) == value


def test_unbiased_rank_puts_first_places_first() -> None:
    places = [1, 1, 1 + 99 * 1 // 9, 1 + 99 * 4 // 9]
    assert UnbiasedRank().estimate(RANKS, "rr") == pytest.approx(sum(1 / p for p in places) / 4)
    found = UnbiasedRank().fit(RANKS).probabilities
    assert np.flatnonzero(found).tolist() == sorted({p - 1 for p in places})


def test_many_items_are_never_whole_in_memory() -> None:
    ranks = SampledRanks([1, 1, 2, 30], 100, 200_000)
    tracemalloc.start()
    BV().fit(ranks)
    CLS().estimate(ranks, "recall@10")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * 2**20  # the matrix of chances would take 154 MiB


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


def test_distribution_of_half_ranks_counts_both_neighbours() -> None:
    found = RankDistribution.of_ranks([1.5, 3.0], 4)
    assert found.probabilities.tolist() == [1 / 4, 1 / 4, 1 / 2, 0]
    assert found.cdf.tolist() == [1 / 4, 1 / 2, 1, 1]
    with raises(ArgumentError, "n_items"):
        RankDistribution.of_ranks([5], 4)


def test_simulated_full_sample_is_the_rank_itself() -> None:
    exact = np.arange(1, 21)
    assert simulate_ranks(exact, 20, 19, replacement=False).ranks.tolist() == exact.tolist()
    with raises(ArgumentError, "n_items"):
        simulate_ranks([21], 20, 5)


def test_wmle_is_the_likelihood_of_reweighted_users() -> None:
    weights = 1 / np.log2([1.1, 1.1, 3.0])
    with pytest.warns(PodiumWarning, match="gives users with small sampled ranks larger weights"):
        found = WMLE().fit(SampledRanks([1, 1, 20], 29, 50))
    expected = MLE().fit(SampledRanks([1, 1, 20], 29, 50, row_weights=weights))
    assert found.probabilities == pytest.approx(expected.probabilities)
    sizes, items = [29, 9, 29], [50, 40, 50]
    with pytest.warns(PodiumWarning):
        found = WMLE().fit(SampledRanks([1, 1, 20], sizes, items))
    expected = MLE().fit(SampledRanks([1, 1, 20], sizes, items, row_weights=weights))
    assert found.probabilities == pytest.approx(expected.probabilities)
