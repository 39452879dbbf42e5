"""The risk of pAp@k and its surrogates by their definitions: all subsets, all orderings.

The cost is exponential, so that they are only for a few items. Numbers may be floats or Fractions.
Scores are given as two lists, of positives and of negatives, with k <= len(negatives).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, combinations, permutations
from typing import Any, TypeAlias

Ordering: TypeAlias = tuple[tuple[int, ...], ...]  # pi[i][j] = 1 if positive i is below negative j


@cache
def orderings(n_pos: int, n_neg: int) -> tuple[Ordering, ...]:
    """Return every error matrix that a ranking of the items can have."""
    matrices: set[Ordering] = set()
    for ranking in permutations(range(n_pos + n_neg)):
        place = {item: rank for rank, item in enumerate(ranking)}
        matrices.add(
            tuple(
                tuple(int(place[i] > place[n_pos + j]) for j in range(n_neg)) for i in range(n_pos)
            )
        )
    return tuple(sorted(matrices))


def pap_risk(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> float:
    """Return the share of errors between top positives and top negatives; a tie is an error.

    This is eq. (1), with all negatives if there are fewer than k.
    """
    top = sorted(positives, reverse=True)[:k]
    worst = sorted(negatives, reverse=True)[:k]
    return n_errors(top, worst) / (len(top) * len(worst))


def ramp(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return eq. (6): max over negatives, min over positives, max over orderings."""
    return _over_subsets(min, positives, negatives, k)


def largest(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return eq. (24), the max surrogate: max over negatives, positives and orderings."""
    return _over_subsets(max, positives, negatives, k)


def average(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return eq. (10): the score of every positive is replaced by the mean of positives."""
    beta = min(k, len(positives))
    mean = sum(positives) / len(positives)
    return max(_structural([mean] * beta, neg) for neg in combinations(negatives, k))


def tight_struct(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return the first line of eq. (14), which algorithm 2 maximises.

    Errors are those of the min(k, n_pos) best positives by score, margins those of all.
    """
    ranked = sorted(positives, reverse=True)
    beta = min(k, len(ranked))
    return max(
        max(
            sum(map(sum, pi[:beta])) - lost_margins(pi, ranked, neg)
            for pi in orderings(len(ranked), k)
        )
        / (beta * k)
        for neg in combinations(negatives, k)
    )


def tight_struct_exact(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return the last line of eq. (14): errors of the best positives by pi, margins of all."""
    shape = len(positives), k
    beta = min(k, len(positives))
    return max(
        max(top_errors(pi, k) - lost_margins(pi, positives, neg) for pi in orderings(*shape))
        / (beta * k)
        for neg in combinations(negatives, k)
    )


def tight_struct_by_rows(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return `tight_struct_exact` by dynamic programming over rising error counts, O(n_pos k).

    It allows more positives than `orderings` can enumerate.
    """
    ranked, worst = sorted(positives, reverse=True), sorted(negatives, reverse=True)[:k]
    beta = min(k, len(ranked))
    # best[r] is the best sum in which no positive so far has more than r errors.
    best: list[Any] = [0] * (k + 1)
    for i, s in enumerate(ranked):
        margins = list(accumulate((t - s for t in worst), initial=0))
        ends = [best[r] + margins[r] + (r if i < beta else 0) for r in range(k + 1)]
        best = list(accumulate(ends, max))
    return best[k] / (beta * k)


def loose_struct(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return eq. (4) with the errors of pAp@k as its first term, as at the end of section 3.1."""
    shape = len(positives), len(negatives)
    beta = min(k, len(positives))
    n_pairs = len(positives) * len(negatives)
    # A common denominator keeps Fractions exact.
    return max(
        n_pairs * top_errors(pi, k) - beta * k * lost_margins(pi, positives, negatives)
        for pi in orderings(*shape)
    ) / (beta * k * n_pairs)


def pauc_hinge(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return the structural surrogate of the partial AUC: eq. (4) for all and top negatives."""
    return max(_structural(positives, neg) for neg in combinations(negatives, k))


ORACLES: dict[str, Callable[[Sequence[Any], Sequence[Any], int], Any]] = {
    "pap-ramp": ramp,
    "pap-avg": average,
    "pap-max": largest,
    "pap-tight-struct": tight_struct,
    "pap-tight-struct-exact": tight_struct_exact,
    "pap-struct": loose_struct,
    "pauc-hinge": pauc_hinge,
}
"""The brute-force form of each hinge surrogate, by the name of its loss."""


def group_logistic(scores: Sequence[float], chances: Sequence[float]) -> float:
    """Return the least sum of log-losses over one intercept, by bisection on the slope.

    `chances` are the probabilities of a positive. They must not be all 0 or all 1.
    """
    low, high = -2000.0 - max(scores), 2000.0 - min(scores)
    for _ in range(200):
        middle = (low + high) / 2
        # sigmoid(x) - q, in a form that loses no digits if it is nearly 0
        slope = sum(
            (1 - q) * _sigmoid(s + middle) - q * _sigmoid(-s - middle)
            for s, q in zip(scores, chances, strict=True)
        )
        low, high = (middle, high) if slope < 0 else (low, middle)
    return math.fsum(
        q * _softplus(-s - low) + (1 - q) * _softplus(s + low)
        for s, q in zip(scores, chances, strict=True)
    )


def pap_logistic(
    positives: Sequence[float],
    negatives: Sequence[float],
    k: int | None,
    *,
    weight: float = 20.0,
    temperature: float = 1.0,
) -> float:
    """Return a group's log-loss and weighted smooth errors at its top (None: whole list)."""
    top = sorted(positives, reverse=True)[:k]
    worst = sorted(negatives, reverse=True)[:k]
    errors = sum(_sigmoid((t - s) / temperature) for s in top for t in worst) / len(worst)
    chances = [1.0] * len(positives) + [0.0] * len(negatives)
    likelihood = group_logistic([*positives, *negatives], chances)
    return (likelihood + weight * errors) / len(chances)


def top_errors(pi: Ordering, k: int) -> int:
    """Return the errors between the top min(k, n_pos) positives and top k negatives by pi.

    The best positives of an ordering are the rows with the fewest errors. The best negatives are
    the columns with the most. Rows are nested, so that rows with equal counts are equal.
    """
    columns = sorted(zip(*pi, strict=True), key=sum, reverse=True)[:k]
    rows = sorted(zip(*columns, strict=True), key=sum)[: min(k, len(pi))]
    return sum(map(sum, rows))


def _over_subsets(
    choose: Callable[[Iterator[Any]], Any],
    positives: Sequence[Any],
    negatives: Sequence[Any],
    k: int,
) -> Any:
    beta = min(k, len(positives))
    return max(
        choose(_structural(pos, neg) for pos in combinations(positives, beta))
        for neg in combinations(negatives, k)
    )


def n_errors(positives: Sequence[Any], negatives: Sequence[Any]) -> int:
    """Return the number of pairs in the wrong order; ties are errors."""
    return sum(s <= t for s in positives for t in negatives)


def _structural(positives: Sequence[Any], negatives: Sequence[Any]) -> Any:
    """Return eq. (4) for two sets: the maximum over orderings of errors minus lost margins."""
    shape = len(positives), len(negatives)
    return max(
        sum(map(sum, pi)) - lost_margins(pi, positives, negatives) for pi in orderings(*shape)
    ) / (shape[0] * shape[1])


def lost_margins(pi: Ordering, positives: Sequence[Any], negatives: Sequence[Any]) -> Any:
    """Return w.(phi(pi*) - phi(pi)): the score differences of the pairs in error."""
    return sum(pi[i][j] * (s - t) for i, s in enumerate(positives) for j, t in enumerate(negatives))


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _sigmoid(x: float) -> float:
    return math.exp(-_softplus(-x))
