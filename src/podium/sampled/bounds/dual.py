"""Prices that bound a mean worth over users of several designs, each with any ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium.sampled.design import Floats, Ints

_COOLING = 0.4  # the ratio of temperatures between steps of the search
_COLDEST = 3e-7  # of the worth's range; the error is at most this times the log of the ranks
_STEPS = 40  # the largest number of Newton steps at one temperature
_FLAT = 1e-9  # a smaller expected gain, in temperatures, ends the steps
_RISE = 1e-4  # the share of the expected gain that a step must reach
_SHORTEST = 1e-6  # the smallest share of a step that is tried
_NO_SHARE = 1e-24  # smaller shares of users change no digit of a sum
_TINY = 1e-12  # is added to the curvature, which is singular if there are few points


@dataclass(frozen=True, eq=False)
class Cloud:
    """The possible values of users' functions: groups of users, and the points of each group.

    Attributes
    ----------
    points : float64, (n_points, n_functions)
        The means of the functions for a target of one rank, minus the observed means, for all
        groups in sequence.
    worth : float64, (n_points,)
    starts : int64, (n_groups,)
        The first point of each group.
    shares : float64, (n_groups,)
        The shares of users; they sum to 1.
    radius : float
        The largest distance of the mean over users from the observed means.
    """

    points: Floats
    worth: Floats
    starts: Ints
    shares: Floats
    radius: float

    @property
    def n_functions(self) -> int:
        return int(self.points.shape[1])

    @cached_property
    def sizes(self) -> Ints:
        """The number of points of each group."""
        return np.diff(np.append(self.starts, self.worth.size))


def distance(cloud: Cloud) -> float:
    """Return the distance of the nearest mean over users from the observed one, or a bit more."""
    state = _State.compute(cloud, None, np.zeros(cloud.n_functions), 1.0).maximised()
    while state.temperature > _COLDEST:
        state = state.cooled().maximised()
    return float(np.linalg.norm(state.mean))


def best_prices(cloud: Cloud, prices: Floats, start: float = 1.0) -> Floats:
    """Return prices of the functions that nearly maximise the bound on the worth.

    Parameters
    ----------
    cloud : Cloud
        A cloud in which some mean over users is within the radius.
    prices : float64, (n_functions,)
        The prices at the start of the search.
    start : float
        The temperature at the start, as a multiple of the range of the worth.

    Returns
    -------
    float64, (n_functions,)

    Notes
    -----
    The smallest worth of a group, after subtraction of the functions' cost, is replaced by a smooth
    minimum that approaches it as the temperature falls. The sum over groups is maximised by
    Newton's method at decreasing temperatures. Any prices prove a valid bound.
    """
    span = float(np.ptp(cloud.worth)) or 1.0
    state = _State.compute(cloud, cloud.worth, prices, start * span).maximised()
    while state.temperature > _COLDEST * span:
        state = state.cooled().maximised()
    return state.prices


@dataclass(frozen=True, eq=False)
class _State:
    """The smooth bound at some prices.

    Without a worth it is minus half the squared distance, which does not depend on the radius.
    """

    cloud: Cloud
    worth: Floats | None
    prices: Floats
    temperature: float
    value: float
    point_shares: Floats
    mean: Floats

    @classmethod
    def compute(
        cls, cloud: Cloud, worth: Floats | None, prices: Floats, temperature: float
    ) -> _State:
        """Compute the value, each point's share of the users, and their mean."""
        cost = cloud.points @ prices
        exponents = (cost if worth is None else cost - worth) / temperature
        largest = np.maximum.reduceat(exponents, cloud.starts)
        point_shares = np.exp(exponents - np.repeat(largest, cloud.sizes))
        totals = np.add.reduceat(point_shares, cloud.starts)
        point_shares *= np.repeat(cloud.shares / totals, cloud.sizes)
        value = -temperature * float(cloud.shares @ (largest + np.log(totals)))
        norm = float(np.linalg.norm(prices))
        value -= norm**2 / 2 if worth is None else cloud.radius * float(np.hypot(norm, temperature))
        return cls(
            cloud, worth, prices, temperature, value, point_shares, point_shares @ cloud.points
        )

    def cooled(self) -> _State:
        """Return the bound at the same prices and a lower temperature."""
        return _State.compute(self.cloud, self.worth, self.prices, self.temperature * _COOLING)

    def maximised(self) -> _State:
        """Return the state after Newton steps, as long as they gain."""
        state: _State = self
        for _ in range(_STEPS):
            new_state = state._step()
            if new_state is None:
                break
            state = new_state
        return state

    def _step(self) -> _State | None:
        """Return the state after one step, which is halved until the value rises enough."""
        penalty_gradient, penalty_hessian = self._penalty_derivatives()
        gradient = -self.mean - penalty_gradient
        direction = np.linalg.solve(
            self._covariance() / self.temperature + penalty_hessian, gradient
        )
        expected_gain, length = float(gradient @ direction), 1.0
        while expected_gain > _FLAT * self.temperature and length > _SHORTEST:
            new_prices = self.prices + length * direction
            new_state = _State.compute(self.cloud, self.worth, new_prices, self.temperature)
            if new_state.value >= self.value + _RISE * length * expected_gain:
                return new_state
            length /= 2.0
        return None

    def _covariance(self) -> Floats:
        """Return the covariance of the points within groups, without points of no weight.

        Each group has a point with a weight. At low temperatures, few others have one.
        """
        used = np.flatnonzero(self.point_shares > _NO_SHARE)
        points = self.cloud.points[used]
        weighted = self.point_shares[used, None] * points
        centres = np.add.reduceat(weighted, np.searchsorted(used, self.cloud.starts), axis=0)
        return points.T @ weighted - centres.T @ (centres / self.cloud.shares[:, None])

    def _penalty_derivatives(self) -> tuple[Floats, Floats]:
        """Return the first and second derivatives of the penalty on the norm of the prices."""
        identity = np.eye(self.prices.size)
        if self.worth is None:
            return self.prices, identity
        norm = float(np.hypot(np.linalg.norm(self.prices), self.temperature))
        direction = self.prices / norm
        scale = self.cloud.radius / norm
        return self.cloud.radius * direction, scale * (
            identity - np.outer(direction, direction)
        ) + _TINY * identity
