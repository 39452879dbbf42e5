"""What plans promise for every estimator, read from its declaration."""

from __future__ import annotations

import warnings
from math import hypot

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.sampled import REGISTRY, LinearEstimator, Plan, SampledRanks, get, plan

N_ITEMS = 30
MANY = 300  # so many that neighbouring ranks share a cell
MEASURES = ("recall@5", "recall@1", "recall@12")  # that every method estimates

linear = sorted(name for name, kind in REGISTRY.items() if issubclass(kind, LinearEstimator))
exact_ranks = st.lists(st.integers(1, N_ITEMS), min_size=2, max_size=20)
many_ranks = st.lists(st.integers(1, MANY), min_size=2, max_size=20)


def planned(
    name: str,
    ranks: list[int],
    measure: str,
    n_users: int,
    sizes: list[int],
    n_items: int = N_ITEMS,
) -> Plan:
    """A plan for users whose ranks are like those of a pilot in which all items were drawn."""
    known = SampledRanks(ranks, n_items - 1, n_items, replacement=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a method is biased is said each time
        return plan(
            n_items, n_users, measure, 0.1, pilot=known, method=name, sizes=sizes,
            replacement=False, n_repeats=2,
        )  # fmt: skip


@pytest.mark.parametrize("name", sorted(REGISTRY))
@settings(max_examples=3)
@given(ranks=exact_ranks, measure=st.sampled_from(MEASURES))
def test_error_has_two_parts(name: str, ranks: list[int], measure: str) -> None:
    found = planned(name, ranks, measure, 50, [3, 8])
    assert {each.kind for each in found.designs} - {"fixed", "all"} == (
        {"growing"} if get(name).grows else set()
    )
    for each in found.designs:
        assert each.error == pytest.approx(hypot(each.std_error, each.bias))
        assert each.reaches == (each.error <= 0.1)
        assert 1 < each.n_scored <= N_ITEMS
        assert each.share == each.n_scored / N_ITEMS
    assert found.everything.bias == 0.0


@pytest.mark.parametrize("name", [n for n in linear if get(n).consistent])
@settings(max_examples=5)
@given(ranks=many_ranks, measure=st.sampled_from(MEASURES))
def test_sample_of_everything_is_ranking_all(name: str, ranks: list[int], measure: str) -> None:
    found = planned(name, ranks, measure, 50, [MANY - 1], n_items=MANY)
    whole = next(each for each in found.designs if each.kind == "fixed")
    assert whole.std_error == pytest.approx(found.everything.std_error, abs=1e-9)
    assert whole.bias == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", linear)
@settings(max_examples=5)
@given(ranks=exact_ranks, measure=st.sampled_from(MEASURES))
def test_four_times_the_users_halve_the_standard_error_alone(
    name: str, ranks: list[int], measure: str
) -> None:
    few, many = (planned(name, ranks, measure, n, [4, 9]) for n in (25, 100))
    for one, other in zip(few.designs, many.designs, strict=True):
        assert other.std_error == pytest.approx(one.std_error / 2)
        assert other.bias == one.bias
        assert other.n_scored == one.n_scored
