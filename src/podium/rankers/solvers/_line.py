"""An exact line search on a convex objective in score space, without products with features."""

from __future__ import annotations

from dataclasses import dataclass

from podium.rankers.objective import LinearObjective, Parameters, dot
from podium.types import PerRow

_MAX_EVALUATIONS = 12
_FLAT = 1e-3  # slopes below this share of the slope at the start count as 0


@dataclass(frozen=True, eq=False)
class Line:
    """A point and a direction, with the scores of both."""

    objective: LinearObjective
    point: Parameters
    direction: Parameters
    scores: PerRow
    score_direction: PerRow

    def at(self, step: float) -> Place:
        """Return the place at a step, with its objective and slope."""
        scores = self.scores + step * self.score_direction
        parameters = self.point + step * self.direction
        loss, by_row = self.objective.loss_at(scores)
        return self._place(step, parameters, scores, loss, by_row)

    def begin(self, known: Place) -> Place:
        """Return the line's start as a place, from the same point on the line before."""
        return self._place(0.0, known.parameters, known.scores, known.loss, known.by_row)

    def _place(
        self,
        step: float,
        parameters: Parameters,
        scores: PerRow,
        loss: float,
        by_row: PerRow | None,
    ) -> Place:
        penalty, penalty_grad = self.objective.penalty(parameters)
        if by_row is None:
            return Place(step, parameters, scores, loss, penalty, None, float("inf"))
        slope = dot(by_row, self.score_direction) + dot(penalty_grad, self.direction)
        return Place(step, parameters, scores, loss, penalty, by_row, slope)


@dataclass(frozen=True, eq=False)
class Place:
    """A point on a line, with its objective and the slope along the line."""

    step: float
    parameters: Parameters
    scores: PerRow
    loss: float
    penalty: float
    by_row: PerRow | None
    slope: float

    @property
    def value(self) -> float:
        return self.loss + self.penalty


def lowest(line: Line, start: Place) -> Place:
    """Return the best of the places that doubling and secant steps visit, from step 0 on.

    The objective is convex, so its slope rises along the line: the zero of the slope lies between
    a place of negative and a place of positive slope.
    """
    low = best = line.begin(start)
    flat_slope, high, step = _FLAT * abs(low.slope), None, 1.0
    for _ in range(_MAX_EVALUATIONS):
        place = line.at(step)
        if place.value < best.value:
            best = place
        if abs(place.slope) <= flat_slope:
            break
        if place.slope > 0.0:
            high = place
        else:
            low = place
        # Step further out until a slope is positive; afterwards stay inside the bracket.
        step = 2.0 * step if high is None else _between(low, high)
    return best


def _between(low: Place, high: Place) -> float:
    """Return the secant's step, kept away from the ends of the bracket so that the bracket shrinks.

    The slope of a piecewise linear loss jumps: a pure secant step could stay beside a kink.
    """
    width = high.step - low.step
    total = high.slope - low.slope
    share = -low.slope / total if 0.0 < total < float("inf") else 0.5
    return low.step + min(max(share, 0.1), 0.9) * width
