"""Bounds over unjudged items against all judgements of small lists, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium import data
from podium.evaluation import unjudged
from podium.metrics import Measure, get
from podium.protocol.conventions import WITH_RANGES
from podium.ranking import Ranking

TOLERANCE = 1e-12
CUTOFFS = (None, 1, 2, 3, 9)
OPTIONS: dict[str, tuple[dict[str, str], ...]] = {
    "precision": ({},),
    "recall": ({}, {"norm": "min"}),
    "rr": ({},),
    "ndcg": tuple(
        {"gain": gain, "discount": discount}
        for gain, discount in product(("linear", "exp2"), ("log2", "letor"))
    ),
}
MEASURES = [
    get(name, k=k, **options)
    for name in WITH_RANGES
    for options in OPTIONS[name]
    for k in CUTOFFS
    if not (name == "precision" and k is None)
]

Grades = dict[tuple[int, int], float]
Lists = dict[int, list[int]]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Grades, Lists, Lists, float]:
    """A truth of three users with one to three grades, and two runs of up to four items."""
    grades = draw(st.sampled_from([(1.0,), (1.0, 2.0), (0.5, 1.0, 3.0)]))
    truth: Grades = {
        (0, 0): grades[-1],
        (9, 0): 0.0,
        **{(9, i + 1): g for i, g in enumerate(grades)},
    }
    items = st.lists(st.integers(0, 6), max_size=4, unique=True)
    for user in (0, 1, 2):
        for item in draw(items):
            truth[user, item] = draw(st.sampled_from((0.0, *grades)))
        truth.setdefault((user, 6), 0.0)
    base, candidate = ({user: draw(items.filter(bool)) for user in (0, 1, 2)} for _ in range(2))
    return truth, base, candidate, draw(st.sampled_from([grades[0], grades[-1]]))


def table(truth: Grades) -> dict[str, Any]:
    users, items = zip(*truth, strict=True)
    return {"user": users, "item": items, "relevance": list(truth.values())}


def run(lists: Lists) -> dict[str, Any]:
    rows = [
        (u, item, -float(rank)) for u, items in lists.items() for rank, item in enumerate(items)
    ]
    rows.append((9, 0, 0.0))
    users, items, scores = zip(*rows, strict=True)
    return {"user": users, "item": items, "score": scores}


def judgements(truth: Grades, user: int, *runs: Lists) -> Iterator[Grades]:
    """Yield the truth of one user under all judgements of the items that no row judges."""
    own = {key: grade for key, grade in truth.items() if key[0] == user}
    open_items = {item for lists in runs for item in lists[user]} - {item for _, item in own}
    levels = (0.0, *sorted({grade for grade in truth.values() if grade > 0}))
    for chosen in product(levels, repeat=len(open_items)):
        yield own | {(user, i): g for i, g in zip(sorted(open_items), chosen, strict=True)}


def value(measure: Measure, truth: Grades, items: list[int], low: float) -> float:
    """The measure of one list; all its items are judged or not relevant."""
    (user,) = {key[0] for key in truth}
    relevance = [truth.get((user, item), 0.0) for item in items]
    rest = [grade for (_, item), grade in truth.items() if item not in items]
    lists = Ranking.from_scores(
        -np.arange(len(items)),
        relevance,
        np.zeros(len(items), np.int64),
        min_relevance=low,
        unretrieved=(rest, np.zeros(len(rest), np.int64)),
    )
    return float(measure(lists)[0])


def is_undefined(truth: Grades, user: int, low: float) -> bool:
    return not any(grade >= low for key, grade in truth.items() if key[0] == user)


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_RANGES)
@settings(max_examples=12)
@given(case=cases())
def test_bounds_are_the_extremes_over_all_judgements(name: str, case: Any) -> None:
    truth, lists, _, low = case
    ranking = data.ranking(
        table(truth), run(lists), unjudged="bounds", ties="id", min_relevance=low
    )
    grades = [grade for grade in truth.values() if grade > 0]
    for measure in (m for m in MEASURES if m.name == name):
        lowest, highest = unjudged.judgement_bounds(ranking, measure, grades)
        at = measure(ranking)
        for g, user in enumerate((0, 1, 2)):
            if is_undefined(truth, user, low):
                assert np.isnan([lowest[g], highest[g]]).all()
                continue
            values = [value(measure, t, lists[user], low) for t in judgements(truth, user, lists)]
            assert lowest[g] == pytest.approx(min(values), abs=TOLERANCE)
            assert highest[g] == pytest.approx(max(values), abs=TOLERANCE)
            assert lowest[g] <= at[g] <= highest[g]


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_RANGES)
@settings(max_examples=12)
@given(case=cases())
def test_bounds_of_differences_are_extremes(name: str, case: Any) -> None:
    truth, base, candidate, low = case
    pool = data.pool_unjudged(table(truth), run(base), run(candidate), ties="id", min_relevance=low)
    measures = [m for m in MEASURES if m.name == name]
    bounds = unjudged.difference_bounds(pool, measures)
    for measure in measures:
        found = bounds[str(measure)]
        for g, user in enumerate((0, 1, 2)):
            if is_undefined(truth, user, low):
                assert np.isnan([found.low[g], found.high[g]]).all()
                continue
            values = [
                value(measure, t, candidate[user], low) - value(measure, t, base[user], low)
                for t in judgements(truth, user, base, candidate)
            ]
            assert found.low[g] == pytest.approx(min(values), abs=TOLERANCE)
            assert found.high[g] == pytest.approx(max(values), abs=TOLERANCE)
            assert found.low[g] <= found.value[g] <= found.high[g]


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_RANGES)
@settings(max_examples=12)
@given(case=cases())
def test_the_labels_settle_the_order(name: str, case: Any) -> None:
    truth, base, candidate, low = case
    options: Any = {"ties": "id", "min_relevance": low}
    pool = data.pool_unjudged(table(truth), run(base), run(candidate), **options)
    for measure in (m for m in MEASURES if m.name == name):
        before = unjudged.difference_bounds(pool, measure)[str(measure)]
        labels = unjudged.labels_to_settle(pool, measure)
        fixed = {(int(u), int(i)): 0.0 for u, i in zip(labels["user"], labels["item"], strict=True)}
        assert not fixed.keys() & truth.keys()
        order = np.sign(np.nansum(before.value)) if abs(np.nansum(before.value)) > 1e-9 else 0
        if not order:
            continue
        worst = np.nansum(before.low if order > 0 else -before.high)
        if worst >= 1e-9:
            assert not fixed
        settled = 0.0
        for user in (0, 1, 2):
            if not is_undefined(truth, user, low):
                settled += min(
                    order
                    * (value(measure, t, candidate[user], low) - value(measure, t, base[user], low))
                    for t in judgements(truth | fixed, user, base, candidate)
                )
        assert settled >= -TOLERANCE


def test_equal_runs_never_differ() -> None:
    lists = {0: list(range(30))}
    truth = {(0, 3): 1.0, (0, 7): 1.0, (9, 0): 0.0, (9, 1): 2.0}
    pool = data.pool_unjudged(table(truth), run(lists), run(lists), ties="id")
    for bounds in unjudged.difference_bounds(pool, MEASURES).values():
        assert bounds.low[0] == pytest.approx(0.0, abs=TOLERANCE)
        assert bounds.high[0] == pytest.approx(0.0, abs=TOLERANCE)
