"""LightGBM's own lambdarank: gradient and Hessian by row, read from leaves of one row.

Such a leaf has the value -g / (h + l2). Two trees with different l2 give g and h.

podium's convention mapped to the peer's: the peer sums over queries, podium takes their mean; the
peer's Hessian has the second derivative of a pair once on each of its rows, podium's bound twice.

Known differences
-----------------
=====================  =========================================  ================================
convention             LightGBM                                   podium
=====================  =========================================  ================================
truncation level k     pairs with a row among the top k, with     the change of ndcg@k: discounts
                       the discounts of the whole list            below k are 0
tied scores            in the order of rows                       the worst order, averaged
lambdarank_norm        on: weights over the score difference,     none, as with
                       and a logarithm of their sum per query     lambdarank_norm=false
=====================  =========================================  ================================

The sigmoid comes from a table in the peer, so that it has fewer digits. The peer estimates the
number of rows of a leaf from the Hessian, so that it does not split off rows with a small one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.groups import Groups

lgb = pytest.importorskip("lightgbm", reason="LightGBM is not installed: podium[boosting]")

SIZES = [5, 12, 9]


def lists(seed: int = 0) -> tuple[Any, Any]:
    """Return scores without ties and grades; each list has several grades."""
    rng = np.random.default_rng(seed)
    n = sum(SIZES)
    grades = rng.choice([0.0, 0.0, 1.0, 2.0, 4.0], n)
    starts = np.cumsum([0, *SIZES[:-1]])
    grades[starts], grades[starts + 1] = 0.0, 2.0
    return rng.standard_normal(n), grades


def leaf(scores: Any, grades: Any, row: int, l2: float, **options: Any) -> float:
    """Return the value of the leaf of one row in a first tree that starts at these scores."""
    is_row = (np.arange(scores.size) == row).astype(float)[:, None]
    params = {
        "objective": "lambdarank", "lambdarank_norm": False, "num_leaves": 2, "lambda_l2": l2,
        "learning_rate": 1.0, "min_data_in_leaf": 0, "min_data_in_bin": 1, "num_threads": 1,
        "min_sum_hessian_in_leaf": 0.0, "verbosity": -1, **options,
    }  # fmt: skip
    data = lgb.Dataset(is_row, grades, group=SIZES, init_score=scores, params=params)
    return float(lgb.train(params, data, 1).predict(is_row[[row]], raw_score=True)[0])


def theirs(scores: Any, grades: Any, **options: Any) -> tuple[Any, Any]:
    """Return the peer's gradient and Hessian by row; nan if it does not split a row off."""
    plain, damped = (
        np.array([leaf(scores, grades, row, l2, **options) for row in range(scores.size)])
        for l2 in (0.0, 1.0)
    )
    plain[plain == 0.0] = np.nan
    hess = damped / (plain - damped)  # g / h = -plain and g / (h + 1) = -damped
    return -plain * hess, hess


def ours(text: str, scores: Any, grades: Any) -> tuple[Any, Any]:
    loss = losses.get(text)
    target = loss.prepare(grades, Groups.from_sizes(SIZES))
    _, grad, bound = loss.value_grad_and_curvature(scores, target)
    return grad * len(SIZES), bound * len(SIZES) / 2.0


@pytest.mark.parametrize(("text", "sigmoid"), [("lambdarank", 1.0), ("lambdarank(sigma=2)", 2.0)])
def test_gradient_and_hessian_are_the_peers(text: str, sigmoid: float) -> None:
    scores, grades = lists()
    options = {"lambdarank_truncation_level": 1000, "sigmoid": sigmoid}
    grad, hess = theirs(scores, grades, **options)
    found = np.isfinite(grad)
    assert found.mean() > 0.5
    our_grad, our_hess = ours(text, scores, grades)
    np.testing.assert_allclose(our_grad[found], grad[found], rtol=1e-4)
    np.testing.assert_allclose(our_hess[found], hess[found], rtol=1e-4)


def test_truncated_weights_keep_the_discounts_below_the_cutoff_there() -> None:
    """Known difference: the change of ndcg@k is larger if the other row ranks below k."""
    scores, grades = lists(1)
    grad, _ = theirs(scores, grades, lambdarank_truncation_level=3)
    found = np.isfinite(grad)
    our_grad, _ = ours("lambdarank@3", scores, grades)
    assert np.abs(our_grad[found]).sum() > 1.1 * np.abs(grad[found]).sum()
