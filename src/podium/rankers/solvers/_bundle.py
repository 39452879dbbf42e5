"""A cutting-plane method with a duality gap, for convex losses with a penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.errors import ArgumentError, arg
from podium.rankers.objective import LinearObjective, Parameters, Point, dot
from podium.rankers.solvers._common import Run, StopReason, require
from podium.rankers.solvers.planes import Planes
from podium.types import PerRow

_CAPACITY = 200  # maximum number of planes
_MAX_EVALUATIONS = 12  # of a line search
_FLAT = 1e-3  # slopes below this share of the slope at the start count as 0
_CUT = 0.1  # the second cut, as a share of the way from the best point to the model's minimiser
_ROUNDING = 1e-14  # gaps below this share of the first objective count as closed
_PATIENCE = 20  # iterations without progress of either bound, after which the solver has stalled
_FARTHEST = 2.0**20  # largest intercept that the search for a rising loss tries


class Bundle(Run):
    """Minimise a convex loss with l2 > 0 by cutting planes, to a known gap.

    The maximum of the planes, which lie below the loss, plus the penalty is a model of the
    objective that is nowhere above it. The model's minimum, from a quadratic programme over the
    planes' weights, is a lower bound. A line search from the best point towards the model's
    minimiser gives the next best point, and planes are added there and a little further on. The
    solver has converged once the gap between the best objective and the bound is at most `tol`
    times the objective. Iterates never get worse, so the last is the best; learning_rate has no
    effect.

    An iteration costs two products with the features (three at the start), of which only the
    first reads rows without a gradient; about ten evaluations of the loss in the line search; and
    a dense quadratic programme of at most 200 variables.

    Raises
    ------
    ArgumentError
        If the loss does not declare `convex` or draws anew in each pass, l2 is 0, or
        the loss falls without end in the intercept.
    MissingExtraError
        If the extra ``podium[qp]`` is not installed.

    References
    ----------
    teo2010, algorithm 1; franc2009, section 3 for the line search.
    """

    @property
    def gap(self) -> float:
        return self.best.value - self.lower_bound

    def reason(self) -> StopReason:
        """Minimise and return the reason to stop."""
        objective = self.objective
        require(objective, "bundle", "convex")
        if objective.l2 <= 0.0:  # the dual is then unbounded
            raise ArgumentError(
                f"{arg.solver('bundle')} needs l2 > 0, got {objective.l2:g}. Its duality gap is "
                f"infinite without a penalty. Raise {arg.l2}, or use "
                f"{arg.solver('subgradient')}."
            )
        self.planes = Planes(objective.n_features, objective.n_parameters, objective.l2, _CAPACITY)
        self.best = self._place(self.start)
        self.point = self._cut(self.best)
        self.lower_bound, self.unchanged = -np.inf, 0
        rounding = _ROUNDING * abs(self.best.value)
        reason = self.record(self.point)
        if self.objective.has_intercept and reason is None:
            self._bracket_intercept()
        while reason is None:
            model = self.planes.minimise()
            if model is None:
                return "stalled" if self.planes.finite else "diverged"
            if model.lower_bound > self.lower_bound:
                self.lower_bound, self.unchanged = model.lower_bound, 0
            if self.gap <= max(self.settings.tol * abs(self.best.value), rounding):
                return "converged"
            if self.unchanged >= _PATIENCE:
                return "stalled"
            self._descend(model.parameters)
            reason = self.record(self.point)
        return reason

    def remaining(self) -> str:
        """Return a sentence part that compares the relative gap with `tol`."""
        value = self.best.value
        relative_gap = self.gap / abs(value) if value else np.inf
        return f"its relative gap is {relative_gap:.2g} > {arg.tol(self.settings.tol)}"

    def _descend(self, target: Parameters) -> None:
        """Search the line to the model's minimiser, and cut at and beyond its best place."""
        best, direction = self.best, target - self.best.parameters
        score_direction = self.objective.scores(direction)
        line = Line(self.objective, best.parameters, direction, best.scores, score_direction)
        self.best = lowest(line, best)
        if self.best.step:
            self.point, self.unchanged = self._cut(self.best), 0
        else:
            self.unchanged += 1
        cut_place = line.at(self.best.step + _CUT * (1.0 - self.best.step))
        if cut_place.by_row is not None:
            self._cut(cut_place)

    def _cut(self, place: Place) -> Point:
        """Add the plane that touches the loss at a place."""
        penalty, penalty_grad = self.objective.penalty(place.parameters)
        if place.by_row is None:
            return Point(place.parameters, np.inf, penalty, np.full_like(penalty_grad, np.nan))
        slope = self.objective.pull_back(place.by_row)
        self.planes.add(slope, place.loss - dot(slope, place.parameters))
        return Point(place.parameters, place.loss, penalty, slope + penalty_grad)

    def _bracket_intercept(self) -> None:
        """Add planes with intercept slopes of both signs.

        The intercept has no penalty, so without them the model has no minimum.
        """
        for sign in (-1.0, 1.0):
            shift = sign
            while sign * self._cut(self._place(self._shifted(shift))).grad[-1] < 0.0:
                shift *= 4.0
                if abs(shift) > _FARTHEST:
                    raise ArgumentError(
                        f"{arg.solver('bundle')} found no intercept at which the loss stops "
                        f"decreasing. Pass {arg.fit_intercept(False)}."
                    )

    def _shifted(self, intercept: float) -> Parameters:
        parameters = self.best.parameters.copy()
        parameters[-1] += intercept
        return parameters

    def _place(self, parameters: Parameters) -> Place:
        scores = self.objective.scores(parameters)
        return Line(self.objective, parameters, parameters, scores, scores).at(0.0)


@dataclass(frozen=True, eq=False)
class Line:
    """A point and a direction, with the scores of both."""

    objective: LinearObjective
    point: Parameters
    direction: Parameters
    scores: PerRow
    score_direction: PerRow

    def at(self, step: float, known: Place | None = None) -> Place:
        """Return the place at a step, with its objective and slope; `known` is the same point."""
        if known is None:
            scores = self.scores + step * self.score_direction
            parameters = self.point + step * self.direction
            loss, by_row = self.objective.loss_at(scores)
        else:
            parameters, scores = known.parameters, known.scores
            loss, by_row = known.loss, known.by_row
        penalty, penalty_grad = self.objective.penalty(parameters)
        slope = np.inf
        if by_row is not None:
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
    low = best = line.at(0.0, start)
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
