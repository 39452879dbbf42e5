"""A search for counter-examples to a loss being top-k subgroup order sensitive."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.losses import Loss
from podium_studies import checks
from podium_studies.xia2009.consistency import _orders
from podium_studies.xia2009.consistency._orders import PermutationLoss, Scores
from podium_studies.xia2009.consistency.space import Head

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
"""The conditions of definition 3 in its order, and the meaning of a counter-example to each."""

_CLOSE = 1e-9  # relative difference up to which values count as equal
_STEP = 1e-6  # step of one-sided slopes
_KINK = 1e-3  # relative difference of one-sided slopes above which there is a kink


@dataclass(frozen=True)
class CounterExample:
    """A violation of a condition of definition 3 by a loss.

    Attributes
    ----------
    condition : str
        A key of `CONDITIONS`.
    scores : tuple of float
        The scores of the objects.
    pair : (int, int)
        The objects i and j, with i above j in `order`. The same object twice if the condition
        concerns only one.
    order : tuple of int
        The object at each place. "strict" and "steeper" are violated if no order meets them. For
        these, the order that comes closest.
    values : (float, float)
        The values that violate the condition. "symmetric": the value, and the value with i and j
        exchanged in scores and order. "ordered", "strict", "constant": the value of `order`, and
        the value with i and j exchanged in it. "steeper": the slopes by score i of these two
        orders. "differentiable": the slopes to the left and right of score i. "non-negative": the
        value, twice.
    """

    condition: Condition
    scores: tuple[float, ...]
    pair: tuple[int, int]
    order: Head
    values: tuple[float, float]


@dataclass(frozen=True)
class Sensitivity:
    """The result of a search for counter-examples to definition 3.

    Attributes
    ----------
    n, k : int
        The number of objects and the cutoff.
    n_scores : int
        The number of score vectors that were tried with all n! orders and all pairs.
    counterexamples : tuple of CounterExample
        The first counter-example to each violated condition. Scores are tried in ascending order,
        from small whole numbers.
    """

    n: int
    k: int
    n_scores: int
    counterexamples: tuple[CounterExample, ...]

    @property
    def refuted(self) -> bool:
        """Whether there is a counter-example, which is a proof. False is not a proof."""
        return bool(self.counterexamples)

    @property
    def violated(self) -> tuple[Condition, ...]:
        """The conditions with a counter-example."""
        return tuple(example.condition for example in self.counterexamples)

    def __str__(self) -> str:
        property_text = f"top-{self.k} subgroup order sensitive for {self.n} objects"
        if not self.refuted:
            return (
                f"{property_text}: no counter-example at {self.n_scores} score vectors (no proof)"
            )
        return f"not {property_text}: violates {', '.join(self.violated)}"


def sensitivity(
    loss: Loss | str, n: int, k: int, *, n_random: int = 200, seed: int = 0
) -> Sensitivity:
    """Search for counter-examples to a loss being top-k subgroup order sensitive.

    Parameters
    ----------
    loss : Loss or str
        A loss, or its name, such as ``"listmle@2"``. An order gives relevance n to the object at
        the top, n - 1 to the next one, and so on to 1.
    n : int
        The number of objects, 2 to 8. A search with 5 objects takes about a second.
    k : int
        The cutoff of the top-k subgroups. The loss's own cutoff is independent of it.
    n_random : int
        The number of random score vectors. All vectors of 0, 1 and 2, and others with ties and
        large gaps, are tried before.
    seed : int
        The seed of the random score vectors.

    Returns
    -------
    Sensitivity
        The first counter-example to each condition. A search without a counter-example proves
        nothing.

    Notes
    -----
    Relative differences below 1e-9 count as zero. A kink is a counter-example, because the
    definition requires a differentiable loss. The vector of zeros is not tried, because cosines
    are undefined there.

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
    search = _Search(PermutationLoss(loss, n), _orders.depth(k, n))
    n_draws = n_random and checks.cutoff(n_random, name="n_random")
    n_scores = 0
    for scores in _vectors(n, n_draws, np.random.default_rng(checks.integer(seed, "seed"))):
        search.check(scores)
        n_scores += 1
    examples = [
        search.counterexamples[name] for name in CONDITIONS if name in search.counterexamples
    ]
    return Sensitivity(n, search.k, n_scores, tuple(examples))


def _vectors(n: int, n_random: int, rng: np.random.Generator) -> Iterator[Scores]:
    """Yield vectors of small whole numbers, of large gaps, and draws with and without ties."""
    grid = sorted(itertools.product((0.0, 1.0, 2.0), repeat=n), key=lambda v: (max(v), sum(v)))
    yield from (np.array(v) for v in grid if any(v))
    for gap in (-1.0, 8.0, 40.0):
        yield from (np.array(v) for v in sorted(set(itertools.permutations([gap, *range(n - 1)]))))
    for i in range(n_random):
        scores = rng.standard_normal(n) * rng.choice([0.3, 1.0, 4.0])
        if i % 2:
            scores[rng.integers(n)] = scores[rng.integers(n)]
        yield scores


class _Search:
    """A check of definition 3 for a loss at one score vector after another."""

    scores: Scores
    values: Scores  # the value of every order
    tolerance: float

    def __init__(self, permutation_loss: PermutationLoss, k: int) -> None:
        self.permutation_loss, self.n, self.k = permutation_loss, permutation_loss.n, k
        self.counterexamples: dict[Condition, CounterExample] = {}
        self._skew_direction = np.sqrt(
            np.arange(2.0, self.n + 2)
        )  # not along a kink of whole numbers

    def check(self, scores: Scores) -> None:
        """Check all orders and pairs at these scores."""
        self.scores = scores
        self.values, slopes = self.permutation_loss.values_and_gradients(scores)
        self.tolerance = _CLOSE * (1.0 + float(np.abs(self.values).max()))
        lowest = int(np.argmin(self.values))
        if self.values[lowest] < -self.tolerance:
            value = float(self.values[lowest])
            self._record("non-negative", (0, 0), lowest, (value, value))
        self._kinks()
        for i in range(self.n - 1):  # all exchanges are composed of exchanges of neighbours
            self._symmetric(i, i + 1)
        for i, j in _orders.pairs(self.n):
            if scores[i] != scores[j]:
                self._ordered((i, j) if scores[i] < scores[j] else (j, i))
            else:
                self._steeper((i, j), slopes)
                self._steeper((j, i), slopes)

    def _kinks(self) -> None:
        """Check for kinks, first along a direction in which a kink of any score shows."""
        if (
            "differentiable" in self.counterexamples
            or not self._kinks_along(self._skew_direction)[0].size
        ):
            return
        for i in range(self.n):
            rows, left, right = self._kinks_along(np.eye(self.n)[i])
            if rows.size:
                row = int(rows[0])
                self._record("differentiable", (i, i), row, (left[row], right[row]))

    def _kinks_along(self, direction: Scores) -> tuple[NDArray[np.int64], Scores, Scores]:
        """Return the orders with a kink in this direction, and the slopes of all to both sides."""
        step = _STEP * direction
        left = (self.values - self._values_at(self.scores - step)) / _STEP
        right = (self._values_at(self.scores + step) - self.values) / _STEP
        return np.flatnonzero(np.abs(right - left) > _KINK * (1.0 + np.abs(left))), left, right

    def _symmetric(self, i: int, j: int) -> None:
        exchanged_values = self.values
        if self.scores[i] != self.scores[j]:
            exchanged_scores = self.scores.copy()
            exchanged_scores[[i, j]] = exchanged_scores[[j, i]]
            exchanged_values = self._values_at(exchanged_scores)
        swapped_values = exchanged_values[_orders.exchanged(self.n, self.n, i, j)]
        gap = np.abs(swapped_values - self.values)
        row = int(np.argmax(gap))
        if gap[row] > self.tolerance:
            self._record("symmetric", (i, j), row, (self.values[row], swapped_values[row]))

    def _ordered(self, pair: tuple[int, int]) -> None:
        """Check the orders with the first, lower-scored object of the pair above the second."""
        changes, rows, swapped = self._contradicting(pair)
        gain = self.values[rows] - self.values[swapped]
        excesses: dict[Condition, Scores] = {
            "ordered": np.where(changes, -gain, -np.inf),
            "constant": np.where(changes, -np.inf, abs(gain)),
        }
        for condition, excess in excesses.items():
            best = int(np.argmax(excess))
            if excess[best] > self.tolerance:
                self._compare(condition, pair, int(rows[best]), self.values)
        if gain[changes].max() <= self.tolerance:
            best = int(np.argmax(np.where(changes, gain, -np.inf)))
            self._compare("strict", pair, int(rows[best]), self.values)

    def _steeper(self, pair: tuple[int, int], slopes: NDArray[np.float64]) -> None:
        changes, rows, swapped = self._contradicting(pair)
        slope = slopes[:, pair[0]]
        gain = slope[swapped] - slope[rows]
        best = int(np.argmax(np.where(changes, gain, -np.inf)))
        if gain[best] <= self.tolerance:
            self._compare("steeper", pair, int(rows[best]), slope)

    def _contradicting(
        self, pair: tuple[int, int]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """Return the orders with i above j, the exchanged orders, and whether the heads differ.

        The result is (heads differ, numbers of the orders, numbers of the exchanged orders).
        """
        places = _orders.positions(self.n)
        rows = np.flatnonzero(places[:, pair[0]] < places[:, pair[1]])
        swapped = _orders.exchanged(self.n, self.n, *sorted(pair))[rows]
        return places[rows, pair[0]] < self.k, rows, swapped

    def _values_at(self, scores: Scores) -> Scores:
        return self.permutation_loss.values_and_gradients(scores)[0]

    def _compare(
        self, condition: Condition, pair: tuple[int, int], row: int, values: Scores
    ) -> None:
        """Record the values of an order and of the order with the pair exchanged."""
        exchanged_row = int(_orders.exchanged(self.n, self.n, *sorted(pair))[row])
        self._record(condition, pair, row, (values[row], values[exchanged_row]))

    def _record(
        self, condition: Condition, pair: tuple[int, int], row: int, values: tuple[float, float]
    ) -> None:
        """Record a counter-example if it is the first to its condition."""
        order = tuple(map(int, _orders.permutations(self.n)[row]))
        float_values = float(values[0]), float(values[1])
        example = CounterExample(
            condition, tuple(map(float, self.scores)), pair, order, float_values
        )
        self.counterexamples.setdefault(condition, example)
