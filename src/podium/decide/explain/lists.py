"""The lists of a run under any conventions of lists, built from one join."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._kernels import rank_rows, read_only
from podium.data import Run, Truth
from podium.data.join import Join
from podium.groups import Groups
from podium.ranking import Ranking, count_between
from podium.types import Mask, Offsets, PerRow

DEFAULTS: dict[str, Any] = {
    "ties": "worst",
    "single_precision": False,
    "unjudged": "negative",
    "unretrieved": "count",
    "score_above": None,
    "min_relevance": 1.0,
}


class Lists:
    """The lists of a run for the users of a truth.

    Parameters
    ----------
    truth : Truth
    run : Run

    Attributes
    ----------
    labels : (n_users,)
        The users of the truth.
    absent : bool, (n_users,)
        Whether the run lacks the user.
    """

    def __init__(self, truth: Truth, run: Run) -> None:
        join = Join.of(truth, run, "zero", ids_ordered=True)
        rows = join.look_up(truth, run, 1.0, "bounds", with_items=True)
        self.labels = join.labels
        self.absent: Mask = join.run_group < 0
        self._offsets, self._ideal, self._n_whole = rows.offsets, rows.ideal, rows.n_whole
        order = _order(rows.offsets, rows.score, rows.relevance)
        self._score, self._relevance = rows.score[order], rows.relevance[order]
        self._item, self._judged = _taken(rows.item, order), _taken(rows.judged, order)
        self._built: dict[tuple[Any, ...], Ranking] = {}

    def ranking(self, choice: Mapping[str, Any]) -> Ranking:
        """Return the lists under the conventions of lists; those that are missing are defaults."""
        rules = {name: choice.get(name, default) for name, default in DEFAULTS.items()}
        key = tuple(rules.values())
        if key not in self._built:
            self._built[key] = self._ranked(**rules)
        return self._built[key]

    def _ranked(
        self,
        *,
        ties: Any,
        single_precision: bool,
        unjudged: str,
        unretrieved: str,
        score_above: float | None,
        min_relevance: float,
    ) -> Ranking:
        keep = np.ones(self._score.size, np.bool_)
        if unjudged == "skip":
            keep &= self._judged
        if score_above is not None:
            keep &= self._score > score_above
        rows = slice(None) if keep.all() else keep
        offsets = self._offsets if keep.all() else _starts(keep, self._offsets)
        score = self._score[rows]
        ideal = self._ideal if unretrieved == "count" else self._listed_ideal
        n_items = self._n_whole if unretrieved == "count" else np.diff(self._offsets)
        return Ranking.from_grouped(
            Groups(self.labels, offsets),
            score.astype(np.float32).astype(np.float64) if single_precision else score,
            self._relevance[rows].copy(),
            ideal=ideal,
            n_items=n_items,
            min_relevance=min_relevance,
            ties=ties,
            item=self._item[rows] if ties == "id" else None,
            absent=self.absent,
            judged=self._judged[rows],
        )

    @cached_property
    def _listed_ideal(self) -> tuple[Offsets, PerRow]:
        """The relevances > 0 of listed items, by user."""
        is_relevant = self._relevance > 0
        return _starts(is_relevant, self._offsets), self._relevance[is_relevant]

    def without_effect(self) -> set[str]:
        """Return the conventions of lists whose values give the same lists."""
        same = {name: not differs for name, differs in self._differences().items()}
        return {name for name, is_same in same.items() if is_same}

    def _differences(self) -> dict[str, bool]:
        rounded = self._score.astype(np.float32)
        exact, single = self._score[1:] == self._score[:-1], rounded[1:] == rounded[:-1]
        within = np.ones(self._score.size, np.bool_)
        within[self._offsets[:-1][self._offsets[:-1] < within.size]] = False
        within = within[1:]
        mixed = self._relevance[1:] != self._relevance[:-1]
        # Rows with equal scores are in increasing relevance, so that neighbours show a difference.
        merges = within & single & ~exact
        return {
            "ties": bool((within & exact & mixed).any() or merges.any()),
            "single_precision": bool(merges.any()),
            "unjudged": not self._judged.all(),
            "unretrieved": int((self._relevance > 0).sum()) != self._ideal[1].size,
            "score_above": bool((self._score <= 0).any()),
            "min_relevance": bool((self._ideal[1] != 1.0).any()),
        }


def _order(offsets: Offsets, score: PerRow, relevance: PerRow) -> NDArray[np.int64]:
    """Return the rows in rank order, equal scores in increasing relevance."""
    rows = np.arange(score.size, dtype=np.float64)
    rank_rows(offsets, read_only(score), relevance, 1.0, rows, np.empty(0, np.bool_))
    return rows.astype(np.int64)


def _taken(values: NDArray[Any] | None, rows: NDArray[np.int64]) -> NDArray[Any]:
    return np.empty(0) if values is None else values[rows]


def _starts(keep: Mask, offsets: Offsets) -> Offsets:
    """Return the offsets of groups among the rows that are kept."""
    return np.concatenate([[0], np.cumsum(count_between(keep, offsets))])
