"""Ranking and groups: what a list looks like from the top, rows in any order, every error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.raised import raises

from podium._ties import TIES, label_keys
from podium.errors import ArgumentError
from podium.groups import Groups, encode
from podium.ranking import Ranking


@pytest.mark.parametrize("kind", [int, str, "x{}".format])
def test_random_ties_follow_group_and_item_and_no_row_order(kind: Any) -> None:
    rng = np.random.default_rng(0)
    qid, item = np.divmod(rng.permutation(120), 12)
    grades, scores = rng.integers(1, 99, 120), rng.integers(0, 3, 120)
    ids = np.array([kind(i) for i in item])

    def lists(rows: Any) -> list[float]:
        given = scores[rows], grades[rows], qid[rows]
        return Ranking.from_scores(*given, ties="random", item=ids[rows], seed=4).relevance.tolist()

    first = lists(np.arange(120))
    assert first == lists(rng.permutation(120))
    others = lists(np.flatnonzero(qid != 3))
    assert others == first[: 3 * 12] + first[4 * 12 :]


def test_ids_have_the_same_bits_as_numbers_and_as_texts() -> None:
    numbers = np.array([0, 7, -3, 2**63 - 1, -(2**63)])
    assert label_keys(numbers).tolist() == label_keys(numbers.astype(str)).tolist()
    others = np.array(["007", "7.0", " 7", "-0", "", "x", str(2**63)])
    keys = label_keys(np.concatenate([numbers.astype(str), others]))
    assert np.unique(keys).size == keys.size


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_large_integers_are_no_ties(kind: Any) -> None:
    scores = np.array([2**62, 2**62 + 1, 2**62 - 1, 5], kind)
    r = Ranking.from_scores(scores, [3, 4, 2, 1])
    assert r.relevance.tolist() == [4, 3, 2, 1]


LENGTHS = (1, 2, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 128, 500, 1025)


@pytest.mark.parametrize("levels", [1, 2, 9, 10**9])
@pytest.mark.parametrize("shape", ["any", "rising", "falling"])
def test_lists_of_every_length_are_sorted_with_their_ties(levels: int, shape: str) -> None:
    rng = np.random.default_rng(levels)
    for n in LENGTHS:
        scores = rng.integers(0, levels, n).astype(float)
        if shape != "any":
            scores = np.sort(scores)[:: 1 if shape == "rising" else -1]
        relevance = rng.integers(0, 4, n)
        item = rng.permutation(n)
        rows = list(zip(scores, relevance, item, strict=True))
        expected = {
            "worst": sorted(rows, key=lambda row: (-row[0], row[1])),
            "best": sorted(rows, key=lambda row: (-row[0], -row[1])),
            "id": sorted(sorted(rows, key=lambda r: str(r[2]), reverse=True), key=lambda r: -r[0]),
            "average": sorted(rows, key=lambda row: (-row[0], row[1])),
        }
        for ties, wanted in expected.items():
            r = Ranking.from_scores(scores, relevance, ties=ties, item=item)  # type: ignore[arg-type]
            assert r.relevance.tolist() == [row[1] for row in wanted], (n, ties)
            assert r.ideal.tolist() == sorted(relevance[relevance > 0].tolist(), reverse=True)


@pytest.mark.parametrize("ties", TIES)
def test_judged_flags_stay_with_their_items(ties: Any) -> None:
    """Grades that differ in each row but for those not judged say which flag is whose."""
    rng = np.random.default_rng(3)
    scores, qid = rng.integers(0, 4, 60) / 2, rng.integers(0, 5, 60)
    judged = rng.random(60) < 0.7
    relevance = np.where(judged, 1.0 + np.arange(60), 0.0)
    given = {"ties": ties, "item": rng.permutation(60)}
    found = Ranking.from_scores(scores, relevance, qid, judged=judged, **given)
    assert found.judged is not None
    np.testing.assert_array_equal(found.judged, found.relevance > 0)
    plain = Ranking.from_scores(scores, relevance, qid, **given)
    np.testing.assert_array_equal(found.relevance, plain.relevance)
    assert plain.judged is None


BAD: list[tuple[str, list[Any]]] = [
    ("scores", [[1.0], [1.0, np.nan], [np.inf, -np.inf], ["a", "b"], [[1.0, 2.0]], [1.0, [2.0]]]),
    ("relevance", [[1], [0, np.nan], [0, -2]]),
    ("qid", [[1], [1.0, 2.0]]),
    ("item", [[1], [[1], [2]]]),
    ("ties", ["wrost", None]),
    ("min_relevance", [0, np.nan, "high"]),
    ("n_items", [0, 1.5]),
    ("unretrieved", [([1], [9]), ([1], ["7"]), ([1, 1], [7]), ([-1], [7])]),
    ("judged", [[True], [1, 0], [[True, True]], [False, True]]),
]
ROWS: dict[str, Any] = {"scores": [2.0, 1.0], "relevance": [1, 0], "qid": [7, 8], "item": [1, 2]}


@pytest.mark.parametrize(("name", "values"), BAD)
def test_bad_arguments_are_named(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ArgumentError, match=name):
            Ranking.from_scores(**ROWS | {name: value})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"scores": [1.0, np.nan]}, r"first at row 1 \(qid 8\)"),
        ({"relevance": [0, -2]}, r"got -2 at row 1 \(qid 8\)"),
        ({"ties": "id", "item": None}, "ties='id' needs item"),
        ({"qid": [8, 8], "n_items": 1}, "got 1, but qid 8 has 2"),
        ({"n_items": 2, "unretrieved": ([1, 1], [7, 7])}, "got 2, but qid 7 has 3"),
        ({"judged": [False, True]}, "1 such rows .* first row 0"),
    ],
)
def test_bad_rows_are_named(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Ranking.from_scores(**ROWS | changed)


def test_an_empty_ranking_has_no_groups() -> None:
    r = Ranking.from_scores([], [], [], judged=[])
    assert (r.n_groups, r.n_pos.size, r.n_neg.size) == (0, 0, 0)
    assert r.judged is not None
    assert r.judged.tolist() == []


LABELS = st.one_of(
    st.lists(st.integers(-3, 9), max_size=20),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20),
    st.lists(st.text("abé ", max_size=3), min_size=1, max_size=20),
)


@given(qid=LABELS)
def test_groups_hold_the_rows_of_each_label_in_their_order(qid: list[object]) -> None:
    groups = Groups.from_qid(np.array(qid) if qid else [])
    rows = np.arange(len(qid))
    assert groups.labels.tolist() == sorted(set(qid))
    assert groups.n_rows == len(qid)
    gathered = groups.gather(rows)
    for g, label in enumerate(groups.labels.tolist()):
        inside = gathered[groups.offsets[g] : groups.offsets[g + 1]].tolist()
        assert inside == [i for i, q in enumerate(qid) if q == label]
    assert groups.scatter(gathered).tolist() == rows.tolist()
    assert [groups.labels[g] for g in groups.index] == list(qid)


def test_grouped_rows_are_not_copied() -> None:
    values = np.arange(3.0)
    groups = Groups.from_qid([1, 1, 2])
    assert groups.order is None
    assert groups.gather(values) is values
    assert groups.scatter(values) is values


def test_labels_may_be_hashes_beyond_signed_integers() -> None:
    groups = Groups.from_qid(np.array([2**63 + 3, 2**63 + 1, 2**63 + 3], np.uint64))
    assert groups.labels.tolist() == [2**63 + 1, 2**63 + 3]
    assert groups.sizes.tolist() == [1, 2]


def test_narrow_labels_may_span_more_than_their_type() -> None:
    assert Groups.from_qid(np.array([100, -100, 100], np.int8)).labels.tolist() == [-100, 100]


@given(values=LABELS)
@example(values=[2**63 - 1])
@example(values=[-(2**63), -(2**63) + 2])
def test_codes_stand_for_their_labels_in_rising_order(values: list[object]) -> None:
    labels = np.array(values if values else [0])
    codes, distinct = encode(labels)
    assert distinct[codes].tolist() == labels.tolist()
    assert distinct.tolist() == sorted(set(labels.tolist()))


WRONG: list[object] = [
    *([1.5, 2.0], [True, False], [b"a"], [[1], [2]], [1, [2, 3]]),
    *(np.array([1, "a"], dtype=object), np.array([1, None], dtype=object), np.array(["NaT"], "M8")),
]


@pytest.mark.parametrize("qid", WRONG)
def test_qid_must_hold_integers_or_strings_and_sizes_counts(qid: object) -> None:
    with pytest.raises(ArgumentError, match="qid"):
        Groups.from_qid(qid)
    assert Groups.from_qid(np.empty(0, complex)).n_groups == 0
    assert Groups.from_qid(np.array(["b", "a"], dtype=object)).labels.dtype.kind == "U"
    with pytest.raises(ArgumentError, match="NoneType and int"):
        encode(np.array([1, None, 2], dtype=object))
    for sizes in ([-1], [1.5], [[1]], ["a"]):
        with raises(ArgumentError, "sizes"):
            Groups.from_sizes(sizes)
    assert Groups.from_sizes([2, 0, 1]).offsets.tolist() == [0, 2, 2, 3]
