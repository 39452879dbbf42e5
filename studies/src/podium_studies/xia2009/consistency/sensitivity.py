"""A search for counter-examples to a loss being top-k subgroup order sensitive."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from podium_studies.xia2009.consistency.minimum import OrderLoss, Scores, Surrogate
from podium_studies.xia2009.consistency.space import Head, exchanged, heads, with_before

Condition = Literal[
    "non-negative", "differentiable", "symmetric", "ordered", "strict", "constant", "steeper"
]

CONDITIONS: tuple[Condition, ...] = get_args(Condition)
"""The conditions of definition 3 in its order. A counter-example to each of them:

- "non-negative": a value is below 0;
- "differentiable": the slopes to both sides of a score differ;
- "symmetric" (1): exchanging two objects in scores and order changes the value;
- "ordered" (2): the order that contradicts the scores costs less;
- "strict" (2): no order that contradicts the scores costs more;
- "constant" (2): two orders with the same head cost differently;
- "steeper" (3): for equal scores, no exchange makes the slope larger.
"""

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
    """

    condition: Condition
    scores: tuple[float, ...]
    pair: tuple[int, int]
    order: Head


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
    def violated(self) -> tuple[Condition, ...]:
        """The conditions with a counter-example, which is a proof. None is not a proof."""
        return tuple(example.condition for example in self.counterexamples)

    def __str__(self) -> str:
        text = f"top-{self.k} subgroup order sensitive for {self.n} objects"
        if self.violated:
            return f"not {text}: violates {', '.join(self.violated)}"
        return f"{text}: no counter-example at {self.n_scores} score vectors (no proof)"


def sensitivity(loss: Surrogate, n: int, k: int, *, n_random: int = 200) -> Sensitivity:
    """Search for counter-examples to a loss being top-k subgroup order sensitive.

    Parameters
    ----------
    loss : Loss, Truncated or str
        A loss, or its name, such as ``"listmle@2"``. An order gives relevance n to the object at
        the top, n - 1 to the next one, and so on to 1.
    n : int
        The number of objects, at least 2. A search with 5 objects takes about a second.
    k : int
        The cutoff of the top-k subgroups. The loss's own cutoff is independent of it.
    n_random : int
        The number of random score vectors. All vectors of 0, 1 and 2, and others with ties and
        large gaps, are tried before.

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
    order_loss, found, n_scores = OrderLoss(loss, n), dict[Condition, CounterExample](), 0
    for scores in _vectors(n, n_random):
        n_scores += 1
        for condition, pair, row in _violations(order_loss, k, scores):
            order = tuple(heads(n, n)[row].tolist())
            example = CounterExample(condition, tuple(scores.tolist()), pair, order)
            found.setdefault(condition, example)
    return Sensitivity(n, k, n_scores, tuple(found[name] for name in CONDITIONS if name in found))


def _vectors(n: int, n_random: int) -> Iterator[Scores]:
    """Yield vectors of small whole numbers, of large gaps, and draws with and without ties."""
    rng = np.random.default_rng(0)
    grid = sorted(itertools.product((0.0, 1.0, 2.0), repeat=n), key=lambda v: (max(v), sum(v)))
    yield from (np.array(v) for v in grid if any(v))
    for gap in (-1.0, 8.0, 40.0):
        yield from (np.array(v) for v in sorted(set(itertools.permutations([gap, *range(n - 1)]))))
    for i in range(n_random):
        scores = rng.standard_normal(n) * rng.choice([0.3, 1.0, 4.0])
        if i % 2:
            scores[rng.integers(n)] = scores[rng.integers(n)]
        yield scores


Violation = tuple[Condition, tuple[int, int], Any]
"""A condition, the pair of objects, and the number of the order."""


def _violations(loss: OrderLoss, k: int, scores: Scores) -> Iterator[Violation]:
    """Yield the violations by any order and pair at these scores."""
    n = loss.n
    values, slopes = loss(scores)
    tolerance = _CLOSE * (1.0 + float(np.abs(values).max()))
    lowest = np.argmin(values)
    if values[lowest] < -tolerance:
        yield "non-negative", (0, 0), lowest
    yield from _kinks(loss, scores, values)
    for i in range(n - 1):  # all exchanges are composed of exchanges of neighbours
        moved = scores.copy()
        moved[[i, i + 1]] = moved[[i + 1, i]]
        moved_values = loss(moved)[0][exchanged(n, n, i, i + 1)]
        row = np.argmax(np.abs(moved_values - values))
        if abs(moved_values[row] - values[row]) > tolerance:
            yield "symmetric", (i, i + 1), row
    for i, j in itertools.permutations(range(n), 2):
        if scores[i] <= scores[j]:
            is_tied = scores[i] == scores[j]
            by_order = slopes[:, i] if is_tied else values
            yield from _contradictions(by_order, n, k, (i, j), tolerance, is_tied)


def _kinks(loss: OrderLoss, scores: Scores, values: Scores) -> Iterator[Violation]:
    """Yield kinks by score, if there is one along a direction that shows kinks of all scores."""
    skew = np.sqrt(np.arange(2.0, loss.n + 2))  # not along a kink of whole numbers
    for i, direction in enumerate([skew, *np.eye(loss.n)], start=-1):
        left = (values - loss(scores - _STEP * direction)[0]) / _STEP
        right = (loss(scores + _STEP * direction)[0] - values) / _STEP
        rows = np.flatnonzero(np.abs(right - left) > _KINK * (1.0 + np.abs(left)))
        if i < 0 and not rows.size:
            return
        if i >= 0 and rows.size:
            yield "differentiable", (i, i), rows[0]


def _contradictions(
    by_order: Scores, n: int, k: int, pair: tuple[int, int], tolerance: float, is_tied: bool
) -> Iterator[Violation]:
    """Yield the violations by orders with i above j.

    Object i has a lower score than j, and `by_order` has the values; or the scores are tied, and
    it has the slopes by score i.
    """
    rows = with_before(n, n, *pair)
    gain = by_order[rows] - by_order[exchanged(n, n, *pair)[rows]]
    gain = -gain if is_tied else gain
    has_other_head = (heads(n, n)[rows, :k] == pair[0]).any(axis=1)
    changing, same = (np.flatnonzero(mask) for mask in (has_other_head, ~has_other_head))
    most = changing[np.argmax(gain[changing])]
    if gain[most] <= tolerance:
        yield "steeper" if is_tied else "strict", pair, rows[most]
    if not is_tied:
        least = changing[np.argmin(gain[changing])]
        if gain[least] < -tolerance:
            yield "ordered", pair, rows[least]
        if same.size and np.abs(gain[same]).max() > tolerance:
            yield "constant", pair, rows[same[np.argmax(np.abs(gain[same]))]]
