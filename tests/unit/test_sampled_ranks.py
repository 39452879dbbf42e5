"""SampledRanks, Design and RankDistribution: conventions and every error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.raised import raises

from podium import catalogue
from podium.errors import ArgumentError
from podium.evaluation import evaluate
from podium.sampled import Design, RankDistribution, SampledRanks, simulate_ranks


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


def test_history_is_kept_as_whole_numbers_and_shown() -> None:
    ranks = SampledRanks([1, 3], 3, [10, 20], history=[0.0, 19.0])
    assert ranks.history is not None
    assert (ranks.history.dtype, ranks.history.tolist()) == (np.int64, [0, 19])
    assert repr(ranks).endswith("n_items=10 .. 20, replacement=True, history=0 .. 19)")
    assert SampledRanks([1, 3], 3, 10).history is None


def test_whole_floats_are_ranks() -> None:
    assert SampledRanks(np.array([1.0, 3.0]), 3, 10).ranks.dtype == np.int64


def test_texts_say_what_they_hold() -> None:
    assert repr(SampledRanks([1, 2], [3, 4], 10)) == (
        "SampledRanks(2 ranks of 2 users, n_negatives=3 .. 4, n_items=10, replacement=True)"
    )
    assert repr(RankDistribution([1.5, -0.5])) == "RankDistribution(n_items=2, not proper)"


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 0], 5, 9), {}, "must lie from 1 to n_negatives + 1 = 6, got 0 at row 1 (1 such"),
        (([1, 7], 5, 9), {"user": ["a", "u7"]}, "got 7 at row 1 (user 'u7')"),
        (([1, 4], [5, 2], 9), {}, "must lie from 1 to n_negatives + 1 = 3, got 4 at row 1"),
        (([1, 2], 5, 9), {"history": [1]}, "history must have one number for each of the 2 ranks"),
        (
            ([1, 2], 5, 9),
            {"history": [1, -2]},
            "history must lie from 0 to n_items - 1 = 8, got -2",
        ),
        (([1, 2], 5, [9, 7]), {"history": [8, 7]}, "to n_items - 1 = 6, got 7 at row 1"),
        (([1, 2], 5, 9), {"history": [1, 2.5]}, "history must be whole numbers, got 2.5 at row 1"),
        (([1, 2], 5, 9), {"history": 3}, "history must have one dimension"),
        (([], 5, 9), {}, "ranks must hold at least one rank, got none"),
        (([1.5], 5, 9), {}, "ranks must be whole numbers, got 1.5 at row 0"),
        (([np.nan], 5, 9), {}, "ranks must be whole numbers, got nan at row 0"),
        (([1, 2.0**64], 5, 9), {}, "ranks must be whole numbers below 2 ** 53, got 1.84467e+19"),
        (([1, 2**63 + 5], 5, 9), {}, "ranks must be whole numbers below 2 ** 53, got 9.22337e+18"),
        (([1], 5, 2**62), {}, "n_items must be at most 100,000,000, because arrays over all"),
        (([[1]], 5, 9), {}, "ranks must have one dimension"),
        (([1], 9, 9), {}, "n_negatives must be below n_items, got 9 of 9 items"),
        (([1, 1], 5, [9, 4]), {}, "n_negatives must be below n_items, got 5 of 4 items at row 1"),
        (([1], 0, 9), {}, "n_negatives must be an integer >= 1"),
        (([1, 1], [2, 0], 9), {}, "n_negatives must be >= 1, got 0 at row 1"),
        (([1, 1], [2], 9), {}, "n_negatives must be one number or one for each of the 2 ranks"),
        (([1, 1], 2, [9, 9, 9]), {}, "n_items must be one number or one for each of the 2 ranks"),
        (([1], 2, 9), {"user": [1, 2]}, "user must have one label for each of the 1 ranks, got 2"),
        (([1], 2, 9), {"replacement": "no"}, "replacement must be True or False"),
        (([1], 4, 9), {"stages": (4, 2)}, "stages must increase"),
        (([1], 4, 9), {"stages": 4}, "stages must be a sequence of sizes"),
        (([1], 2, 9), {"user": [np.nan]}, "user must hold integers or strings, got nan at row 0"),
        (([1], 2, 9), {"user": [None]}, "user must hold integers or strings, got other objects"),
        (([1], 2, 9), {"row_weights": [0]}, "row_weights must hold a weight above 0"),
        (([1], 2, 9), {"stages": (2, 4)}, "stages (2, 4) do not allow rank 1 among 2"),
        (([2], 3, 9), {"stages": (2, 4)}, "stages (2, 4) do not allow rank 2 among 3"),
        (([4], 4, 9), {"stages": (2, 4)}, "stages (2, 4) do not allow rank 4 among 4"),
    ],
)
def test_bad_ranks_are_refused_with_the_reason(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        SampledRanks(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((9, 9), "n_negatives must be below n_items, got 9 of 9 items"),
        ((3, 9, True, (2, 4)), "stages must end in n_negatives = 3, got 4"),
        ((3, 9, 1), "replacement must be True or False"),
    ],
)
def test_bad_design_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Design(*arguments)


def test_blocks_of_chances_are_bounded_and_complete() -> None:
    design = Design(100, 50_000)
    parts = [(part, block.nbytes) for part, block in design.blocks()]
    assert max(nbytes for _, nbytes in parts) <= 2**23
    assert [part.start for part, _ in parts[1:]] == [part.stop for part, _ in parts[:-1]]
    assert parts[-1][0].stop == 50_000


def test_chances_hold_in_a_catalogue_of_a_million() -> None:
    design = Design(100, 1_000_000, replacement=False)
    found = design.probabilities([1, 2, 500_000, 1_000_000])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-10)
    assert found[0, 0] == found[3, 100] == 1.0
    assert found[1, 1] == pytest.approx(100 / 999_999, rel=1e-9)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 0.4], "probabilities must sum to 1, got 0.9"),
        ([np.nan, 1.0], "probabilities has 1 non-finite value"),
    ],
)
def test_bad_distribution_is_refused(values: list[float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        RankDistribution(values)


def test_distribution_of_half_ranks_counts_both_neighbours() -> None:
    found = RankDistribution.of_ranks([1.5, 3.0], 4)
    assert found.probabilities.tolist() == [1 / 4, 1 / 4, 1 / 2, 0]
    assert found.cdf.tolist() == [1 / 4, 1 / 2, 1, 1]
    with raises(ArgumentError, "n_items"):
        RankDistribution.of_ranks([5], 4)


@pytest.mark.parametrize(
    ("metric", "k", "message"),
    [
        ("ndgc@10", None, "measure 'ndgc' is not known. Did you mean 'ndcg'"),
        ("ndcg@10", 5, "k is given twice"),
        ("recall", 0, "k must be an integer >= 1"),
        ("auc@10", None, "auc@10 cannot be estimated from sampled ranks: its value is undefined"),
        ("rank_auc@0", None, "k must be an integer >= 1"),
    ],
)
def test_bad_measure_is_refused(metric: str, k: int | None, message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        RankDistribution([0.5, 0.5]).expect(metric, k)


def test_expectation_is_the_evaluation_of_whole_rankings() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, 30))
    truth = csr_array((np.ones(50), (np.arange(50), rng.integers(0, 30, 50))), shape=(50, 30))
    measures = ["recall@5", "precision@5", "ndcg@10", "ap@10", "rr", "hit_rate@3", "auc", "pap@4"]
    whole = evaluate(catalogue.rank_all(scores, truth), measures)
    found = RankDistribution.of_ranks(catalogue.target_ranks(scores, truth), 30)
    for measure in measures:
        assert found.expect(measure) == pytest.approx(whole.summary(measure).mean, rel=1e-12)


def test_recall_of_several_targets_is_that_of_whole_rankings() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(40, 25))
    truth = csr_array((rng.random((40, 25)) < 0.1).astype(float))
    owner = np.repeat(np.arange(40), np.diff(truth.indptr))
    exact = catalogue.target_ranks(scores, truth)
    whole = SampledRanks(exact, 24, 25, replacement=False, user=owner)
    found = RankDistribution.of_ranks(exact, 25, weights=whole.weights)
    evaluated = evaluate(catalogue.rank_all(scores, truth), "recall@5").summary("recall@5")
    assert evaluated.n_undefined == 40 - whole.n_users > 0
    assert found.expect("recall@5") == pytest.approx(evaluated.mean, rel=1e-12)


def test_simulated_full_sample_is_the_rank_itself() -> None:
    exact = np.arange(1, 21)
    assert simulate_ranks(exact, 20, 19, replacement=False).ranks.tolist() == exact.tolist()
    grown = simulate_ranks(exact, 20, (3, 7, 19), replacement=False, seed=5)
    assert set(np.unique(grown.n_negatives)) == {3, 7, 19}
    assert grown.ranks[0] == 1
    with raises(ArgumentError, "n_items"):
        simulate_ranks([21], 20, 5)
