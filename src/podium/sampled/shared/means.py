"""The fit of a method to users whose targets share a sample: one estimate per position.

The value of a user is a sum of terms, one per target. The term of the i-th best of r targets is a
function of the number of other items above it. Most measures have terms c(r) s(above), where only
the factor c depends on r: recall has c = 1 / r and s = 1 if the target is among the first k. The
mean of the terms is then the mean factor times the mean of s under the distribution in which each
user has the weight c(r). A single fit with these weights serves all r without any assumption on how
ranks depend on r. Positions with few users are estimated together, with their mean term.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np

from podium import metrics
from podium.errors import ArgumentError
from podium.evaluation import stats
from podium.evaluation.stats import Interval
from podium.metrics import Measure, Terms
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import (
    RANK_AUC,
    RankDistribution,
    depends_on_order,
    rank_weights,
    require_defined,
)
from podium.sampled.estimators import Estimator, LinearEstimator
from podium.sampled.estimators.smooth import SmoothFit
from podium.sampled.fits import (
    EstimatorFit,
    Fit,
    MeanOfUsers,
    Resampler,
    Tally,
    design_of,
    limited,
    linear_form,
    standard_error,
)
from podium.sampled.ranks import SampledRanks, size_at
from podium.sampled.shared.ranks import SharedRanks

_LEAST_TARGETS = 100  # of a group; positions with fewer are estimated with their neighbours
_DIGITS = 12  # of two terms that differ by a factor only


@dataclass(frozen=True, eq=False)
class Shape:
    """Terms that differ by a factor only.

    Attributes
    ----------
    place : (position, n_pos)
        A place with such a term.
    rows : int64, (n,)
        The targets.
    sizes : float64, (n,)
        The largest value of each target's term.
    """

    place: tuple[int, int]
    rows: Ints
    sizes: Floats

    def weights(self, measure: Measure, n_items: int) -> Floats:
        """Return the term by the number of other items above, with the largest value 1."""
        values = _weights(measure, self.place, n_items)
        return values / float(np.abs(values).max())


@dataclass(frozen=True, eq=False)
class Group:
    """Targets whose terms have one estimate.

    Attributes
    ----------
    term : Terms
        The mean term, divided by the mean of `sizes`.
    rows : int64, (n,)
    sizes : float64, (n,)
        The weights of the targets.
    shapes : tuple of Shape
        The targets by their own terms.
    """

    term: Terms
    rows: Ints
    sizes: Floats
    shapes: tuple[Shape, ...]

    @property
    def key(self) -> tuple[bytes, bytes]:
        """A key that is equal for groups with the same targets and weights up to a factor."""
        return self.rows.tobytes(), (self.sizes / self.sizes.max()).round(_DIGITS).tobytes()

    def ranks(self, targets: SampledRanks) -> SampledRanks:
        """Return the observations of the group."""
        rows = self.rows
        return SampledRanks(
            targets.ranks[rows],
            size_at(targets.n_negatives, rows),
            size_at(targets.n_items, rows),
            replacement=targets.replacement,
            user=None if np.unique(targets.owner[rows]).size == rows.size else targets.owner[rows],
            row_weights=self.sizes,
        )

    def tally(self, ranks: SampledRanks, counts: Floats) -> Tally:
        """Return the observations of the group, each `counts` times: float64, (n,)."""
        weights = self.sizes * counts
        n_users = counts.sum() * ranks.n_users / ranks.n_rows
        return Tally(ranks, weights * (n_users / weights.sum()))


def groups(shared: SharedRanks, measure: Measure) -> list[Group]:
    """Return the targets by the position and the form of their terms; terms of 0 are left out."""
    merged: list[list[Shape]] = []
    for shape in _shapes(shared, measure):
        if merged and sum(s.rows.size for s in merged[-1]) < _LEAST_TARGETS:
            merged[-1].append(shape)
        else:
            merged.append([shape])
    if len(merged) > 1 and sum(s.rows.size for s in merged[-1]) < _LEAST_TARGETS:
        merged[-2].extend(merged.pop())
    n_items = int(shared.n_candidates.max())
    return [_group(shapes, measure, n_items) for shapes in merged]


def _group(shapes: list[Shape], measure: Measure, n_items: int) -> Group:
    rows = np.concatenate([shape.rows for shape in shapes])
    sizes = np.concatenate([shape.sizes for shape in shapes])
    places: list[tuple[int, int, float]] = []
    for shape in shapes:
        largest = float(np.abs(_weights(measure, shape.place, n_items)).max())
        places.append((*shape.place, float(shape.sizes.sum()) / float(sizes.sum()) / largest))
    return Group(Terms.of(measure, *places), rows, sizes, tuple(shapes))


def _shapes(shared: SharedRanks, measure: Measure) -> Iterator[Shape]:
    """Yield the targets by form, in the order of positions."""
    places, rows_of_place = zip(*_places_of(shared, np.arange(shared.n_rows)), strict=True)
    forms: dict[tuple[int, bytes], list[tuple[int, float]]] = {}
    n_items = int(shared.n_candidates.max())
    for i, (position, n_pos) in enumerate(places):
        weights = _weights(measure, (position, n_pos), n_items)
        largest = float(np.abs(weights).max(initial=0.0))
        if largest > 0:
            form = position, (weights / largest).round(_DIGITS).tobytes()
            forms.setdefault(form, []).append((i, largest))
    for members in forms.values():
        rows = [rows_of_place[i] for i, _ in members]
        sizes = [np.full(rows_of_place[i].size, largest) for i, largest in members]
        yield Shape(places[members[0][0]], np.concatenate(rows), np.concatenate(sizes))


def _weights(measure: Measure, place: tuple[int, int], n_items: int) -> Floats:
    position, n_pos = place
    return metrics.rank_weights(measure, n_items + n_pos - 1, position=position, n_pos=n_pos)


def user_values(
    estimator: LinearEstimator, shared: SharedRanks, measure: Measure, parts: Sequence[Group]
) -> Floats:
    """Return each user's value by an estimator that is a mean over users: float64, (n_users,).

    `parts` are the groups of the measure. The terms of other targets are 0.
    """
    targets = shared.targets
    values, has_term = np.zeros(targets.n_rows), np.zeros(targets.n_rows, np.bool_)
    for part in parts:
        has_term[part.rows] = True
    for design, rows in targets.design_rows:
        known: dict[bytes, Floats] = {}
        for (position, n_pos), members in _places_of(shared, rows[has_term[rows]]):
            outcome_values = _outcome_values(estimator, design, measure, (position, n_pos), known)
            values[members] = outcome_values[targets.outcomes[members]]
    return np.bincount(targets.owner, values, shared.n_users).astype(np.float64)


def _places_of(shared: SharedRanks, rows: Ints) -> Iterator[tuple[tuple[int, int], Ints]]:
    """Yield the places of some rows, with the rows that have each."""
    span = int(shared.n_pos.max()) + 1
    keys = shared.position[rows] * span + shared.n_pos[rows]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    for start, stop in zip(starts, [*starts[1:], rows.size], strict=True):
        key = int(keys[order[start]])
        yield (key // span, key % span), rows[order[start:stop]]


def _outcome_values(
    estimator: LinearEstimator,
    design: Design,
    measure: Measure,
    place: tuple[int, int],
    known: dict[bytes, Floats],
) -> Floats:
    """Return the values of outcomes; those of terms that differ by a factor are computed once."""
    weights = _weights(measure, place, design.n_items)
    largest = float(np.abs(weights).max(initial=0.0))
    if largest == 0:
        return np.zeros(design.n_outcomes)
    form = (weights / largest).round(_DIGITS).tobytes()
    if form not in known:
        term = Terms.of(measure, (*place, 1.0 / largest))
        known[form] = estimator.values(design, term)
    return known[form] * largest


_PRIOR_SHARE = 0.5  # of an estimate from groups whose prior decides

_Key = tuple[bytes, bytes]


class WholeFit(Fit):
    """A fit to whole rankings, whose measures are sums over the targets of a user."""

    is_shared: ClassVar[bool] = True

    observed: SharedRanks

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; see `Fit.require`."""
        for measure in measures:
            if measure.name == RANK_AUC:
                raise ArgumentError(
                    f"{RANK_AUC} is defined for users with one target only. Use auc or pauc@k."
                )
            if measure.k is None and self.observed.has_strata:
                raise ArgumentError(
                    f"{measure} has no cutoff, and strata show the top of lists only. Add a "
                    f"cutoff, such as {measure}@10."
                )
        require_defined(measures, int(self.observed.n_candidates.min()))


@dataclass(frozen=True, eq=False)
class SharedFit(WholeFit, EstimatorFit):
    """An estimator, fitted to the groups of several measures; equal groups are fitted once."""

    estimator: Estimator
    observed: SharedRanks
    _groups: dict[Measure, list[Group]] = field(default_factory=dict[Measure, "list[Group]"])
    _observed: dict[_Key, SampledRanks] = field(default_factory=dict[_Key, SampledRanks])
    _known: dict[_Key, SmoothFit | RankDistribution] = field(
        default_factory=dict[_Key, SmoothFit | RankDistribution]
    )

    @property
    def targets(self) -> SampledRanks:
        return self.observed.targets

    @property
    def design(self) -> dict[str, Any]:
        ranks = self.observed
        return design_of(ranks.n_items, ranks.n_negatives, replacement=ranks.replacement)

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; see `Fit.require`."""
        super().require(measures)
        self.estimator.check(self.targets)

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks is assumed; see `Fit.orders`."""
        targets = self.targets
        n_first = int(np.min(np.asarray(targets.n_items) // np.asarray(targets.n_negatives)))
        return depends_on_order(measure, targets.most_items, n_first)

    def groups(self, measure: Measure) -> list[Group]:
        """Return the groups of a measure, which are computed once."""
        if measure not in self._groups:
            self._groups[measure] = groups(self.observed, measure)
        return self._groups[measure]

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""
        parts = self.groups(measure)
        return _summed(self._bounds(parts, confidence), self._shares(parts))

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure; see `Fit.mean`."""
        parts = self.groups(measure)
        shares = self._shares(parts)
        limits = self._bounds(parts, level) if bounds else None
        total = None if limits is None else _summed(limits, shares)
        linear = linear_form(self.estimator, self.observed)
        if linear is not None:
            values = user_values(linear, self.observed, measure, parts)
            interval = stats.summarize(values, level=level).interval
            return MeanOfUsers.of(float(values.mean()), values, interval=interval, bounds=total)
        if self.source == "posterior":
            return self._by_posteriors(parts, level, limits, total)
        means = [self._fit(part).expect(part.term) for part in parts]
        highest = [float(rank_weights(part.term, self.targets.most_items).max()) for part in parts]
        mean, largest = float(shares @ means), float(shares @ highest)
        return MeanOfUsers.of(mean, np.empty(0), bounds=total, largest=largest)

    def resampled(
        self, measures: Sequence[Measure], resampler: Resampler, number: int, counts: Ints
    ) -> list[float]:
        """Estimate measures from resampled users; see `Fit.resampled`."""
        users, owner, means = resampler.spread(counts), self.observed.owner, list[float]()
        known: dict[_Key, RankDistribution] = {}
        for measure in measures:
            total = 0.0
            for part in self.groups(measure):
                counts_of_rows = users[owner[part.rows]]
                share = float(part.sizes @ counts_of_rows)
                if share and part.key not in known:
                    tally = part.tally(self._ranks(part), counts_of_rows)
                    known[part.key] = self.estimator.fit(tally)
                total += share * known[part.key].expect(part.term) if share else 0.0
            means.append(total / self.n_users)
        return means

    def _shares(self, parts: Sequence[Group]) -> Floats:
        """Return the factor of each group's mean term in the measure."""
        return np.array([part.sizes.sum() for part in parts]) / self.n_users

    def _ranks(self, part: Group) -> SampledRanks:
        if part.key not in self._observed:
            self._observed[part.key] = part.ranks(self.targets)
        return self._observed[part.key]

    def _bounds(self, parts: Sequence[Group], level: float) -> list[Bounds]:
        """Return bounds of each group's mean term that all hold with the probability `level`."""
        confidence = level if len(parts) < 2 else 1.0 - (1.0 - level) / len(parts)
        return [
            identification_bounds(self._ranks(part), part.term, confidence=confidence)
            for part in parts
        ]

    def _fit(self, part: Group) -> SmoothFit | RankDistribution:
        if part.key not in self._known:
            has_posterior = self.estimator.error_from == "posterior"
            fit = self.estimator.posterior if has_posterior else self.estimator.fit
            self._known[part.key] = fit(self._ranks(part))
        return self._known[part.key]

    def _by_posteriors(
        self,
        parts: Sequence[Group],
        level: float,
        limits: Sequence[Bounds] | None,
        total: Bounds | None,
    ) -> MeanOfUsers:
        """Sum the means of groups.

        Effects of a user on several groups are added. The other errors, from the shape that samples
        leave uncertain, are added as if they were the same in all groups. The interval has the form
        of the sum of the groups' intervals, and is narrower by the ratio of the standard error to
        the sum of theirs.
        """
        ends = [None] * len(parts) if limits is None else limits
        shares = self._shares(parts).tolist()
        means = [
            self._part_mean(*of_part, level) for of_part in zip(parts, shares, ends, strict=True)
        ]
        mean = sum(part.mean for part in means)
        effects = np.sum([part.effects for part in means], axis=0)
        other = sum(float(np.sqrt(part.other)) for part in means)
        prior_part = sum(part.mean for part in means if part.prior_decides)
        prior_decides = prior_part >= _PRIOR_SHARE * mean
        result = MeanOfUsers.of(mean, effects, other, prior_decides=prior_decides, bounds=total)
        errors = sum(part.std_error for part in means)
        if not errors > 0:
            return result
        ratio = result.std_error / errors
        low, high = (sum(ends) for ends in zip(*(part.interval for part in means), strict=True))
        interval = Interval(mean - ratio * (mean - low), mean + ratio * (high - mean))
        if total is not None:
            interval = limited(interval, total, mean)
        return replace(result, interval=interval)

    def _part_mean(
        self, part: Group, share: float, bounds: Bounds | None, level: float
    ) -> MeanOfUsers:
        """Return the part of a group in the mean of a measure."""
        fit = cast("SmoothFit", self._fit(part))
        effects = np.zeros(self.n_users)
        if fit.states:
            of_rows = fit.influences(part.term) * fit.ranks.weights * fit.ranks.n_users
            np.add.at(effects, self.observed.owner[part.rows], share * self.n_users * of_rows)
        error = share * fit.std_error(part.term)
        other = np.sqrt(max(error**2 - standard_error(effects) ** 2, 0.0))
        low, high = fit.interval(part.term, level=level, bounds=bounds)
        return MeanOfUsers.of(
            share * fit.expect(part.term),
            effects,
            float(other),
            interval=Interval(share * low, share * high),
            prior_decides=fit.prior_decides(part.term),
        )


def _summed(limits: Sequence[Bounds], shares: Floats) -> Bounds:
    low, high = (float(shares @ ends) for ends in np.array(limits).reshape(-1, 2).T)
    return Bounds(low, high)
