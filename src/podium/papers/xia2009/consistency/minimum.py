"""The scores that make the expectation of a loss least, and the heads that they show."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.losses import Loss
from podium.papers.xia2009.consistency import _newton, _orders
from podium.papers.xia2009.consistency._planes import Planes
from podium.papers.xia2009.consistency._reading import Reading, Scores
from podium.papers.xia2009.consistency.space import Head, Space

Method = Literal["newton", "cutting planes", "many starts"]

_TIED = 1e-6  # by the spread of the scores: gaps that count as none
_SAME = 1e-10  # values of starts that found the same minimum


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
    expected = Expectation(reading, space)
    if not reading.loss.smooth:
        return _by_planes(expected, reading)
    if reading.loss.convex:
        return _by_newton(expected, reading)
    starts = _check.cutoff(n_starts, name="n_starts")
    return _by_starts(expected, reading, starts, np.random.default_rng(_check.seed(seed)))


class Expectation:
    """The mean of a loss over a space's orders, and its gradient, as a function of scores."""

    def __init__(self, reading: Reading, space: Space) -> None:
        self._reading, self._p = reading, space.probabilities

    def __call__(self, scores: Scores) -> tuple[float, Scores]:
        values, grads = self._reading.values_and_gradients(scores)
        return float(self._p @ values), self._p @ grads


def _by_newton(expected: Expectation, reading: Reading) -> Minimum:
    scores, finite = _newton.descend(expected, np.zeros(reading.n))
    scores = _normal(scores, reading)
    gaps = scores[:, None] - scores
    return Minimum(scores, expected(scores)[0], gaps, finite, "newton")


def _by_planes(expected: Expectation, reading: Reading) -> Minimum:
    if not reading.loss.convex:
        raise ArgumentError(
            f"loss {reading.loss!r} is neither convex nor smooth: no method here would find its "
            "minimum. Pass a loss that is one of them."
        )
    planes = Planes(expected, reading.n, centred=reading.loss.shift_invariant)
    scores, value = planes.minimum()
    gaps = np.zeros((reading.n, reading.n))
    for i, j in itertools.permutations(range(reading.n), 2):
        gaps[i, j] = planes.least_gap(i, j, value)
    return Minimum(scores, value, gaps, True, "cutting planes")


def _by_starts(
    expected: Expectation, reading: Reading, n_starts: int, rng: np.random.Generator
) -> Minimum:
    """Return the best of several starts; gaps are the least over all that are as good."""
    found: list[tuple[float, Scores, bool]] = []
    for _ in range(n_starts):
        start = rng.standard_normal(reading.n)
        if reading.is_scale_free:
            scores, finite = _newton.newton(expected, start / np.linalg.norm(start)), True
        else:
            scores, finite = _newton.descend(expected, start)
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
