"""Table 3: the errors of differences; parts drawn by group, scaled and limited by the cutoff."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from podium_studies.cells import key
from podium_studies.hiranandani2020 import splits
from podium_studies.rows import Parts, Rows, drawn
from podium_studies.study import Recipe

RECIPE = Recipe("r", "", "", "", "", parameters={"cutoffs": [2, 3]})
PAPER = "paper"


def test_the_error_of_a_difference_with_one_repeat_is_that_of_a_bootstrap_over_users() -> None:
    rng = np.random.default_rng(0)
    recipe = replace(RECIPE, repeats=1)
    cells = simulated(rng, 1, between_users=0.3, between_repeats=0.0)
    pairs = [(cells[name], cells[_other(name)]) for name in cells if "method=a" in name]
    actual = splits.difference(recipe, cells, ("a", PAPER), ("b", PAPER))
    bootstrap = np.array([_once(pairs, rng.integers(0, 80, 80)) for _ in range(3000)])
    means: list[float] = [np.mean(a["gain"]) - np.mean(b["gain"]) for a, b in pairs]
    assert actual.value == pytest.approx(100 * np.mean(means))
    assert actual.n == len({user for each, _ in pairs for user in each["user"]})
    assert actual.std_error == pytest.approx(bootstrap.std(), rel=0.08)


@pytest.mark.parametrize(("users", "repeats"), [(0.4, 0.0), (0.0, 0.3), (0.3, 0.15)])
def test_errors_of_differences_are_how_far_they_vary(users: float, repeats: float) -> None:
    rng = np.random.default_rng(1)
    recipe = replace(RECIPE, repeats=6)
    actual = [
        splits.difference(recipe, simulated(rng, 6, users, repeats), ("a", PAPER), ("b", PAPER))
        for _ in range(300)
    ]
    varied = np.std([each.value for each in actual])
    assert np.sqrt(np.mean([each.std_error**2 for each in actual])) == pytest.approx(
        varied, rel=0.15
    )


def simulated(
    rng: np.random.Generator, n_repeats: int, between_users: float, between_repeats: float
) -> dict[str, dict[str, Any]]:
    """Return cells of two methods that differ by user, by repeat and by chance."""
    of_user = rng.normal(0, between_users, 80)
    cells: dict[str, dict[str, Any]] = {}
    for seed in range(n_repeats):
        of_repeat = rng.normal(0, between_repeats)
        for k in (2, 3):
            users = np.sort(rng.permutation(80)[: 20 + 15 * k])
            lift = of_user[users] + of_repeat
            gains = {"a": rng.random(users.size) + lift, "b": rng.random(users.size)}
            for name, gain in gains.items():
                cell = {"user": users.tolist(), "gain": gain.tolist()}
                cells[key(seed=seed, k=k, method=name, protocol=PAPER)] = cell
    return cells


def _other(name: str) -> str:
    return name.replace("method=a", "method=b")


def _once(pairs: list[tuple[Any, Any]], sample: Any) -> float:
    times = np.bincount(sample, minlength=80)
    gains = [(np.subtract(a["gain"], b["gain"]), times[a["user"]]) for a, b in pairs]
    return 100 * float(np.mean([np.average(gain, weights=weights) for gain, weights in gains]))


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
