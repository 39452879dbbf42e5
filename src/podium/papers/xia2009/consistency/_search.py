"""Definition 3 at one score vector: its conditions, and the first counter-example to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.papers.xia2009.consistency import _orders
from podium.papers.xia2009.consistency._reading import Reading, Scores
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


class Search:
    """Holds a loss to definition 3 at one score vector after another."""

    def __init__(self, reading: Reading, k: int) -> None:
        self.reading, self.n, self.k = reading, reading.n, k
        self.found: dict[Condition, CounterExample] = {}
        self._askew = np.sqrt(np.arange(2.0, self.n + 2))  # along no kink of whole numbers

    def at(self, scores: Scores) -> None:
        """Try all orders and pairs with these scores."""
        values, slopes = self.reading.values_and_gradients(scores)
        close = _CLOSE * (1.0 + float(np.abs(values).max()))
        self._signs(scores, values, close)
        self._kinks(scores, values)
        for i in range(self.n - 1):  # exchanges of neighbours make up all others
            self._symmetric(scores, values, (i, i + 1), close)
        for i, j in _orders.pairs(self.n):
            if scores[i] != scores[j]:
                self._ordered(scores, values, (i, j) if scores[i] < scores[j] else (j, i), close)
            else:
                self._steeper(scores, slopes, (i, j), close)
                self._steeper(scores, slopes, (j, i), close)

    def _signs(self, scores: Scores, values: NDArray[np.float64], close: float) -> None:
        row = int(np.argmin(values))
        if values[row] < -close:
            self._note("non-negative", scores, (0, 0), row, (values[row], values[row]))

    def _kinks(self, scores: Scores, values: NDArray[np.float64]) -> None:
        """Look along all scores at once first: a kink of any shows there."""
        if "differentiable" in self.found or not self._bent(scores, values, self._askew).size:
            return
        for i in range(self.n):
            rows = self._bent(scores, values, np.eye(self.n)[i])
            if rows.size:
                left, right = self._slopes(scores, values, np.eye(self.n)[i])
                row = int(rows[0])
                self._note("differentiable", scores, (i, i), row, (left[row], right[row]))

    def _bent(
        self, scores: Scores, values: NDArray[np.float64], direction: Scores
    ) -> NDArray[np.int64]:
        """Return the orders whose slopes to both sides of the scores differ."""
        left, right = self._slopes(scores, values, direction)
        return np.flatnonzero(np.abs(right - left) > _KINK * (1.0 + np.abs(left)))

    def _slopes(
        self, scores: Scores, values: NDArray[np.float64], direction: Scores
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        step = _STEP * direction
        left = (values - self.reading.values_and_gradients(scores - step)[0]) / _STEP
        right = (self.reading.values_and_gradients(scores + step)[0] - values) / _STEP
        return left, right

    def _symmetric(
        self, scores: Scores, values: NDArray[np.float64], pair: tuple[int, int], close: float
    ) -> None:
        i, j = pair
        moved = scores.copy()
        moved[[i, j]] = moved[[j, i]]
        swapped = _orders.exchanged(self.n, self.n, i, j)
        other = values if scores[i] == scores[j] else self.reading.values_and_gradients(moved)[0]
        gap = np.abs(other[swapped] - values)
        row = int(np.argmax(gap))
        if gap[row] > close:
            self._note("symmetric", scores, pair, row, (values[row], other[swapped][row]))

    def _ordered(
        self, scores: Scores, values: NDArray[np.float64], pair: tuple[int, int], close: float
    ) -> None:
        """Look at the orders with the lower-scored object of the pair above the other."""
        above, rows, swapped = self._contradicting(pair)
        gain = values[rows] - values[swapped]
        changes = above[rows]
        self._extreme(
            "ordered", scores, pair, rows, np.where(changes, -gain, -np.inf), values, close
        )
        self._extreme(
            "constant", scores, pair, rows, np.where(changes, -np.inf, abs(gain)), values, close
        )
        if gain[changes].max() <= close:
            row = int(rows[np.argmax(np.where(changes, gain, -np.inf))])
            self._note("strict", scores, pair, row, self._both(values, pair, row))

    def _extreme(
        self,
        condition: Condition,
        scores: Scores,
        pair: tuple[int, int],
        rows: NDArray[np.int64],
        excess: NDArray[np.float64],
        values: NDArray[np.float64],
        close: float,
    ) -> None:
        best = int(np.argmax(excess))
        if excess[best] > close:
            row = int(rows[best])
            self._note(condition, scores, pair, row, self._both(values, pair, row))

    def _steeper(
        self, scores: Scores, slopes: NDArray[np.float64], pair: tuple[int, int], close: float
    ) -> None:
        above, rows, swapped = self._contradicting(pair)
        gain = slopes[swapped, pair[0]] - slopes[rows, pair[0]]
        best = int(np.argmax(np.where(above[rows], gain, -np.inf)))
        if gain[best] <= close:
            row = int(rows[best])
            slope = slopes[:, pair[0]]
            self._note("steeper", scores, pair, row, self._both(slope, pair, row))

    def _contradicting(
        self, pair: tuple[int, int]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """Return whose head the exchange changes, the orders with i above j, and the exchanged."""
        place = _orders.positions(self.n)
        rows = np.flatnonzero(place[:, pair[0]] < place[:, pair[1]])
        swapped = _orders.exchanged(self.n, self.n, *sorted(pair))[rows]
        return place[:, pair[0]] < self.k, rows, swapped

    def _both(
        self, values: NDArray[np.float64], pair: tuple[int, int], row: int
    ) -> tuple[float, float]:
        other = _orders.exchanged(self.n, self.n, *sorted(pair))[row]
        return float(values[row]), float(values[other])

    def _note(
        self,
        condition: Condition,
        scores: Scores,
        pair: tuple[int, int],
        row: int,
        values: tuple[float, float],
    ) -> None:
        """Keep the first counter-example of a condition."""
        order = tuple(map(int, _orders.permutations(self.n)[row]))
        example = CounterExample(
            condition, tuple(map(float, scores)), pair, order, (float(values[0]), float(values[1]))
        )
        self.found.setdefault(condition, example)
