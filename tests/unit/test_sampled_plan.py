"""Plans: what designs cost and give, which are looked at, and what is refused."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.sampled import (
    BV,
    Design,
    RankDistribution,
    SampledRanks,
    Smooth,
    plan,
    simulate_ranks,
)
from podium.sampled.distribution import read_measure
from podium.sampled.planning.outlook import (
    Expected,
    PlannedEstimate,
    expected_from_pilot,
    expected_without_pilot,
    halfway,
    layout,
)

N_ITEMS = 40
RANKS = np.array([1, 1, 1, 2, 3, 5, 9, 14, 30, 38])


def whole_pilot() -> SampledRanks:
    """A pilot in which all items were drawn, so that ranks are known."""
    return SampledRanks(RANKS, N_ITEMS - 1, N_ITEMS, replacement=False)


def pilot(n_users: int = 400, n_negatives: int = 20) -> SampledRanks:
    ranks = np.minimum(np.random.default_rng(0).geometric(0.03, n_users), 500)
    return simulate_ranks(ranks, 500, n_negatives)


@pytest.mark.parametrize("size", [5, 10])
@pytest.mark.parametrize("replacement", [True, False])
def test_mean_of_values_has_its_moments(size: int, replacement: bool) -> None:
    """Of a pilot whose ranks are known, against sums over all ranks and outcomes."""
    estimator, measure = BV(gamma=0.1), read_measure("ndcg@10")
    design = Design(size, N_ITEMS, replacement)
    expected = expected_from_pilot(whole_pilot(), measure, layout(design), 0)
    found = PlannedEstimate(estimator, measure, 50, expected).outlooks(design)["pilot"]
    chances = design.probabilities(RANKS).mean(axis=0)
    values = estimator.values(design, "ndcg@10")
    mean = chances @ values
    exact = RankDistribution.of_ranks(RANKS, N_ITEMS).expect("ndcg@10")
    assert found.std_error == pytest.approx(sqrt((chances @ values**2 - mean**2) / 50))
    assert found.bias == pytest.approx(abs(mean - exact))
    assert found.error == pytest.approx(sqrt(found.std_error**2 + found.bias**2))


def test_bias_of_a_mean_over_users_is_what_most_draws_have() -> None:
    """One of five equally likely distributions is far off, and does not rule the bias."""
    measure, design = read_measure("ndcg@10"), Design(5, N_ITEMS)
    cells = layout(design)
    usual, strange = np.zeros((2, cells.sizes.size))
    usual[[5, 20]], strange[0] = 0.5, 1.0

    def bias(*masses: NDArray[np.float64]) -> float:
        expected = Expected(cells, {"pilot": np.array(masses)}, 0.1)
        return PlannedEstimate(BV(gamma=0.1), measure, 50, expected).outlooks(design)["pilot"].bias

    assert bias(strange) > 2 * bias(usual)
    assert bias(usual, usual, strange, usual, usual) == pytest.approx(bias(usual))


@pytest.mark.parametrize("n_items", [3, 64, 5000])
@pytest.mark.parametrize("measure", ["recall@2", "ndcg@10", "rr"])
def test_shapes_have_the_expected_value(n_items: int, measure: str) -> None:
    wanted, cells = read_measure(measure), layout(Design(min(100, n_items - 1), n_items, True))
    found = expected_without_pilot(wanted, cells)
    assert found.value == halfway(wanted, cells)
    for masses in found.masses.values():
        assert masses.min() >= 0
        assert masses.sum() == pytest.approx(1.0)
        assert masses[0] @ cells.weights(wanted) == pytest.approx(found.value, rel=1e-6)


def test_draws_lie_about_what_is_fitted() -> None:
    known = pilot()
    cells = layout(Design(100, 500, True))
    found = expected_from_pilot(known, read_measure("recall@10"), cells, 0)
    values = found.masses["pilot"] @ cells.weights(read_measure("recall@10"))
    fit = Smooth().posterior(known)
    assert found.value == fit.expect("recall@10")
    assert values.mean() == pytest.approx(found.value, rel=0.15)
    assert values.std() == pytest.approx(fit.std_error("recall@10"), rel=0.4)
    again = expected_from_pilot(known, read_measure("recall@10"), cells, 1)
    assert not np.array_equal(again.masses["pilot"], found.masses["pilot"])


def test_pilot_without_seen_items_has_a_smaller_catalogue() -> None:
    sizes = np.full(400, 480)
    sizes[0] = 490
    known = SampledRanks(pilot().ranks, 20, sizes)
    found = expected_from_pilot(known, read_measure("rr"), layout(Design(20, 500, True)), 0)
    assert found.masses["pilot"].sum(axis=1) == pytest.approx(np.ones(16))
    assert found.masses["pilot"][:, -1] == pytest.approx(np.zeros(16))


def test_best_is_the_cheapest_that_reaches() -> None:
    found = plan(5000, 3000, "ndcg@10", 0.005)
    sizes = [each.n_negatives for each in found.designs]
    assert sizes == sorted(sizes)
    assert {25, 50, 100, 200, 400} <= {*sizes}
    reaching = [each for each in found.designs if each.reaches]
    assert all(each.error <= 0.005 for each in reaching)
    assert not any(each.error <= 0.005 for each in found.designs if not each.reaches)
    assert found.best is reaching[0]
    assert found.best.n_negatives not in (25, 50, 100, 200, 400, 800)  # between two of them
    assert found.best.n_scored == found.best.n_negatives + 1


def test_too_few_users_are_told_how_many_it_takes() -> None:
    found = plan(1000, 100, "ndcg@10", 0.001, method="bv")
    assert found.best is None
    enough = plan(1000, found.n_users_needed, "ndcg@10", 0.001, method="bv")
    fewer = plan(1000, found.n_users_needed - 1, "ndcg@10", 0.001, method="bv")
    assert enough.everything.reaches
    assert not fewer.everything.reaches


def test_goal_includes_the_bias() -> None:
    small, *_ = plan(1000, 5000, "recall@10", 0.02, method="bv").designs
    assert not small.reaches
    assert small.std_error < 0.02 < small.bias


def test_small_catalogue_is_sampled_up_to_its_half() -> None:
    assert [each.n_negatives for each in plan(30, 50, "rr", 0.5, method="bv").designs] == [14, 29]
    assert [each.kind for each in plan(2, 50, "recall@1", 0.5).designs] == ["all"]
