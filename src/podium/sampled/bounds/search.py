"""The range of a measure over distributions of ranks that are close to the observations.

If seen items are left out, users have catalogues of many sizes. Users with many items have other
ranks than users with few, so that each size may have its own distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias, cast

import numpy as np
from numpy.polynomial import chebyshev

from podium.sampled.bounds.ball import Ball, Part
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.sums import cell_edges, expected, expected_at, needs_no_table, peaks

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
    worth : float64, (n_points,), or None
        Without a worth, the search is for the mean over users that is nearest to the observed one.
    starts : int64, (n_groups,)
        The first point of each group.
    shares : float64, (n_groups,)
        The shares of users; they sum to 1.
    radius : float
        The largest distance of the mean over users from the observed means.
    """

    points: Floats
    worth: Floats | None
    starts: Ints
    shares: Floats
    radius: float

    @cached_property
    def sizes(self) -> Ints:
        """The number of points of each group."""
        return np.diff(np.append(self.starts, len(self.points)))


class _State:
    """The smooth bound on the worth at some prices of the functions.

    The smallest worth of a group, after subtraction of the functions' cost, is replaced by a smooth
    minimum that approaches it as the temperature falls. The sum over groups is maximised by
    Newton's method at decreasing temperatures. Any prices prove a valid bound. Without a worth, the
    value is minus half the squared distance, which does not depend on the radius.
    """

    def __init__(self, cloud: Cloud, prices: Floats, temperature: float) -> None:
        self.cloud, self.prices, self.temperature = cloud, prices, temperature
        cost = cloud.points @ prices
        exponents = (cost if cloud.worth is None else cost - cloud.worth) / temperature
        largest = np.maximum.reduceat(exponents, cloud.starts)
        point_shares = np.exp(exponents - np.repeat(largest, cloud.sizes))
        totals = np.add.reduceat(point_shares, cloud.starts)
        point_shares *= np.repeat(cloud.shares / totals, cloud.sizes)
        norm = float(np.linalg.norm(prices))
        distance = norm**2 / 2
        if cloud.worth is not None:
            distance = cloud.radius * float(np.hypot(norm, temperature))
        self.value = -temperature * float(cloud.shares @ (largest + np.log(totals))) - distance
        self.point_shares, self.mean = point_shares, point_shares @ cloud.points

    def cooled(self, end: float) -> _State:
        """Return the state after Newton steps, as long as they gain, at temperatures to `end`."""
        state: _State = self
        while True:
            for _ in range(_STEPS):
                new_state = state._step()
                if new_state is None:
                    break
                state = new_state
            if state.temperature <= end:
                return state
            state = _State(state.cloud, state.prices, state.temperature * _COOLING)

    def _step(self) -> _State | None:
        """Return the state after one step, which is halved until the value rises enough."""
        penalty_gradient, penalty_hessian = self._penalty_derivatives()
        gradient = -self.mean - penalty_gradient
        curvature = self._covariance() / self.temperature + penalty_hessian
        direction = np.linalg.solve(curvature, gradient)
        expected_gain, length = float(gradient @ direction), 1.0
        while expected_gain > _FLAT * self.temperature and length > _SHORTEST:
            new_prices = self.prices + length * direction
            new_state = _State(self.cloud, new_prices, self.temperature)
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
        identity, radius = np.eye(self.prices.size), self.cloud.radius
        if self.cloud.worth is None:
            return self.prices, identity
        norm = float(np.hypot(np.linalg.norm(self.prices), self.temperature))
        direction = self.prices / norm
        hessian = radius / norm * (identity - np.outer(direction, direction))
        return radius * direction, hessian + _TINY * identity


_MAX_DESIGNS = 16  # with more designs, prices are searched for groups of designs of similar size
_GROUP_WIDTH = 0.05  # the width of such a group in the log of a size
_ROUNDS = 12  # in which ranks are added
_MIN_GAIN = 1e-6  # the smallest gain of the bound, in the measure, for which ranks are added
_WARM_START = 1e-3  # the start temperature of a search that continues an earlier one
_CELLS = 2**23  # the largest size of tables of the functions' means at all ranks
_SLACK = 1e-6  # a share of the distance to the nearest mean, if it is outside the ball

Worth: TypeAlias = Callable[[int], Floats]
StartRanks: TypeAlias = Callable[[Design], Ints]

_NODES = 12  # per cell
_FACTORS = 4  # cells are as short as for products of this number of probabilities
_PLACES = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_PLACES, _NODES - 1)).T

MAX_RELATIVE_ERROR = 1e-8
"""The largest error, as a share of the largest value; 4e-9 was measured with random signs."""


def extremes(ball: Ball, worth: Worth, start_ranks: StartRanks) -> tuple[float, float, float]:
    """Return bounds on the worth over all distributions in the ball.

    Parameters
    ----------
    ball : Ball
    worth : callable
        A function from the number of items of a catalogue to the value of each rank: float64,
        (n_items,).
    start_ranks : callable
        A function from a design to the ranks at the start of a search: int64.

    Returns
    -------
    low, high : float
        The bounds. The prices that prove them are checked at every rank of every design, so that
        they hold for any result of the search.
    miss : float
        The distance of the nearest distributions from the ball; 0 if some are inside.
    """
    if not np.isfinite(ball.radius):
        return _least_worth(ball, worth), -_least_worth(ball, _negative(worth)), 0.0
    search = _Search(ball, start_ranks)
    start = _State(search.cloud(None, ball.radius), np.zeros(ball.means.size), 1.0)
    nearest = float(np.linalg.norm(start.cooled(_COLDEST).mean))
    miss = max(0.0, nearest - ball.radius)
    radius = nearest * (1.0 + _SLACK) if miss else ball.radius
    low, high = (
        search.lower_bound(signed_worth, radius) for signed_worth in (worth, _negative(worth))
    )
    return low, -high, miss


def _negative(worth: Worth) -> Worth:
    return lambda n_items: -worth(n_items)


def _least_worth(ball: Ball, worth: Worth) -> float:
    """Return the bound that holds for any observations."""
    return sum(part.share * float(worth(part.design.n_items).min()) for part in ball.parts)


class _Groups:
    """The users by design; designs with the same sample size are adjacent.

    `sums` are functions of prices and of the outcomes' costs, which yield the costs by rank.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = sorted(parts, key=_size)
        self.members = [tuple(group) for _, group in groupby(self.parts, key=_size)]
        self.sums = list(map(_sums, self.members))

    def costs(self, prices: Floats) -> Iterator[tuple[Part, Floats, float]]:
        """Yield each part, the cost of its outcomes at every rank, and the error of the cost.

        The cost is the sum of prices times the means of the functions.
        """
        for parts, sums in zip(self.members, self.sums, strict=True):
            values = parts[0].values @ prices
            error = MAX_RELATIVE_ERROR * float(np.abs(values).max())
            for part, cost in zip(parts, sums(prices, values), strict=True):
                is_finite = bool(np.isfinite(cost).all())
                yield part, cost if is_finite else expected(part.design, values), error

    def merged(self) -> _Groups:
        """Return a few groups of neighbouring sizes that represent many designs."""
        if len(self.parts) <= _MAX_DESIGNS:
            return self
        groups: dict[tuple[int, ...], list[Part]] = {}
        for part in self.parts:
            sizes = np.array([part.design.n_negatives, part.design.n_items])
            steps = np.rint(np.log(sizes) / _GROUP_WIDTH).astype(np.int64)
            groups.setdefault(tuple(steps.tolist()), []).append(part)
        return _Groups([_merged_part(members) for members in groups.values()])


def _sums(parts: tuple[Part, ...]) -> Callable[[Floats, Floats], Iterable[Floats]]:
    """Return sums by tables of the functions' means, or by curves if sums need no large tables."""
    designs = [part.design for part in parts]
    cells = sum(design.n_items for design in designs) * parts[0].values.shape[1]
    if cells > _CELLS or any(map(needs_no_table, designs)):
        curves = Curves(designs)
        return lambda _, values: curves.sums(values)
    blocks = [[chances @ p.values for _, chances in p.design.blocks()] for p in parts]
    tables = list(map(np.concatenate, blocks))
    return lambda prices, _: (table @ prices for table in tables)


_size = attrgetter("design.n_negatives")


def _merged_part(parts: Sequence[Part]) -> Part:
    """Return one part for users of similar designs, with the most frequent sample size."""
    share = sum(part.share for part in parts)
    mean = sum(part.share * part.design.n_items for part in parts) / share
    design = max(parts, key=lambda part: part.share).design
    values = next(part.values for part in parts if part.design == design)
    size = max(round(mean), design.n_negatives + 1)
    return Part(replace(design, n_items=size), share, values)


class _Search:
    """The ranks of a few groups of users, over which prices are searched."""

    def __init__(self, ball: Ball, start_ranks: StartRanks) -> None:
        self.ball = ball
        self.all_groups = _Groups(ball.parts)
        self.groups = self.all_groups.merged()
        self.ranks = [start_ranks(part.design) for part in self.groups.parts]
        pairs = zip(self.groups.parts, self.ranks, strict=True)
        self.points = [self._points(part, ranks) for part, ranks in pairs]

    def _points(self, part: Part, ranks: Ints) -> Floats:
        return part.design.probabilities(ranks) @ part.values - self.ball.means

    def cloud(self, worth: Worth | None, radius: float) -> Cloud:
        parts, values = self.groups.parts, None
        if worth is not None:
            sizes = [part.design.n_items for part in parts]
            pairs = zip(sizes, self.ranks, strict=True)
            values = np.concatenate([worth(n_items)[ranks - 1] for n_items, ranks in pairs])
        starts = np.cumsum([0, *(ranks.size for ranks in self.ranks[:-1])])
        shares = np.array([part.share for part in parts])
        return Cloud(np.concatenate(self.points), values, starts, shares, radius)

    def lower_bound(self, worth: Worth, radius: float) -> float:
        """Search prices until no rank of the groups raises the bound; prove it for all users."""
        prices = best = np.zeros(self.ball.means.size)
        last_bound, start = -np.inf, 1.0
        for _ in range(_ROUNDS):
            cloud = self.cloud(worth, radius)
            span = float(np.ptp(cast("Floats", cloud.worth))) or 1.0
            prices = _State(cloud, prices, start * span).cooled(_COLDEST * span).prices
            new_bound = self._bound_and_add_ranks(worth, prices, radius)
            if new_bound > last_bound:
                best = prices
            if new_bound <= last_bound + _MIN_GAIN:
                break
            last_bound, start = new_bound, _WARM_START
        bound = self._constant(best, radius) + sum(
            part.share * (float((worth(part.design.n_items) - cost).min()) - error)
            for part, cost, error in self.all_groups.costs(best)
        )
        return float(np.fmax(bound, _least_worth(self.ball, worth)))  # fmax ignores nan

    def _constant(self, prices: Floats, radius: float) -> float:
        return float(prices @ self.ball.means) - radius * float(np.linalg.norm(prices))

    def _bound_and_add_ranks(self, worth: Worth, prices: Floats, radius: float) -> float:
        """Return the bound that prices prove for the groups, and add the ranks that limit it."""
        bound = self._constant(prices, radius)
        for i, (part, cost, _) in enumerate(self.groups.costs(prices)):
            net_worth = worth(part.design.n_items) - cost
            bound += part.share * float(net_worth.min())
            dips = peaks(-net_worth)
            is_below = net_worth[dips] < float(net_worth[self.ranks[i] - 1].min()) - 1e-12
            new_ranks = np.setdiff1d(dips[is_below] + 1, self.ranks[i])
            self.ranks[i] = np.concatenate([self.ranks[i], new_ranks])
            self.points[i] = np.concatenate([self.points[i], self._points(part, new_ranks)])
        return bound


class Curves:
    """Designs with one sample size, and the cells of ranks in which their sums are polynomials.

    A sum over outcomes of value times probability is a polynomial in the rank. In each cell of the
    catalogue it is computed at Chebyshev nodes and interpolated to the ranks. The error is less
    than `MAX_RELATIVE_ERROR` times the largest value, for any values. Large samples without
    replacement, whose probabilities end at some rank, are summed rank by rank.
    """

    def __init__(self, designs: Sequence[Design]) -> None:
        self.pairs = [
            (design, _Cells(design) if design.replacement or needs_no_table(design) else None)
            for design in designs
        ]

    def sums(self, values: Floats) -> Iterator[Floats]:
        """Yield the sum at every rank for each design: float64, (n_items,).

        Parameters
        ----------
        values : float64, (n_outcomes,)
            The values of the outcomes, which are the same for all designs.
        """
        swept = [(d, cells) for d, cells in self.pairs if cells and needs_no_table(d)]
        ready = iter(_node_sums(swept, values))
        for design, cells in self.pairs:
            if cells is None:
                yield expected(design, values)
            elif needs_no_table(design):
                yield cells.interpolate(next(ready))
            else:
                yield cells.interpolate(design.probabilities(cells.nodes) @ values)


def _node_sums(pairs: list[tuple[Design, _Cells]], values: Floats) -> list[Floats]:
    """Return the sums at the nodes of several designs, computed in one call."""
    if not pairs:
        return []
    better = np.concatenate([cells.nodes - 1.0 for _, cells in pairs])
    worse = np.concatenate([design.n_items - cells.nodes for design, cells in pairs])
    node_sums = expected_at(better, worse, values, replacement=pairs[0][0].replacement)
    return np.split(node_sums, np.cumsum([cells.nodes.size for _, cells in pairs])[:-1])


class _Cells:
    """The cells of neighbouring ranks of a catalogue."""

    def __init__(self, design: Design) -> None:
        edges = cell_edges(design.n_items, design.n_negatives * _FACTORS, 0)
        self.sizes = np.diff(edges)
        self.middles = (edges[:-1] + 1 + edges[1:]) / 2
        self.halves = np.maximum(self.sizes - 1, 1) / 2
        self.nodes = (self.middles[:, None] + self.halves[:, None] * _PLACES).ravel()

    def interpolate(self, sums: Floats) -> Floats:
        """Interpolate sums at the nodes to all ranks, by Clenshaw's recurrence."""
        series = sums.reshape(-1, _NODES) @ _TO_SERIES
        ranks = np.arange(1.0, self.sizes.sum() + 1)
        position = ranks - np.repeat(self.middles, self.sizes)
        position /= np.repeat(self.halves, self.sizes)
        doubled_position = position + position
        previous, second_previous = np.zeros(position.size), np.zeros(position.size)
        for coefficients in series.T[:0:-1]:
            partial_sum = doubled_position * previous
            partial_sum -= second_previous
            partial_sum += np.repeat(coefficients, self.sizes)
            previous, second_previous = partial_sum, previous
        return np.repeat(series[:, 0], self.sizes) + position * previous - second_previous
