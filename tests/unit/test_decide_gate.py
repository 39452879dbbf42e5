"""The decisions that follow from claims; tests/laws/test_pairs.py has the numbers of claims."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.gate_tables import BASE, CANDIDATE, TRUTH, USERS, with_text_ids

from podium.decide import Gate, gate
from podium.evaluation.stats import Interval


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


def test_limit_of_no_loss_is_not_negative_zero() -> None:
    claims = gate(TRUTH, BASE, CANDIDATE, guards={"rr": -0.0}).claims
    assert [math.copysign(1, claim.limit) for claim in claims] == [1, 1]
    assert "limit 0)" in claims[0].sentence()


@pytest.mark.parametrize("is_text", [*itertools.product([False, True], repeat=3)])
def test_ids_of_tables_may_be_numbers_or_text(is_text: tuple[bool, ...]) -> None:
    """As text, user 10 is before user 9; the order of users must follow the labels."""
    base, candidate, users = (
        with_text_ids(table) if text else table
        for table, text in zip((BASE, CANDIDATE, USERS), is_text, strict=True)
    )
    options: dict[str, Any] = {"by": "country", "weight": "visits"}
    result = gate(TRUTH, base, candidate, "ndcg@5", users=users, **options)
    expected = gate(TRUTH, BASE, CANDIDATE, "ndcg@5", users=USERS, **options)
    for one, other in zip(result.claims, expected.claims, strict=True):
        assert (one.segment, one.difference, one.std_error) == pytest.approx(
            (other.segment, other.difference, other.std_error)
        )
