"""The lists of a run under any conventions of lists, built as `podium.data.ranking` builds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from podium._kernels import rank_rows, read_only
from podium.data import Run, Truth
from podium.data.build import ListRules, to_single
from podium.data.join import Join, Rows
from podium.ranking import Ranking
from podium.types import Labels, Mask, PerRow

DEFAULTS: dict[str, Any] = {
    "ties": "worst",
    "single_precision": False,
    "unjudged": "negative",
    "unretrieved": "count",
    "score_above": None,
    "min_relevance": 1.0,
    "low_grades": "keep",
}
_MOST_KEPT = 8  # rankings; combinations of conventions with the same lists follow each other


class Lists:
    """The lists of a run for users of a truth.

    Parameters
    ----------
    truth : Truth
    run : Run
    join : Join
        The users of both tables.
    depth : int, optional
        The number of ranks that are needed. By default, all of them.
    """

    def __init__(self, truth: Truth, run: Run, join: Join, depth: int | None = None) -> None:
        self._truth, self._run, self._join, self._depth = truth, run, join, depth
        self._ranked: dict[tuple[Any, ...], Ranking] = {}
        self._top: dict[tuple[Any, ...], Rows] = {}

    @classmethod
    def of(cls, truth: Truth, run: Run) -> Lists:
        """Join a run with its truth."""
        join = Join.of(truth, run, "zero", ids_ordered=True)
        join.check(truth, run, "zero")
        return cls(truth, run, join)

    @property
    def labels(self) -> Labels:
        """The users, (n_users,)."""
        return self._join.labels

    @property
    def absent(self) -> Mask:
        """Whether the run lacks each user, (n_users,)."""
        return self._join.run_group < 0

    def top(self, k: int) -> Lists:
        """Return the lists to rank k, with all rows that a tie could move there."""
        return Lists(self._truth, self._run, self._join, k)

    def users(self, mask: Mask) -> Lists:
        """Return the lists of some users whom the run has."""
        join = self._join
        some = replace(
            join,
            run_group=join.run_group[mask],
            truth_group=join.truth_group[mask],
            labels=join.labels[mask],
        )
        return Lists(self._truth, self._run, some, self._depth)

    def ranking(self, choice: Mapping[str, Any]) -> Ranking:
        """Return the lists under the conventions of lists; those that are missing are defaults.

        Raises
        ------
        ArgumentError
            If the run has no lists under these conventions, such as ranks with score_above.
        """
        rules = _rules(choice)._replace(low_grades="keep")
        positive: float = rules.min_relevance or 1.0
        key = (*rules._replace(min_relevance=None), self._has_negatives(positive))
        if key not in self._ranked:
            while len(self._ranked) >= _MOST_KEPT:
                del self._ranked[next(iter(self._ranked))]
            self._ranked[key] = rules.of_rows(self._join, self._rows(rules), positive)
        ranking = replace(self._ranked[key], min_relevance=positive)
        return ranking.without_low_grades() if choice.get("low_grades") == "zero" else ranking

    def _rows(self, rules: ListRules) -> Rows:
        positive: float = rules.min_relevance or 1.0
        if self._depth is None:
            return rules.rows(self._join, self._truth, rules.prepared(self._run), positive)
        # Short lists are kept, because all orders of ties begin with the same rows.
        key = (*rules._replace(ties="worst", min_relevance=None), self._has_negatives(positive))
        if key not in self._top:
            run = rules.prepared(self._run)
            rows = rules.rows(self._join, self._truth, run, positive, with_items=True)
            self._top[key] = rows.kept(_near_top(rows, self._depth))
        rows = self._top[key]
        return replace(rows, relevance=rows.relevance.copy())  # ranking reorders it

    def _has_negatives(self, positive: float) -> bool:
        """Return whether the truth contains negatives, without which no list is known as whole."""
        return bool(self._truth.relevance.min() < positive)

    def tied(self, *, with_equal: bool) -> Mask:
        """Return the users whose list can depend on the order of equal float32 scores, (n_users,).

        Ties of items of equal relevance that are both judged, or both not, have no effect. They
        count `with_equal`.
        """
        result = np.zeros(self.labels.size, np.bool_)
        for unjudged in ("negative", "skip"):
            rows = self._rows(_rules({"unjudged": unjudged}))
            single = to_single(rows.score)
            kind = (
                rows.relevance if rows.judged is None else np.where(rows.judged, rows.relevance, -1)
            )
            users = np.repeat(np.arange(result.size), np.diff(rows.offsets))
            kinds, is_tied = kind.copy(), np.zeros(kind.size, np.bool_)
            rank_rows(rows.offsets, read_only(single), kind, 1.0, kinds, is_tied)
            before = np.flatnonzero(is_tied)
            if not with_equal:  # equal scores are in increasing order of their kind
                before = before[kinds[before] != kinds[before + 1]]
            result[users[before]] = True
            result[users[(rows.score > 0) != (single > 0)]] = True  # with score_above=0
        return result

    def without_effect(self, *, with_equal: bool) -> set[str]:
        """Return the conventions of lists whose values give the same lists."""
        rows = self._rows(_rules({}))
        listed = self._rows(_rules({"unretrieved": "drop"}))
        is_tied = self.tied(with_equal=with_equal).any()
        differs = {
            "ties": is_tied,
            "single_precision": is_tied,
            "unjudged": rows.judged is None or not self._all_judged(),
            "unretrieved": rows.ideal[1].size != listed.ideal[1].size
            or (rows.n_whole != listed.n_whole).any()
            or (rows.n_judged != listed.n_judged).any(),
            "score_above": (to_single(self._run.score) <= 0).any(),
            "low_grades": (rows.ideal[1] != 1.0).any(),
        }
        without = {name for name, has_effect in differs.items() if not has_effect}
        return {*without, "score_above", "single_precision"} if self._run.is_order else without

    def _all_judged(self) -> bool:
        """Return whether the whole lists contain judged items only."""
        rows = Lists(self._truth, self._run, self._join)._rows(_rules({}))
        return rows.judged is None or bool(rows.judged.all())


def _rules(choice: Mapping[str, Any]) -> ListRules:
    """Return the rules of a choice; judged items are marked, and users without a list kept."""
    chosen: Any = {name: choice.get(name, default) for name, default in DEFAULTS.items()}
    chosen |= {"missing": "zero", "mark_judged": True}
    return ListRules.of(chosen)


def _near_top(rows: Rows, k: int) -> Mask:
    """Return which rows have the k best scores of their list in single precision."""
    single, no_rows = to_single(rows.score), np.empty(0)
    ordered: PerRow = single.copy()
    rank_rows(rows.offsets, read_only(single), no_rows, 1.0, ordered, np.empty(0, np.bool_))
    sizes = np.diff(rows.offsets)
    least = np.full(sizes.size, np.inf)
    has_rows = sizes > 0
    least[has_rows] = ordered[(rows.offsets[:-1] + np.minimum(sizes, k) - 1)[has_rows]]
    return single >= np.repeat(least, sizes)
