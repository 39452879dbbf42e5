"""Relevance pooled over users and items, and features scaled in each query."""

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

from podium.data import normalize_by_query, pooled_relevance, read_features
from podium.data.pooling import Effects, Rows, pooled
from podium.errors import ArgumentError


def pool(label: Any, user: Any, item: Any) -> tuple[Any, list[Effects]]:
    return pooled(Rows(np.asarray(label, float), np.ones(len(label))), user, item)


def simulated(seed: int, n_rows: int = 6000, deviation: float = 1.0) -> dict[str, Any]:
    """Return rows of 300 users and of items that recur 1 to hundreds of times."""
    rng = np.random.default_rng(seed)
    effects = [deviation * rng.standard_normal(n) for n in (300, 400)]
    popularity = 1.0 / np.arange(1, 401)
    user = rng.integers(0, 300, n_rows)
    item = rng.choice(400, n_rows, p=popularity / popularity.sum())
    log_odds = -1.0 + effects[0][user] + effects[1][item]
    chance = 1 / (1 + np.exp(-log_odds))
    return {"label": 1.0 * (rng.random(n_rows) < chance), "user": user, "item": item, "p": chance}


@pytest.mark.parametrize("deviation", [0.5, 1.0, 1.5])
def test_variances_are_recovered(deviation: float) -> None:
    rng = np.random.default_rng(5)
    a, b = deviation * rng.standard_normal(200), 0.7 * rng.standard_normal(200)
    user, item = np.repeat(np.arange(200), 100), np.tile(np.arange(200), 100)
    chance = 1 / (1 + np.exp(-(a[user] + b[item])))
    _, sides = pool(1.0 * (rng.random(20_000) < chance), user, item)
    variances = [side.variance for side in sides]
    assert variances == pytest.approx([np.mean(a**2), np.mean(b**2)], rel=0.2)


def test_effects_are_most_probable_at_their_variances() -> None:
    """Rows' residuals of a user sum to his effect over the variance: the slope there is 0."""
    d = simulated(1, 2000)
    probability, (of_users, of_items) = pool(d["label"], d["user"], d["item"])
    users, user = np.unique(d["user"], return_inverse=True)
    items, item = np.unique(d["item"], return_inverse=True)
    design = np.zeros((2000, users.size + items.size + 1))
    design[np.arange(2000), user] = design[np.arange(2000), users.size + item] = 1.0
    design[:, -1] = 1.0
    log_odds = np.log(probability) - np.log1p(-probability)
    precision = np.repeat(
        [1 / of_users.variance, 1 / of_items.variance, 0.0], [users.size, items.size, 1]
    )
    # The most probable effects with these log-odds, then the slope of the posterior at them.
    system = 1e8 * design.T @ design + np.diag(precision)
    effects = np.linalg.solve(system, 1e8 * design.T @ log_odds)
    slope = design.T @ (d["label"] - probability) - precision * effects
    assert np.abs(slope).max() < 1e-2


def test_names_do_not_matter_and_share_mixes_label_and_probability() -> None:
    d = simulated(6, 800)
    expected = pooled_relevance(d["label"], d["user"], d["item"])
    grades = np.where(d["label"] > 0, 5.0, 4.0)
    for share in (0, 0.25, 1):
        mixed = pooled_relevance(grades, d["user"], d["item"], min_relevance=5, share=share)
        np.testing.assert_allclose(mixed, (1 - share) * d["label"] + share * expected)
    for user in (d["user"] * 10**12, d["user"].astype(np.uint16), 99 - d["user"]):
        given = pooled_relevance(d["label"], user, d["item"])
        np.testing.assert_allclose(given, expected, rtol=1e-9)
    words = [f"item {number:03}" for number in d["item"]]
    for item in (words, np.array(words), np.array(words, object)):
        given = pooled_relevance(d["label"], d["user"], item)
        np.testing.assert_allclose(given, expected, rtol=1e-9)


def test_a_row_of_weight_2_counts_as_two_rows() -> None:
    d = simulated(9, 600)
    weights = np.random.default_rng(9).integers(1, 4, 600)
    weighted = pooled_relevance(d["label"], d["user"], d["item"], weights=weights)
    columns = (np.repeat(d[name], weights) for name in ("label", "user", "item"))
    repeated = pooled_relevance(*columns)
    np.testing.assert_allclose(repeated, np.repeat(weighted, weights), rtol=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        {"relevance": [1, 1, 2]},
        {"relevance": [1, 0, 1], "weights": [1, 0, 1]},
        {"relevance": [], "user": [], "item": []},
        {"relevance": [1, 0, -1]},
        {"relevance": [1, 0, np.nan]},
        {"user": [1, 1]},
        {"item": [1.0, 2.5, 1.0]},
        {"user": np.array([1, "a", None], object)},
        {"user": [[1], [1], [2]]},
        {"weights": [1, -1, 1]},
        {"weights": [1, 1]},
        {"share": 1.5},
        {"share": -0.1},
        {"min_relevance": 0},
    ],
)
def test_bad_input_is_refused(change: dict[str, Any]) -> None:
    good: dict[str, Any] = {"relevance": [1, 0, 1], "user": [1, 1, 2], "item": ["a", "b", "a"]}
    with pytest.raises(ArgumentError, match=next(iter(change))):
        pooled_relevance(**{**good, **change})


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
