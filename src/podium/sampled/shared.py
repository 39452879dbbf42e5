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

from podium import metrics
from podium.errors import ArgumentError, arg
from podium.metrics import Measure, Terms
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import RANK_AUC
from podium.sampled.ranks import (
    Observation,
    Part,
    SampledRanks,
    ScannedRanks,
    columns_at,
    rows_by,
    span,
)


@dataclass(frozen=True, eq=False)
class SharedRanks(Observation):
    """Ranks of targets whose users have one sample for all their targets.

    The items of a user are drawn once, uniformly from those that are not targets of the user. All
    targets of the user are ranked among them. If the first items of a proxy's list are ranked for
    certain, items are drawn from the rest.

    Parameters
    ----------
    ranks : SampledRanks or ScannedRanks
        The rank of each target among its user's sampled items, or the number of listed and of drawn
        items above it. The sizes are the same for all targets of a user, and n_items includes all
        of them. Each row is one target, and a user has one row for each. Histories are not used.

    Raises
    ------
    ArgumentError
        If there are no users, or if ranks have weights. If sizes differ between the targets of a
        user, or if a user has fewer items besides the targets than were drawn.

    Notes
    -----
    The order of a user's targets is known. The i-th best target has i - 1 targets above it, and as
    many other items as a single target would have to be sampled from.

    Examples
    --------
    >>> SharedRanks(SampledRanks([1, 4, 2], 4, 100, user=["a", "a", "b"]))
    SharedRanks(3 targets of 2 users, n_negatives=4, n_items=100, replacement=True)
    """

    ranks: SampledRanks | ScannedRanks

    row_weights = None  # users have the same weight
    is_shared: ClassVar[bool] = True

    def __init__(self, ranks: SampledRanks | ScannedRanks) -> None:
        if ranks.user is None:
            raise ArgumentError(
                f"{arg.user} is missing: targets that share a sample need their users."
            )
        if ranks.row_weights is not None:
            raise ArgumentError(
                "row_weights is only for separate samples. Users whose targets share a sample have "
                "the same weight. Leave it out."
            )
        names = ("user", "item", "replacement", "above", "n_scored")
        n_items = np.broadcast_to(np.asarray(ranks.n_items), ranks.n_rows)
        vars(self).update({name: getattr(ranks, name) for name in names}, ranks=ranks)
        vars(self).update(n_items=n_items)
        first_rows = np.unique(self.owner, return_index=True)[1][self.owner]
        for name, size in self.sizes.items():
            column = np.broadcast_to(np.asarray(size), self.n_rows)
            alike = f"{name} must be the same for all targets of a user, which share one sample."
            ranks.refuse(column != column[first_rows], alike)
        ranks.refuse(
            self.n_candidates <= self.n_scored,
            f"{arg.n_items} must be at least {arg.n_negatives} plus the numbers of listed items "
            "and of the user's targets, and includes all of them.",
        )

    def __repr__(self) -> str:
        texts = ", ".join(f"{name}={span(n)}" for name, n in reversed(self.sizes.items()))
        return (
            f"SharedRanks({self.n_rows} targets of {self.n_users} users, {texts}, "
            f"replacement={self.replacement})"
        )

    def labelled(self, name: str, labels: Any) -> SharedRanks:
        """Return the same observations with other labels; see `Observation.labelled`."""
        return SharedRanks(self.ranks.labelled(name, labels))

    @cached_property
    def targets(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Each target among the user's sampled items alone, as for a user with one target."""
        more = {"k": self.most_items} if self.has_strata else {"history": None}
        return replace(self.ranks, n_items=self.n_candidates, **more)

    @property
    def has_strata(self) -> bool:
        """Whether items of a proxy's list are ranked for certain."""
        return isinstance(self.ranks, ScannedRanks)

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
        order = np.lexsort((self.above, self.owner))
        first_rows = np.cumsum(np.bincount(self.owner)) - np.bincount(self.owner)
        position = np.empty(self.n_rows, np.int64)
        position[order] = np.arange(self.n_rows) - first_rows[self.owner[order]] + 1
        return position

    @property
    def sizes(self) -> dict[str, Any]:
        """The sizes of samples; with strata, those of lists too."""
        if isinstance(self.ranks, ScannedRanks):
            return {**super().sizes, "n_listed": self.ranks.n_listed}
        return super().sizes

    @property
    def is_exact(self) -> bool:
        """Whether all items of all users were ranked, so that the ranks are exact."""
        return self.targets.is_exact

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
            groups: list[list[Part]] = []
            for shape in self._shapes(measure):
                if groups and _is_small(groups[-1]):
                    groups[-1].append(shape)
                else:
                    groups.append([shape])
            if len(groups) > 1 and _is_small(groups[-1]):
                groups[-2].extend(groups.pop())
            self._parts[measure] = [self._merged(measure, group) for group in groups]
        return self._parts[measure]

    def at(self, part: Part) -> Any:
        """Return the observations of some targets, with their factors as weights."""
        owner = self.owner[part.rows]
        if self.has_strata:
            more = {"k": part.measure.k or 1, "user": owner}
        else:
            more = {"user": None if np.unique(owner).size == owner.size else owner}
        columns = columns_at(self.targets, [f.name for f in fields(self.targets)], part.rows)
        return replace(self.targets, **{**columns, "row_weights": part.sizes, **more})

    def ranks_of(self, part: Part) -> Any:
        """Return the observations of a part, which are made once; see `Part.ranks`."""
        if part.key not in self._ranks:
            self._ranks[part.key] = self.at(part)
        return self._ranks[part.key]

    def _shapes(self, measure: Measure) -> Iterator[Part]:
        """Yield the targets with terms that differ by a factor only, in the order of positions.

        The factor is the largest value of a term.
        """
        n_items = int(self.n_candidates.max())
        members: dict[tuple[int, bytes], list[tuple[tuple[int, int], Ints, float]]] = {}
        for place, rows in rows_by(self.position, self.n_pos):
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
            term = Terms.of(measure, (*place, 1.0 / largest))
            yield self._part(term, [rows for _, rows, _ in of_form], sizes)

    def _merged(self, measure: Measure, shapes: Sequence[Part]) -> Part:
        """Return one part for shapes, whose measure is their mean term."""
        if len(shapes) == 1:
            return shapes[0]
        rows, sizes = [shape.rows for shape in shapes], [shape.sizes for shape in shapes]
        total = float(np.concatenate(sizes).sum())
        places = [
            (*cast("Terms", shape.measure).places[0][:2], float(of.sum()) / total / float(of[0]))
            for shape, of in zip(shapes, sizes, strict=True)
        ]
        return self._part(Terms.of(measure, *places), rows, sizes, shapes)

    def _part(
        self, measure: Measure, rows: list[Ints], sizes: list[Floats], members: Sequence[Part] = ()
    ) -> Part:
        all_rows, all_sizes = np.concatenate(rows), np.concatenate(sizes)
        relative = (all_sizes / all_sizes.max()).round(_DIGITS)
        key = all_rows.tobytes(), relative.tobytes(), measure.k if self.has_strata else None
        return Part(self, measure, all_rows, all_sizes, key, members)

    @cached_property
    def _parts(self) -> dict[Measure, list[Part]]:
        return {}

    @cached_property
    def _ranks(self) -> dict[Hashable, Any]:
        return {}


_LEAST_TARGETS = 100  # of a part; positions with fewer are estimated with their neighbours
_DIGITS = 12  # of two terms that differ by a factor only


def _is_small(shapes: list[Part]) -> bool:
    return sum(shape.rows.size for shape in shapes) < _LEAST_TARGETS
