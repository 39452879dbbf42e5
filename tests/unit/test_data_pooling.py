from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.data import pooled_relevance
from podium.data.pooling import pool
from podium.errors import ArgumentError


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
    fitted = pool(1.0 * (rng.random(20_000) < chance), user, item)
    assert fitted.converged
    assert fitted.user_variance == pytest.approx(np.mean(a**2), rel=0.2)
    assert fitted.item_variance == pytest.approx(np.mean(b**2), rel=0.2)


def test_effects_are_most_probable_at_their_variances() -> None:
    """Rows' residuals of a user sum to his effect over the variance: the slope there is 0."""
    d = simulated(1, 2000)
    fitted = pool(d["label"], d["user"], d["item"])
    users, user = np.unique(d["user"], return_inverse=True)
    items, item = np.unique(d["item"], return_inverse=True)
    design = np.zeros((2000, users.size + items.size + 1))
    design[np.arange(2000), user] = design[np.arange(2000), users.size + item] = 1.0
    design[:, -1] = 1.0
    log_odds = np.log(fitted.probability) - np.log1p(-fitted.probability)
    precision = np.repeat(
        [1 / fitted.user_variance, 1 / fitted.item_variance, 0.0], [users.size, items.size, 1]
    )
    # The most probable effects with these log-odds, then the slope of the posterior at them.
    system = 1e8 * design.T @ design + np.diag(precision)
    effects = np.linalg.solve(system, 1e8 * design.T @ log_odds)
    slope = design.T @ (d["label"] - fitted.probability) - precision * effects
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
    weighted = pool(d["label"], d["user"], d["item"], weights=weights)
    repeated = pool(*(np.repeat(d[name], weights) for name in ("label", "user", "item")))
    expected = np.repeat(weighted.probability, weights)
    np.testing.assert_allclose(repeated.probability, expected, rtol=1e-9)
    assert weighted.item_variance == pytest.approx(repeated.item_variance, rel=1e-9)


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
