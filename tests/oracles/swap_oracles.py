"""LambdaRank by its definition, in Python's floats.

The weight of a pair in LambdaRank is the change of ndcg if the two rows swap ranks. Both values of
ndcg are those of `podium.testing.oracles`, which computes them from the list.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from statistics import fmean

from podium.testing.oracles import brute_force, listing

Order = tuple[int, ...]


def worst_orders(scores: Sequence[float], grades: Sequence[float]) -> Iterator[Order]:
    """Yield all orders by falling score and, at equal scores, rising grade."""
    keys = [(-s, g) for s, g in zip(scores, grades, strict=True)]
    distinct_keys = sorted(set(keys))
    blocks = [[i for i in range(len(keys)) if keys[i] == key] for key in distinct_keys]
    for choice in itertools.product(*map(itertools.permutations, blocks)):
        yield tuple(itertools.chain(*choice))


def ndcg_of(order: Order, grades: Sequence[float], k: int | None, gain: str) -> float:
    """Return the ndcg of rows in an order, best first."""
    n = len(order)
    falling = tuple(float(n - place) for place in range(n))
    text = f"ndcg(gain={gain})" + ("" if k is None else f"@{k}")
    value = brute_force(text, listing(falling, [grades[i] for i in order], n_items=n))
    return 0.0 if math.isnan(value) else value


def swapped(order: Order, i: int, j: int) -> Order:
    """Return the order in which two rows have swapped ranks."""
    return tuple({i: j, j: i}.get(row, row) for row in order)


def swap_change(
    scores: Sequence[float],
    grades: Sequence[float],
    pair: tuple[int, int],
    k: int | None,
    gain: str = "exp2",
) -> float:
    """Return the mean change of ndcg over the worst orders if the pair swaps its ranks."""
    changes: list[float] = []
    for order in worst_orders(scores, grades):
        before, after = (ndcg_of(o, grades, k, gain) for o in (order, swapped(order, *pair)))
        changes.append(abs(after - before))
    return fmean(changes)


def lambda_loss(
    scores: Sequence[float],
    grades: Sequence[float],
    k: int | None,
    sigma: float = 1.0,
    gain: str = "exp2",
) -> tuple[float, list[float], list[float]]:
    """Return value, gradient and curvature of LambdaRank, from all pairs of different grade."""
    value, grad, bound = 0.0, [0.0] * len(scores), [0.0] * len(scores)
    for i, j in itertools.permutations(range(len(scores)), 2):
        if grades[i] <= grades[j]:
            continue
        weight = swap_change(scores, grades, (i, j), k, gain)
        wrong = 1.0 / (1.0 + math.exp(sigma * (scores[i] - scores[j])))
        value -= weight * math.log1p(-wrong)
        for row, sign in ((i, -1.0), (j, 1.0)):
            grad[row] += sign * sigma * weight * wrong
            bound[row] += 2.0 * sigma**2 * weight * wrong * (1.0 - wrong)
    return value, grad, bound
