"""Means of measures of whole rankings, from samples with the first items of a proxy's list.

The number of listed items above a target is known. The number of unlisted items above it has a
distribution of `podium.sampled.scanning.measured`, which is fitted to the targets of each
position. The terms of these targets are those of `podium.sampled.shared.means`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from podium.evaluation.stats.intervals import inside, t_interval
from podium.metrics import Measure
from podium.sampled.bounds import Bounds
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import values_of
from podium.sampled.estimators import ErrorFrom
from podium.sampled.estimators.naive import Naive
from podium.sampled.fits import IntervalOf, MeanOfUsers, covering, design_of, standard_error
from podium.sampled.scanning.measured import OpenTargets, scan_bounds
from podium.sampled.scanning.ranks import ScannedRanks
from podium.sampled.shared.means import Group, Shape, WholeFit, groups
from podium.sampled.shared.ranks import SharedRanks

_CONFIDENCE = 0.95  # of the bounds of means, which do not depend on the level of intervals

STRATA, NAIVE = "strata", Naive.name
"""The methods: the expected value given the counts, and the value among the ranked items."""


@dataclass(frozen=True, eq=False)
class StrataFit(WholeFit):
    """Fits of the unlisted items above targets; those of equal groups are done once."""

    omits_assumptions: ClassVar[bool] = True

    name: str
    observed: SharedRanks
    _known: dict[tuple[bytes, bytes, int], OpenTargets] = field(
        default_factory=dict[tuple[bytes, bytes, int], OpenTargets]
    )

    @property
    def method(self) -> str:
        return self.name

    @property
    def source(self) -> ErrorFrom:
        return "posterior" if self.bias[0] and self.name == STRATA else "users"

    @property
    def bias(self) -> tuple[bool, IntervalOf]:
        is_biased = not self.observed.is_exact
        return is_biased, "expectation" if is_biased and self.name == NAIVE else "exact"

    @property
    def design(self) -> dict[str, Any]:
        n_listed = cast("Ints", self.observed.n_listed)
        n_ranked = np.asarray(self.observed.n_negatives) + n_listed
        return design_of(self.observed.n_items, n_ranked, n_listed=n_listed)

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
        return _Part(ranks, weights, fit, share, self.name == NAIVE)


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
