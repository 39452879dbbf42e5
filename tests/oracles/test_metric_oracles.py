"""The compiled metrics against brute force, for every metric, option, cutoff and tie rule."""

from __future__ import annotations

import collections
import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import UnsettledError
from podium.metrics import REGISTRY
from podium.testing.oracles import brute_force, in_orders
from podium.testing.pairs.formulas import METRICS, List
from podium.testing.strategies import Case, all_measures, cases

ALL = all_measures()
MEASURES = {name: [m for m in ALL if m.metric is metric] for name, metric in REGISTRY.items()}


def expected(text: str, case: Case, ties: str) -> list[float] | None:
    """Value of each group by brute force, or None where one is unsettled."""
    try:
        return [brute_force(text, one, ties) for one in case.listings().values()]
    except UnsettledError:
        return None


def check(name: str, case: Case, ties: str) -> None:
    ranking = case.ranking(ties)
    for measure in MEASURES[name]:
        expected_values = expected(str(measure), case, ties)
        if expected_values is None:
            with pytest.raises(UnsettledError):
                measure(ranking)
        else:
            np.testing.assert_allclose(
                measure(ranking), expected_values, rtol=1e-12, atol=1e-15, err_msg=str(measure)
            )


def test_every_metric_has_a_definition() -> None:
    missing = sorted(set(REGISTRY) - set(METRICS))
    assert not missing, f"add {missing[0]!r} to METRICS of podium.testing.pairs.formulas"
    for name, metric in REGISTRY.items():
        assert METRICS[name].graded == metric.graded


@pytest.mark.parametrize("name", sorted(REGISTRY))
@given(case=cases(), ties=st.sampled_from(("worst", "best", "id")))
def test_metric_equals_brute_force(name: str, case: Case, ties: str) -> None:
    check(name, case, ties)


@pytest.mark.parametrize("name", [n for n, m in REGISTRY.items() if m.linear or m.half_pairs])
@given(case=cases(max_groups=2))
def test_average_equals_brute_force(name: str, case: Case) -> None:
    check(name, case, "average")


@pytest.mark.parametrize("name", sorted(REGISTRY))
@given(case=cases(max_groups=2), seed=st.integers(0, 100))
def test_random_ties_give_one_of_the_orders(name: str, case: Case, seed: int) -> None:
    ranking = case.ranking("random", seed=seed)
    for measure in MEASURES[name]:
        if measure.k not in (None, 2):
            continue
        try:
            values = measure(ranking)
        except UnsettledError:
            continue
        for value, one in zip(values, case.listings().values(), strict=True):
            possible = _possible(str(measure), one)
            assert any(np.isclose(value, p, rtol=1e-12, equal_nan=True) for p in possible)


def _possible(text: str, one: List) -> list[float]:
    result = []
    for in_order in in_orders(one):
        with contextlib.suppress(UnsettledError):
            result.append(brute_force(text, in_order))
    return result


def test_random_ties_reach_every_order() -> None:
    seen = collections.Counter(
        float(
            REGISTRY["rr"].function(
                Case((1.0,) * 3, (1, 0, 0), (1,) * 3, (1, 2, 3)).ranking("random", seed=seed)
            )[0]
        )
        for seed in range(60)
    )
    assert set(seen) == {1 / 1, 1 / 2, 1 / 3}


@pytest.mark.long
def test_generated_lists_have_ties_empty_groups_and_both_classes() -> None:
    seen: collections.Counter[str] = collections.Counter()

    @given(case=cases())
    @settings(max_examples=300, database=None, derandomize=True)
    def collect(case: Case) -> None:
        seen["cases"] += 1
        listings = case.listings().values()
        flags = [x.hits for x in listings]
        seen["ties"] += any(len({e.score for e in x.entries}) < len(x.entries) for x in listings)
        seen["ties of both classes"] += any(map(_tie_of_both, listings))
        seen["nothing positive"] += any(x.n_pos == 0 for x in listings)
        seen["only positives"] += any(all(f) for f in flags)
        seen["both classes"] += any(any(f) and not all(f) for f in flags)
        seen["grades"] += any(len({e.grade for e in x.entries}) > 2 for x in listings)
        seen["several groups"] += len(flags) > 1
        seen["rows not grouped"] += len(flags) < sum(
            a != b for a, b in zip((None, *case.qid), case.qid, strict=False)
        )
        seen["string labels"] += isinstance(case.qid[0], str)
        seen["integer labels"] += isinstance(case.qid[0], int)
        seen["unretrieved positives"] += any(x.n_pos > sum(x.hits) for x in listings)
        seen["n_items known, list truncated"] += case.n_items is not None
        seen["n_items unknown"] += case.unretrieved is not None and case.n_items is None

    collect()
    rare = {what: n for what, n in seen.items() if n < 0.1 * seen["cases"]}
    assert seen["cases"] >= 100
    assert not rare
    assert len(seen) == 14


def _tie_of_both(x: List) -> bool:
    rows = [(e.score, hit) for e, hit in zip(x.entries, x.hits, strict=True)]
    return any((s, not positive) in rows for s, positive in rows)
