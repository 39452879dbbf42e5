"""Targets of users that share a sample: the items above each, and measures of whole rankings.

The value of a user is a sum of terms, one per target. The term of the i-th best of r targets is a
function of the number of other items above it. Most measures have terms c(r) s(above), where only
the factor c depends on r: recall has c = 1 / r and s = 1 if the target is among the first k. The
mean of the terms is then the mean factor times the mean of s under the distribution in which each
user has the weight c(r). A single fit with these weights serves all r without any assumption on how
ranks depend on r. Positions with few users are estimated together, with their mean term.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check, metrics
from podium.catalogue.source import Scores
from podium.catalogue.sparse import Overlap
from podium.errors import ArgumentError, arg
from podium.metrics import Measure, Terms
from podium.sampled.design import Ints
from podium.sampled.distribution import RANK_AUC
from podium.sampled.ranks import (
    Counts,
    Observation,
    Part,
    SampledRanks,
    ScannedRanks,
    Shape,
    columns_at,
    integers,
    labels,
    span,
)
from podium.sampled.sampling import rank_targets, read_plan
from podium.types import Ties


@dataclass(frozen=True, eq=False)
class SharedRanks(Observation):
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
    is_shared: ClassVar[bool] = True

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
        targets: SampledRanks | ScannedRanks
        columns: Any = above, n_negatives, n_items
        if np.any(n_listed):
            listed: Any = above_listed, n_listed
            targets = ScannedRanks(*listed, *columns, k=1, user=user)
            names = ("above_drawn", "n_drawn", "above_listed", "n_listed")
            counts = [getattr(targets, name) for name in names]
        else:
            ranks = integers(above, "above") + 1
            targets = SampledRanks(ranks, *columns[1:], replacement=replacement, user=user)
            counts = [targets.ranks - 1, targets.n_negatives, None, None]
        names = ("above", "n_negatives", "above_listed", "n_listed")
        vars(self).update(
            zip(names, counts, strict=True),
            n_items=np.broadcast_to(np.asarray(targets.n_items), targets.n_rows),
            user=targets.user,
            replacement=replacement,
            item=None if item is None else labels(item, "item", targets.n_rows),
        )
        first_rows = np.unique(self.owner, return_index=True)[1][self.owner]
        for name in ("n_negatives", "n_items", "n_listed"):
            column = np.broadcast_to(np.asarray(vars(self)[name]), self.n_rows)
            alike = f"{name} must be the same for all targets of a user, which share one sample."
            self.refuse(column != column[first_rows], alike)
        self.refuse(
            self.n_candidates <= self.n_scored,
            f"{arg.n_items} must be at least {arg.n_negatives} plus the numbers of listed items "
            "and of the user's targets, and includes all of them.",
        )
        vars(self).update(_targets=replace(targets, n_items=self.n_candidates))

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
            If there are no users, or if ranks have weights.
        """
        if ranks.user is None:
            raise ArgumentError(
                f"{arg.user} is missing: targets that share a sample need their users."
            )
        if ranks.row_weights is not None:
            raise ArgumentError(
                "row_weights is only for separate samples. Users whose targets share a sample have "
                "the same weight. Leave it out."
            )
        options: dict[str, Any] = {"user": ranks.user, "replacement": ranks.replacement}
        return cls(ranks.ranks - 1, ranks.n_negatives, ranks.n_items, **options)

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
    def targets(self) -> SampledRanks | ScannedRanks:
        """Each target among the user's sampled items alone, as for a user with one target."""
        return vars(self)["_targets"]

    @property
    def has_strata(self) -> bool:
        """Whether items of a proxy's list are ranked for certain."""
        return self.n_listed is not None

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
    def n_scored(self) -> int | Ints:
        """The number of drawn and listed items of each target."""
        return self.n_negatives + (0 if self.n_listed is None else self.n_listed)

    @property
    def sizes(self) -> dict[str, Any]:
        """The sizes of samples; with strata, those of lists too."""
        return {**super().sizes, **({"n_listed": self.n_listed} if self.has_strata else {})}

    @property
    def is_exact(self) -> bool:
        """Whether all items of all users were ranked, so that the ranks are exact."""
        is_whole = np.all(np.asarray(self.n_scored) == self.n_candidates - 1)
        repeats = self.replacement and int(np.max(self.n_negatives)) > 1
        return bool(is_whole) and not repeats

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that are no sums over the targets of a user."""
        for measure in measures:
            if measure.name == RANK_AUC:
                raise ArgumentError(
                    f"{RANK_AUC} is defined for users with one target only. Use auc or pauc@k."
                )
            if measure.k is None and self.has_strata:
                raise ArgumentError(
                    f"{measure} has no cutoff, and strata show the top of lists only. Add a "
                    f"cutoff, such as {measure}@10."
                )
        super().require(measures, name)

    def parts(self, measure: Measure) -> list[Part]:
        """Return the targets by the position and the form of their terms; terms of 0 are left out.

        Positions with few targets are one part. Parts are computed once.
        """
        if measure not in self._parts:
            merged: list[list[Shape]] = []
            for shape in self._shapes(measure):
                if merged and _is_small(merged[-1]):
                    merged[-1].append(shape)
                else:
                    merged.append([shape])
            if len(merged) > 1 and _is_small(merged[-1]):
                merged[-2].extend(merged.pop())
            self._parts[measure] = [self._part(measure, shapes) for shapes in merged]
        return self._parts[measure]

    def at(self, shape: Shape | Part) -> Any:
        """Return the observations of some targets, with their factors as weights."""
        owner = self.owner[shape.rows]
        if isinstance(self.targets, ScannedRanks):
            more = {"k": shape.measure.k or 1, "user": owner}
        else:
            more = {"user": None if np.unique(owner).size == owner.size else owner}
        names = [field.name for field in fields(self.targets)]
        columns = columns_at(self.targets, names, shape.rows)
        return replace(self.targets, **{**columns, "row_weights": shape.sizes, **more})

    def _shapes(self, measure: Measure) -> Iterator[Shape]:
        """Yield the targets with terms that differ by a factor only, in the order of positions.

        The factor is the largest value of a term.
        """
        span, n_items = int(self.n_pos.max()) + 1, int(self.n_candidates.max())
        keys, number = np.unique(self.position * span + self.n_pos, return_inverse=True)
        ends = np.cumsum(np.bincount(number))[:-1]
        rows_of_places = np.split(np.argsort(number, kind="stable"), ends)
        members: dict[tuple[int, bytes], list[tuple[tuple[int, int], Ints, float]]] = {}
        for place, rows in zip(
            (divmod(k, span) for k in keys.tolist()), rows_of_places, strict=True
        ):
            position, n_pos = place
            where = {"position": position, "n_pos": n_pos}
            weights = metrics.rank_weights(measure, n_items + n_pos - 1, **where)
            largest = float(np.abs(weights).max(initial=0.0))
            if largest > 0:
                form = (weights / largest).round(_DIGITS).tobytes()
                members.setdefault((position, form), []).append((place, rows, largest))
        for of_form in members.values():
            place, _, largest = of_form[0]
            sizes = [np.full(rows.size, size) for _, rows, size in of_form]
            rows = np.concatenate([rows for _, rows, _ in of_form])
            yield Shape(Terms.of(measure, (*place, 1.0 / largest)), rows, np.concatenate(sizes))

    def _part(self, measure: Measure, shapes: list[Shape]) -> Part:
        total = float(np.concatenate([shape.sizes for shape in shapes]).sum())
        places = [
            (*cast("Terms", shape.measure).places[0][:2], float(shape.sizes.sum()) / total / size)
            for shape, size in ((shape, float(shape.sizes[0])) for shape in shapes)
        ]
        part = Part(Terms.of(measure, *places), None, shapes, None)
        relative = (part.sizes / part.sizes.max()).round(_DIGITS)
        k = measure.k if self.has_strata else None
        key = part.rows.tobytes(), relative.tobytes(), k
        if key not in self._ranks:
            self._ranks[key] = self.at(part)
        return replace(part, ranks=self._ranks[key], key=key)

    @cached_property
    def _parts(self) -> dict[Measure, list[Part]]:
        return {}

    @cached_property
    def _ranks(self) -> dict[Hashable, Any]:
        return {}


_LEAST_TARGETS = 100  # of a part; positions with fewer are estimated with their neighbours
_DIGITS = 12  # of two terms that differ by a factor only


def _is_small(shapes: list[Shape]) -> bool:
    return sum(shape.rows.size for shape in shapes) < _LEAST_TARGETS


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

    With a proxy, draw the items by `draw_candidates`, and rank them by its `ranks`.

    Parameters
    ----------
    scores, targets, replacement, exclude, overlap, users, seed
        The parameters of `sample_ranks`. Targets of the user are not drawn.
    n_negatives : int
        The number of items drawn for each user.
    ties
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
    plan = read_plan(
        targets, exclude=exclude, overlap=overlap, other_targets="exclude", users=users
    )
    streams = np.zeros_like(plan.targets)
    above = rank_targets(scores, plan, streams, size, replacement=replacement, ties=ties, seed=seed)
    return SharedRanks(
        above,
        size,
        plan.n_items + np.bincount(plan.rows)[plan.rows] - 1,
        user=plan.user,
        replacement=replacement,
        item=plan.targets,
    )
