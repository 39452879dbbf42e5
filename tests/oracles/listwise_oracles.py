"""The listwise losses by their definitions: all permutations, all orders of ties.

The cost is exponential, so that they are only for a few items. Orders are tuples of item numbers,
best first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, permutations
from statistics import fmean
from typing import Any, TypeAlias

Order: TypeAlias = tuple[int, ...]
Loss: TypeAlias = Callable[[Sequence[float], Sequence[float], Order, int], float]


def orders(grades: Sequence[float]) -> Iterator[Order]:
    """Yield all orders in which the grades never rise."""
    for order in permutations(range(len(grades))):
        if all(grades[a] >= grades[b] for a, b in pairwise(order)):
            yield order


def luce(order: Sequence[int], strengths: Sequence[Any]) -> Any:
    """Return the Plackett-Luce probability that the order's items are drawn one after another.

    An order of some of the items is the beginning of a draw of all items.
    """
    remaining = list(range(len(strengths)))
    probability = strengths[0] / strengths[0]
    for item in order:
        probability *= strengths[item] / sum(strengths[other] for other in remaining)
        remaining.remove(item)
    return probability


def subgroup(head: Sequence[int], strengths: Sequence[Any]) -> Any:
    """Return the probability of a top-k subgroup: all permutations that begin with the head."""
    n = len(strengths)
    return sum(luce(o, strengths) for o in permutations(range(n)) if o[: len(head)] == tuple(head))


def likelihood(scores: Sequence[float], grades: Sequence[float], order: Order, k: int) -> float:
    """Return the negative log-probability of the top-k subgroup of an order of the grades."""
    assert order in set(orders(grades))
    return -math.log(subgroup(order[:k], [math.exp(s) for s in scores]))


def flat_tail(values: Sequence[float], order: Order, k: int) -> list[float]:
    """Return values by item, with those below the first k of the order replaced by their mean."""
    tail = order[k:]
    tail_mean = fmean(values[i] for i in tail) if tail else math.nan
    return [tail_mean if i in tail else v for i, v in enumerate(values)]


def tie_positions(grades: Sequence[float], order: Order) -> list[float]:
    """Return each item's position in its tie, in (-1/2, 1/2): evenly spaced, with mean 0."""
    result: list[float] = []
    for i, grade in enumerate(grades):
        tie = [j for j in order if grades[j] == grade]
        result.append(((len(tie) - 1) / 2 - tie.index(i)) / len(tie))
    return result


def least_gap(grades: Sequence[float]) -> float:
    """Return the least difference of two grades."""
    return min(abs(a - b) for a in grades for b in grades if a != b)


def truth_scores(grades: Sequence[float], order: Order, k: int) -> list[float]:
    """Return RankCosine's ground-truth scores by item."""
    gap = least_gap(grades)
    spread = [g + gap * c for g, c in zip(grades, tie_positions(grades, order), strict=True)]
    return flat_tail(spread, order, k)


def truth_chances(grades: Sequence[float], order: Order, k: int, scale: float = 1.0) -> list[float]:
    """Return ListNet's ground-truth top-one probabilities, by item."""
    half = 1.0 - math.exp(-scale * least_gap(grades) / 2.0)
    places = zip(grades, tie_positions(grades, order), strict=True)
    weights = flat_tail([math.exp(scale * g) * (1.0 + 2.0 * c * half) for g, c in places], order, k)
    return [w / sum(weights) for w in weights]


def cross_entropy(truth: Sequence[float], scores: Sequence[float]) -> float:
    """Return the cross entropy between probabilities and the softmax of the scores."""
    strengths = [math.exp(s) for s in scores]
    return -sum(p * math.log(e / sum(strengths)) for p, e in zip(truth, strengths, strict=True))


def listnet(
    scores: Sequence[float], grades: Sequence[float], order: Order, k: int, scale: float = 1.0
) -> float:
    """Return ListNet's loss with one order of the ties."""
    return cross_entropy(truth_chances(grades, order, k, scale), scores)


def rankcosine(scores: Sequence[float], grades: Sequence[float], order: Order, k: int) -> float:
    """Return RankCosine's loss with one order of the ties."""
    truth = truth_scores(grades, order, k)
    product = sum(t * s for t, s in zip(truth, scores, strict=True))
    return (1.0 - product / (math.hypot(*truth) * math.hypot(*scores))) / 2.0


def averaged(loss: Loss, scores: Sequence[float], grades: Sequence[float], k: int) -> float:
    """Return the mean loss over all orders of the ties."""
    return fmean(loss(scores, grades, order, k) for order in orders(grades))


def luce_cross_entropy(
    scores: Sequence[float], grades: Sequence[float], k: int, scale: float = 1.0
) -> float:
    """Return the cross entropy of the two Plackett-Luce models over all first k places."""
    true_strengths, strengths = [math.exp(scale * g) for g in grades], [math.exp(s) for s in scores]
    heads = permutations(range(len(scores)), min(k, len(scores)))
    return -sum(luce(head, true_strengths) * math.log(luce(head, strengths)) for head in heads)


ORACLES: dict[str, Loss] = {"listmle": likelihood, "listnet": listnet, "rankcosine": rankcosine}
"""The losses that depend on an order of the ties, by name."""
