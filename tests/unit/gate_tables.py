"""A truth, two runs and a table of users for the tests of the gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

N, SIZE = 60, 12
Table = dict[str, Any]


def run(seed: int, noise: float) -> Table:
    """Return lists in which the relevant items are first, but for the noise."""
    scores = -0.3 * np.arange(SIZE) + noise * np.random.default_rng(seed).normal(size=(N, SIZE))
    user, item = np.repeat(range(N), SIZE), np.tile(range(SIZE), N)
    return {"user": user, "item": item, "score": scores.ravel()}


# One to three of twelve items are relevant to each user.
PAIRS = [(u, i) for u in range(N) for i in range(1 + u % 3)]
TRUTH = {"user": [u for u, _ in PAIRS], "item": [i for _, i in PAIRS]}
BASE, CANDIDATE = run(0, 1.0), run(1, 0.7)
USERS = {
    "user": list(range(N)),
    "country": [("FR", "UK", "DE")[u % 3] for u in range(N)],
    "home": [u // 4 for u in range(N)],
    "visits": [1 + u % 5 for u in range(N)],
}
PAST = {"user": [u % 7 for u in range(40)], "item": [(u * u) % 17 for u in range(40)]}
GUARDS = {"recall@5": -0.2, "topk_loss@3": 0.2}


def with_text_ids(table: Mapping[str, Any]) -> Table:
    return {name: [str(v) for v in c] if name == "user" else c for name, c in table.items()}
