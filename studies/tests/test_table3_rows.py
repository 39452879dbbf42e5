"""Parts: drawn by group, scaled by the training rows, limited to what pap is defined on."""

from __future__ import annotations

import numpy as np

from podium_studies.rows import Parts, Rows, drawn


def rows(n: int = 3000, n_groups: int = 10, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(5, 2, (n, 3))
    X[:, 2] = 1.0
    return Rows(X, (rng.random(n) < 0.3).astype(float), rng.integers(0, n_groups, n) * 3)


def test_drawn_puts_each_row_into_one_part() -> None:
    given = Rows(np.arange(3000.0)[:, None], np.zeros(3000), np.arange(3000) % 7)
    parts = drawn(given, np.random.default_rng(0))
    ids = np.concatenate([part.X[:, 0] for part in parts])
    assert np.array_equal(np.sort(ids), np.arange(3000.0))
    shares = np.array([part.y.size for part in parts]) / 3000
    assert np.allclose(shares, [0.6, 0.2, 0.2], atol=0.03)
    assert all(np.array_equal(np.unique(part.qid), np.arange(7)) for part in parts)


def test_scaled_training_rows_span_one_around_zero() -> None:
    parts = drawn(rows(), np.random.default_rng(1))
    scaled = parts.scaled()
    assert scaled.train.X.dtype == np.float32
    assert np.allclose(scaled.train.X[:, :2].min(axis=0), -0.5)
    assert np.allclose(scaled.train.X[:, :2].max(axis=0), 0.5)
    assert np.all(scaled.test.X[:, 2] == 0)  # what does not vary is left out, not divided by 0
    low, high = parts.train.X[:, 0].min(), parts.train.X[:, 0].max()
    expected = (parts.test.X[:, 0] - (high + low) / 2) / (high - low)
    assert np.allclose(scaled.test.X[:, 0], expected, atol=1e-6)


def test_a_group_has_one_number_in_all_parts() -> None:
    X = np.zeros((4, 1))
    one, other = (
        Rows(X, np.zeros(4), np.array(["b", "d", "b", "a"])),
        Rows(X, np.zeros(4), np.array(["d", "c", "c", "d"])),
    )
    actual = Parts(one, other, other).scaled()
    assert actual.train.qid.tolist() == [1, 3, 1, 0]
    assert actual.test.qid.tolist() == [3, 2, 2, 3]


def test_for_cutoff_keeps_groups_with_a_positive_and_k_negatives() -> None:
    y = np.array([1, 0, 0, 1, 0, 0, 0, 0.0])
    qid = np.array([1, 1, 1, 2, 2, 3, 3, 3])  # 1 positive + 2 negatives; 1 + 1; 0 + 3
    part = Rows(np.arange(8.0)[:, None], y, qid)
    kept = Parts(part, part, part).for_cutoff(2)
    assert np.unique(kept.valid.qid).tolist() == [1]
    assert kept.valid.X[:, 0].tolist() == [0, 1, 2]
    assert np.unique(Parts(part, part, part).for_cutoff(1).test.qid).tolist() == [1, 2]
