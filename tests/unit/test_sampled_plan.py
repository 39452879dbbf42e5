"""Plans: what designs cost and give, which are looked at, and what is refused."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.sampled import (
    BV,
    Design,
    Plan,
    RankDistribution,
    SampledRanks,
    Smooth,
    plan,
    simulate_ranks,
)
from podium.sampled.distribution import read_measure
from podium.sampled.planning.designs import PlannedDesign
from podium.sampled.planning.outlook import (
    Expected,
    PlannedEstimate,
    expected_from_pilot,
    expected_from_value,
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


def row(found: Plan, *stages: int) -> PlannedDesign:
    """The design of a plan that has these stages, or this one size."""
    wanted: tuple[int, ...] = stages if len(stages) > 1 else ()
    return next(
        each
        for each in found.designs[:-1]
        if (each.stages, each.n_negatives) == (wanted, max(stages))
    )


@pytest.mark.parametrize("stages", [(5,), (10,), (2, 4, 8, 16)])
@pytest.mark.parametrize("replacement", [True, False])
def test_mean_of_values_has_its_moments(stages: tuple[int, ...], replacement: bool) -> None:
    """Of a pilot whose ranks are known, against sums over all ranks and outcomes."""
    estimator = BV(gamma=0.1)
    found = plan(
        N_ITEMS, 50, "ndcg@10", 0.1, pilot=whole_pilot(), method=estimator,
        replacement=replacement, sizes=[5, 10, 16],
    )  # fmt: skip
    design = Design(stages[-1], N_ITEMS, replacement, stages)
    chances = design.probabilities(RANKS).mean(axis=0)
    values = estimator.values(design, "ndcg@10")
    mean = chances @ values
    exact = RankDistribution.of_ranks(RANKS, N_ITEMS).expect("ndcg@10")
    one = row(found, *stages)
    assert one.std_error == pytest.approx(sqrt((chances @ values**2 - mean**2) / 50))
    assert one.bias == pytest.approx(abs(mean - exact))
    assert one.error == pytest.approx(sqrt(one.std_error**2 + one.bias**2))
    assert one.n_scored == pytest.approx(1 + chances @ design.sizes)
    assert one.errors == {"pilot": one.error}


def test_bias_of_a_mean_over_users_is_what_most_draws_have() -> None:
    """One of five equally likely distributions is far off, and does not rule the bias."""
    measure, design = read_measure("ndcg@10"), Design(5, N_ITEMS)
    cells = layout(design)
    usual, strange = np.zeros((2, cells.sizes.size))
    usual[[5, 20]], strange[0] = 0.5, 1.0

    def bias(*masses: NDArray[np.float64]) -> float:
        expected = Expected(cells, {"pilot": np.array(masses)}, 0.1)
        return (
            PlannedEstimate(BV(gamma=0.1), measure, 50, expected, 16, 0)
            .outlooks(design)["pilot"]
            .bias
        )

    assert bias(strange) > 2 * bias(usual)
    assert bias(usual, usual, strange, usual, usual) == pytest.approx(bias(usual))


def test_growing_sample_costs_what_targets_that_stay_first_take() -> None:
    """Of two items more, seen by those whose first two are all below them."""
    found = plan(
        N_ITEMS, 50, "rr", 0.1, pilot=whole_pilot(), method="bv", replacement=False, sizes=[16]
    )
    below = N_ITEMS - RANKS
    others = N_ITEMS - 1
    first = [np.ones(RANKS.size)]
    for size in (2, 4, 8):
        chance = [(below - i) / (others - i) for i in range(size)]
        first.append(np.maximum(np.prod(chance, axis=0), 0.0))
    cost = 1 + np.mean(2 * first[0] + 2 * first[1] + 4 * first[2] + 8 * first[3])
    assert row(found, 2, 4, 8, 16).n_scored == pytest.approx(cost)


@pytest.mark.parametrize("n_items", [3, 64, 5000])
@pytest.mark.parametrize("measure", ["recall@2", "ndcg@10", "rr"])
def test_shapes_have_the_expected_value(n_items: int, measure: str) -> None:
    wanted, cells = read_measure(measure), layout(Design(min(100, n_items - 1), n_items, True))
    for value in (None, 0.05 + 0.95 * halfway(wanted, cells)):
        found = expected_from_value(wanted, cells, value)
        assert found.value == (halfway(wanted, cells) if value is None else value)
        for masses in found.masses.values():
            assert masses.min() >= 0
            assert masses.sum() == pytest.approx(1.0)
            assert masses[0] @ cells.weights(wanted) == pytest.approx(found.value, rel=1e-6)


def test_draws_lie_about_what_is_fitted() -> None:
    known = pilot()
    cells = layout(Design(100, 500, True))
    found = expected_from_pilot(known, read_measure("recall@10"), cells, 64, 0)
    values = found.masses["pilot"] @ cells.weights(read_measure("recall@10"))
    fit = Smooth().posterior(known)
    assert found.value == fit.expect("recall@10")
    assert values.mean() == pytest.approx(found.value, rel=0.15)
    assert values.std() == pytest.approx(fit.std_error("recall@10"), rel=0.4)
    again = expected_from_pilot(known, read_measure("recall@10"), cells, 64, 1)
    assert not np.array_equal(again.masses["pilot"], found.masses["pilot"])


def test_pilot_without_seen_items_has_a_smaller_catalogue() -> None:
    sizes = np.full(400, 480)
    sizes[0] = 490
    known = SampledRanks(pilot().ranks, 20, sizes)
    found = expected_from_pilot(known, read_measure("rr"), layout(Design(20, 500, True)), 4, 0)
    assert found.masses["pilot"].sum(axis=1) == pytest.approx(np.ones(4))
    assert found.masses["pilot"][:, -1] == pytest.approx(np.zeros(4))


def test_best_is_the_cheapest_that_reaches() -> None:
    found = plan(5000, 3000, "ndcg@10", 0.0057, expect=0.05)
    costs = [each.n_scored for each in found.designs]
    assert costs == sorted(costs)
    reaching = [each for each in found.designs if each.reaches]
    assert all(each.error <= 0.0057 for each in reaching)
    assert not any(each.error <= 0.0057 for each in found.designs if not each.reaches)
    assert found.best is reaching[0]
    assert found.fixed is not None
    assert found.fixed is next(each for each in reaching if each.kind == "fixed")
    assert found.growing is next(each for each in reaching if each.kind == "growing")
    assert found.fixed.n_negatives not in (25, 50, 100, 200, 400, 800)  # between two of them


def test_too_few_users_are_told_how_many_it_takes() -> None:
    found = plan(1000, 100, "ndcg@10", 0.001, expect=0.1, method="bv")
    assert found.best is found.fixed is found.growing is None
    enough = plan(1000, found.n_users_needed, "ndcg@10", 0.001, expect=0.1, method="bv")
    fewer = plan(1000, found.n_users_needed - 1, "ndcg@10", 0.001, expect=0.1, method="bv")
    assert enough.everything.reaches
    assert not fewer.everything.reaches


def test_goal_includes_the_bias() -> None:
    plain = plan(1000, 5000, "recall@10", 0.02, expect=0.2, method="bv", sizes=[25])
    assert not plain.designs[0].reaches
    assert plain.designs[0].std_error < 0.02 < plain.designs[0].bias


def test_sizes_are_those_asked_for() -> None:
    found = plan(1000, 500, "rr", 0.5, method="bv", sizes=[300, 30])
    fixed = [each.n_negatives for each in found.designs if each.kind == "fixed"]
    assert fixed == [30, 300]
    growing = [each.stages for each in found.designs if each.kind == "growing"]
    assert sorted(growing) == [(4, 8, 15, 30), (5, 10, 19, 38, 75, 150, 300), (38, 75, 150, 300)]
