"""Laws of plans for every registered estimator, from its declared properties."""

from __future__ import annotations

from math import hypot

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.sampled import REGISTRY, LinearEstimator, Plan, SampledRanks, plan

N_ITEMS = 30
MEASURES = ("recall@5", "recall@1", "recall@12")  # measures that every method can estimate

linear = sorted(name for name, kind in REGISTRY.items() if issubclass(kind, LinearEstimator))
exact_ranks = st.lists(st.integers(1, N_ITEMS), min_size=2, max_size=20)
pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")  # of a bias


def planned(name: str, ranks: list[int], measure: str, n_users: int) -> Plan:
    """Return a plan from a pilot in which all items were drawn."""
    pilot = SampledRanks(ranks, N_ITEMS - 1, N_ITEMS, replacement=False)
    return plan(N_ITEMS, n_users, measure, 0.1, pilot=pilot, method=name, replacement=False)


@pytest.mark.parametrize("name", [*linear, "smooth"])
@settings(max_examples=3)
@given(ranks=exact_ranks, measure=st.sampled_from(MEASURES))
def test_error_has_two_parts(name: str, ranks: list[int], measure: str) -> None:
    result = planned(name, ranks, measure, 50)
    for design in result.designs:
        assert design.error == pytest.approx(hypot(design.std_error, design.bias))
        assert design.reaches == (design.error <= 0.1)
        assert 1 < design.n_scored <= N_ITEMS
        assert design.share == design.n_scored / N_ITEMS
    assert result.everything.bias == 0.0


@pytest.mark.parametrize("name", linear)
@settings(max_examples=5)
@given(ranks=exact_ranks, measure=st.sampled_from(MEASURES))
def test_four_times_the_users_halve_the_standard_error_alone(
    name: str, ranks: list[int], measure: str
) -> None:
    small, large = (planned(name, ranks, measure, n) for n in (25, 100))
    for small_design, large_design in zip(small.designs, large.designs, strict=True):
        assert large_design.std_error == pytest.approx(small_design.std_error / 2)
        assert large_design.bias == small_design.bias
        assert large_design.n_scored == small_design.n_scored
