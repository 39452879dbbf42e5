"""The scores with the least expected loss, and their heads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from podium.errors import ArgumentError
from podium.losses import Loss
from podium_studies import checks
from podium_studies.xia2009.consistency import _orders
from podium_studies.xia2009.consistency._orders import PermutationLoss, Scores
from podium_studies.xia2009.consistency.space import Head, Space


@dataclass(frozen=True, eq=False)
class Agreement:
    """The heads of a loss's minimiser and those of the Bayes rankers.

    Attributes
    ----------
    k : int
        The cutoff of the 0-1 loss.
    minimum : Minimum
        The minimum of the expected loss.
    heads : tuple of heads
        The possible heads after sorting by a minimiser. There are several if scores tie.
    bayes : tuple of heads
        The most probable heads.
    regret : float
        The top-k 0-1 risk of the worst of `heads` less the least possible risk.
    """

    k: int
    minimum: Minimum
    heads: tuple[Head, ...]
    bayes: tuple[Head, ...]
    regret: float

    @property
    def consistent(self) -> bool:
        """Whether every possible head of a minimiser is a head of a Bayes ranker."""
        return set(self.heads) <= set(self.bayes)

    @property
    def tied(self) -> bool:
        """Whether only some of the heads are heads of a Bayes ranker, so that ties decide."""
        return not self.consistent and bool(set(self.heads) & set(self.bayes))


def agreement(
    space: Space, loss: Loss | str, k: int, *, minimum: Minimum | None = None
) -> Agreement:
    """Compare the top k of a loss's minimiser with the Bayes rankers of the top-k 0-1 loss.

    Parameters
    ----------
    space : Space
        The probabilities of the orders.
    loss : Loss or str
        A loss or its name.
    k : int
        The cutoff of the 0-1 loss. The surrogate's own cutoff is independent of it.
    minimum : Minimum, optional
        The result of `minimise` for this space and loss. By default, `minimise` is called.

    Returns
    -------
    Agreement

    Raises
    ------
    ArgumentError
        If the minimum has another number of objects, or `minimise` raises one.

    References
    ----------
    xia2009, section 4.1.

    Examples
    --------
    >>> from podium import losses
    >>> space = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})
    >>> full = agreement(space, losses.get("listmle"), k=1)
    >>> full.consistent, full.heads, full.bayes, round(full.regret, 3)
    (False, ((1,),), ((0,),), 0.1)
    >>> agreement(space, losses.get("listmle@1"), k=1).consistent
    True
    """
    solution = minimise(space, loss) if minimum is None else minimum
    if solution.scores.size != space.n:
        raise ArgumentError(
            f"minimum must have {space.n} objects, as space has, got {solution.scores.size}. "
            "Pass the result of minimise for this space, or leave out minimum."
        )
    heads, bayes = solution.heads(k), space.bayes(k)
    least_probability = min(space.probability(head) for head in heads)
    return Agreement(
        k, solution, heads, bayes, max(0.0, space.probability(bayes[0]) - least_probability)
    )


def is_consistent_on(space: Space, loss: Loss | str, k: int) -> bool:
    """Return whether a loss's minimiser on a space has the top k of a Bayes ranker for all ties.

    Parameters
    ----------
    space : Space
        The probabilities of the orders.
    loss : Loss or str
        A loss or its name.
    k : int
        The cutoff of the 0-1 loss.

    Returns
    -------
    bool

    Examples
    --------
    >>> from podium import losses
    >>> is_consistent_on(Space.plackett_luce([2.0, 0.0, 1.0]), losses.get("squared"), k=2)
    True
    """
    return agreement(space, loss, k).consistent


Method = Literal["newton", "cutting planes", "many starts", "reweighting"]

Objective = Callable[[Scores], tuple[float, Scores]]

_TIED = 1e-6  # gaps up to this share of the scores' spread count as ties
_SAME = 1e-10  # relative difference of values up to which starts have the same minimum

# Constants of Newton's method
_PENALTIES = (1e-2, 1e-4, 1e-6, 1e-8)
_GROWTH = 1.0  # if the spread grows by more at the last penalty, there is no finite minimum
_MAX_STEPS = 200
_STEP = 1e-5  # step of the Hessian's central differences
_RESOLVED = 1e-16  # relative decrease of the value that is below rounding
_LEAST_BEND = 1e-11
_LONGEST = 4.0  # longest step in score units

# Constants of reweighting
_MAX_ROUNDS = 60
_LAST = 6  # rounds that count if the scores neither settle nor repeat
_SETTLED = 1e-5

# Constants of cutting planes
_BOX = 50.0  # scores are between -_BOX and _BOX
_CLOSE = 1e-9
_SLACK = 1e-8  # relative difference from the least value that counts as zero
_GRAIN = 1e-4  # gaps in score units that count as zero, because of the slack
_MAX_PLANES = 1000
_EXACT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class Minimum:
    """The minimum of the expectation of a loss.

    Attributes
    ----------
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
    method : {"newton", "cutting planes", "many starts", "reweighting"}
        The method. The first two find the least value, because they are used for convex losses.
        "many starts" returns the best of its starts. "reweighting" returns scores at which the
        gradient with fixed weights is 0, and the gaps are the least over all that were found.
    """

    scores: NDArray[np.float64]
    value: float
    gaps: NDArray[np.float64]
    finite: bool
    method: Method

    def heads(self, k: int) -> tuple[Head, ...]:
        """Return the possible heads of k objects after sorting by a minimiser.

        There are several heads if scores tie or minimisers differ. Objects are compared in pairs,
        so that with flat pieces the result may contain a head that no single minimiser has.
        """
        n = self.scores.size
        below = self.gaps > _TIED * max(float(np.ptp(self.scores)), 1e-3)  # [i, j]: j below i
        possible_heads: list[Head] = []
        for row in _orders.heads(n, _orders.depth(k, n)).tolist():
            order = [*row, *(o for o in range(n) if o not in row)]
            if not any(
                below[lower, head] for place, head in enumerate(row) for lower in order[place + 1 :]
            ):
                possible_heads.append(tuple(row))
        return tuple(possible_heads)


def minimise(space: Space, loss: Loss | str, *, n_starts: int = 12, seed: int = 0) -> Minimum:
    """Minimise the expectation of a loss over the orders of a space, by one score per object.

    Parameters
    ----------
    space : Space
        The probabilities of the orders.
    loss : Loss or str
        A loss, or its name, such as ``"listmle@2"``. An order gives relevance n to the object at
        the top, n - 1 to the next one, and so on to 1.
    n_starts : int
        The number of random starts, for a loss that is not declared convex.
    seed : int
        The seed of the starts.

    Returns
    -------
    Minimum

    Raises
    ------
    ArgumentError
        If the loss is declared neither convex nor smooth and has no weights that can be held
        fixed, so that its minimum would be unreliable.

    Notes
    -----
    Smooth losses are minimised by Newton's method with a penalty that is removed in steps. Convex
    losses with kinks are minimised by cutting planes with linear programs, for scores between -50
    and 50.
    For a loss that `reweights`, the weights are held at the scores of a start, the expectation is
    minimised, and so on until the scores stay the same. If they alternate between several orders,
    all of these count, as ties do.
    Cost: some hundred evaluations of all n! orders.

    References
    ----------
    xia2009, equation 8.

    Examples
    --------
    >>> from podium import losses
    >>> space = Space.plackett_luce([2.0, 0.0, 1.0])
    >>> minimum = minimise(space, losses.get("listmle"))
    >>> bool(np.allclose(minimum.scores, [1.0, -1.0, 0.0])), minimum.heads(2)
    (True, ((0, 2),))
    """
    permutation_loss = PermutationLoss(loss, space.n)
    expected = _expectation(space, permutation_loss)
    starts, rng = (
        checks.cutoff(n_starts, name="n_starts"),
        np.random.default_rng(checks.integer(seed, "seed")),
    )
    if permutation_loss.loss.reweights:
        return _by_reweighting(space, permutation_loss, starts, rng)
    if not permutation_loss.loss.smooth:
        return _by_planes(expected, permutation_loss)
    if permutation_loss.loss.convex:
        return _by_newton(expected, permutation_loss)
    return _by_starts(expected, permutation_loss, starts, rng)


def _expectation(space: Space, permutation_loss: PermutationLoss) -> Objective:
    """Return the function from scores to the expected loss and its gradient."""

    def expected(scores: Scores) -> tuple[float, Scores]:
        values, grads = permutation_loss.values_and_gradients(scores)
        return float(space.probabilities @ values), space.probabilities @ grads

    return expected


def _by_newton(expected: Objective, permutation_loss: PermutationLoss) -> Minimum:
    scores, finite = _descend(expected, np.zeros(permutation_loss.n))
    scores = _normal(scores, permutation_loss)
    gaps = scores[:, None] - scores
    return Minimum(scores, expected(scores)[0], gaps, finite, "newton")


def _by_planes(expected: Objective, permutation_loss: PermutationLoss) -> Minimum:
    if not permutation_loss.loss.convex:
        raise ArgumentError(
            f"loss {permutation_loss.loss!r} is neither convex nor smooth, so that no method here "
            "finds its minimum. Pass a loss that is convex or smooth."
        )
    planes = _Planes(expected, permutation_loss.n, centred=permutation_loss.loss.shift_invariant)
    scores, value = planes.minimum()
    gaps = np.zeros((permutation_loss.n, permutation_loss.n))
    for i, j in itertools.permutations(range(permutation_loss.n), 2):
        gaps[i, j] = planes.least_gap(i, j, value)
    return Minimum(scores, value, gaps, True, "cutting planes")


def _by_starts(
    expected: Objective, permutation_loss: PermutationLoss, n_starts: int, rng: np.random.Generator
) -> Minimum:
    """Return the best of several starts, with the least gaps over all equally good starts."""
    candidates: list[tuple[float, Scores, bool]] = []
    for _ in range(n_starts):
        start = rng.standard_normal(permutation_loss.n)
        if permutation_loss.is_scale_free:
            scores, finite = _newton(expected, start / np.linalg.norm(start)), True
        else:
            scores, finite = _descend(expected, start)
        scores = _normal(scores, permutation_loss)
        candidates.append((expected(scores)[0], scores, finite))
    value, scores, finite = min(candidates, key=lambda candidate: candidate[0])
    equally_good = [
        candidate[1]
        for candidate in candidates
        if candidate[0] <= value + _SAME * max(1.0, abs(value))
    ]
    gaps = np.min([candidate[:, None] - candidate for candidate in equally_good], axis=0)
    return Minimum(scores, value, gaps, finite, "many starts")


def _by_reweighting(
    space: Space, permutation_loss: PermutationLoss, n_starts: int, rng: np.random.Generator
) -> Minimum:
    """Return the fixed points of holding the weights and minimising, from several starts."""
    results: list[tuple[Scores, bool]] = []
    for _ in range(n_starts):
        results += _fixed_points(space, permutation_loss, rng.standard_normal(permutation_loss.n))
    gaps = np.min([scores[:, None] - scores for scores, _ in results], axis=0)
    scores, finite = results[0]
    value = _expectation(space, permutation_loss)(scores)[0]
    return Minimum(scores, value, gaps, finite, "reweighting")


def _fixed_points(
    space: Space, permutation_loss: PermutationLoss, start: Scores
) -> list[tuple[Scores, bool]]:
    """Return the scores that repeat: one if they settle, several if they alternate."""
    course, finite = [start], [True]
    for _ in range(_MAX_ROUNDS):
        held = permutation_loss.held(course[-1])
        scores, is_finite = _descend(_expectation(space, held), course[-1])
        scores = _normal(scores, permutation_loss)
        for i, earlier in enumerate(course[1:], start=1):
            if np.abs(scores - earlier).max() <= _SETTLED * max(1.0, float(np.ptp(scores))):
                return list(zip(course[i:], finite[i:], strict=True))
        course.append(scores)
        finite.append(is_finite)
    return list(zip(course[-_LAST:], finite[-_LAST:], strict=True))


def _normal(scores: Scores, permutation_loss: PermutationLoss) -> Scores:
    if permutation_loss.loss.shift_invariant:
        return scores - scores.mean()
    return scores / np.linalg.norm(scores) if permutation_loss.is_scale_free else scores


def _descend(objective: Objective, start: Scores) -> tuple[Scores, bool]:
    """Minimise with decreasing penalties on the squared scores, and finally without a penalty.

    Returns
    -------
    scores : float64, (n,)
        The minimiser. If there is no minimum, the scores of the smallest penalty: their spread
        grows with the logarithm of the penalty, and their order is that of the limit.
    finite : bool
        Whether the spread grew by at most 1 at the last decrease of the penalty.
    """
    scores, spreads = start, [0.0]
    for penalty in _PENALTIES:

        def penalised(x: Scores, penalty: float = penalty) -> tuple[float, Scores]:
            value, grad = objective(x)
            return value + penalty * float(x @ x) / 2.0, grad + penalty * x

        scores = _newton(penalised, scores)
        spreads.append(float(np.ptp(scores)))
    finite = spreads[-1] - spreads[-2] <= _GROWTH
    return (_newton(objective, scores) if finite else scores), finite


def _newton(objective: Objective, scores: Scores) -> Scores:
    """Minimise from a start by damped Newton steps, up to rounding."""
    value, grad = objective(scores)
    for _ in range(_MAX_STEPS):
        direction = _direction(objective, scores, grad)
        slope = float(direction @ grad)
        step = _backtracked(objective, scores, value, direction, slope)
        scores = scores + step * direction
        if step == 0.0 or -slope <= _RESOLVED * max(1.0, abs(value)):
            break
        value, grad = objective(scores)
    return scores


def _direction(objective: Objective, scores: Scores, grad: Scores) -> Scores:
    """Return the Newton step with absolute eigenvalues of the Hessian, a direction of descent."""
    n = scores.size
    hessian = np.empty((n, n))
    for i in range(n):
        h = _STEP * np.eye(n)[i]
        hessian[i] = (objective(scores + h)[1] - objective(scores - h)[1]) / (2 * _STEP)
    curvatures, axes = np.linalg.eigh((hessian + hessian.T) / 2)
    safe_curvatures = np.maximum(
        np.abs(curvatures), _LEAST_BEND * max(1.0, float(np.abs(curvatures).max()))
    )
    step = -axes @ ((axes.T @ grad) / safe_curvatures)
    largest_change = float(np.abs(step).max())
    return step * min(1.0, _LONGEST / largest_change) if largest_change else step


def _backtracked(
    objective: Objective, scores: Scores, value: float, direction: Scores, slope: float
) -> float:
    """Return a step length that lowers the value, or 0 if there is none because of rounding."""
    step, rounding = 1.0, 4.0 * _RESOLVED * max(1.0, abs(value))
    while step > 1e-10:
        if objective(scores + step * direction)[0] <= value + 1e-4 * step * slope + rounding:
            return step
        step /= 2.0
    return 0.0


class _Planes:
    """The maximum of the tangents so far, a lower bound of a convex function."""

    def __init__(self, objective: Objective, n: int, *, centred: bool) -> None:
        self._objective, self._n, self._centred = objective, n, centred
        self._slopes: list[Scores] = []
        self._heights: list[float] = []
        self.cut(np.zeros(n))

    def cut(self, scores: Scores) -> float:
        """Add the tangent at these scores, and return the value of the function."""
        value, slope = self._objective(scores)
        self._slopes.append(slope)
        self._heights.append(value - float(slope @ scores))
        return value

    def minimum(self) -> tuple[Scores, float]:
        """Return a minimiser and the least value, exact for a piecewise linear function."""
        best, least = np.zeros(self._n), np.inf
        while len(self._slopes) < _MAX_PLANES:
            scores, height = self._solved(np.append(np.zeros(self._n), 1.0), np.inf)
            value = self.cut(scores)
            if value < least:
                best, least = scores, value
            if least - height <= _CLOSE * max(1.0, abs(least)):
                break
        return best, least

    def least_gap(self, i: int, j: int, least: float) -> float:
        """Return the least s_i - s_j over all scores at which the function has its least value."""
        aim = np.zeros(self._n + 1)
        aim[i], aim[j] = 1.0, -1.0
        slack = _SLACK * max(1.0, abs(least))
        gap = -2.0 * _BOX
        while len(self._slopes) < _MAX_PLANES:
            scores, _ = self._solved(aim, least + slack)
            gap = float(scores[i] - scores[j])
            if self.cut(scores) <= least + 3.0 * slack:
                break
        return 0.0 if abs(gap) <= _GRAIN else gap

    def _solved(self, aim: NDArray[np.float64], highest: float) -> tuple[Scores, float]:
        """Return the scores and the height with the least aim, above all planes, up to highest."""
        slopes = np.array(self._slopes)
        inequality_rows = np.hstack([slopes, -np.ones((len(slopes), 1))])
        equality_rows = np.append(np.ones(self._n), 0.0)[None] if self._centred else None
        solution: Any = linprog(
            aim,
            A_ub=inequality_rows,
            b_ub=-np.array(self._heights),
            A_eq=equality_rows,
            b_eq=None if equality_rows is None else np.zeros(1),
            bounds=[(-_BOX, _BOX)] * self._n + [(None, None if np.isinf(highest) else highest)],
            method="highs",
            options=_EXACT,
        )
        x = np.asarray(solution.x, np.float64)
        return x[:-1], float(x[-1])
