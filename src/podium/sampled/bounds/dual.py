"""Prices that bound a worth over users of several designs, each of whom may have any ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium.sampled.design import Floats, Ints

_COOLING = 0.4  # of the temperature from one step of the search to the next
_COLDEST = 3e-7  # of the worth's range: what it adds to the worth is below it times a log of ranks
_STEPS = 40  # of Newton's method at one temperature, at most
_FLAT = 1e-9  # promised gain, in temperatures, that is none
_RISE = 1e-4  # of the promised gain that a step has to make
_SHORTEST = 1e-6  # share of a step that is tried
_TINY = 1e-12  # of curvature, where points are too few to have some


@dataclass(frozen=True, eq=False)
class Cloud:
    """Where users' functions can be: groups of users, and the points open to each.

    Attributes
    ----------
    points : float64, (n_points, n_functions)
        The functions' means for a target of some rank, less the observed means; groups one
        after the other.
    worth : float64, (n_points,)
    starts : int64, (n_groups,)
        First point of each group.
    shares : float64, (n_groups,)
        Of users; the sum is 1.
    radius : float
        Distance that the mean over users may have from the observed means.
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
        """Points of each group."""
        return np.diff(np.append(self.starts, self.worth.size))


def distance(cloud: Cloud) -> float:
    """Return how far the nearest mean over users is from the observed means, or a little more."""
    state = _State.at(cloud, None, np.zeros(cloud.n_functions), 1.0).top()
    while state.heat > _COLDEST:
        state = state.cooled().top()
    return float(np.linalg.norm(state.mean))


def best_prices(cloud: Cloud, prices: Floats, start: float = 1.0) -> Floats:
    """Return prices of the functions at which the bound on the worth is nearly greatest.

    Parameters
    ----------
    cloud : Cloud
        Some mean over users is within the radius.
    prices : float64, (n_functions,)
        Where the search begins.
    start : float
        Temperature that it begins with, by the range of the worth.

    Notes
    -----
    A group's least worth, after what the functions cost, is replaced by a smooth one that tends
    to it with the temperature, and the sum is maximised by Newton's method at falling
    temperatures. Whatever prices are found, what they prove is a bound.
    """
    span = float(np.ptp(cloud.worth)) or 1.0
    state = _State.at(cloud, cloud.worth, prices, start * span).top()
    while state.heat > _COLDEST * span:
        state = state.cooled().top()
    return state.prices


@dataclass(frozen=True, eq=False)
class _State:
    """The smooth bound at some prices.

    Without a worth it is minus half of the squared distance: the radius is no part of that.
    """

    cloud: Cloud
    worth: Floats | None
    prices: Floats
    heat: float
    value: float
    chosen: Floats
    mean: Floats

    @classmethod
    def at(cls, cloud: Cloud, worth: Floats | None, prices: Floats, heat: float) -> _State:
        """Find value, each point's part of the users, and their mean."""
        cost = cloud.points @ prices
        left = (cost if worth is None else cost - worth) / heat
        most = np.maximum.reduceat(left, cloud.starts)
        chosen = np.exp(left - np.repeat(most, cloud.sizes))
        total = np.add.reduceat(chosen, cloud.starts)
        chosen *= np.repeat(cloud.shares / total, cloud.sizes)
        value = -heat * float(cloud.shares @ (most + np.log(total)))
        length = float(np.linalg.norm(prices))
        value -= length**2 / 2 if worth is None else cloud.radius * float(np.hypot(length, heat))
        return cls(cloud, worth, prices, heat, value, chosen, chosen @ cloud.points)

    def cooled(self) -> _State:
        """Return the bound at the same prices, and at a lower temperature."""
        return _State.at(self.cloud, self.worth, self.prices, self.heat * _COOLING)

    def top(self) -> _State:
        """Return the state after Newton steps that gain."""
        state: _State = self
        for _ in range(_STEPS):
            after = state._step()
            if after is None:
                break
            state = after
        return state

    def _step(self) -> _State | None:
        """Return the state after one step, half as long each time until the value rises enough."""
        push, bend = self._radial()
        slope = -self.mean - push
        way = np.linalg.solve(self._spread() / self.heat + bend, slope)
        promised, length = float(slope @ way), 1.0
        while promised > _FLAT * self.heat and length > _SHORTEST:
            there = self.prices + length * way
            after = _State.at(self.cloud, self.worth, there, self.heat)
            if after.value >= self.value + _RISE * length * promised:
                return after
            length /= 2.0
        return None

    def _spread(self) -> Floats:
        """Return the covariance of the points, within groups."""
        weighted = self.chosen[:, None] * self.cloud.points
        centres = np.add.reduceat(weighted, self.cloud.starts, axis=0)
        return self.cloud.points.T @ weighted - centres.T @ (centres / self.cloud.shares[:, None])

    def _radial(self) -> tuple[Floats, Floats]:
        """Return first and second derivatives of what the length of the prices costs."""
        plain = np.eye(self.prices.size)
        if self.worth is None:
            return self.prices, plain
        length = float(np.hypot(np.linalg.norm(self.prices), self.heat))
        unit = self.prices / length
        pull = self.cloud.radius / length
        return self.cloud.radius * unit, pull * (plain - np.outer(unit, unit)) + _TINY * plain
