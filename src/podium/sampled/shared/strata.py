"""Means of measures of whole rankings, from samples with the first items of a proxy's list.

The number of listed items above a target is known. The number of unlisted items above it has a
distribution of `podium.sampled.scanning.open_targets`, which is fitted to the targets of each
position. The terms of these targets are those of `podium.sampled.shared.groups`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from podium.evaluation.stats.intervals import inside, t_interval
from podium.metrics import Measure
from podium.sampled._request import extent
from podium.sampled._uncertainty import IntervalOf
from podium.sampled.bounds import Bounds
from podium.sampled.design import Floats, Ints
from podium.sampled.difference import covering
from podium.sampled.distribution import values_of
from podium.sampled.estimators import ErrorFrom
from podium.sampled.scanning.bounds import scan_bounds
from podium.sampled.scanning.open_targets import OpenTargets
from podium.sampled.scanning.ranks import ScannedRanks
from podium.sampled.shared.groups import Group, Shape, groups
from podium.sampled.shared.means import SharedMean, standard_error
from podium.sampled.shared.ranks import SharedRanks

_CONFIDENCE = 0.95  # of the bounds of means, which do not depend on the level of intervals

STRATA, NAIVE = "strata", "naive"
"""The methods: the expected value given the counts, and the value among the ranked items."""


@dataclass(frozen=True, eq=False)
class StrataFits:
    """Fits of the unlisted items above targets; those of equal groups are done once."""

    method: str
    shared: SharedRanks
    _known: dict[tuple[bytes, bytes, int], OpenTargets] = field(
        default_factory=dict[tuple[bytes, bytes, int], OpenTargets]
    )

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return bounds of one measure, from bounds of its parts that hold together."""
        parts = [part for _, of_group in self._parts(measure) for part in of_group]
        of_part = 1.0 - (1.0 - confidence) / max(len(parts), 1)
        low, high = sum((part.share * part.bounds(of_part) for part in parts), np.zeros(2)).tolist()
        return Bounds(low, high)

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> SharedMean:
        """Estimate one measure, with bounds at the level or without bounds."""
        shared, k = self.shared, measure.k or 1
        totals = _Totals.zero(shared.n_users)
        for group, parts in self._parts(measure):
            fit, gradient = self._fit(group, k), np.zeros(4)
            for shape, part in zip(group.shapes, parts, strict=True):
                rows = shared.owner[shape.rows]
                np.add.at(totals.values, rows, shape.sizes * part.values)
                np.add.at(totals.largest, rows, shape.sizes)
                gradient += part.share * part.gradient
            influences = fit.influences(self._scanned(group, k), shared.n_users * gradient)
            np.add.at(totals.influences, shared.owner[group.rows], influences)
        result = totals.mean(level, self.bounds(measure, _CONFIDENCE))
        if not (bounds or result.prior_decides):
            return result
        limits = self.bounds(measure, level)
        if result.prior_decides:  # as in scans: the exact mean can be anywhere between the bounds
            result = replace(result, interval=covering(result.own_interval, limits))
        return replace(result, bounds=limits if bounds else None)

    def _parts(self, measure: Measure) -> Iterator[tuple[Group, list[_Part]]]:
        """Yield the groups of a measure, with a part for each of their shapes."""
        for group in groups(self.shared, measure):
            fit = self._fit(group, measure.k or 1)
            yield group, [self._part(shape, measure, fit) for shape in group.shapes]

    def _scanned(self, targets: Group | Shape, k: int) -> ScannedRanks:
        return self.shared.scanned(targets.rows, targets.sizes, k)

    def _fit(self, group: Group, k: int) -> OpenTargets:
        key = (*group.key, k)
        if key not in self._known:
            self._known[key] = OpenTargets.fit(self._scanned(group, k))
        return self._known[key]

    def _part(self, shape: Shape, measure: Measure, fit: OpenTargets) -> _Part:
        weights = shape.weights(measure, int(self.shared.n_candidates.max()))[: measure.k]
        ranks = self._scanned(shape, measure.k or 1)
        share = float(shape.sizes.sum()) / self.shared.n_users
        return _Part(ranks, weights, fit, share, self.method == NAIVE)

    @property
    def source(self) -> ErrorFrom:
        """Where the standard error comes from."""
        return "posterior" if self.is_biased and self.method == STRATA else "users"

    @property
    def is_biased(self) -> bool:
        return not self.shared.is_exact

    @property
    def interval_of(self) -> IntervalOf:
        """The quantity that intervals are for."""
        return "expectation" if self.is_biased and self.method == NAIVE else "exact"

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks is assumed: a list observes them."""
        return False

    def conventions(self, seed: int, n_bootstrap: int | None) -> dict[str, Any]:
        """Return the method and the design as JSON values."""
        shared = self.shared
        n_listed = cast("Ints", shared.n_listed)
        return {
            "method": self.method,
            "n_users": shared.n_users,
            "n_items": extent(shared.n_items),
            "n_negatives": extent(np.asarray(shared.n_negatives) + n_listed),
            "n_listed": extent(n_listed),
            "replacement": False,
            "stages": None,
            "history": None,
            "n_bootstrap": n_bootstrap,
            "seed": seed,
            "shared": True,
        }

    def resampled(self, measures: Sequence[Measure], users: Floats) -> list[float]:
        """Raise: the errors of samples with strata need no resamples."""
        raise NotImplementedError


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
        return np.array(scan_bounds(self.ranks, self.weights, self.fit, confidence))


@dataclass(eq=False)
class _Totals:
    """Sums over the targets of users: float64, (n_users,) each."""

    values: Floats
    influences: Floats
    largest: Floats

    @classmethod
    def zero(cls, n_users: int) -> _Totals:
        values, influences, largest = np.zeros((3, n_users))
        return cls(values, influences, largest)

    def mean(self, level: float, bounds: Bounds) -> SharedMean:
        """Return the mean over users, moved into the bounds."""
        mean = min(max(float(self.values.mean()), bounds.low), bounds.high)
        effects = self.values + self.influences
        prior_decides = standard_error(self.influences) > standard_error(self.values)
        interval = t_interval(mean, standard_error(effects), self.values.size, level)
        within = inside(interval, (0.0, float(self.largest.mean())))
        return SharedMean(mean, effects, 0.0, within, prior_decides)
