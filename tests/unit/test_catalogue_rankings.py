"""Rankings and ranks of a catalogue: conventions and every error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array

from podium.catalogue import rank_all, rank_blocks, target_ranks
from podium.catalogue.source import Source
from podium.errors import ArgumentError, UnsettledError
from podium.evaluation import evaluate
from podium.metrics import pap

SCORES = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
TRUTH = csr_array([[0, 2, 0, 1], [1, 0, 0, 0]])
SEEN = csr_array([[1, 0, 0, 0], [0, 0, 1, 1]])


def test_depth_cuts_lists_and_keeps_the_counts() -> None:
    r = rank_all(SCORES, TRUTH, depth=1, min_relevance=2, low_grades="keep")
    assert r.relevance.tolist() == [0, 0]
    assert r.n_items.tolist() == [4, 4]
    assert r.ideal.tolist() == [2, 1, 1]
    assert r.n_pos.tolist() == [1, 0]
    assert not r.whole.any()


def test_list_that_is_too_short_for_pap_says_so() -> None:
    scores = [[5.0, 4.0, 3.0, 2.0, 1.0], [5.0, 4.0, 3.0, 2.0, 1.0]]
    truth = csr_array([[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]])
    assert pap(rank_all(scores, truth, depth=3), k=2).tolist() == [0, 1 / 2]
    with pytest.raises(UnsettledError, match="does not hold for 1 of 2 groups, first group 1"):
        pap(rank_all(scores, truth, depth=2), k=2)


def test_user_of_whom_all_is_excluded_has_an_empty_list() -> None:
    all_of_one = csr_array([[1, 1, 1, 1], [0, 0, 0, 0]])
    r = rank_all(SCORES, csr_array([[0, 0, 0, 0], [1, 0, 0, 0]]), exclude=all_of_one)
    assert r.groups.sizes.tolist() == r.n_items.tolist() == [0, 4]


def test_stored_zero_in_truth_is_not_relevant() -> None:
    truth = csr_array((np.array([0.0, 1.0]), ([0, 0], [0, 1])), shape=SCORES.shape)
    r = rank_all(SCORES, truth)
    assert r.n_relevant.tolist() == [1, 0]
    assert r.relevance[:4].tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("form", [csc_array, coo_array, csr_array])
def test_truth_of_any_sparse_format_is_read(form: Any) -> None:
    assert rank_all(SCORES, form(TRUTH)).relevance.tolist() == [0, 2, 0, 1, 0, 0, 0, 1]


def test_truth_with_unsorted_items_is_read_and_left_alone() -> None:
    truth = csr_array((np.array([1.0, 2.0, 1.0]), np.array([3, 1, 0]), np.array([0, 2, 3])),
                      shape=(2, 4))  # fmt: skip
    assert rank_all(SCORES, truth).relevance.tolist() == [0, 2, 0, 1, 0, 0, 0, 1]
    assert truth.indices.tolist() == [3, 1, 0]


def test_evaluation_of_a_stream_is_that_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((50, 30))
    truth = csr_array((rng.random((50, 30)) < 0.2).astype(float))
    measures = ["ndcg@5", "pap@3", "recall@10", "rr"]
    stream = evaluate(rank_blocks(scores, truth, depth=10, block_size=7), measures)
    assert stream.labels.tolist() == list(range(50))
    assert stream.means == evaluate(rank_all(scores, truth, depth=10), measures).means


def test_no_users_make_an_empty_ranking() -> None:
    r = rank_all(np.empty((0, 3)), csr_array((0, 3)))
    assert (r.n_groups, r.groups.n_rows) == (0, 0)


def test_random_ties_are_fair() -> None:
    n = 4000
    truth = csr_array(np.tile([0.0, 1.0, 0.0, 0.0], (n, 1)))
    found = target_ranks(np.zeros((n, 4)), truth, ties="random", seed=3)
    counts = np.bincount(found.astype(int), minlength=5)[1:]
    assert abs(counts - n / 4).max() < 5 * np.sqrt(n * (1 / 4) * (3 / 4))


def test_random_ties_follow_the_seed_and_not_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, truth = np.zeros((40, 9)), csr_array(np.eye(40, 9))
    first = target_ranks(scores, truth, ties="random", seed=1)
    monkeypatch.setattr(Source, "block_size", 7)
    assert first.tolist() == target_ranks(scores, truth, ties="random", seed=1).tolist()
    assert first.tolist() != target_ranks(scores, truth, ties="random", seed=2).tolist()


@pytest.mark.parametrize("call", [rank_all, target_ranks])
def test_truth_in_exclude_is_refused(call: Any) -> None:
    with pytest.raises(ArgumentError, match=r"1 of the pairs in t[a-z]+, first user 1 and item 2"):
        call(SCORES, csr_array([[0, 1, 0, 0], [0, 1, 1, 0]]), exclude=SEEN)


def test_dropped_overlap_is_neither_ranked_nor_relevant() -> None:
    truth = csr_array([[0, 1, 0, 0], [0, 1, 1, 0]])
    r = rank_all(SCORES, truth, exclude=SEEN, overlap="drop")
    assert r.relevance.tolist() == [1, 0, 0, 1, 0]
    assert r.n_pos.tolist() == [1, 1]
    assert truth.nnz == 3


def test_dropped_target_has_no_rank() -> None:
    found = target_ranks(
        SCORES, csr_array([[0, 1, 0, 0], [0, 1, 1, 0]]), exclude=SEEN, overlap="drop"
    )
    np.testing.assert_array_equal(found, [1.0, 1.0, np.nan])


def test_overlap_is_found_far_down() -> None:
    n = 40_000  # more users than are looked at in one go
    last = csr_array((np.ones(1), ([n - 1], [1])), shape=(n, 2))
    with pytest.raises(ArgumentError, match=f"first user {n - 1} and item 1"):
        rank_blocks(np.zeros((n, 2)), last, exclude=last)


def test_ranks_come_in_the_order_of_the_stored_targets() -> None:
    targets = csr_array((np.ones(3), np.array([3, 0, 1]), np.array([0, 2, 3])), shape=(2, 4))
    assert target_ranks(SCORES, targets).tolist() == [4, 1, 3]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [("worst", [3, 4]), ("best", [2, 1]), ("id", [4, 2]), ("average", [2.5, 2.5])],
)
def test_tied_targets_have_ranks_of_their_own(ties: Any, expected: list[float]) -> None:
    targets = csr_array([[1, 0, 2, 0]])
    assert target_ranks(np.zeros((1, 4)), targets, ties=ties).tolist() == expected


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("call", [rank_all, target_ranks])
def test_score_that_is_not_finite_is_named(call: Any, bad: float) -> None:
    scores = SCORES.copy()
    scores[1, 2] = bad
    with pytest.raises(ArgumentError, match=f"got {bad:g} for user 1 and item 2"):
        call(scores, TRUTH)


def test_bad_score_is_named_by_the_user_of_the_whole_matrix() -> None:
    scores = np.zeros((10, 4))
    scores[8, 3] = np.nan
    blocks = rank_blocks(scores, csr_array((10, 4)), depth=1, block_size=3)
    assert [next(blocks).n_groups, next(blocks).n_groups] == [3, 3]
    with pytest.raises(ArgumentError, match="user 8 and item 3"):
        list(blocks)


@pytest.mark.parametrize(
    ("truth", "text"),
    [
        (np.zeros((2, 4)), "truth must be a scipy.sparse matrix of users x items, got ndarray"),
        (csr_array((2, 3)), r"users x items = \(2, 4\), got \(2, 3\)"),
        (csr_array([[0, 1, 0, 0], [0, 0, -2, 0]]), "got -2 for user 1 and item 2"),
        (csr_array([[0, 1, 0, 0], [0, 0, np.nan, 0]]), "got nan for user 1 and item 2"),
        (
            csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 4)),
            "each user-item pair once, got 1 repeated",
        ),
        (coo_array(([1, 1], ([0, 0], [2, 2])), shape=(2, 4)), "got 1 repeated"),
    ],
)
def test_bad_truth_is_refused_before_anything_is_ranked(truth: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        rank_blocks(SCORES, truth)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"depth": 0}, r"depth must be an integer >= 1 or None \(the whole list\), got 0"),
        ({"ties": "wrost"}, "Did you mean 'worst'"),
        ({"min_relevance": 0}, "min_relevance must be a number > 0"),
        ({"overlap": "keep"}, "overlap must be one of 'error' or 'drop', got 'keep'"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"block_size": 0}, "block_size must be an integer >= 1"),
    ],
)
def test_bad_option_is_refused_at_once(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        rank_blocks(SCORES, TRUTH, **options)


def test_integers_that_would_be_rounded_are_refused() -> None:
    truth = csr_array(np.eye(2))
    with pytest.raises(ArgumentError, match=r"scores has 2 integers beyond 2 \*\* 53"):
        target_ranks(np.array([[2**53 + 1, -(2**60)], [0, 1]]), truth)
    assert target_ranks(np.array([[2**53, -(2**53)], [0, 1]]), truth).tolist() == [1, 1]
