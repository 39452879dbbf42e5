"""Hypothesis strategies: ragged lists with ties, grades, empty groups and unretrieved items.

Lists have at most `max_items` items, so that the oracles can enumerate their orders.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from podium.metrics import REGISTRY, Measure, Metric, parse
from podium.metrics.measures import choices
from podium.ranking import Ranking
from podium.testing.oracles import listing
from podium.testing.pairs.formulas import List
from podium.types import LowGrades, Ties

SCORES = (-1.5, 0.0, 0.25, 2.0)
"""A few values, so that lists have ties, among them negatives and zero, which some other libraries
interpret as absent."""

NUMBERS = {
    "p": (0.5, 0.8),
    "max_grade": (4.0, 5.5),
    "alpha": (0.0, 0.5, 0.75),
    "beta": (0.25, 1.0),
}
"""Values of numeric options. All grades drawn here are <= 4."""


@dataclass(frozen=True)
class Case:
    """Rows of several groups in any order, in the form of `Ranking.from_scores`.

    `unretrieved` contains (relevance, label) of each item, or is None if the rows are whole lists.
    """

    scores: tuple[float, ...]
    relevance: tuple[float, ...]
    qid: tuple[Any, ...]
    item: tuple[Any, ...]
    unretrieved: tuple[tuple[float, Any], ...] | None = None
    n_items: int | None = None
    min_relevance: float = 1.0
    low_grades: LowGrades = "keep"

    def ranking(self, ties: Ties = "worst", *, seed: int = 0) -> Ranking:
        """Return the ranking of the rows with a tie rule."""
        hidden = self.unretrieved
        return Ranking.from_scores(
            self.scores,
            self.relevance,
            np.array(self.qid),
            min_relevance=self.min_relevance,
            low_grades=self.low_grades,
            ties=ties,
            item=np.array(self.item),
            n_items=self.n_items,
            unretrieved=None if hidden is None else _columns(hidden, self.qid[0]),
            seed=seed,
        )

    def listings(self) -> dict[Any, List]:
        """Return the list of each group, by rising label."""
        return {label: self._listing(label) for label in sorted(set(self.qid))}

    def _listing(self, label: Any) -> List:
        rows = [i for i, q in enumerate(self.qid) if q == label]
        n_listed = len(rows) if self.unretrieved is None else None
        return listing(
            [self.scores[i] for i in rows],
            [self._counted(self.relevance[i]) for i in rows],
            [self.item[i] for i in rows],
            hidden=[self._counted(r) for r, q in self.unretrieved or () if q == label],
            n_items=n_listed if self.n_items is None else self.n_items,
            min_relevance=self.min_relevance,
        )

    def _counted(self, relevance: float) -> float:
        return 0.0 if self.low_grades == "zero" and relevance < self.min_relevance else relevance


def cases(
    *, max_groups: int = 4, max_items: int = 6, whole: bool = False
) -> st.SearchStrategy[Case]:
    """Draw rows of 1 to max_groups groups of 1 to max_items items each, in any row order.

    Parameters
    ----------
    max_groups, max_items : int
        The largest numbers of groups and of items per group.
    whole : bool
        Whether all lists are whole, without unretrieved items.
    """
    return st.composite(_case)(max_groups, max_items, whole)


def _case(draw: st.DrawFn, max_groups: int, max_items: int, whole: bool) -> Case:
    rows: list[tuple[float, float, Any, Any]] = []
    hidden: list[tuple[float, Any]] = []
    truncated = not whole and draw(st.sampled_from((True, True, False)))
    for label in draw(_labels(max_groups)):
        grades = draw(_grades())
        scores = draw(_scores(max_items))
        ids = draw(st.permutations([f"d{i}" for i in range(len(scores))]))
        rows += [(s, draw(grades), label, i) for s, i in zip(scores, ids, strict=True)]
        if truncated:
            hidden += [(draw(grades), label) for _ in range(draw(st.integers(0, 3)))]
    scores, relevance, qid, item = zip(*draw(st.permutations(rows)), strict=True)
    return Case(
        scores,
        relevance,
        qid,
        item,
        tuple(hidden) if truncated else None,
        draw(_totals(qid, hidden)) if truncated else None,
        draw(st.sampled_from((1.0, 1.0, 2.0, 0.5))),
        draw(st.sampled_from(("keep", "keep", "zero"))),
    )


def _labels(max_groups: int) -> st.SearchStrategy[list[Any]]:
    kinds: list[st.SearchStrategy[Any]] = [
        st.integers(-3, 40),
        st.integers(-(10**12), 10**12),
        st.text("abé9", min_size=1, max_size=3),
    ]
    return st.one_of([st.lists(k, min_size=1, max_size=max_groups, unique=True) for k in kinds])


def _scores(max_items: int) -> st.SearchStrategy[list[float]]:
    tied = st.lists(st.sampled_from(SCORES), min_size=1, max_size=max_items)
    distinct = st.integers(1, max_items).map(lambda n: [0.5 * i - 1.0 for i in range(n)])
    return st.one_of(tied, tied, distinct.flatmap(st.permutations))


def _grades() -> st.SearchStrategy[st.SearchStrategy[float]]:
    """Draw the kind of labels of a group: no positives, only positives, both, or grades."""
    binary, graded = (0.0, 1.0), (0.0, 0.5, 1.0, 2.0, 4.0)
    kinds = ((0.0,), (1.0,), binary, binary, graded, graded)
    return st.sampled_from(kinds).map(st.sampled_from)


def _totals(
    qid: Sequence[Any], hidden: Sequence[tuple[float, Any]]
) -> st.SearchStrategy[int | None]:
    """Draw n_items: unknown, or at least the size of the longest list with its hidden items."""
    needed = max(
        qid.count(label) + sum(q == label and r > 0 for r, q in hidden) for label in set(qid)
    )
    known = st.integers(needed, needed + 4)
    return st.one_of(st.none(), known, known)


def _columns(hidden: Sequence[tuple[float, Any]], like: Any) -> tuple[Any, Any]:
    labels = np.array([label for _, label in hidden], dtype=str if isinstance(like, str) else int)
    return [relevance for relevance, _ in hidden], labels


def variants(metric: Metric) -> list[dict[str, Any]]:
    """Return every combination of a metric's option values, defaults included."""
    values: dict[str, Sequence[Any]] = {}
    for name, default in metric.options.items():
        if isinstance(default, bool):
            values[name] = (False, True)
        elif isinstance(default, float):
            values[name] = NUMBERS.get(name, (default,))
        else:
            values[name] = choices(metric, name)
    return [
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*values.values())
    ]


def all_measures(cutoffs: Sequence[int] = (1, 2, 3, 5)) -> list[Measure]:
    """Return every registered metric with all option values, at some cutoffs and without one."""
    return [
        parse(_text(metric, options, k))
        for metric in REGISTRY.values()
        for options in variants(metric)
        for k in _cutoffs(metric, cutoffs)
    ]


def _cutoffs(metric: Metric, cutoffs: Sequence[int]) -> Sequence[int | None]:
    if metric.cutoff == "none":
        return (None,)
    return cutoffs if metric.cutoff == "required" else (*cutoffs, None)


def _text(metric: Metric, options: dict[str, Any], k: int | None) -> str:
    options_text = ",".join(f"{name}={value}" for name, value in options.items())
    name = metric.name.removesuffix("@k")
    return f"{name}({options_text})" + ("" if k is None else f"@{k}")
