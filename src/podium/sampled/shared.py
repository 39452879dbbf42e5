"""Targets of users that share a sample: the items above each, and measures of whole rankings.

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
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check, metrics
from podium.catalogue.source import Scores
from podium.catalogue.sparse import Overlap
from podium.errors import ArgumentError, arg
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
from podium.sampled.ranks import (
    Counts,
    RowsOfUsers,
    SampledRanks,
    ScannedRanks,
    columns_at,
    integers,
    labels,
    one_size,
    span,
)
from podium.sampled.sampling import rank_targets, read_plan
from podium.sampled.scanning.measured import OpenTargets, scan_bounds
from podium.sampled.scanning.strata import StratifiedCandidates
from podium.types import Ties


@dataclass(frozen=True, eq=False)
class SharedRanks(RowsOfUsers):
    """The number of sampled items above each target, for targets of users that share a sample.

    The items of a user are drawn once, uniformly from those that are not targets of the user. All
    targets of the user are ranked among them. If the first items of a proxy's list are ranked for
    certain, they are counted separately, and items are drawn from the rest.

    Parameters
    ----------
    above : int, (n,)
        The number of the user's drawn items that rank above each target.
    n_negatives : int or int, (n,)
        The number of the user's drawn items, the same for all targets of a user.
    n_items : int or int, (n,)
        The number of items that are ranked for the user, including all targets of the user. Pass an
        array if seen items are left out.
    user : (n,)
        The user of each target, integers or strings. Each row is one target, and a user has one row
        for each.
    replacement : bool
        Whether an item could be drawn twice. With listed items, it must be False.
    above_listed : int, (n,), optional
        The number of the user's listed items that rank above each target. By default, no items are
        listed.
    n_listed : int or int, (n,), optional
        The number of the user's listed items, the same for all targets of a user. They are the
        first items of a proxy's list without the targets.
    item : (n,), optional
        The item of each target, integers or strings. Comparisons of models check that these agree.

    Raises
    ------
    ArgumentError
        If columns differ in length, if a number is not an integer, or if more items are above a
        target than were drawn or listed. If n_negatives, n_items or n_listed differ between the
        targets of a user, or if a user has fewer items besides the targets than were drawn. If
        only one of above_listed and n_listed is given.

    Notes
    -----
    The order of a user's targets is known. The i-th best target has i - 1 targets above it, and as
    many other items as a single target would have to be sampled from.

    Examples
    --------
    >>> SharedRanks([0, 3, 1], 4, 100, user=["a", "a", "b"])
    SharedRanks(3 targets of 2 users, n_negatives=4, n_items=100, replacement=True)
    """

    above: Ints
    n_negatives: int | Ints
    n_items: Ints
    user: NDArray[Any]
    replacement: bool
    above_listed: Ints | None
    n_listed: Ints | None
    item: NDArray[Any] | None

    row_weights = None  # users have the same weight

    def __init__(
        self,
        above: ArrayLike,
        n_negatives: ArrayLike,
        n_items: ArrayLike,
        *,
        user: ArrayLike,
        replacement: bool = True,
        above_listed: ArrayLike | None = None,
        n_listed: ArrayLike | None = None,
        item: ArrayLike | None = None,
    ) -> None:
        if (above_listed is None) != (n_listed is None):
            missing = "n_listed" if n_listed is None else "above_listed"
            raise ArgumentError(
                f"{missing} is missing: listed items need above_listed and n_listed."
            )
        if n_listed is not None and _check.flag(replacement, "replacement"):
            raise ArgumentError(
                f"{arg.replacement} must be False with listed items: the others are drawn without "
                "it."
            )
        if above_listed is None or n_listed is None or not np.any(n_listed):
            ranks = integers(above, "above") + 1
            single = SampledRanks(ranks, n_negatives, n_items, replacement=replacement, user=user)
            counts = single.ranks - 1, single.n_negatives
            sizes = np.broadcast_to(np.asarray(single.n_items), single.n_rows)
            columns = (*counts, sizes, single.user, None, None)
        else:
            drawn, listed = (
                np.broadcast_to(np.asarray(n), np.shape(above)) for n in (n_negatives, n_listed)
            )
            strata = ScannedRanks(above_listed, listed, above, drawn, n_items, k=1, user=user)
            counts = strata.above_drawn, strata.n_drawn
            columns = (*counts, strata.n_items, strata.user, strata.above_listed, strata.n_listed)
        names = ("above", "n_negatives", "n_items", "user", "above_listed", "n_listed")
        vars(self).update(zip(names, columns, strict=True), replacement=replacement)
        vars(self).update(item=None if item is None else labels(item, "item", self.n_rows))
        for name in ("n_negatives", "n_items", "n_listed"):
            if vars(self)[name] is not None:
                _refuse_different(self, vars(self)[name], name)
        _refuse_short(self)

    @classmethod
    def of(cls, ranks: SampledRanks) -> SharedRanks:
        """Read ranks whose targets share a sample, and whose n_items includes all targets.

        Parameters
        ----------
        ranks : SampledRanks
            Ranks among each user's sampled items, such as those of `read`.
            Histories are not used.

        Raises
        ------
        ArgumentError
            If there are no users, if samples grow, if ranks have weights, or if targets have two
            rows (ties="average").
        """
        if ranks.user is None:
            raise ArgumentError(
                f"{arg.user} is missing: targets that share a sample need their users."
            )
        if ranks.stages:
            raise ArgumentError(
                f"{arg.stages} is only for separate samples, which grow for each target. Leave it "
                "out."
            )
        if ranks.row_weights is not None:
            raise ArgumentError(
                "row_weights is only for separate samples. In whole rankings, all users have the "
                "same weight. Leave it out."
            )
        if ranks.half_ranks:
            raise ArgumentError(
                f"{arg.ties('average')} is undefined for targets that share a sample, because it "
                "gives ranks between two items. Rank with 'worst', 'best' or 'random'."
            )
        options: dict[str, Any] = {"user": ranks.user, "replacement": ranks.replacement}
        return cls(ranks.ranks - 1, ranks.n_negatives, ranks.n_items, **options)

    @classmethod
    def of_candidates(
        cls, candidates: StratifiedCandidates, scores: ArrayLike, *, ties: str = "worst"
    ) -> SharedRanks:
        """Rank all targets of each user among the user's listed and drawn items.

        Parameters
        ----------
        candidates : StratifiedCandidates
            The result of `draw_strata`, with any `other_targets`.
        scores : float64, (n,)
            The score of each row of the candidates. Higher is better.
        ties : {"worst", "best"}
            Whether items with the target's score count as above it.
        """
        counts = candidates.counts(scores, ties=ties, keeps_targets=False)
        row = candidates.row[candidates.is_target]
        n_others = 0 if candidates.keeps_targets else np.bincount(row)[row] - 1
        user, item = (c[candidates.is_target] for c in (candidates.user, candidates.item))
        return cls.of_counts(counts, candidates.n_items + n_others, user, item)

    @classmethod
    def of_counts(
        cls, counts: Counts, n_items: ArrayLike, user: NDArray[Any], item: NDArray[Any]
    ) -> SharedRanks:
        """Return ranks from the counts of strata without other targets."""
        return cls(
            counts.above_drawn,
            counts.n_drawn,
            n_items,
            user=user,
            replacement=False,
            above_listed=counts.above_listed,
            n_listed=counts.n_listed,
            item=item,
        )

    def __repr__(self) -> str:
        n_listed = f"n_listed={span(self.n_listed)}, " if self.n_listed is not None else ""
        return (
            f"SharedRanks({self.n_rows} targets of {self.n_users} users, {n_listed}"
            f"n_negatives={span(self.n_negatives)}, n_items={span(self.n_items)}, "
            f"replacement={self.replacement})"
        )

    @property
    def has_strata(self) -> bool:
        """Whether items of a proxy's list are ranked for certain."""
        return self.n_listed is not None

    @cached_property
    def targets(self) -> SampledRanks:
        """The rank of each target among the sampled items alone, as for a user with one target.

        It is defined without strata.
        """
        return SampledRanks(
            self.above + 1,
            self.n_negatives,
            one_size(self.n_candidates),
            replacement=self.replacement,
            user=self.user,
        )

    def scanned(self, rows: Ints, weights: Floats, k: int) -> ScannedRanks:
        """Return the counts of some targets with weights, as for users with one target."""
        zeros = np.zeros(self.n_rows, np.int64)
        listed = [zeros if c is None else c for c in (self.above_listed, self.n_listed)]
        n_drawn = np.broadcast_to(np.asarray(self.n_negatives), self.n_rows)
        columns = (*listed, self.above, n_drawn, self.n_candidates, self.owner)
        above_listed, n_listed, above, n_drawn, n_items, user = (c[rows] for c in columns)
        counts = (above_listed, n_listed, above, n_drawn)
        return ScannedRanks(*counts, n_items, k=k, user=user, row_weights=weights)

    @property
    def n_rows(self) -> int:
        """The number of targets."""
        return self.above.size

    @property
    def n_candidates(self) -> Ints:
        """The number of items that each target is ranked among, without the user's other targets.

        int64, (n,); including the target itself.
        """
        return self.n_items.astype(np.int64) - self.n_pos + 1

    @cached_property
    def n_pos(self) -> Ints:
        """The number of targets of each row's user: int64, (n,)."""
        return np.bincount(self.owner)[self.owner].astype(np.int64)

    @cached_property
    def position(self) -> Ints:
        """The position of each target among those of its user, from 1: int64, (n,).

        Targets with equally many sampled items above them have the order of their rows, which
        changes nothing.
        """
        above = self.above if self.above_listed is None else self.above + self.above_listed
        order = np.lexsort((above, self.owner))
        first_rows = np.cumsum(np.bincount(self.owner)) - np.bincount(self.owner)
        position = np.empty(self.n_rows, np.int64)
        position[order] = np.arange(self.n_rows) - first_rows[self.owner[order]] + 1
        return position

    @property
    def is_exact(self) -> bool:
        """Whether all items of all users were ranked, so that the ranks are exact."""
        n_listed = 0 if self.n_listed is None else self.n_listed
        is_whole = np.asarray(self.n_negatives) + n_listed == self.n_candidates - 1
        repeats = self.replacement and int(np.max(self.n_negatives)) > 1
        return bool(is_whole.all()) and not repeats


def sample_shared(
    scores: Scores,
    targets: Any,
    n_negatives: int,
    *,
    replacement: bool = True,
    exclude: Any = None,
    overlap: Overlap = "error",
    ties: Ties = "worst",
    users: ArrayLike | None = None,
    seed: int = 0,
) -> SharedRanks:
    """Rank the targets of each user among items that are drawn once for the user.

    With a proxy, draw the items by `draw_strata`, and rank them by `SharedRanks.of_candidates`.

    Parameters
    ----------
    scores, targets, replacement, exclude, overlap, users, seed
        The parameters of `sample_ranks`. Targets of the user are not drawn.
    n_negatives : int
        The number of items drawn for each user.
    ties : {"worst", "best", "id", "random"}
        The order of equal scores, as in `sample_ranks`.

    Returns
    -------
    SharedRanks

    Raises
    ------
    ArgumentError
        If fewer than n_negatives items can be drawn, or for a reason listed in `sample_ranks`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> held_out = csr_array([[1, 0, 1, 0]])
    >>> sample_shared([[0.3, 0.2, 0.1, 0.4]], held_out, 2, replacement=False)
    SharedRanks(2 targets of 1 users, n_negatives=2, n_items=4, replacement=False)
    """
    size = _check.cutoff(n_negatives, name="n_negatives")
    if ties == "average":
        raise ArgumentError(
            f"{arg.ties('average')} is undefined for targets that share a sample, because it gives "
            "ranks between two items. Use 'worst', 'best', 'random' or 'id'."
        )
    plan = read_plan(
        targets, exclude=exclude, overlap=overlap, other_targets="exclude", users=users
    )
    streams = np.zeros_like(plan.targets)
    doubled_above, _ = rank_targets(
        scores, plan, streams, (size,), replacement=replacement, ties=ties, seed=seed
    )
    return SharedRanks(
        doubled_above // 2,
        size,
        plan.n_items + np.bincount(plan.rows)[plan.rows] - 1,
        user=plan.user,
        replacement=replacement,
        item=plan.targets,
    )


def _refuse_different(ranks: SharedRanks, values: int | Ints, name: str) -> None:
    """Raise if the targets of a user have different sizes."""
    column = np.broadcast_to(values, ranks.n_rows)
    order = np.argsort(ranks.owner, kind="stable")
    is_different = (np.diff(ranks.owner[order]) == 0) & (np.diff(column[order]) != 0)
    if is_different.any():
        row = order[1:][np.argmax(is_different)]
        raise ArgumentError(
            f"{name} must be the same for all targets of a user, which share one sample, got "
            f"different numbers for user {_check.label(ranks.user[row])}."
        )


def _refuse_short(ranks: SharedRanks) -> None:
    """Raise if a user has fewer items besides the targets than were drawn and listed."""
    n_ranked = np.asarray(ranks.n_negatives) + (0 if ranks.n_listed is None else ranks.n_listed)
    is_short = ranks.n_candidates <= n_ranked
    if not is_short.any():
        return
    row = int(np.argmax(is_short))
    n_drawn = int(np.broadcast_to(n_ranked, ranks.n_rows)[row])
    raise ArgumentError(
        f"{arg.n_items} must be at least {arg.n_negatives} plus the number of the user's targets, "
        f"got {ranks.n_items[row]} items, {n_drawn} of them "
        f"drawn{' or listed' * ranks.has_strata}, and {ranks.n_pos[row]} targets of user "
        f"{_check.label(ranks.user[row])}. {arg.n_items} includes all targets of a user."
    )


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


class Group:
    """Targets whose terms have one estimate.

    Attributes
    ----------
    term : Terms
        The mean term, divided by the mean of `sizes`.
    rows : int64, (n,)
    sizes : float64, (n,)
        The weights of the targets.
    shapes : sequence of Shape
        The targets by their own terms.
    key : tuple of bytes
        A key that is equal for groups with the same targets and weights up to a factor.
    """

    def __init__(self, shapes: Sequence[Shape], measure: Measure) -> None:
        self.shapes, self.rows = shapes, np.concatenate([shape.rows for shape in shapes])
        self.sizes = np.concatenate([shape.sizes for shape in shapes])
        shares = [float(shape.sizes.sum()) / float(self.sizes.sum()) for shape in shapes]
        pairs = zip(shapes, shares, strict=True)  # the first size is that of the shape's place
        places = [(*shape.place, share / float(shape.sizes[0])) for shape, share in pairs]
        self.term = Terms.of(measure, *places)
        relative = (self.sizes / self.sizes.max()).round(_DIGITS)
        self.key = self.rows.tobytes(), relative.tobytes()

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
    return [Group(shapes, measure) for shapes in merged]


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
        found, total = groups(self.observed, measure), np.zeros(2)
        of_shape = 1.0 - (1.0 - confidence) / max(sum(len(group.shapes) for group in found), 1)
        for group in found:
            fit = self._fit(group, measure.k or 1)
            for shape in group.shapes:
                ranks, weights, share = self._term(shape, measure)
                total += share * np.array(scan_bounds(ranks, weights, fit, of_shape))
        return Bounds(*total.tolist())

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure; see `Fit.mean`."""
        ranks, k, n = self.observed, measure.k or 1, self.n_users
        values, influences, largest = np.zeros((3, n))
        for group in groups(ranks, measure):
            fit, gradient = self._fit(group, k), np.zeros(4)
            for shape in group.shapes:
                scanned, weights, share = self._term(shape, measure)
                of_rows, rows = values_of(weights, scanned.above), ranks.owner[shape.rows]
                if self.method != NAIVE:
                    of_rows = fit.values(scanned, weights)
                    gradient += share * fit.gradient(scanned, weights)
                np.add.at(values, rows, shape.sizes * of_rows)
                np.add.at(largest, rows, shape.sizes)
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

    def _term(self, shape: Shape, measure: Measure) -> tuple[ScannedRanks, Floats, float]:
        """Return the counts of a shape's targets, the values by rank, and their mean's factor."""
        weights = shape.weights(measure, int(self.observed.n_candidates.max()))[: measure.k]
        share = float(shape.sizes.sum()) / self.n_users
        return self._scanned(shape, measure.k or 1), weights, share

    def _scanned(self, targets: Group | Shape, k: int) -> ScannedRanks:
        return self.observed.scanned(targets.rows, targets.sizes, k)

    def _fit(self, group: Group, k: int) -> OpenTargets:
        key = (*group.key, k)
        if key not in self._known:
            self._known[key] = OpenTargets.fit(self._scanned(group, k))
        return self._known[key]
