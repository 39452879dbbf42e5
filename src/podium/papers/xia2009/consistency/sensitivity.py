"""Whether a loss is top-k subgroup order sensitive: a search for what would refute it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.losses import Loss
from podium.papers.xia2009.consistency import _orders
from podium.papers.xia2009.consistency._orders import Reading, Scores
from podium.papers.xia2009.consistency.space import Head

Condition = Literal[
    "non-negative", "differentiable", "symmetric", "ordered", "strict", "constant", "steeper"
]

CONDITIONS: dict[Condition, str] = {
    "non-negative": "a value is below 0",
    "differentiable": "the slopes to both sides of a score differ",
    "symmetric": "exchanging two objects in scores and order changes the value (1)",
    "ordered": "the order that contradicts the scores costs less (2)",
    "strict": "no order that contradicts the scores costs more (2)",
    "constant": "two orders with the same head cost differently (2)",
    "steeper": "equal scores, and no exchange makes the slope larger (3)",
}
"""What definition 3 asks, in its order, and what a counter-example to each shows."""

_CLOSE = 1e-9  # by the size of the values: what counts as a difference
_STEP = 1e-6  # of one-sided slopes
_KINK = 1e-3  # slopes that differ by more have a kink between them


@dataclass(frozen=True)
class CounterExample:
    """One thing that definition 3 forbids, as a loss does it.

    Attributes
    ----------
    condition : str
        A key of `CONDITIONS`.
    scores : tuple of float
    pair : (int, int)
        Objects i and j, i above j in `order`; the same object twice where the condition is
        about one alone.
    order : tuple of int
        The object at each place. For "strict" and "steeper", which no order fulfils, the one
        that comes closest.
    values : (float, float)
        What should have been otherwise. "symmetric": the value, and that with both exchanged in
        scores and order. "ordered", "strict", "constant": the value of `order`, and with i and j
        exchanged in it. "steeper": the slopes by score i of these two. "differentiable": the
        slopes to the left and right of score i. "non-negative": the value, twice.
    """

    condition: Condition
    scores: tuple[float, ...]
    pair: tuple[int, int]
    order: Head
    values: tuple[float, float]


@dataclass(frozen=True)
class Sensitivity:
    """What a search for counter-examples to definition 3 came back with.

    Attributes
    ----------
    n, k : int
    n_scores : int
        Score vectors tried, each with all n! orders and all pairs.
    counterexamples : tuple of CounterExample
        The first of each condition that was found violated; scores are tried from small whole
        numbers upwards.
    """

    n: int
    k: int
    n_scores: int
    counterexamples: tuple[CounterExample, ...]

    @property
    def refuted(self) -> bool:
        """True is a proof, by example. False says that this search found nothing, no more."""
        return bool(self.counterexamples)

    @property
    def violated(self) -> tuple[Condition, ...]:
        """Which conditions have a counter-example."""
        return tuple(found.condition for found in self.counterexamples)

    def __str__(self) -> str:
        what = f"top-{self.k} subgroup order sensitive for {self.n} objects"
        if not self.refuted:
            return f"{what}: no counter-example at {self.n_scores} score vectors (no proof)"
        return f"not {what}: violates {', '.join(self.violated)}"


def sensitivity(
    loss: Loss | str, n: int, k: int, *, n_random: int = 200, seed: int = 0
) -> Sensitivity:
    """Search for counter-examples to a loss being top-k subgroup order sensitive.

    Parameters
    ----------
    loss : Loss or str
        A loss, or its name as ``"listmle@2"``. It reads an order as relevance n at the
        top, n - 1 below it, and so on to 1.
    n : int
        Objects, 2 to 8; 5 take a second or so.
    k : int
        Of the top-k subgroups; the loss's own k, if it has one, is its own affair.
    n_random : int
        Score vectors drawn, beside all vectors of 0, 1 and 2 and others with ties and large gaps.
    seed : int

    Returns
    -------
    Sensitivity
        `refuted`, and the smallest counter-example found to each condition. A search that finds
        none has proved nothing.

    Notes
    -----
    Differences below 1e-9 of a value count as none. A kink counts against the loss: the
    definition asks for a differentiable one. The vector of zeros is left out, where cosines are
    undefined.

    References
    ----------
    xia2009, definition 3.

    Examples
    --------
    >>> from podium import losses
    >>> print(sensitivity(losses.get("listmle"), n=3, k=1))
    not top-1 subgroup order sensitive for 3 objects: violates constant
    >>> print(sensitivity(losses.get("listmle@1"), n=3, k=1))
    top-1 subgroup order sensitive for 3 objects: no counter-example at 244 score vectors (no proof)
    """
    n = _orders.size(n)
    search = _Search(Reading(loss, n), _orders.depth(k, n))
    count = n_random and _check.cutoff(n_random, name="n_random")
    n_scores = 0
    for scores in _vectors(n, count, np.random.default_rng(_check.seed(seed))):
        search.at(scores)
        n_scores += 1
    found = [search.found[name] for name in CONDITIONS if name in search.found]
    return Sensitivity(n, search.k, n_scores, tuple(found))


def _vectors(n: int, n_random: int, rng: np.random.Generator) -> Iterator[Scores]:
    """Yield small whole numbers first, then large gaps, then draws with and without ties."""
    grid = sorted(itertools.product((0.0, 1.0, 2.0), repeat=n), key=lambda v: (max(v), sum(v)))
    yield from (np.array(v) for v in grid if any(v))
    for gap in (-1.0, 8.0, 40.0):
        yield from (np.array(v) for v in sorted(set(itertools.permutations([gap, *range(n - 1)]))))
    for i in range(n_random):
        drawn = rng.standard_normal(n) * rng.choice([0.3, 1.0, 4.0])
        if i % 2:
            drawn[rng.integers(n)] = drawn[rng.integers(n)]
        yield drawn


class _Search:
    """Holds a loss to definition 3 at one score vector after another."""

    scores: Scores
    values: Scores  # of every order
    close: float

    def __init__(self, reading: Reading, k: int) -> None:
        self.reading, self.n, self.k = reading, reading.n, k
        self.found: dict[Condition, CounterExample] = {}
        self._askew = np.sqrt(np.arange(2.0, self.n + 2))  # along no kink of whole numbers

    def at(self, scores: Scores) -> None:
        """Try all orders and pairs with these scores."""
        self.scores = scores
        self.values, slopes = self.reading.values_and_gradients(scores)
        self.close = _CLOSE * (1.0 + float(np.abs(self.values).max()))
        lowest = int(np.argmin(self.values))
        if self.values[lowest] < -self.close:
            value = float(self.values[lowest])
            self._note("non-negative", (0, 0), lowest, (value, value))
        self._kinks()
        for i in range(self.n - 1):  # exchanges of neighbours make up all others
            self._symmetric(i, i + 1)
        for i, j in _orders.pairs(self.n):
            if scores[i] != scores[j]:
                self._ordered((i, j) if scores[i] < scores[j] else (j, i))
            else:
                self._steeper((i, j), slopes)
                self._steeper((j, i), slopes)

    def _kinks(self) -> None:
        """Look along all scores at once first: a kink of any shows there."""
        if "differentiable" in self.found or not self._bent(self._askew)[0].size:
            return
        for i in range(self.n):
            rows, left, right = self._bent(np.eye(self.n)[i])
            if rows.size:
                row = int(rows[0])
                self._note("differentiable", (i, i), row, (left[row], right[row]))

    def _bent(self, direction: Scores) -> tuple[NDArray[np.int64], Scores, Scores]:
        """Return the orders whose slopes to both sides differ, and the slopes of all orders."""
        step = _STEP * direction
        left = (self.values - self._values_at(self.scores - step)) / _STEP
        right = (self._values_at(self.scores + step) - self.values) / _STEP
        return np.flatnonzero(np.abs(right - left) > _KINK * (1.0 + np.abs(left))), left, right

    def _symmetric(self, i: int, j: int) -> None:
        other = self.values
        if self.scores[i] != self.scores[j]:
            moved = self.scores.copy()
            moved[[i, j]] = moved[[j, i]]
            other = self._values_at(moved)
        swapped = other[_orders.exchanged(self.n, self.n, i, j)]
        gap = np.abs(swapped - self.values)
        row = int(np.argmax(gap))
        if gap[row] > self.close:
            self._note("symmetric", (i, j), row, (self.values[row], swapped[row]))

    def _ordered(self, pair: tuple[int, int]) -> None:
        """Look at the orders with the lower-scored object of the pair above the other."""
        changes, rows, swapped = self._contradicting(pair)
        gain = self.values[rows] - self.values[swapped]
        excesses: dict[Condition, Scores] = {
            "ordered": np.where(changes, -gain, -np.inf),
            "constant": np.where(changes, -np.inf, abs(gain)),
        }
        for condition, excess in excesses.items():
            best = int(np.argmax(excess))
            if excess[best] > self.close:
                self._compare(condition, pair, int(rows[best]), self.values)
        if gain[changes].max() <= self.close:
            best = int(np.argmax(np.where(changes, gain, -np.inf)))
            self._compare("strict", pair, int(rows[best]), self.values)

    def _steeper(self, pair: tuple[int, int], slopes: NDArray[np.float64]) -> None:
        changes, rows, swapped = self._contradicting(pair)
        slope = slopes[:, pair[0]]
        gain = slope[swapped] - slope[rows]
        best = int(np.argmax(np.where(changes, gain, -np.inf)))
        if gain[best] <= self.close:
            self._compare("steeper", pair, int(rows[best]), slope)

    def _contradicting(
        self, pair: tuple[int, int]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """Return whose head the exchange changes, the orders with i above j, and the exchanged."""
        place = _orders.positions(self.n)
        rows = np.flatnonzero(place[:, pair[0]] < place[:, pair[1]])
        swapped = _orders.exchanged(self.n, self.n, *sorted(pair))[rows]
        return place[rows, pair[0]] < self.k, rows, swapped

    def _values_at(self, scores: Scores) -> Scores:
        return self.reading.values_and_gradients(scores)[0]

    def _compare(
        self, condition: Condition, pair: tuple[int, int], row: int, values: Scores
    ) -> None:
        """Note an order's value, and that of the order with the pair exchanged."""
        other = int(_orders.exchanged(self.n, self.n, *sorted(pair))[row])
        self._note(condition, pair, row, (values[row], values[other]))

    def _note(
        self, condition: Condition, pair: tuple[int, int], row: int, values: tuple[float, float]
    ) -> None:
        """Keep the first counter-example of a condition."""
        order = tuple(map(int, _orders.permutations(self.n)[row]))
        both = float(values[0]), float(values[1])
        example = CounterExample(condition, tuple(map(float, self.scores)), pair, order, both)
        self.found.setdefault(condition, example)
