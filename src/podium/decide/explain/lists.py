"""The lists of a run under any conventions of lists, built as `podium.data.ranking` builds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from podium._kernels import rank_rows, read_only
from podium.data import Run, Truth
from podium.data.build import prepared, ranking_of_rows, rows_of, to_single
from podium.data.join import Join, Rows
from podium.protocol import Conventions
from podium.ranking import Ranking
from podium.types import Labels, Mask, PerRow

_CHOSEN = (
    *("ties", "single_precision", "unjudged", "unretrieved", "score_above", "min_relevance"),
)
_MOST_KEPT = 8  # rankings; combinations of conventions with the same lists follow each other


class Lists:
    """The lists of a run for users of a truth.

    Parameters
    ----------
    truth : Truth
    run : Run
    join : Join
        The users of both tables.
    given : Conventions
        The number of items and the seed of ties, which no choice changes.
    depth : int, optional
        The number of ranks that are needed. By default, all of them.
    """

    def __init__(
        self,
        truth: Truth,
        run: Run,
        join: Join,
        given: Conventions,
        depth: int | None = None,
    ) -> None:
        self._truth, self._run, self._join, self._depth = truth, run, join, depth
        self._given = given
        self._known: dict[tuple[Any, ...], Conventions] = {}
        self._ranked: dict[tuple[Any, ...], Ranking] = {}
        self._top: dict[tuple[Any, ...], Rows] = {}

    @classmethod
    def of(cls, truth: Truth, run: Run, given: Conventions) -> Lists:
        """Join a run with its truth."""
        join = Join.of(truth, run, "zero", ids_ordered=True)
        join.check(truth, run, "zero")
        return cls(truth, run, join, given)

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
        return Lists(self._truth, self._run, self._join, self._given, k)

    def users(self, mask: Mask) -> Lists:
        """Return the lists of some users whom the run has."""
        join = self._join
        some = replace(
            join,
            run_group=join.run_group[mask],
            truth_group=join.truth_group[mask],
            labels=join.labels[mask],
        )
        return Lists(self._truth, self._run, some, self._given, self._depth)

    def ranking(self, choice: Mapping[str, Any]) -> Ranking:
        """Return the lists under the conventions of lists; those that are missing are defaults.

        Raises
        ------
        ArgumentError
            If the run has no lists under these conventions, such as ranks with score_above.
        """
        rules = self._rules(choice)
        positive: float = rules.min_relevance or 1.0
        key = replace(rules, min_relevance=None), self._has_negatives(positive)
        if key not in self._ranked:
            while len(self._ranked) >= _MOST_KEPT:
                del self._ranked[next(iter(self._ranked))]
            self._ranked[key] = ranking_of_rows(self._join, self._rows(rules), positive, rules)
        ranking = replace(self._ranked[key], min_relevance=positive)
        return ranking.without_low_grades() if choice.get("low_grades") == "zero" else ranking

    def _rows(self, rules: Conventions) -> Rows:
        positive: float = rules.min_relevance or 1.0
        if self._depth is None:
            return self._looked_up(rules)
        # Short lists are kept, because all orders of ties begin with the same rows.
        key = replace(rules, ties="worst", min_relevance=None), self._has_negatives(positive)
        if key not in self._top:
            rows = self._looked_up(rules, with_items=True)
            self._top[key] = rows.kept(_near_top(rows, self._depth))
        rows = self._top[key]
        return replace(rows, relevance=rows.relevance.copy())  # ranking reorders it

    def _rules(self, choice: Mapping[str, Any]) -> Conventions:
        """Return the conventions of lists in a choice; users without a list are kept."""
        chosen = {name: choice[name] for name in _CHOSEN if name in choice}
        key = (*chosen.items(),)
        if key not in self._known:
            self._known[key] = self._complete(chosen)
        return self._known[key]

    def _complete(self, chosen: dict[str, Any]) -> Conventions:
        n_items = None if chosen.get("unretrieved") == "drop" else self._given.n_items
        given = {"min_relevance": 1.0, "n_items": n_items, "ties_seed": self._given.ties_seed}
        fields: dict[str, Any] = {**given, **chosen, "missing": "zero"}
        return Conventions(**fields)

    def _looked_up(self, rules: Conventions, *, with_items: bool = False) -> Rows:
        """Return the rows, with the judged ones marked."""
        run = prepared(self._run, rules)
        return rows_of(
            *(self._join, self._truth, run, rules), with_items=with_items, mark_judged=True
        )

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
            rows = self._rows(self._rules({"unjudged": unjudged}))
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
        rows = self._rows(self._rules({}))
        listed = self._rows(self._rules({"unretrieved": "drop"}))
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
        rows = Lists(self._truth, self._run, self._join, self._given)._rows(self._rules({}))
        return rows.judged is None or bool(rows.judged.all())


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
