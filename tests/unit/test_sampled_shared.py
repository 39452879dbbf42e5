"""Whole rankings from shared samples: reading, errors, intervals and comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from podium.sampled import SharedRanks, compare, evaluate, read


def drawn(seed: int = 0, n_users: int = 300, hardness: float = 20.0) -> SharedRanks:
    """Return users with one to four targets whose ranks are alike within a user."""
    rng = np.random.default_rng(seed)
    n_targets = rng.integers(1, 5, n_users)
    user = np.repeat(np.arange(n_users), n_targets)
    strength = np.exp(rng.normal(0, 0.5, n_users))[user]
    above = np.minimum(rng.exponential(hardness * strength), 990).astype(int)
    sampled = rng.hypergeometric(above, 996 - above, 99)
    return SharedRanks(sampled, 99, 996 + n_targets[user], user=user, replacement=False)


def strata(seed: int = 0, hardness: float = 1.0) -> SharedRanks:
    """Return the targets of `drawn`, with half of the items above them on a list of 50."""
    rng, uniform = np.random.default_rng(seed), drawn(seed)
    listed = np.minimum(rng.exponential(8.0 * hardness, uniform.n_rows), 50).astype(int)
    rest = np.minimum(rng.exponential(5.0 * hardness, uniform.n_rows), 900).astype(int)
    return SharedRanks(
        rng.hypergeometric(rest, 946 - rest, 49),
        49,
        uniform.n_items,
        user=uniform.user,
        replacement=False,
        above_listed=listed,
        n_listed=50,
    )


def test_strata_have_intervals_and_paired_differences() -> None:
    models = {"a": strata(), "same": strata(), "b": strata(0, 1.5)}
    found = compare(models, ["recall@20", "pap@10"])
    for name in ("recall@20", "pap@10"):
        estimate = found.evaluations["a"].summary(name)
        assert estimate.bounds is not None
        assert estimate.bounds.low <= estimate.mean <= estimate.bounds.high
        assert estimate.interval.low <= estimate.mean <= estimate.interval.high
        assert (estimate.method, estimate.error_from) == ("strata", "posterior")
        assert found.summary(name, "same").difference == 0
        assert found.summary(name, "same").std_error == 0
        assert found.summary(name, "b").difference < 0
    assert "n_listed=50, n_negatives=49" in str(models["a"])
    assert found.evaluations["a"].conventions["n_negatives"] == 99


def test_intervals_do_not_depend_on_whether_bounds_are_shown() -> None:
    for name in ("recall@20", "ndcg@5"):
        with_bounds, without = (
            evaluate(strata(), name, bounds=shown).summary(name) for shown in (True, False)
        )
        assert without.bounds is None
        assert without.interval == pytest.approx(with_bounds.interval, abs=1e-12)
        assert without.std_error == with_bounds.std_error


def test_table_of_scores_is_read_with_all_targets_of_a_user() -> None:
    table = {
        "user": ["a"] * 5 + ["b"] * 4,
        "item": [1, 2, 3, 4, 5, 6, 7, 8, 9],
        "score": [0.9, 0.1, 0.8, 0.3, 0.2, 0.5, 0.7, 0.4, 0.1],
        "target": [1, 1, 0, 0, 0, 1, 0, 0, 0],
    }
    shared = read(table, n_items=10, replacement=False, shared=True)
    assert (shared.targets.ranks - 1).tolist() == [0, 3, 1]
    assert shared.position.tolist() == [1, 2, 1]
    assert shared.n_items.tolist() == [10, 10, 10]
    assert shared.targets.n_items.tolist() == [9, 9, 10]  # pyright: ignore[reportAttributeAccessIssue]
