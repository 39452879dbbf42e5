"""Ranked lists with graded truth, drawn from a seed, for all benchmarks of measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PRIME = 19_997  # catalogue size; items (a + b j) mod a prime do not repeat within a user

METRICS = ("ndcg@10", "ndcg@100", "precision@10", "recall@100", "ap@100", "rr")

Columns = dict[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Lists:
    """A run with falling scores per user, and a truth of grades 1 to 3, sorted by user and item."""

    n_users: int
    depth: int
    run: Columns
    truth: Columns

    def shuffled(self, seed: int = 1) -> Lists:
        """Return the same lists with both tables' rows in random order."""
        rng = np.random.default_rng(seed)

        def mix(table: Columns) -> Columns:
            order = rng.permutation(len(table["user"]))
            return {name: column[order] for name, column in table.items()}

        return Lists(self.n_users, self.depth, mix(self.run), mix(self.truth))


def make_lists(n_users: int, depth: int = 100, mean_relevant: int = 20, seed: int = 0) -> Lists:
    """Draw lists that contain 40 % of the relevant items, more of them near the top."""
    rng = np.random.default_rng(seed)
    n_relevant = np.clip(
        rng.lognormal(np.log(mean_relevant) - 0.32, 0.8, n_users).astype(int), 1, 200
    )
    n_hits = np.minimum(rng.binomial(n_relevant, 0.4), depth)
    start, step = rng.integers(0, PRIME, n_users), rng.integers(1, PRIME, n_users)
    rank = np.arange(depth)
    preference = rng.gumbel(size=(n_users, depth)) - 0.7 * np.log1p(rank)
    hit = np.argsort(np.argsort(-preference, axis=1), axis=1) < n_hits[:, None]
    hit_user, hit_rank = np.nonzero(hit)
    n_missed = n_relevant - n_hits
    missed_user = np.repeat(np.arange(n_users), n_missed)
    first_missed = np.repeat(np.cumsum(n_missed) - n_missed, n_missed)
    missed_rank = depth + np.arange(missed_user.size) - first_missed
    user = np.concatenate([hit_user, missed_user])
    item = (start[user] + step[user] * np.concatenate([hit_rank, missed_rank])) % PRIME
    order = np.lexsort((item, user))
    scores = -np.sort(-rng.random((n_users, depth)), axis=1) + np.linspace(1e-3, 0, depth)
    run_user = np.repeat(np.arange(n_users), depth)
    return Lists(
        n_users,
        depth,
        {
            "user": run_user,
            "item": ((start[:, None] + step[:, None] * rank) % PRIME).ravel(),
            "score": scores.ravel(),
        },
        {
            "user": user[order],
            "item": item[order],
            "relevance": rng.choice([1, 2, 3], user.size, p=[0.6, 0.3, 0.1]),
        },
    )
