"""Normalisation by query: ranges, what is constant, and LETOR's own files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from tests.raised import raises

from podium.data import normalize_by_query, read_features
from podium.errors import ArgumentError

VALUES = st.floats(-1e300, 1e300, allow_subnormal=False) | st.sampled_from([0.0, 1.0, 1.7e308])


@st.composite
def rows(draw: st.DrawFn) -> tuple[Any, Any]:
    n, width = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    X = draw(arrays.arrays(np.float64, (n, width), elements=VALUES))
    return X, draw(arrays.arrays(np.int64, n, elements=st.integers(0, 3)))


@given(rows=rows())
def test_each_feature_spans_the_unit_interval_in_each_query(rows: tuple[Any, Any]) -> None:
    X, qid = rows
    scaled = normalize_by_query(X, qid)
    for query in np.unique(qid):
        before, after = X[qid == query], scaled[qid == query]
        constant = before.max(0) == before.min(0)
        assert (after.min(0) == 0).all()
        assert (after.max(0) == np.where(constant, 0.0, 1.0)).all()
        for column in range(X.shape[1]):
            order = np.argsort(before[:, column], kind="stable")
            assert (np.diff(after[order, column]) >= 0).all()


@given(rows=rows(), shift=st.integers(-1, 1))
def test_sparse_rows_are_scaled_as_dense_ones(rows: tuple[Any, Any], shift: int) -> None:
    X, qid = rows
    X = np.where(np.abs(X) < 1, 0.0, X)
    got = normalize_by_query(sparse.csr_array(X), qid)
    assert sparse.issparse(got)
    assert np.array_equal(got.toarray(), normalize_by_query(X, qid))
    order = np.roll(np.arange(qid.size), shift)
    again = normalize_by_query(sparse.csr_array(X[order]), qid[order])
    assert np.array_equal(again.toarray(), got.toarray()[order])


def test_values_are_those_of_the_formula() -> None:
    X = [[1.0, -4.0], [3.0, -4.0], [2.0, 0.0], [7.0, 7.0]]
    scaled = normalize_by_query(X, ["a", "a", "a", "b"])
    assert scaled.tolist() == [[0, 0], [1, 0], [(2 - 1) / (3 - 1), 1], [0, 0]]


def test_smallest_and_largest_spans_are_spans() -> None:
    least, most = 5e-324, 1.7e308
    X = [[least, most, 3 * least], [0.0, -most, 0.0], [0.0, 0.0, 2 * least]]
    expected = [[1, 1, 1], [0, 0, 0], [0, 0.5, 2 / 3]]
    assert normalize_by_query(X, [1, 1, 1]).tolist() == expected
    assert normalize_by_query(sparse.csr_array(X), [1, 1, 1]).toarray().tolist() == expected


def test_missing_values_take_no_part() -> None:
    scaled = normalize_by_query([[np.nan], [4.0], [2.0]], [1, 1, 1])
    assert np.isnan(scaled[0, 0])
    assert scaled[1:, 0].tolist() == [1.0, 0.0]


def test_types_copies_and_labels() -> None:
    X = np.array([[1.0], [3.0]], np.float32)
    assert normalize_by_query(X, pl.Series(["u", "u"])).dtype == np.float32
    assert X.tolist() == [[1.0], [3.0]]
    assert normalize_by_query(X, [1, 1], copy=False) is X
    assert X.tolist() == [[0.0], [1.0]]
    assert normalize_by_query([[1], [3]], [1, 1]).dtype == np.float64
    assert normalize_by_query(sparse.csr_array(np.float32([[2], [4]])), [1, 1]).dtype == np.float32


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_bad_rows_are_refused(form: Callable[[Any], Any]) -> None:
    for X, qid in (
        (form([[1.0], [2.0]]), [1]),
        (form([[1.0], [np.inf]]), [1, 1]),
        (np.ones(2), [1, 1]),
        (np.array([["a"]]), [1]),
        ([[1.0, 2.0], [3.0]], [1, 1]),
        (np.ones((2, 1), complex), [1, 1]),
    ):
        with pytest.raises(ArgumentError, match=r"^X "):
            normalize_by_query(X, qid)
    with raises(ArgumentError, "copy"):
        normalize_by_query(form([[1.0], [2.0]]), [1, 1], copy="no")


@pytest.mark.parametrize("part", ["S1", "S5"])
def test_letor_query_level_norm_is_reproduced(
    podium_data: Callable[[str], Path], part: str
) -> None:
    raw = read_features(podium_data(f"letor-ohsumed/min/{part}.txt.gz"))
    published = read_features(podium_data(f"letor-ohsumed/querylevelnorm/{part}.txt.gz"))
    scaled = normalize_by_query(raw.X, raw.qid)
    assert np.abs(scaled - published.X).max() < 0.5e-6 + 1e-9  # six digits are printed
    assert published.X.max() == 1.0
