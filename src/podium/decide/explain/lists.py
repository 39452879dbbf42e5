"""The lists of a run under any conventions of lists, built from one join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._kernels import ideal_order, rank_rows, read_only
from podium.data import Run, Truth
from podium.data.build import to_single
from podium.data.join import Join
from podium.errors import ArgumentError
from podium.groups import Groups, row_offsets
from podium.ranking import Ranking, kept_offsets
from podium.types import Labels, Mask, Offsets, PerRow

DEFAULTS: dict[str, Any] = {
    "ties": "worst",
    "single_precision": False,
    "unjudged": "negative",
    "unretrieved": "count",
    "score_above": None,
    "min_relevance": 1.0,
    "low_grades": "keep",
}


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows in rank order, equal scores in increasing relevance; and the ideal lists.

    Attributes
    ----------
    offsets : int64, (n_users + 1,)
    score, relevance : float64, (n_rows,)
    item : int64, (n_rows,)
        The order of the items' ids.
    judged : bool, (n_rows,)
    ideals : dict of str to (offsets, relevances > 0)
        The ideal lists by the value of unretrieved, each in decreasing order.
    n_items, n_judged : dict of str to int64 (n_users,)
        The number of items to rank, -1 if the list lacks some or it is unknown, and of judged
        items, by the value of unretrieved.
    """

    offsets: Offsets
    score: PerRow
    relevance: PerRow
    item: NDArray[np.int64]
    judged: Mask
    ideals: dict[str, tuple[Offsets, PerRow]]
    n_items: dict[str, NDArray[np.int64]]
    n_judged: dict[str, NDArray[np.int64]]

    def rows(self, keep: Mask) -> _Rows:
        """Return some rows of each list."""
        if keep.all():
            return self
        return replace(
            self,
            offsets=kept_offsets(keep, self.offsets),
            score=self.score[keep],
            relevance=self.relevance[keep],
            item=self.item[keep],
            judged=self.judged[keep],
        )

    def users(self, mask: Mask) -> _Rows:
        """Return the lists of some users."""
        sizes = np.diff(self.offsets)
        lists = replace(self.rows(np.repeat(mask, sizes)), offsets=row_offsets(sizes[mask]))
        ideals = {
            name: (row_offsets(np.diff(offsets)[mask]), values[np.repeat(mask, np.diff(offsets))])
            for name, (offsets, values) in self.ideals.items()
        }
        n_items = {name: totals[mask] for name, totals in self.n_items.items()}
        n_judged = {name: totals[mask] for name, totals in self.n_judged.items()}
        return replace(lists, ideals=ideals, n_items=n_items, n_judged=n_judged)

    @cached_property
    def single(self) -> PerRow:
        """The scores in single precision, (n_rows,)."""
        return to_single(self.score)

    def top(self, k: int) -> _Rows:
        """Return the k top rows of each list, and those that a tie could move there."""
        last = np.minimum(self.offsets[:-1] + k, self.offsets[1:]) - 1
        has_rows = np.diff(self.offsets) > 0
        least = np.full(has_rows.size, np.inf)
        least[has_rows] = self.single[last[has_rows]]
        return self.rows(self.single >= np.repeat(least, np.diff(self.offsets)))

    def ties(self) -> tuple[Mask, Mask]:
        """Return the users with equal scores that matter, and those with more in float32.

        Rows with equal scores are in increasing relevance, so neighbours show a difference. Every
        tie that float32 adds counts.
        """
        users = np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))
        within = users[1:] == users[:-1]
        exact = within & (self.score[1:] == self.score[:-1])
        added = within & ~exact & (self.single[1:] == self.single[:-1])
        masks = np.zeros((2, self.offsets.size - 1), np.bool_)
        masks[0, users[1:][exact & (self.relevance[1:] != self.relevance[:-1])]] = True
        masks[1, users[1:][added]] = True
        return masks[0], masks[1]


class Lists:
    """The lists of a run for users of a truth.

    Parameters
    ----------
    labels : (n_users,)
        The users.
    absent : bool, (n_users,)
        Whether the run lacks the user.
    rows : dict of str to _Rows
        The lists by the value of unjudged: with all items, and with judged items only.
    lowest : float
        The smallest relevance of the truth.
    is_order : bool
        Whether the run has ranks instead of scores.
    """

    def __init__(
        self,
        labels: Labels,
        absent: Mask,
        rows: Mapping[str, _Rows],
        lowest: float,
        *,
        is_order: bool,
    ) -> None:
        self.labels, self.absent, self._is_order = labels, absent, is_order
        self._rows = rows
        self._lowest = lowest
        self._ranked: dict[tuple[Any, ...], Ranking] = {}

    @classmethod
    def of(cls, truth: Truth, run: Run) -> Lists:
        """Join a run with its truth."""
        join = Join.of(truth, run, "zero", ids_ordered=True)
        join.check(truth, run, "zero")
        joined = join.look_up(truth, run, np.inf, "bounds", with_items=True)
        order = np.arange(joined.score.size, dtype=np.float64)
        nothing = np.empty(0, np.bool_)
        rank_rows(joined.offsets, read_only(joined.score), joined.relevance, 1.0, order, nothing)
        by_rank = order.astype(np.int64)
        relevance = joined.relevance[by_rank]
        absent = join.run_group < 0
        listed = joined.listed_only(absent)
        rows = _Rows(
            joined.offsets,
            joined.score[by_rank],
            relevance,
            _taken(join.tie_items(joined.item, "id"), by_rank),
            _taken(joined.judged, by_rank),
            {"count": _sorted(*joined.ideal), "drop": _sorted(*listed.ideal)},
            {"count": joined.n_whole, "drop": listed.n_whole},
            {"count": joined.n_judged, "drop": listed.n_judged},
        )
        judged = rows.rows(rows.judged)
        n_whole = join.n_judged_whole(truth, joined, np.inf)
        n_listed = np.where(absent, -1, np.diff(judged.offsets))
        judged = replace(judged, n_items={"count": n_whole, "drop": n_listed})
        both = {"negative": rows, "skip": judged}
        return cls(join.labels, absent, both, float(truth.relevance.min()), is_order=run.is_order)

    def top(self, k: int) -> Lists:
        """Return the lists to rank k, with all rows that a tie could move there."""
        rows = {rule: rows.top(k) for rule, rows in self._rows.items()}
        return Lists(self.labels, self.absent, rows, self._lowest, is_order=self._is_order)

    def users(self, mask: Mask) -> Lists:
        """Return the lists of some users."""
        rows = {rule: rows.users(mask) for rule, rows in self._rows.items()}
        return Lists(
            self.labels[mask], self.absent[mask], rows, self._lowest, is_order=self._is_order
        )

    def ranking(self, choice: Mapping[str, Any]) -> Ranking:
        """Return the lists under the conventions of lists; those that are missing are defaults."""
        rules = {name: choice.get(name, default) for name, default in DEFAULTS.items()}
        key = tuple(rules.values())
        if key not in self._ranked:
            self._ranked[key] = self._new(rules)
        return self._ranked[key]

    def _new(self, rules: dict[str, Any]) -> Ranking:
        if rules["low_grades"] == "zero":
            return self.ranking({**rules, "low_grades": "keep"}).without_low_grades()
        return self._other_ideal(rules) or self._build(rules)

    def _other_ideal(self, rules: dict[str, Any]) -> Ranking | None:
        """Return the known lists in the same order, with other positives or ideal lists."""
        usual = {**rules, "unretrieved": "count", "min_relevance": 1.0}
        if rules == usual:
            return None
        offsets, ideal = self._rows[rules["unjudged"]].ideals[rules["unretrieved"]]
        return replace(
            self.ranking(usual),
            ideal_offsets=offsets,
            ideal=ideal,
            n_items=self._n_items(rules),
            n_judged=self._rows[rules["unjudged"]].n_judged[rules["unretrieved"]],
            min_relevance=rules["min_relevance"],
        )

    def _n_items(self, rules: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the lengths of whole lists, -1 if the truth has no negatives to know them by."""
        totals = self._rows[rules["unjudged"]].n_items[rules["unretrieved"]]
        is_known = rules["unretrieved"] == "drop" or self._lowest < rules["min_relevance"]
        return totals if is_known else np.full_like(totals, -1)

    def _build(self, rules: Mapping[str, Any]) -> Ranking:
        rows = self._rows[rules["unjudged"]]
        if rules["score_above"] is not None and self._is_order:
            raise ArgumentError("score_above requires scores, but the run has ranks.")
        if rules["score_above"] is not None:
            rows = rows.rows(rows.score > rules["score_above"])
        score = rows.score
        if rules["single_precision"] and not self._is_order:
            score = rows.single
            if np.isinf(score).any():
                raise ArgumentError("single_precision requires scores up to 3.4e38.")
        return Ranking.from_grouped(
            Groups(self.labels, rows.offsets),
            score,
            rows.relevance.copy(),
            ideal=rows.ideals["count"],
            n_items=self._n_items(rules),
            ties=rules["ties"],
            item=rows.item if rules["ties"] == "id" else None,
            absent=self.absent,
            judged=rows.judged,
            n_judged=rows.n_judged["count"],
        )

    @cached_property
    def tied(self) -> Mask:
        """The users whose list can depend on the order of equal float32 scores, (n_users,)."""
        return np.logical_or.reduce([mask for rows in self._rows.values() for mask in rows.ties()])

    def without_effect(self) -> set[str]:
        """Return the conventions of lists whose values give the same lists."""
        all_rows = self._rows["negative"]
        added = [rows.ties()[1].any() for rows in self._rows.values()]
        ideal = all_rows.ideals["count"][1]
        differs = {
            "ties": self.tied.any(),
            "single_precision": any(added),
            "unjudged": not all_rows.judged.all(),
            "unretrieved": ideal.size != all_rows.ideals["drop"][1].size,
            "score_above": any((rows.score <= 0).any() for rows in self._rows.values()),
            "min_relevance": (ideal != 1.0).any(),
            "low_grades": (ideal != 1.0).any(),
        }
        without = {name for name, has_effect in differs.items() if not has_effect}
        return {*without, "score_above", "single_precision"} if self._is_order else without


def _sorted(offsets: Offsets, relevance: PerRow) -> tuple[Offsets, PerRow]:
    """Return ideal lists in decreasing order."""
    ideal = np.empty_like(relevance)
    ideal_order(offsets, read_only(relevance), ideal)
    return offsets, ideal


def _taken(values: NDArray[Any] | None, rows: NDArray[np.int64]) -> NDArray[Any]:
    return np.empty(0) if values is None else values[rows]
