"""The scores that make the expectation of a loss least, and the heads that they show."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from podium import _check
from podium.errors import ArgumentError
from podium.losses import Loss
from podium.papers.xia2009.consistency import _orders
from podium.papers.xia2009.consistency._orders import Reading, Scores
from podium.papers.xia2009.consistency.space import Head, Space

Method = Literal["newton", "cutting planes", "many starts"]

Objective = Callable[[Scores], tuple[float, Scores]]

_TIED = 1e-6  # by the spread of the scores: gaps that count as none
_SAME = 1e-10  # values of starts that found the same minimum

# Of Newton's method
_PENALTIES = (1e-2, 1e-4, 1e-6, 1e-8)
_GROWTH = 1.0  # scores that spread by more as the penalty falls to a hundredth do so for ever
_MAX_STEPS = 200
_STEP = 1e-5  # of the Hessian's central differences
_RESOLVED = 1e-16  # a promised fall of the value that rounding hides
_LEAST_BEND = 1e-11
_LONGEST = 4.0  # score units of one step

# Of cutting planes
_BOX = 50.0  # scores are looked for between -_BOX and _BOX
_CLOSE = 1e-9
_SLACK = 1e-8  # above the least value, by it: what still counts as least
_GRAIN = 1e-4  # score units that the slack may stand for: smaller gaps are none
_MAX_PLANES = 1000
_EXACT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the expectation of a loss is least.

    Attributes
    ----------
    scores : float64, (n,)
        One minimiser, with a mean of 0 where the loss reads differences alone, of length 1 where
        it reads the direction alone. Where `finite` is False, far along the way.
    value : float
        The expectation there.
    gaps : float64, (n, n)
        The least s_i - s_j over all minimisers that were found. There is more than one where a
        loss has flat pieces; gaps[i, j] > 0 says that all of them have i above j.
    finite : bool
        False where the expectation falls for ever as scores run apart (or beyond what doubles
        resolve), because some orders have no probability.
    method : {"newton", "cutting planes", "many starts"}
        The first two are sure of the least value, for they are used where the loss declares to be
        convex; the last is the best of its starts.
    """

    scores: NDArray[np.float64]
    value: float
    gaps: NDArray[np.float64]
    finite: bool
    method: Method

    def heads(self, k: int) -> tuple[Head, ...]:
        """Return the heads of k objects that sorting a minimiser may show.

        More than one where scores tie, or where minimisers differ; objects are compared two at a
        time, so with flat pieces a head may be listed that no single minimiser shows.
        """
        n = self.scores.size
        below = self.gaps > _TIED * max(float(np.ptp(self.scores)), 1e-3)  # [i, j]: j below i
        found: list[Head] = []
        for row in _orders.heads(n, _orders.depth(k, n)).tolist():
            after = [*row, *(o for o in range(n) if o not in row)]
            if not any(
                below[later, head] for place, head in enumerate(row) for later in after[place + 1 :]
            ):
                found.append(tuple(row))
        return tuple(found)


def minimise(space: Space, loss: Loss | str, *, n_starts: int = 12, seed: int = 0) -> Minimum:
    """Minimise the expectation of a loss over the orders of a space, by one score per object.

    Parameters
    ----------
    space : Space
    loss : Loss or str
        A loss, or its name as ``"listmle@2"``. It reads an order as relevance n at the top, n - 1
        below it, and so on to 1.
    n_starts : int
        Random starts, for a loss that does not declare to be convex.
    seed : int

    Raises
    ------
    ArgumentError
        For a loss that declares to be neither convex nor smooth: its minimum cannot be trusted.

    Notes
    -----
    Newton's method with a penalty taken away in steps for smooth losses; cutting planes by linear
    programmes, between scores of -50 and 50, for convex ones with kinks.
    Cost: evaluates all n! orders some hundred times.

    References
    ----------
    xia2009, equation 8.

    Examples
    --------
    >>> from podium import losses
    >>> space = Space.plackett_luce([2.0, 0.0, 1.0])
    >>> found = minimise(space, losses.get("listmle"))
    >>> bool(np.allclose(found.scores, [1.0, -1.0, 0.0])), found.heads(2)
    (True, ((0, 2),))
    """
    reading = Reading(loss, space.n)

    def expected(scores: Scores) -> tuple[float, Scores]:
        values, grads = reading.values_and_gradients(scores)
        return float(space.probabilities @ values), space.probabilities @ grads

    if not reading.loss.smooth:
        return _by_planes(expected, reading)
    if reading.loss.convex:
        return _by_newton(expected, reading)
    starts = _check.cutoff(n_starts, name="n_starts")
    return _by_starts(expected, reading, starts, np.random.default_rng(_check.seed(seed)))


def _by_newton(expected: Objective, reading: Reading) -> Minimum:
    scores, finite = _descend(expected, np.zeros(reading.n))
    scores = _normal(scores, reading)
    gaps = scores[:, None] - scores
    return Minimum(scores, expected(scores)[0], gaps, finite, "newton")


def _by_planes(expected: Objective, reading: Reading) -> Minimum:
    if not reading.loss.convex:
        raise ArgumentError(
            f"loss {reading.loss!r} is neither convex nor smooth: no method here would find its "
            "minimum. Pass a loss that is one of them."
        )
    planes = _Planes(expected, reading.n, centred=reading.loss.shift_invariant)
    scores, value = planes.minimum()
    gaps = np.zeros((reading.n, reading.n))
    for i, j in itertools.permutations(range(reading.n), 2):
        gaps[i, j] = planes.least_gap(i, j, value)
    return Minimum(scores, value, gaps, True, "cutting planes")


def _by_starts(
    expected: Objective, reading: Reading, n_starts: int, rng: np.random.Generator
) -> Minimum:
    """Return the best of several starts; gaps are the least over all that are as good."""
    found: list[tuple[float, Scores, bool]] = []
    for _ in range(n_starts):
        start = rng.standard_normal(reading.n)
        if reading.is_scale_free:
            scores, finite = _newton(expected, start / np.linalg.norm(start)), True
        else:
            scores, finite = _descend(expected, start)
        scores = _normal(scores, reading)
        found.append((expected(scores)[0], scores, finite))
    value, scores, finite = min(found, key=lambda each: each[0])
    as_good = [each[1] for each in found if each[0] <= value + _SAME * max(1.0, abs(value))]
    gaps = np.min([each[:, None] - each for each in as_good], axis=0)
    return Minimum(scores, value, gaps, finite, "many starts")


def _normal(scores: Scores, reading: Reading) -> Scores:
    if reading.loss.shift_invariant:
        return scores - scores.mean()
    return scores / np.linalg.norm(scores) if reading.is_scale_free else scores


def _descend(objective: Objective, start: Scores) -> tuple[Scores, bool]:
    """Minimise with ever smaller penalties on the squared scores, and with none at last.

    Returns
    -------
    scores : float64, (n,)
        Where there is no minimum, those of the smallest penalty: scores run apart as its
        logarithm, and their order is that of the limit.
    finite : bool
        Whether the last hundredth of the penalty left them where they were.
    """
    scores, spreads = start, [0.0]
    for penalty in _PENALTIES:

        def penalised(at: Scores, penalty: float = penalty) -> tuple[float, Scores]:
            value, grad = objective(at)
            return value + penalty * float(at @ at) / 2.0, grad + penalty * at

        scores = _newton(penalised, scores)
        spreads.append(float(np.ptp(scores)))
    finite = spreads[-1] - spreads[-2] <= _GROWTH
    return (_newton(objective, scores) if finite else scores), finite


def _newton(objective: Objective, scores: Scores) -> Scores:
    """Minimise from a start, by damped Newton steps, to what rounding lets be seen."""
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
    """Return Newton's step, downhill in every direction of the Hessian, of either sign."""
    n = scores.size
    hessian = np.empty((n, n))
    for i in range(n):
        h = _STEP * np.eye(n)[i]
        hessian[i] = (objective(scores + h)[1] - objective(scores - h)[1]) / (2 * _STEP)
    bend, axes = np.linalg.eigh((hessian + hessian.T) / 2)
    safe = np.maximum(np.abs(bend), _LEAST_BEND * max(1.0, float(np.abs(bend).max())))
    move = -axes @ ((axes.T @ grad) / safe)
    longest = float(np.abs(move).max())
    return move * min(1.0, _LONGEST / longest) if longest else move


def _backtracked(
    objective: Objective, scores: Scores, value: float, direction: Scores, slope: float
) -> float:
    """Return a step that lowers the value; 0 where rounding lets none."""
    step, rounding = 1.0, 4.0 * _RESOLVED * max(1.0, abs(value))
    while step > 1e-10:
        if objective(scores + step * direction)[0] <= value + 1e-4 * step * slope + rounding:
            return step
        step /= 2.0
    return 0.0


class _Planes:
    """The largest of all tangents taken so far: never above the function."""

    def __init__(self, objective: Objective, n: int, *, centred: bool) -> None:
        self._objective, self._n, self._centred = objective, n, centred
        self._slopes: list[Scores] = []
        self._heights: list[float] = []
        self.cut(np.zeros(n))

    def cut(self, scores: Scores) -> float:
        """Add the tangent at these scores, and return the function's value."""
        value, slope = self._objective(scores)
        self._slopes.append(slope)
        self._heights.append(value - float(slope @ scores))
        return value

    def minimum(self) -> tuple[Scores, float]:
        """Return a minimiser and the least value, exact for a function of flat pieces."""
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
        """Return the least s_i - s_j over all scores where the function has its least value."""
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
        """Return scores and height with the least aim, above all planes and no higher."""
        slopes = np.array(self._slopes)
        rows = np.hstack([slopes, -np.ones((len(slopes), 1))])
        equal = np.append(np.ones(self._n), 0.0)[None] if self._centred else None
        found: Any = linprog(
            aim,
            A_ub=rows,
            b_ub=-np.array(self._heights),
            A_eq=equal,
            b_eq=None if equal is None else np.zeros(1),
            bounds=[(-_BOX, _BOX)] * self._n + [(None, None if np.isinf(highest) else highest)],
            method="highs",
            options=_EXACT,
        )
        x = np.asarray(found.x, np.float64)
        return x[:-1], float(x[-1])
