"""Plans of scans: their errors are those of the pilot, shrink with items, and scale with users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from podium.sampled import Plan, ScannedRanks, draw_strata, evaluate, plan, scan

N_USERS, N_ITEMS, K = 1000, 600, 5
SCORES = np.random.default_rng(1).normal(size=(N_USERS, N_ITEMS))
PROXY = SCORES + 0.7 * np.random.default_rng(2).normal(size=SCORES.shape)


def _targets() -> Any:
    places = np.minimum(np.random.default_rng(3).geometric(0.05, N_USERS), N_ITEMS) - 1
    items = np.argsort(-SCORES, axis=1)[np.arange(N_USERS), places]
    return csr_array((np.ones(N_USERS), (np.arange(N_USERS), items)), shape=SCORES.shape)


@pytest.fixture(scope="module")
def pilot() -> ScannedRanks:
    return scan(SCORES, _targets(), k=K, proxy=PROXY, budget=40)


@pytest.fixture(scope="module")
def planned(pilot: ScannedRanks) -> Plan:
    return plan(N_ITEMS, 4 * N_USERS, "ndcg@5", 0.01, pilot=pilot)


def test_planned_error_is_that_of_the_pilot(pilot: ScannedRanks, planned: Plan) -> None:
    estimate = evaluate(pilot, "ndcg@5").estimates["ndcg@5"]
    same = planned.designs[2]  # as many random items
    assert same.std_error == pytest.approx(estimate.std_error / 2, rel=0.15)
    assert same.budget == pytest.approx(pilot.n_scored.mean(), rel=0.1)
    assert planned.value == pytest.approx(estimate.mean, rel=0.15)
    assert (same.kind, same.bias, same.share) == ("scan", 0.0, same.n_scored / N_ITEMS)
    assert same.list_share == pytest.approx(pilot.n_listed.mean() / same.budget)


def test_goal_chooses_the_cheapest_design(pilot: ScannedRanks, planned: Plan) -> None:
    goal = (planned.designs[1].error + planned.designs[0].error) / 2
    found = plan(N_ITEMS, 4 * N_USERS, "ndcg@5", goal, pilot=pilot)
    assert found.best == found.designs[1]
    assert "scan with budget=" in str(found)
    assert found.goal == goal


def test_strata_are_planned_with_items_for_all_targets() -> None:
    drawn = draw_strata(_targets(), proxy=PROXY, certain=30, uniform=20)
    ranks = drawn.ranks(SCORES[drawn.row, drawn.item], k=K)
    found = plan(N_ITEMS, N_USERS, "recall@5", 0.5, pilot=ranks)
    assert [design.n_negatives for design in found.designs[:5]] == [35, 40, 50, 70, 110]
    assert found.best is not None
    assert found.best.kind == "strata"
    assert "draw strata with certain=30, uniform=5" in str(found)


def test_goal_out_of_reach_names_the_users_needed(pilot: ScannedRanks) -> None:
    found = plan(N_ITEMS, N_USERS, "ndcg@5", 0.001, pilot=pilot)
    assert found.best is None
    assert f"reaches the goal with {found.n_users_needed} users" in str(found).replace("\n", " ")


def test_plan_of_a_weighted_pilot_is_for_the_weighted_mean(pilot: ScannedRanks) -> None:
    columns = pilot.above_listed, pilot.n_listed, pilot.above_drawn, pilot.n_drawn
    weights = np.where(pilot.above_listed < 2, 20.0, 1.0)
    weighted = ScannedRanks(*columns, pilot.n_items, k=K, row_weights=weights)
    planned = plan(N_ITEMS, N_USERS, "recall@5", 0.01, pilot=weighted)
    estimate = evaluate(weighted, "recall@5").summary("recall@5")
    assert planned.value == pytest.approx(estimate.mean, abs=2 * estimate.std_error)
    same = planned.designs[2]  # as many random items
    assert same.std_error == pytest.approx(estimate.std_error, rel=0.15)
