"""The gate: laws of its claims, and the decisions that follow from them."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.unit.gate_tables import (
    BASE,
    CANDIDATE,
    GUARDS,
    PAST,
    TRUTH,
    USERS,
    N,
    run,
    values,
)

from podium.decide import Claim, Gate, gate
from podium.evaluation import stats
from podium.evaluation.stats import Interval, clustered_mean


def claims_by_key(result: Gate) -> dict[tuple[str, ...], Claim]:
    return {(c.role, c.measure, c.by, c.segment): c for c in result.claims}


def test_claims_are_paired_differences_of_users() -> None:
    result = gate(TRUTH, BASE, CANDIDATE, "ndcg@5", guards=GUARDS)
    for claim in result.claims:
        base, candidate = values(claim.measure, BASE), values(claim.measure, CANDIDATE)
        estimate = clustered_mean(candidate - base)
        assert (claim.base, claim.candidate) == pytest.approx((base.mean(), candidate.mean()))
        assert (claim.difference, claim.std_error) == pytest.approx(
            (estimate.mean, estimate.std_error)
        )
        assert claim.interval == pytest.approx(estimate.interval(0.95, 1.0, widened=1.0))
        assert claim.n_users == N
    assert [c.role for c in result.claims] == ["primary", "guard", "guard"]
    assert [c.limit for c in result.claims] == [0.0, -0.2, 0.2]
    assert [c.higher_is_better for c in result.claims] == [True, True, False]


def test_swapped_runs_have_mirrored_claims() -> None:
    options: dict[str, Any] = {
        "guards": {**GUARDS, "coverage@2": -1, "novelty@2": -1},
        "by": ["country", "n_pos"],
        "users": USERS,
        "cluster": "home",
        "weight": "visits",
        "catalogue": PAST,
    }
    there, back = (
        gate(TRUTH, *runs, "ndcg@5", **options) for runs in ((BASE, CANDIDATE), (CANDIDATE, BASE))
    )
    for one, other in zip(there.claims, back.claims, strict=True):
        assert one.difference == pytest.approx(-other.difference)
        assert one.std_error == pytest.approx(other.std_error)
        assert one.interval == pytest.approx((-other.interval.high, -other.interval.low))
        assert (one.base, one.candidate) == pytest.approx((other.candidate, other.base))
        assert one.n_users == other.n_users


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_runs_of_equal_values_are_neither_superior_nor_inferior(margin: float) -> None:
    # Every list has the same items, none of them relevant, in another order.
    truth = {"user": [*range(N), 0], "item": [99] * N + [3]}
    result = gate(truth, BASE, CANDIDATE, "hit_rate@1", margin=margin, guards={"recall@2": -0.5})
    verdicts = {claim.verdict for claim in result.claims}
    assert verdicts <= {"non-inferior", "cannot tell"}
    assert result.primary.difference == 0
    assert (result.verdict == "non-inferior") == bool(margin)


@pytest.mark.parametrize("weight", [None, "visits"])
def test_segments_partition_the_users(weight: str | None) -> None:
    result = gate(
        TRUTH,
        BASE,
        CANDIDATE,
        "ndcg@2",
        guards={"recall@2": -1},
        by=["engagement", "n_pos", "country"],
        users=USERS,
        weight=weight,
    )
    by_key = claims_by_key(result)
    visits = np.array(USERS["visits"] if weight else [1] * N)
    country = np.array(USERS["country"])
    for measure, role in (("ndcg@2", "primary"), ("recall@2", "guard")):
        whole = by_key[role, measure, "", ""]
        for by in ("engagement", "n_pos", "country"):
            parts = [c for c in result.claims if (c.by, c.measure) == (by, measure)]
            assert len(parts) == (2 if by == "engagement" else 3)
            assert sum(c.n_users for c in parts) == whole.n_users == N
        parts = [by_key["segment", measure, "country", name] for name in ("DE", "FR", "UK")]
        heavy = [visits[country == c.segment].sum() for c in parts]
        assert np.average([c.difference for c in parts], weights=heavy) == pytest.approx(
            whole.difference
        )
        assert np.average([c.base for c in parts], weights=heavy) == pytest.approx(whole.base)


def test_segments_hold_together_at_the_level() -> None:
    result = gate(
        TRUTH,
        BASE,
        CANDIDATE,
        "ndcg@2",
        guards={"recall@2": -1, "coverage@2": -1},
        by=["engagement", "country"],
        users=USERS,
        catalogue=PAST,
        level=0.9,
    )
    segments = [c for c in result.claims if c.role == "segment"]
    assert len(segments) == 2 * (2 + 3)  # two means (coverage is none), five segments
    assert [c.level for c in segments] == pytest.approx([1 - 0.1 / 10] * 10)
    assert {c.level for c in result.claims if c.role != "segment"} == {0.9}


def test_empty_value_of_a_segment_is_unknown() -> None:
    users = {"user": USERS["user"], "country": ["", *USERS["country"][1:-1], None]}
    result = gate(TRUTH, BASE, CANDIDATE, by="country", users=users)
    n_users = {c.segment: c.n_users for c in result.claims if c.by}
    assert n_users["unknown"] == 2
    assert sum(n_users.values()) == N


def decided(primary: str, *others: tuple[str, str]) -> Gate:
    """Return a gate whose claims have these verdicts."""
    bounds = {
        "superior": (1, 2),
        "non-inferior": (-0.5, 0.5),
        "cannot tell": (-2, 2),
        "inferior": (-3, -2),
    }
    template = gate(TRUTH, BASE, CANDIDATE).primary
    roles: Any = [("primary", primary), *others]
    return Gate(
        tuple(
            replace(template, role=role, limit=-1.0, interval=Interval(*bounds[verdict]))
            for role, verdict in roles
        )
    )


VERDICTS = ("superior", "non-inferior", "cannot tell", "inferior")


@pytest.mark.parametrize(("primary", "guard", "segment"), [*itertools.product(VERDICTS, repeat=3)])
def test_decision_follows_from_the_verdicts(primary: str, guard: str, segment: str) -> None:
    result = decided(primary, ("guard", guard), ("segment", segment))
    if "inferior" in (primary, guard, segment):
        expected, n_reasons = "fail", (primary, guard, segment).count("inferior")
    elif "cannot tell" in (primary, guard):
        expected, n_reasons = "cannot tell", (primary, guard).count("cannot tell")
    else:
        expected, n_reasons = "pass", 0
    assert (result.decision, len(result.reasons)) == (expected, n_reasons)
    assert result.verdict == primary
    heading = {"pass": "Pass: ", "fail": "Fail: ", "cannot tell": "Can't tell: "}[expected]
    assert str(result).startswith(heading)
    assert json.loads(json.dumps(result.as_json(), allow_nan=False))["decision"] == expected


def test_lower_is_better_as_primary_and_guard() -> None:
    best, worst = run(2, 0.0), run(3, 20.0)
    result = gate(TRUTH, worst, best, "topk_loss@3", guards={"topk_loss@2": 0.01})
    assert result.primary.difference < 0
    assert [c.verdict for c in result.claims] == ["superior", "superior"]
    result = gate(TRUTH, best, worst, "topk_loss@3", margin=0.05)
    assert (result.verdict, result.primary.limit) == ("inferior", 0.05)
    result = gate(TRUTH, best, run(2, 0.1), "topk_loss@3", margin=0.5, guards={"topk_loss@2": 0.5})
    assert [c.verdict for c in result.claims] == ["non-inferior"] * 2


def test_limit_of_no_loss_is_not_negative_zero() -> None:
    claims = gate(TRUTH, BASE, CANDIDATE, guards={"rr": -0.0}).claims
    assert [math.copysign(1, claim.limit) for claim in claims] == [1, 1]
    assert "limit 0)" in claims[0].sentence()


def test_without_bounds_the_interval_is_the_paired_t_interval() -> None:
    claim = gate(TRUTH, BASE, CANDIDATE, "dcg@5").primary
    test = stats.paired(values("dcg@5", BASE), values("dcg@5", CANDIDATE))
    assert claim.interval == pytest.approx(test.interval)
