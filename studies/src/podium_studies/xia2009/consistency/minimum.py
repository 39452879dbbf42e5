"""The scores with the least expected loss, and their heads."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss, as_loss
from podium.losses.pairwise import PairwiseHinge
from podium_studies.xia2009.consistency.space import Head, Space, heads, numbers

Scores: TypeAlias = NDArray[np.float64]  # (n,)

_TIED = 1e-6  # gaps up to this share of the scores' spread count as ties
_SAME = 1e-10  # relative difference of values up to which starts have the same minimum

_PENALTIES = (1e-2, 1e-4, 1e-6, 1e-8)
_GROWTH = 1.0  # if the spread grows by more at the last penalty, there is no finite minimum
_MAX_ROUNDS = 60
_LAST = 6  # rounds of reweighting that count if the scores neither settle nor repeat
_SETTLED = 1e-5


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
            undefined = f"loss {self.loss!r} is undefined on orders of {self.n} objects."
            raise ArgumentError(f"{undefined} Check its parameters.")
        return values, grad.reshape(-1, self.n) * values.size

    def held(self, scores: Scores) -> OrderLoss:
        """Return the loss with the weights of these scores, for a loss that `reweights`."""
        fixed = copy.copy(self)
        fixed._target = self.loss.hold(self._repeated(scores), self._target)
        return fixed

    def _repeated(self, scores: Scores) -> Scores:
        return np.tile(scores, len(heads(self.n, self.n)))


@dataclass(frozen=True, eq=False)
class Minimum:
    """The minimum of the expectation of a loss.

    Attributes
    ----------
    space : Space
        The probabilities of the orders.
    scores : float64, (n,)
        One minimiser. Its mean is 0 if the loss depends only on differences of scores, and its
        length is 1 if the loss depends only on their direction. If `finite` is False, the scores
        are those of a very small penalty.
    value : float
        The expectation at `scores`.
    gaps : float64, (n, n)
        The least s_i - s_j over all minimisers that were found. There are several if a loss has
        flat pieces. If gaps[i, j] > 0, all of them have i above j.
    finite : bool
        Whether there is a minimum. False if the expectation decreases without end as scores move
        apart (or beyond the precision of float64), because some orders have probability 0.
    """

    space: Space
    scores: Scores
    value: float
    gaps: NDArray[np.float64]
    finite: bool

    def heads(self, k: int) -> tuple[Head, ...]:
        """Return the possible heads of k objects after sorting by a minimiser.

        There are several heads if scores tie or minimisers differ. Objects are compared in pairs,
        so that with flat pieces the result may contain a head that no single minimiser has.
        """
        n = self.scores.size
        is_above = self.gaps > _TIED * max(float(np.ptp(self.scores)), 1e-3)

        def is_possible(head: Head) -> bool:
            order = [*head, *(set(range(n)) - {*head})]
            pairs = ((lower, o) for i, o in enumerate(head) for lower in order[i + 1 :])
            return not any(is_above[pair] for pair in pairs)

        return tuple(head for head in numbers(n, k) if is_possible(head))

    def is_consistent(self, k: int) -> bool:
        """Return whether every possible head of k objects is that of a Bayes ranker.

        These are the rankers with the least top-k 0-1 risk (xia2009, section 4.1).
        """
        return set(self.heads(k)) <= set(self.space.bayes(k))

    def is_tied(self, k: int) -> bool:
        """Return whether only some of the heads are of a Bayes ranker, so that ties decide."""
        return not self.is_consistent(k) and bool(set(self.heads(k)) & set(self.space.bayes(k)))

    def regret(self, k: int) -> float:
        """Return the top-k 0-1 risk of the worst of the heads less the least possible risk."""
        probabilities = self.space.subgroups(k)
        least = min(self.space.probability(head) for head in self.heads(k))
        return max(0.0, float(probabilities.max()) - least)


def minimise(space: Space, loss: Surrogate, *, n_starts: int = 12) -> Minimum:
    """Minimise the expectation of a loss over the orders of a space, by one score per object.

    Parameters
    ----------
    space : Space
        The probabilities of the orders.
    loss : Loss, Truncated or str
        A loss, or its name, such as ``"listmle@2"``. An order gives relevance n to the object at
        the top, n - 1 to the next one, and so on to 1.
    n_starts : int
        The number of random starts, for a loss that is not declared convex.

    Returns
    -------
    Minimum

    Raises
    ------
    ArgumentError
        If the loss is not declared smooth, has no weights that can be held fixed, and is not the
        hinge on pairs, so that its minimum would be unreliable.

    Notes
    -----
    Smooth losses are minimised by BFGS with a penalty that is removed in steps, and the hinge on
    pairs over whole scores.
    For a loss that `reweights`, the weights are held at the scores of a start, the expectation is
    minimised, and so on until the scores stay the same. If they alternate between several orders,
    all of these count, as ties do.
    Cost: some hundred evaluations of all n! orders.

    References
    ----------
    xia2009, equation 8.

    Examples
    --------
    >>> space = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})
    >>> full = minimise(space, "listmle")
    >>> full.heads(1), full.is_consistent(1), round(full.regret(1), 3)
    (((1,),), False, 0.1)
    >>> minimise(space, "listmle@1").is_consistent(1)
    True
    """
    expected = Expected(space, OrderLoss(loss, space.n))
    declared = expected.loss.loss
    if not declared.smooth and not declared.reweights:
        return _by_whole_scores(expected)
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal(space.n) for _ in range(n_starts)]
    if declared.reweights:
        found = [point for start in starts for point in expected.fixed_points(start)]
        best = found[0]
    else:
        starts = [np.zeros(space.n)] if declared.convex else starts
        found = [expected.least(start) for start in starts]
        best = min(found, key=lambda point: expected(point[0])[0])
        highest = expected(best[0])[0]
        highest += _SAME * max(1.0, abs(highest))
        found = [point for point in found if expected(point[0])[0] <= highest]
    gaps = np.min([scores[:, None] - scores for scores, _ in found], axis=0)
    return Minimum(space, best[0], expected(best[0])[0], gaps, best[1])


@dataclass(frozen=True)
class Expected:
    """The expectation of a loss over the orders of a space."""

    space: Space
    loss: OrderLoss

    def __call__(self, scores: Scores, penalty: float = 0.0) -> tuple[float, Scores]:
        """Return the expectation with a penalty on the squared scores, and its gradient."""
        values, grads = self.loss(scores)
        shares = self.space.probabilities
        value = float(shares @ values) + penalty * float(scores @ scores) / 2.0
        return value, shares @ grads + penalty * scores

    def least(self, start: Scores) -> tuple[Scores, bool]:
        """Minimise with decreasing penalties on the squared scores, and finally without a penalty.

        Returns
        -------
        scores : float64, (n,)
            The minimiser. If there is no minimum, the scores of the smallest penalty: their spread
            grows with the logarithm of the penalty, and their order is that of the limit.
        finite : bool
            Whether the spread grew by at most 1 at the last decrease of the penalty.
        """
        objective: Any = self

        def solved(start: Scores, penalty: float) -> Scores:
            given: Any = {"jac": True, "options": {"gtol": 1e-11}}
            return optimize.minimize(objective, start, (penalty,), "BFGS", **given).x

        if self._is_scale_free:
            scores = solved(start, 0.0)
            return scores / np.linalg.norm(scores), True
        spreads: list[float] = []
        for penalty in _PENALTIES:
            start = solved(start, penalty)
            spreads.append(float(np.ptp(start)))
        finite = spreads[-1] - spreads[-2] <= _GROWTH
        scores = solved(start, 0.0) if finite else start
        return scores - scores.mean() * self.loss.loss.shift_invariant, finite

    def fixed_points(self, start: Scores) -> list[tuple[Scores, bool]]:
        """Return the scores that repeat: one if they settle, several if they alternate."""
        course = [(start, True)]
        for _ in range(_MAX_ROUNDS):
            held = Expected(self.space, self.loss.held(course[-1][0]))
            point = held.least(course[-1][0])
            for i, (earlier, _) in enumerate(course[1:], start=1):
                if np.abs(point[0] - earlier).max() <= _SETTLED * max(1.0, np.ptp(point[0])):
                    return course[i:]
            course.append(point)
        return course[-_LAST:]

    @property
    def _is_scale_free(self) -> bool:
        """Whether the loss depends only on the direction of the scores, tested at one vector."""
        scores = np.sqrt(np.arange(1.0, self.space.n + 1)) - 2.0
        values, scaled_values = (self.loss(c * scores)[0] for c in (1.0, 3.0))
        return np.allclose(values, scaled_values, rtol=1e-12, atol=1e-12)


def _by_whole_scores(expected: Expected) -> Minimum:
    """Return the minimum of a loss whose kinks lie at whole differences of scores.

    Between its kinks, the expectation of the hinge on pairs is linear in differences of scores.
    The ends of its flat pieces are therefore whole scores. It is L-natural convex, so that whole
    scores are a minimum if no shift of some scores by 1 lowers it, and such shifts lead from each
    whole minimum to each other.
    """
    loss, n = expected.loss.loss, expected.space.n
    if not isinstance(loss, PairwiseHinge):
        raise ArgumentError(
            f"loss {loss!r} has kinks, and is not the hinge on pairs, so that no method here finds "
            "its minimum. Pass a smooth loss, or pairwise-hinge."
        )
    widest = 2 * n  # a minimum at infinity is cut off here, if pairs have one order only
    shifts = [np.array(shift) for shift in itertools.product((0.0, 1.0), repeat=n)][1:-1]
    least, found, waiting = np.inf, dict[tuple[float, ...], Scores](), [np.zeros(n)]
    while waiting:
        scores = waiting.pop()
        value = expected(scores)[0]
        if value < least - _SAME:
            least, found = value, {}
        if value <= least + _SAME and tuple(scores) not in found:
            found[tuple(scores)] = scores
            shifted = (scores + shift for shift in shifts)
            waiting += [other - other.min() for other in shifted if np.ptp(other) <= widest]
    minima = [*found.values()]
    gaps = np.min([scores[:, None] - scores for scores in minima], axis=0)
    return Minimum(expected.space, minima[0] - minima[0].mean(), least, gaps, True)
