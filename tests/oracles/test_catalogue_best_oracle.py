"""The best items against a plain sort: scores of every spread, from no visible item to all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.catalogue import top_k

KINDS = ("normal", "tied", "huge", "all least but one", "rising", "falling", "one value")


def drawn(kind: str, shape: tuple[int, int], dtype: Any, rng: np.random.Generator) -> NDArray[Any]:
    least, most = np.finfo(dtype).min, np.finfo(dtype).max
    scores = rng.standard_normal(shape)
    if kind == "tied":
        scores = rng.integers(-2, 3, shape).astype(float)
    elif kind == "huge":
        scores = np.clip(np.exp(80 * scores) * np.sign(rng.standard_normal(shape)), least, most)
    elif kind == "all least but one":
        scores = np.full(shape, least)
        scores[:, rng.integers(shape[1])] = 1.0
    elif kind in ("rising", "falling"):
        scores = np.sort(scores, axis=1)[:, :: 1 if kind == "rising" else -1]
    elif kind == "one value":
        scores = np.full(shape, -0.25)
    return scores.astype(dtype)


@pytest.mark.parametrize("hidden_share", [0.0, 0.3, 0.97, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_best_items_are_a_sorts(kind: str, dtype: Any, hidden_share: float) -> None:
    rng = np.random.default_rng([KINDS.index(kind), int(100 * hidden_share)])
    for n_items in (1, 9, 63, 64, 65, 128, 333, 1_500):
        scores = drawn(kind, (3, n_items), dtype, rng)
        hidden = rng.random(scores.shape) < hidden_share
        given = np.where(hidden, rng.choice([np.nan, np.inf, -np.inf, 3.0]), scores)
        exclude = csr_array(hidden.astype(np.int8))
        for k in {1, 10, 17, n_items // 2 + 1, n_items, n_items + 2}:
            items, best = top_k(given.astype(dtype), k, exclude=exclude)
            for user in range(3):
                visible = np.flatnonzero(~hidden[user])
                order = visible[np.lexsort((visible, -scores[user, visible]))][:k]
                padding = k - order.size
                assert items[user].tolist() == order.tolist() + [-1] * padding
                assert best[user].tolist() == scores[user, order].tolist() + [-np.inf] * padding
