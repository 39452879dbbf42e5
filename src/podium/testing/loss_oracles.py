"""The pAp@k risk and its surrogates as their definitions read: every subset, every ordering.

Exponential on purpose: for a handful of items only. Numbers may be floats or Fractions. Scores
come as two lists, one of positives and one of negatives, with k <= len(negatives).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations, permutations
from typing import Any, TypeAlias

Ordering: TypeAlias = tuple[tuple[int, ...], ...]  # pi[i][j] = 1 if positive i is below negative j


@cache
def orderings(n_pos: int, n_neg: int) -> tuple[Ordering, ...]:
    """Return every matrix of errors that some ranking of the items produces."""
    found: set[Ordering] = set()
    for ranking in permutations(range(n_pos + n_neg)):
        place = {item: rank for rank, item in enumerate(ranking)}
        found.add(
            tuple(
                tuple(int(place[i] > place[n_pos + j]) for j in range(n_neg)) for i in range(n_pos)
            )
        )
    return tuple(sorted(found))


def pap_risk(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> float:
    """Return the share of errors between top positives and top negatives; a tie is an error.

    Eq. (1), with all negatives where there are fewer than k.
    """
    top = sorted(positives, reverse=True)[:k]
    worst = sorted(negatives, reverse=True)[:k]
    errors = sum(s <= t for s in top for t in worst)
    return errors / (len(top) * len(worst))


def pap_risk_by_subsets(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> float:
    """Return the same risk as the paper's theorem 1 has it: a maximum of minima over subsets."""
    beta = min(k, len(positives))
    errors = max(
        min(sum(s <= t for s in pos for t in neg) for pos in combinations(positives, beta))
        for neg in combinations(negatives, k)
    )
    return errors / (beta * k)


def ramp(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return eq. (6): max over negatives, min over positives, max over orderings."""
    return _over_subsets(min, positives, negatives, k)


def largest(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return eq. (24), the max surrogate: max over negatives, positives and orderings."""
    return _over_subsets(max, positives, negatives, k)


def average(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return eq. (10): every positive scores what positives score on average."""
    beta = min(k, len(positives))
    mean = sum(positives) / len(positives)
    return max(_structural([mean] * beta, neg) for neg in combinations(negatives, k))


def tight_struct(positives: Sequence[Any], negatives: Sequence[Any], k: int) -> Any:
    """Return the first line of eq. (14), which algorithm 2 maximises.

    Errors are counted of the min(k, n_pos) best positives by score, margins of all.
    """
    ranked = sorted(positives, reverse=True)
    beta = min(k, len(ranked))
    return max(
        max(
            sum(map(sum, pi[:beta])) - _margins(pi, ranked, neg) for pi in orderings(len(ranked), k)
        )
        / (beta * k)
        for neg in combinations(negatives, k)
    )


ORACLES: dict[str, Callable[[Sequence[Any], Sequence[Any], int], Any]] = {
    "pap-ramp": ramp,
    "pap-avg": average,
    "pap-max": largest,
    "pap-ts": tight_struct,
}
"""The brute-force form of each surrogate, by the name of its loss."""


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


def _structural(positives: Sequence[Any], negatives: Sequence[Any]) -> Any:
    """Return eq. (4) for these two sets: the worst ordering, errors less lost margins."""
    shape = len(positives), len(negatives)
    return max(
        sum(map(sum, pi)) - _margins(pi, positives, negatives) for pi in orderings(*shape)
    ) / (shape[0] * shape[1])


def _margins(pi: Ordering, positives: Sequence[Any], negatives: Sequence[Any]) -> Any:
    """Return w.(phi(pi*) - phi(pi)): the score differences of the pairs in error."""
    return sum(pi[i][j] * (s - t) for i, s in enumerate(positives) for j, t in enumerate(negatives))
