"""Groups: rows in any order, and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.raised import raises

from podium.errors import ArgumentError
from podium.groups import Groups, encode

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


@given(qid=LABELS)
def test_scatter_undoes_gather(qid: list[object]) -> None:
    groups = Groups.from_qid(np.array(qid) if qid else [])
    rows = np.arange(len(qid))
    assert groups.scatter(groups.gather(rows)).tolist() == rows.tolist()
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
