"""The lists of a run under any conventions, each made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from podium.data.ids import label_array
from podium.data.join import Join
from podium.data.lists import Rows, in_precision, to_single, top_rows
from podium.decide.explain.grid import LISTS
from podium.groups import Groups
from podium.protocol import Conventions
from podium.ranking import Ranking

_USUAL = {name: vars(Conventions())[name] for name in LISTS}
_MOST_ROWS = 4_000_000  # of short lists
# Few rankings are kept; combinations of conventions with the same lists follow each other.
_MOST_RANKINGS = 3

Result = TypeVar("Result")


class Recent(Generic[Result]):
    """The last results of a computation, by their keys.

    Parameters
    ----------
    most : int
        The number of results that are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._results: dict[Any, Result] = {}

    def result(self, key: Any, compute: Callable[[], Result]) -> Result:
        """Return the result of a key, computed unless it is kept."""
        if key not in self._results:
            while len(self._results) >= self._most:
                del self._results[next(iter(self._results))]
            self._results[key] = compute()
        return self._results[key]


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
    best : ListsByChoice, optional
        Lists whose best lists take the place of those of the join.

    Attributes
    ----------
    join : Join
    """

    def __init__(
        self,
        join: Join,
        given: Conventions,
        depth: int | None = None,
        best: ListsByChoice | None = None,
    ) -> None:
        self.join, self._given, self._depth, self._best = join, given, depth, best
        self._lowest = float(join.truth.relevance.min())
        self._ranked: Recent[Ranking] = Recent(_MOST_RANKINGS)
        n_top = join.labels.size * (depth or 0)
        self._top: Recent[Rows] = Recent(max(_MOST_RANKINGS, _MOST_ROWS // max(n_top, 1)))

    def top(self, k: int) -> ListsByChoice:
        """Return the lists to rank k, with all rows that a tie could move there."""
        return ListsByChoice(self.join, self._given, k, self._best)

    def ranking(self, choice: Mapping[str, Any]) -> Ranking:
        """Return the lists under the conventions of lists; those that are missing are defaults.

        Raises
        ------
        ArgumentError
            If the run has no lists under these conventions, such as ranks with score_above.
        """
        key, rules = self._key(choice), self._rules(choice)
        ranking = self._ranked.result(key, lambda: self._rows(choice).ranking(rules))
        if self._best is not None:
            best = self._best.ranking({**choice, "low_grades": "keep"})
            ranking = replace(ranking, ideal=best.ideal, ideal_offsets=best.ideal_offsets)
        ranking = replace(ranking, min_relevance=choice.get("min_relevance") or 1.0)
        return ranking.without_low_grades() if choice.get("low_grades") == "zero" else ranking

    def _rows(self, choice: Mapping[str, Any]) -> Rows:
        if (depth := self._depth) is None:
            return self._looked_up(choice)
        # Short lists are kept, because all orders of ties begin with the same rows.
        untied = {**choice, "ties": "worst"}
        rows = self._top.result(self._key(untied), lambda: self._near_top(untied, depth))
        return replace(rows, relevance=rows.relevance.copy())  # ranking reorders it

    def _near_top(self, choice: Mapping[str, Any], k: int) -> Rows:
        """Return the rows that have the k best scores of their list in single precision."""
        rows = self._looked_up(choice, with_items=True)
        single, groups = to_single(rows.score), Groups(rows.join.labels, rows.offsets)
        offsets, best = top_rows(groups, single, np.zeros(single.size, np.int64), k)
        least = np.append(single[best], np.inf)[offsets[1:] - 1]  # any number for an empty list
        return rows.kept(single >= np.repeat(least, groups.sizes))

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
        join = replace(self.join, run=in_precision(self.join.run, rules))
        return Rows.of(join, rules, with_items=with_items, mark_judged=True)

    def listed(self, user: int, k: int | None) -> tuple[str, ...]:
        """Return the items of a user to rank k, best first, with the relevance of relevant ones."""
        some = np.zeros(self.join.labels.size, np.bool_)
        some[user] = True
        rules = self._rules({"ties": "id"})
        rows = Rows.of(self.join.of_users(some), rules, with_items=True, mark_judged=True)
        order: Any = rows.order(rules)[:k]
        items: Any = rows.item
        names = label_array(self.join.items.ids(items[order])).tolist()
        pairs = zip(names, rows.relevance[order].tolist(), strict=True)
        return tuple(f"{name} ({grade:g})" if grade > 0 else str(name) for name, grade in pairs)
