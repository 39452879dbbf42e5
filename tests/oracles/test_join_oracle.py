"""The compiled join against dictionaries, on small tables with every oddity."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium import data
from podium.data.ids import distinct

Rows = list[tuple[Any, Any, float]]


def brute(
    truth: Rows, run: Rows, missing: str, unjudged: str, threshold: float
) -> list[tuple[Any, list[float], list[float], int]]:
    """Return (user, relevances in rank order, ideal, n_items) by looking rows up one by one."""
    judged = {(user, item): relevance for user, item, relevance in truth}
    names_negatives = min(judged.values()) < threshold
    result, absent = [], []
    for user in sorted({row[0] for row in truth}):
        listed = [row for row in run if row[0] == user]
        if not listed and missing == "skip":
            continue
        if unjudged == "skip":
            listed = [row for row in listed if (user, row[1]) in judged]
        pairs = [(score, judged.get((user, item), 0.0)) for _, item, score in listed]
        ranked = [grade for _, grade in sorted(pairs, key=lambda pair: (-pair[0], pair[1]))]
        own = {item: grade for (who, item), grade in judged.items() if who == user}
        ideal = sorted((grade for grade in own.values() if grade > 0), reverse=True)
        whole = names_negatives and {row[1] for row in listed} == set(own)
        absent.append(user not in {row[0] for row in run})
        result.append((user, ranked, ideal, len(own) if whole else -1))
    # Where all lists that there are are whole, so would those of absent users be.
    if all(n >= 0 for (*_, n), gone in zip(result, absent, strict=True) if not gone):
        sizes = Counter(row[0] for row in truth)
        result = [
            (user, ranked, ideal, sizes[user] if gone else n)
            for (user, ranked, ideal, n), gone in zip(result, absent, strict=True)
        ]
    return result


def table(rows: Rows, value: str, as_text: bool) -> dict[str, Any]:
    user, item, values = ([row[i] for row in rows] for i in range(3))
    ids = [str] if as_text else []
    for convert in ids:
        user, item = [convert(x) for x in user], [convert(x) for x in item]
    return {"user": user, "item": item, value: values}


def pairs(users: st.SearchStrategy[int], items: st.SearchStrategy[int]) -> Any:
    return st.lists(st.tuples(users, items), unique=True, min_size=1, max_size=30)


users = st.integers(0, 5)
# Negative, huge and colliding ids: the table's slots are taken from the upper bits of a product.
items = st.sampled_from([-(2**63), -1, 0, 1, 2, 3, 7, 2**31, 2**32, 2**62, 2**63 - 1])
grades = st.sampled_from([0.0, 0.5, 1.0, 2.0])
scores = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0])


@st.composite
def tables(draw: st.DrawFn) -> tuple[Rows, Rows]:
    keys = draw(pairs(users, items))
    truth = [(user, item, draw(grades)) for user, item in keys]
    # A run that often lists just what the truth does, so that whole lists occur.
    same = draw(st.booleans())
    listed = draw(st.permutations(keys)) if same else draw(pairs(users, items))
    return truth, [(user, item, draw(scores)) for user, item in listed]


@settings(max_examples=6 * settings().max_examples)
@given(
    tables(),
    st.sampled_from(["zero", "skip"]),
    st.sampled_from(["negative", "skip"]),
    st.sampled_from([0.5, 1.0]),
    st.booleans(),
    st.booleans(),
)
def test_join_equals_dictionaries(
    both: tuple[Rows, Rows],
    missing: Any,
    unjudged: Any,
    threshold: float,
    text_truth: bool,
    text_run: bool,
) -> None:
    truth, run = both
    if any(not {row[i] for row in truth} & {row[i] for row in run} for i in (0, 1)):
        return  # nothing in common is refused
    got = data.ranking(
        table(truth, "relevance", text_truth),
        table(run, "score", text_run),
        missing=missing,
        unjudged=unjudged,
        min_relevance=threshold,
        low_grades="keep",
    )
    expected = brute(truth, run, missing, unjudged, threshold)
    bounds, ideal = got.groups.offsets, got.ideal_offsets
    assert [int(label) for label in got.groups.labels] == [user for user, *_ in expected]
    for g, (_, ranked, best, n_items) in enumerate(expected):
        assert got.relevance[bounds[g] : bounds[g + 1]].tolist() == ranked
        assert got.ideal[ideal[g] : ideal[g + 1]].tolist() == best
        assert got.n_items[g] == n_items


def test_join_equals_dictionaries_on_long_lists() -> None:
    rng = np.random.default_rng(11)
    truth = [(u, int(i), float(rng.integers(0, 3))) for u in range(4) for i in _few(rng, 150)]
    run = [(u, int(i), float(s)) for u in range(4) for s, i in enumerate(_few(rng, 700))]
    got = data.ranking(table(truth, "relevance", False), table(run, "score", False))
    expected = brute(truth, run, "zero", "negative", 1.0)
    assert got.relevance.tolist() == [grade for _, ranked, *_ in expected for grade in ranked]


def test_oracle_sees_ties_whole_lists_and_gaps() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    @given(tables())
    def look(both: tuple[Rows, Rows]) -> None:
        truth, run = both
        found = brute(truth, run, "zero", "negative", 1.0)
        seen["whole"] += any(n_items > 0 for *_, n_items in found)
        seen["absent"] += bool({row[0] for row in truth} - {row[0] for row in run})
        seen["stranger"] += bool({row[0] for row in run} - {row[0] for row in truth})
        seen["unjudged"] += bool({row[:2] for row in run} - {row[:2] for row in truth})
        seen["tie"] += len({(u, s) for u, _, s in run}) < len(run)
        seen["no positive"] += any(not ideal for _, _, ideal, _ in found)

    look()
    assert set(seen) == {"whole", "absent", "stranger", "unjudged", "tie", "no positive"}
    assert min(seen.values()) >= 5


def _few(rng: np.random.Generator, n: int) -> Any:
    return rng.choice(2000, size=n, replace=False)


@pytest.mark.parametrize("n_ids", [1, 1_000, 60_000, 300_000])
@pytest.mark.parametrize("span", [2, 2**62])
def test_distinct_ids_are_those_of_a_set(n_ids: int, span: int) -> None:
    rng = np.random.default_rng(n_ids)
    ids = rng.integers(-span, span, n_ids)
    codes = np.append(ids[rng.integers(0, n_ids, 600_000)], [0, -1, np.iinfo(np.int64).min])
    assert distinct(codes).tolist() == sorted(set(codes.tolist()))
    assert distinct(codes[:0]).tolist() == []
