"""Laws of plans for every registered estimator, from its declared properties."""

from __future__ import annotations

from math import hypot

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.sampled import REGISTRY, LinearEstimator, Plan, SampledRanks, get, plan

N_ITEMS = 30
MANY = 300  # large enough for neighbouring ranks to share a cell
MEASURES = ("recall@5", "recall@1", "recall@12")  # measures that every method can estimate

linear = sorted(name for name, kind in REGISTRY.items() if issubclass(kind, LinearEstimator))
exact_ranks = st.lists(st.integers(1, N_ITEMS), min_size=2, max_size=20)
pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")  # of a bias
many_ranks = st.lists(st.integers(1, MANY), min_size=2, max_size=20)


def planned(
    name: str,
    ranks: list[int],
    measure: str,
    n_users: int,
    sizes: list[int],
    n_items: int = N_ITEMS,
) -> Plan:
    """Return a plan from a pilot in which all items were drawn."""
    pilot_ranks = SampledRanks(ranks, n_items - 1, n_items, replacement=False)
    return plan(
        n_items, n_users, measure, 0.1, pilot=pilot_ranks, method=name, sizes=sizes,
        replacement=False, n_repeats=2,
    )  # fmt: skip


@pytest.mark.parametrize("name", sorted(REGISTRY))
@settings(max_examples=3)
@given(ranks=exact_ranks, measure=st.sampled_from(MEASURES))
def test_error_has_two_parts(name: str, ranks: list[int], measure: str) -> None:
    result = planned(name, ranks, measure, 50, [3, 8])
    assert {design.kind for design in result.designs} - {"fixed", "all"} == (
        {"growing"} if get(name).grows else set()
    )
    for design in result.designs:
        assert design.error == pytest.approx(hypot(design.std_error, design.bias))
        assert design.reaches == (design.error <= 0.1)
        assert 1 < design.n_scored <= N_ITEMS
        assert design.share == design.n_scored / N_ITEMS
    assert result.everything.bias == 0.0


@pytest.mark.parametrize("name", [n for n in linear if get(n).consistent])
@settings(max_examples=5)
@given(ranks=many_ranks, measure=st.sampled_from(MEASURES))
def test_sample_of_everything_is_ranking_all(name: str, ranks: list[int], measure: str) -> None:
    result = planned(name, ranks, measure, 50, [MANY - 1], n_items=MANY)
    full_sample = next(design for design in result.designs if design.kind == "fixed")
    assert full_sample.std_error == pytest.approx(result.everything.std_error, abs=1e-7)
    assert full_sample.bias == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", linear)
@settings(max_examples=5)
@given(ranks=exact_ranks, measure=st.sampled_from(MEASURES))
def test_four_times_the_users_halve_the_standard_error_alone(
    name: str, ranks: list[int], measure: str
) -> None:
    small, large = (planned(name, ranks, measure, n, [4, 9]) for n in (25, 100))
    for small_design, large_design in zip(small.designs, large.designs, strict=True):
        assert large_design.std_error == pytest.approx(small_design.std_error / 2)
        assert large_design.bias == small_design.bias
        assert large_design.n_scored == small_design.n_scored
