"""The fit of a method to users whose targets share a sample: one estimate per position.

The value of a user is a sum of terms, one per target. The term of the i-th best of r targets is a
function of the number of other items above it. Most measures have terms c(r) s(above), where only
the factor c depends on r: recall has c = 1 / r and s = 1 if the target is among the first k. The
mean of the terms is then the mean factor times the mean of s under the distribution in which each
user has the weight c(r). A single fit with these weights serves all r without any assumption on how
ranks depend on r. Positions with few users are estimated together, with their mean term.

With the first items of a proxy's list, the terms are the same, and `StrataFit` estimates them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from podium import metrics
from podium.errors import ArgumentError
from podium.evaluation.stats.intervals import inside, t_interval
from podium.metrics import Measure, Terms
from podium.sampled.bounds import Bounds
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import RANK_AUC, require_defined, values_of
from podium.sampled.estimators import Estimator, LinearEstimator
from podium.sampled.estimators.naive import Naive
from podium.sampled.fits import (
    EstimatorFit,
    Fit,
    MeanOfUsers,
    Part,
    Tally,
    covering,
    design_of,
    standard_error,
)
from podium.sampled.ranks import SampledRanks, ScannedRanks, columns_at
from podium.sampled.scanning.measured import OpenTargets, scan_bounds
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
        names = ("ranks", "n_negatives", "n_items", "replacement")
        columns, owner = columns_at(targets, names, self.rows), targets.owner[self.rows]
        user = None if np.unique(owner).size == owner.size else owner
        return SampledRanks(**columns, user=user, row_weights=self.sizes)


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
    for i, place in enumerate(places):
        largest, form = _form(measure, place, n_items)
        if largest > 0:
            forms.setdefault((place[0], form), []).append((i, largest))
    for members in forms.values():
        rows = [rows_of_place[i] for i, _ in members]
        sizes = [np.full(rows_of_place[i].size, largest) for i, largest in members]
        yield Shape(places[members[0][0]], np.concatenate(rows), np.concatenate(sizes))


def _weights(measure: Measure, place: tuple[int, int], n_items: int) -> Floats:
    position, n_pos = place
    return metrics.rank_weights(measure, n_items + n_pos - 1, position=position, n_pos=n_pos)


def _form(measure: Measure, place: tuple[int, int], n_items: int) -> tuple[float, bytes]:
    """Return the largest value of a term, and a key of its form, that factors do not change."""
    weights = _weights(measure, place, n_items)
    largest = float(np.abs(weights).max(initial=0.0))
    return largest, (weights / largest).round(_DIGITS).tobytes() if largest > 0 else b""


def _places_of(shared: SharedRanks, rows: Ints) -> Iterator[tuple[tuple[int, int], Ints]]:
    """Yield the places of some rows, with the rows that have each."""
    span = int(shared.n_pos.max()) + 1
    keys = shared.position[rows] * span + shared.n_pos[rows]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    for start, stop in zip(starts, [*starts[1:], rows.size], strict=True):
        key = int(keys[order[start]])
        yield (key // span, key % span), rows[order[start:stop]]


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


class GroupPart(Part):
    """A group of targets, of which users can have any number."""

    def tally(self, counts: Floats) -> Tally:
        """Return the targets of the group, each `counts` times: float64, (n,)."""
        weights = self.sizes * counts
        n_users = counts.sum() * self.ranks.n_users / self.ranks.n_rows
        return Tally(self.ranks, weights * (n_users / weights.sum()))


class SharedFit(WholeFit, EstimatorFit):
    """An estimator, fitted to the groups of measures."""

    def __init__(self, estimator: Estimator, ranks: SharedRanks) -> None:
        design = design_of(ranks.n_items, ranks.n_negatives, replacement=ranks.replacement)
        EstimatorFit.__init__(self, estimator, ranks, ranks.targets, design)
        self._parts: dict[Measure, list[GroupPart]] = {}
        self._ranks: dict[Hashable, SampledRanks] = {}

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; see `Fit.require`."""
        super().require(measures)
        self.estimator.check(self.targets)

    def parts(self, measure: Measure) -> list[GroupPart]:
        """Return the groups of a measure, which are computed once."""
        if measure not in self._parts:
            self._parts[measure] = [self._part(g) for g in groups(self.observed, measure)]
        return self._parts[measure]

    def user_values(self, linear: LinearEstimator, measure: Measure) -> Floats:
        """Return each user's value by an estimator that is a mean over users: (n_users,)."""
        targets = self.targets
        values, has_term = np.zeros(targets.n_rows), np.zeros(targets.n_rows, np.bool_)
        for part in self.parts(measure):  # the terms of other targets are 0
            has_term[part.rows] = True
        for design, rows in targets.design_rows:
            known: dict[bytes, Floats] = {}  # of terms that differ by a factor
            for place, members in _places_of(self.observed, rows[has_term[rows]]):
                largest, form = _form(measure, place, design.n_items)
                if largest > 0 and form not in known:
                    term = Terms.of(measure, (*place, 1.0 / largest))
                    known[form] = linear.values(design, term)
                if largest > 0:
                    values[members] = (known[form] * largest)[targets.outcomes[members]]
        return np.bincount(targets.owner, values, self.n_users).astype(np.float64)

    def _part(self, group: Group) -> GroupPart:
        if group.key not in self._ranks:
            self._ranks[group.key] = group.ranks(self.targets)
        return GroupPart(group.term, self._ranks[group.key], group.rows, group.sizes, group.key)


_CONFIDENCE = 0.95  # of the bounds of means, which do not depend on the level of intervals

STRATA, NAIVE = "strata", Naive.name
"""The methods: the expected value given the counts, and the value among the ranked items."""


class StrataFit(WholeFit):
    """Fits of the unlisted items above targets; those of equal groups are done once.

    The number of listed items above a target is known. That of unlisted items above it has a
    distribution of `podium.sampled.scanning.measured`, which is fitted to each group.
    """

    omits_assumptions: ClassVar[bool] = True

    def __init__(self, name: str, ranks: SharedRanks) -> None:
        n_listed, is_biased = cast("Ints", ranks.n_listed), not ranks.is_exact
        design = design_of(ranks.n_items, ranks.n_negatives + n_listed, n_listed=n_listed)
        source = "posterior" if is_biased and name == STRATA else "users"
        interval_of = "expectation" if is_biased and name == NAIVE else "exact"
        super().__init__(ranks, name, source, (is_biased, interval_of), design)
        self._known: dict[tuple[bytes, bytes, int], OpenTargets] = {}

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""
        parts = [part for _, of_group in self._parts(measure) for part in of_group]
        of_part = 1.0 - (1.0 - confidence) / max(len(parts), 1)
        low, high = sum((part.share * part.bounds(of_part) for part in parts), np.zeros(2)).tolist()
        return Bounds(low, high)

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure; see `Fit.mean`."""
        ranks, k, n = self.observed, measure.k or 1, self.n_users
        values, influences, largest = np.zeros((3, n))
        for group, parts in self._parts(measure):
            fit, gradient = self._fit(group, k), np.zeros(4)
            for shape, part in zip(group.shapes, parts, strict=True):
                rows = ranks.owner[shape.rows]
                np.add.at(values, rows, shape.sizes * part.values)
                np.add.at(largest, rows, shape.sizes)
                gradient += part.share * part.gradient
            of_targets = fit.influences(self._scanned(group, k), n * gradient)
            np.add.at(influences, ranks.owner[group.rows], of_targets)
        ends, effects = self.bounds(measure, _CONFIDENCE), values + influences
        mean = min(max(float(values.mean()), ends.low), ends.high)
        prior_decides = standard_error(influences) > standard_error(values)
        interval = t_interval(mean, standard_error(effects), n, level)
        interval = inside(interval, (0.0, float(largest.mean())))
        limits = self.bounds(measure, level) if bounds or prior_decides else None
        if prior_decides and limits is not None:  # the exact mean can be anywhere between them
            interval = covering(interval, limits)
        shown = limits if bounds else None
        own: dict[str, Any] = {"interval": interval, "prior_decides": prior_decides}
        return MeanOfUsers.of(mean, effects, bounds=shown, **own)

    def _parts(self, measure: Measure) -> Iterator[tuple[Group, list[_Part]]]:
        """Yield the groups of a measure, with a part for each of their shapes."""
        for group in groups(self.observed, measure):
            fit = self._fit(group, measure.k or 1)
            yield group, [self._part(shape, measure, fit) for shape in group.shapes]

    def _scanned(self, targets: Group | Shape, k: int) -> ScannedRanks:
        return self.observed.scanned(targets.rows, targets.sizes, k)

    def _fit(self, group: Group, k: int) -> OpenTargets:
        key = (*group.key, k)
        if key not in self._known:
            self._known[key] = OpenTargets.fit(self._scanned(group, k))
        return self._known[key]

    def _part(self, shape: Shape, measure: Measure, fit: OpenTargets) -> _Part:
        weights = shape.weights(measure, int(self.observed.n_candidates.max()))[: measure.k]
        ranks = self._scanned(shape, measure.k or 1)
        share = float(shape.sizes.sum()) / self.n_users
        return _Part(ranks, weights, fit, share, self.method == NAIVE)


@dataclass(frozen=True, eq=False)
class _Part:
    """The targets of a shape, with the values of their terms by rank and the fit of the group.

    The measure contains the mean value of these targets times `share`.
    """

    ranks: ScannedRanks
    weights: Floats
    fit: OpenTargets
    share: float
    is_naive: bool

    @property
    def values(self) -> Floats:
        """The value of each target's term, divided by its size: float64, (n,)."""
        if not self.is_naive:
            return self.fit.values(self.ranks, self.weights)
        return values_of(self.weights, self.ranks.above)

    @property
    def gradient(self) -> Floats:
        """The derivative of the mean value by the parameters of the fit: float64, (4,)."""
        return np.zeros(4) if self.is_naive else self.fit.gradient(self.ranks, self.weights)

    def bounds(self, confidence: float) -> Floats:
        """Return the range of a measure that the observations allow."""
        return np.array(scan_bounds(self.ranks, self.weights, self.fit, confidence))
