"""All orders of a few objects, the effect of exchanging two objects, and a loss on all orders."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss, as_loss

Head: TypeAlias = tuple[int, ...]
"""The objects at the top k places, from the top; objects are numbered from 0."""
Scores: TypeAlias = NDArray[np.float64]  # (n,)


@cache
def heads(n: int, k: int) -> NDArray[np.int64]:
    """Return every head of k of n objects, in lexicographic order; with k = n, every order."""
    return np.array(list(itertools.permutations(range(n), k)), np.int64)


@cache
def numbers(n: int, k: int) -> dict[Head, int]:
    """Return the number in `heads` of each head."""
    return {head: number for number, head in enumerate(itertools.permutations(range(n), k))}


@cache
def exchanged(n: int, k: int, i: int, j: int) -> NDArray[np.int64]:
    """Return for each head of k objects the number of the head with i and j exchanged."""
    table = {i: j, j: i}
    rows = ([table.get(o, o) for o in head] for head in numbers(n, k))
    return np.array([numbers(n, k)[tuple(row)] for row in rows])


@cache
def with_before(n: int, k: int, i: int, j: int) -> NDArray[np.int64]:
    """Return the numbers of the heads that contain i, with j later in the head or not in it."""
    place_i, place_j = (np.where(heads(n, k) == o, np.arange(k), k).min(axis=1) for o in (i, j))
    return np.flatnonzero(place_i < place_j)


@dataclass(frozen=True)
class Truncated:
    """A loss on the grades of the k first objects of an order, with grade 0 for all others.

    This is the paper's modification of the truth scores (section 4.3), for losses on grades
    without a cutoff. The head keeps its order, the objects below it are tied, and a loss on pairs
    has no pairs of them.

    References
    ----------
    xia2009, section 6, which announces pointwise and pairwise losses as future work.
    """

    loss: Loss | str
    k: int


Surrogate: TypeAlias = Loss | Truncated | str
"""A loss, its name, or a loss at the top k."""


class OrderLoss:
    """A loss on each order, with relevance n for the object at the top and 1 for the last."""

    def __init__(self, loss: Surrogate, n: int) -> None:
        base, k = (loss.loss, loss.k) if isinstance(loss, Truncated) else (loss, n)
        self.loss, self.n = as_loss(base), n
        places = np.argsort(heads(n, n), axis=1)
        relevance = np.maximum(float(min(k, n)) - places, 0.0)
        groups = Groups.from_sizes(np.full(len(places), n))
        self._target: Any = self.loss.prepare(relevance.ravel(), groups)

    def __call__(self, scores: Scores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the value, (n!,), and the gradient, (n!, n), of every order."""
        values, grad = self.loss.value_and_grad(self._repeated(scores), self._target)
        if np.isnan(values).any():
            raise ArgumentError(
                f"loss {self.loss!r} is undefined on orders of {self.n} objects. Check its "
                "parameters."
            )
        return values, grad.reshape(-1, self.n) * values.size

    def held(self, scores: Scores) -> OrderLoss:
        """Return the loss with the weights of these scores, for a loss that `reweights`."""
        fixed = copy.copy(self)
        fixed._target = self.loss.hold(self._repeated(scores), self._target)
        return fixed

    def _repeated(self, scores: Scores) -> Scores:
        return np.tile(scores, len(heads(self.n, self.n)))
