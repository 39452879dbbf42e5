"""Measures of the items shown as guards, with brute-force errors of coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.unit.gate_tables import (
    USERS,
    N,
    Table,
)

from podium.decide import gate

SHOWN = {"coverage@2": -1.0, "novelty@2": -5.0}


def few_items(seed: int) -> Table:
    """Return lists of which many have an item that no other has."""
    rng = np.random.default_rng(seed)
    items = [
        rng.choice([*range(4), 4 + user % 9, 13 + user // 5], size=4, replace=False)
        for user in range(N)
    ]
    return {
        "user": np.repeat(range(N), 4),
        "item": np.concatenate(items),
        "score": np.tile([4.0, 3.0, 2.0, 1.0], N),
    }


CATALOGUE = {"user": [1] * 25, "item": list(range(25))}
SPARSE_TRUTH = {"user": list(range(N)), "item": [u % 4 for u in range(N)]}


def n_covered(run_table: Table, users: Any) -> int:
    """Return the number of distinct items among the two best of each user."""
    best = np.asarray(run_table["item"]).reshape(N, 4)[:, :2]
    return len(set(best[list(users)].ravel().tolist()))


@pytest.mark.parametrize("cluster", [None, "home"])
@pytest.mark.parametrize("weight", [None, "visits"])
def test_error_of_coverage_is_that_of_deleting_each_cluster(
    cluster: str | None, weight: str | None
) -> None:
    base, candidate = few_items(0), few_items(1)
    homes = np.array([u // 4 if cluster and u > 5 else 100 + u for u in range(N)])
    users = {**USERS, "home": homes.tolist()}
    options: Table = {"users": users} if cluster or weight else {}
    claim = gate(
        SPARSE_TRUTH,
        base,
        candidate,
        guards=SHOWN,
        catalogue=CATALOGUE,
        cluster=cluster,
        weight=weight,
        **options,
    ).claims[1]
    assert claim.base == pytest.approx(n_covered(base, range(N)) / 25)
    assert claim.difference == pytest.approx(
        (n_covered(candidate, range(N)) - n_covered(base, range(N))) / 25
    )
    labels = np.unique(homes)
    deleted = np.array(
        [
            (n_covered(candidate, rows) - n_covered(base, rows)) / 25
            for label in labels
            for rows in [np.flatnonzero(homes != label)]
        ]
    )
    others = np.array([(homes != label).sum() for label in labels])
    moves = deleted - np.average(deleted, weights=others)
    n = labels.size
    assert claim.std_error == pytest.approx(math.sqrt((n - 1) / n * (moves**2).sum()))
    assert claim.std_error > 0


def test_coverage_of_equal_lists_in_a_cluster_has_an_error() -> None:
    """Two users of a cluster with equal lists: without one of them, no item is lost."""
    n = 20
    homes = [u // 2 for u in range(n)]
    several = {"user": list(range(n)), "item": [1 + h for h in homes], "score": [1.0] * n}
    same = {"user": list(range(n)), "item": [1] * n, "score": [1.0] * n}
    users = {"user": list(range(n)), "home": homes}
    claim = gate(
        {"user": list(range(n)), "item": [1] * n},
        same,
        several,
        "hit_rate@1",
        guards={"coverage@1": -1},
        catalogue={"user": [0], "item": [1]},
        users=users,
        cluster="home",
    ).claims[1]
    # Each of nine clusters has one item that no other has, and so has the first in `same`.
    assert claim.difference == pytest.approx((10 - 1) / 10)
    by_home = gate(
        {"user": list(range(n // 2)), "item": [1] * (n // 2)},
        {name: column[::2] for name, column in same.items()} | {"user": list(range(n // 2))},
        {name: column[::2] for name, column in several.items()} | {"user": list(range(n // 2))},
        "hit_rate@1",
        guards={"coverage@1": -1},
        catalogue={"user": [0], "item": [1]},
    ).claims[1]
    assert claim.std_error == pytest.approx(by_home.std_error)
