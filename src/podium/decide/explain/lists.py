"""The lists of a run under any conventions of lists, each made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from podium._kernels import rank_rows, read_only
from podium.data.best import top_rows
from podium.data.ids import label_array
from podium.data.join import Join
from podium.data.lists import Rows, in_precision, to_single
from podium.decide.explain.grid import LISTS
from podium.groups import Groups
from podium.protocol import Conventions
from podium.ranking import Ranking
from podium.types import Mask

_USUAL = {name: vars(Conventions())[name] for name in LISTS}
_MOST_KEPT = 3  # rankings; combinations of conventions with the same lists follow each other


class ListsByChoice:
    """The lists of a run for users of a truth, under any choice of conventions.

    Parameters
    ----------
    join : Join
        The users of both tables.
    given : Conventions
        The number of items and the seed of ties, which no choice changes.
    depth : int, optional
        The number of ranks that are needed. By default, all of them.
    """

    def __init__(self, join: Join, given: Conventions, depth: int | None = None) -> None:
        self._join, self._given, self._depth = join, given, depth
        self._lowest = float(join.truth.relevance.min())
        self._ranked: dict[tuple[Any, ...], Ranking] = {}
        self._top: dict[tuple[Any, ...], Rows] = {}

    @property
    def absent(self) -> Mask:
        """Whether the run lacks each user, (n_users,)."""
        return self._join.is_absent

    def top(self, k: int) -> ListsByChoice:
        """Return the lists to rank k, with all rows that a tie could move there."""
        return ListsByChoice(self._join, self._given, k)

    def users(self, mask: Mask) -> ListsByChoice:
        """Return the lists of some users whom the run has."""
        return ListsByChoice(self._join.of_users(mask), self._given, self._depth)

    def ranking(self, choice: Mapping[str, Any]) -> Ranking:
        """Return the lists under the conventions of lists; those that are missing are defaults.

        Raises
        ------
        ArgumentError
            If the run has no lists under these conventions, such as ranks with score_above.
        """
        key = self._key(choice)
        if key not in self._ranked:
            while len(self._ranked) >= _MOST_KEPT:
                del self._ranked[next(iter(self._ranked))]
            self._ranked[key] = self._rows(choice).ranking(self._rules(choice))
        ranking = replace(self._ranked[key], min_relevance=choice.get("min_relevance") or 1.0)
        return ranking.without_low_grades() if choice.get("low_grades") == "zero" else ranking

    def _rows(self, choice: Mapping[str, Any]) -> Rows:
        if self._depth is None:
            return self._looked_up(choice)
        # Short lists are kept, because all orders of ties begin with the same rows.
        key = self._key({**choice, "ties": "worst"})
        if key not in self._top:
            rows = self._looked_up({**choice, "ties": "worst"}, with_items=True)
            self._top[key] = rows.kept(_near_top(rows, self._depth))
        rows = self._top[key]
        return replace(rows, relevance=rows.relevance.copy())  # ranking reorders it

    def _key(self, choice: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return what lists under a choice depend on, apart from the threshold of a metric.

        Without negatives in the truth, no list is known as whole.
        """
        rules = (choice.get(name, usual) for name, usual in _USUAL.items())
        return (*rules, self._lowest < (choice.get("min_relevance") or 1.0))

    def _rules(self, choice: Mapping[str, Any]) -> Conventions:
        """Return the conventions of lists in a choice; users without a list are kept."""
        chosen: dict[str, Any] = {"ties_seed": self._given.ties_seed, "missing": "zero"}
        if choice.get("unretrieved") != "drop":
            chosen["n_items"] = self._given.n_items
        known = {name: choice[name] for name in LISTS if choice.get(name) is not None}
        return Conventions(min_relevance=choice.get("min_relevance") or 1.0, **known, **chosen)

    def _looked_up(self, choice: Mapping[str, Any], *, with_items: bool = False) -> Rows:
        """Return the rows, with the judged ones marked."""
        rules = self._rules(choice)
        join = replace(self._join, run=in_precision(self._join.run, rules))
        return Rows.of(join, rules, with_items=with_items, mark_judged=True)

    def listed(self, user: int, k: int | None) -> tuple[str, ...]:
        """Return the items of a user to rank k, best first, with the relevance of relevant ones."""
        some = np.zeros(self._join.labels.size, np.bool_)
        some[user] = True
        rules = self._rules({"ties": "id"})
        rows = Rows.of(self._join.of_users(some), rules, with_items=True, mark_judged=True)
        order: Any = rows.order(rules)[:k]
        items: Any = rows.item
        names = label_array(self._join.items.ids(items[order])).tolist()
        pairs = zip(names, rows.relevance[order].tolist(), strict=True)
        return tuple(f"{name} ({grade:g})" if grade > 0 else str(name) for name, grade in pairs)

    def tied(self, *, with_equal: bool) -> Mask:
        """Return the users whose list can depend on the order of equal float32 scores, (n_users,).

        Ties of items of equal relevance that are both judged, or both not, have no effect. They
        count `with_equal`.
        """
        result = np.zeros(self._join.labels.size, np.bool_)
        for unjudged in ("negative", "skip"):
            rows = self._rows({"unjudged": unjudged})
            single = to_single(rows.score)
            judged: Any = rows.judged
            kind = np.where(judged, rows.relevance, -1)
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
        rows = self._rows({})
        listed = self._rows({"unretrieved": "drop"})
        whole_lists: Any = self._looked_up({})
        is_tied = self.tied(with_equal=with_equal).any()
        differs = {
            "ties": is_tied,
            "single_precision": is_tied,
            "unjudged": not np.all(whole_lists.judged),
            "unretrieved": rows.ideal[1].size != listed.ideal[1].size
            or (rows.n_whole != listed.n_whole).any()
            or (rows.n_judged != listed.n_judged).any(),
            "score_above": (to_single(self._join.run.score) <= 0).any(),
            "low_grades": (rows.ideal[1] != 1.0).any(),
        }
        without = {name for name, has_effect in differs.items() if not has_effect}
        return {*without, "score_above", "single_precision"} if self._join.run.is_order else without


def _near_top(rows: Rows, k: int) -> Mask:
    """Return which rows have the k best scores of their list in single precision."""
    single, groups = to_single(rows.score), Groups(rows.join.labels, rows.offsets)
    offsets, best = top_rows(groups, single, np.zeros(single.size, np.int64), k)
    least = np.append(single[best], np.inf)[offsets[1:] - 1]  # any number for an empty list
    return single >= np.repeat(least, groups.sizes)
