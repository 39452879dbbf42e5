"""The fit of a method to users whose targets share a sample: one estimate per position.

The value of a user is a sum of terms, one per target. The term of the i-th best of r targets is a
function of the number of other items above it. Most measures have terms c(r) s(above), where only
the factor c depends on r: recall has c = 1 / r and s = 1 if the target is among the first k. The
mean of the terms is then the mean factor times the mean of s under the distribution in which each
user has the weight c(r). A single fit with these weights serves all r without any assumption on how
ranks depend on r. Positions with few users are estimated together, with their mean term.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from podium import metrics
from podium.errors import ArgumentError
from podium.metrics import Measure, Terms
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import RANK_AUC, require_defined
from podium.sampled.estimators import LinearEstimator
from podium.sampled.fits import EstimatorFit, Fit, Part, Tally, design_of
from podium.sampled.ranks import SampledRanks, columns_at
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


def user_values(
    estimator: LinearEstimator, shared: SharedRanks, measure: Measure, parts: Sequence[Group | Part]
) -> Floats:
    """Return each user's value by an estimator that is a mean over users: float64, (n_users,).

    `parts` are the groups of the measure. The terms of other targets are 0.
    """
    targets = shared.targets
    values, has_term = np.zeros(targets.n_rows), np.zeros(targets.n_rows, np.bool_)
    for part in parts:
        has_term[part.rows] = True
    for design, rows in targets.design_rows:
        known: dict[bytes, Floats] = {}  # of terms that differ by a factor
        for place, members in _places_of(shared, rows[has_term[rows]]):
            largest, form = _form(measure, place, design.n_items)
            if largest > 0 and form not in known:
                term = Terms.of(measure, (*place, 1.0 / largest))
                known[form] = estimator.values(design, term)
            if largest > 0:
                values[members] = (known[form] * largest)[targets.outcomes[members]]
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


@dataclass(frozen=True, eq=False)
class SharedFit(WholeFit, EstimatorFit):
    """An estimator, fitted to the groups of measures."""

    observed: SharedRanks
    _parts: dict[Measure, list[GroupPart]] = field(
        default_factory=dict[Measure, "list[GroupPart]"], kw_only=True
    )
    _ranks: dict[Hashable, SampledRanks] = field(
        default_factory=dict[Hashable, SampledRanks], kw_only=True
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

    def parts(self, measure: Measure) -> list[GroupPart]:
        """Return the groups of a measure, which are computed once."""
        if measure not in self._parts:
            self._parts[measure] = [self._part(g) for g in groups(self.observed, measure)]
        return self._parts[measure]

    def user_values(self, linear: LinearEstimator, measure: Measure) -> Floats:
        """Return each user's value by an estimator that is a mean over users: (n_users,)."""
        return user_values(linear, self.observed, measure, self.parts(measure))

    def _part(self, group: Group) -> GroupPart:
        if group.key not in self._ranks:
            self._ranks[group.key] = group.ranks(self.targets)
        return GroupPart(group.term, self._ranks[group.key], group.rows, group.sizes, group.key)
