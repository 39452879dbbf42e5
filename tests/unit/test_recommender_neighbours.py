"""The neighbours of ItemKNN among equal cosines, by fractions, and the ties of its scores."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from podium.recommenders import ItemKNN

WEIGHTS: dict[str, list[float]] = {
    "ones": [1.0],
    "counts": [1.0, 2.0, 3.0, 7.0],
    "half stars": [0.5, 1.0, 3.5, 5.0],
}


def exact_neighbours(X: NDArray[np.float64], k: int) -> list[list[int]]:
    """Return the k items with the greatest cosine > 0 of each item, the lower number first."""
    columns = [[Fraction(x) for x in column] for column in X.T]
    products = [[sum(x * y for x, y in zip(a, b, strict=True)) for b in columns] for a in columns]
    found: list[list[int]] = []
    for i, row in enumerate(products):
        others = [j for j in range(len(columns)) if j != i and row[j] > 0]
        squared = {j: row[j] ** 2 / products[j][j] for j in others}  # times a constant of item i
        found.append(sorted(others, key=lambda j: (-squared[j], j))[:k])
    return found


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_lower_numbers_are_kept_among_exactly_equal_cosines(weights: list[float], k: int) -> None:
    n_ties = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.choice(weights, (12, 8)) * (rng.random((12, 8)) < 0.4)
        expected = exact_neighbours(X, k)
        n_ties += exact_neighbours(X[:, ::-1], k) != [[7 - j for j in row] for row in expected]
        model = ItemKNN(k=k).fit(sparse.csr_array(X))
        kept = [model.weights_[[i]].indices.tolist() for i in range(8)]
        assert kept == [sorted(row) for row in expected]
    assert n_ties > 0


def test_equal_sums_of_decimal_weights_are_a_tie() -> None:
    """Items 1 to 6 have the same products with item 0, in each order of their users."""
    orders = [(0.1, 0.2, 0.3), (0.1, 0.3, 0.2), (0.2, 0.1, 0.3), (0.2, 0.3, 0.1), (0.3, 0.1, 0.2)]
    X = np.array([(0.7, 0.7, 0.7), *orders, (0.3, 0.2, 0.1)]).T
    model = ItemKNN(k=2).fit(sparse.csr_array(X))
    assert model.weights_[[0]].indices.tolist() == [1, 2]


def test_order_of_a_users_items_does_not_decide_between_equal_scores() -> None:
    """Items 3 and 4 have three cosines with the user's items, in opposite order."""
    shared = [3, 1, 2]  # users of items 0, 1 and 2 who also have item 3; reversed for item 4
    rows: list[NDArray[np.int64]] = [np.array([1, 1, 1, 0, 0])]
    for item, n in enumerate(shared):
        for other, count in ((3, n), (4, shared[::-1][item])):
            row: NDArray[np.int64] = np.zeros(5, np.int64)
            row[[item, other]] = 1
            rows += [row] * count
    X: Any = np.array(rows)
    scores = ItemKNN(k=4).fit(sparse.csr_array(X.astype(float))).scores([0])[0]
    assert scores[3] == scores[4] > 0
