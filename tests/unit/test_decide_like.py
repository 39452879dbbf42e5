"""The gate under the conventions of another package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from tests.unit.gate_tables import BASE, CANDIDATE, N, truth, without

import podium
from podium.decide import gate
from podium.errors import ArgumentError

SCHEMA = Path(__file__).parents[2] / "docs/schemas/gate.json"
# Users 0 to 4 have no positive.
TRUTH = {**truth(), "relevance": [0 if u < 5 else 1 for u in truth()["user"]]}


def test_undefined_users_count_as_the_package_counts_them_for_each_measure() -> None:
    ours = gate(TRUTH, BASE, CANDIDATE, "ndcg@5", guards={"recall@5": -1.0})
    theirs = gate(TRUTH, BASE, CANDIDATE, "ndcg@5", guards={"recall@5": -1.0}, like="trec_eval")
    assert [c.n_users for c in ours.claims] == [N - 5] * 2
    assert [c.n_users for c in theirs.claims] == [N] * 2
    ratio = theirs.primary.difference / ours.primary.difference
    assert ratio == pytest.approx((N - 5) / N)


def test_state_keeps_the_package(tmp_path: Path) -> None:
    state = tmp_path / "gate.state"
    late = set(range(30, N))
    options: dict[str, Any] = {"sequential": True, "state": state}
    gate(without(TRUTH, late), BASE, CANDIDATE, "ndcg@5", like="trec_eval", **options)
    with pytest.raises(ArgumentError, match="state"):
        gate(TRUTH, BASE, CANDIDATE, "ndcg@5", **options)
    second = gate(TRUTH, BASE, CANDIDATE, "ndcg@5", like="trec_eval", **options)
    assert second.primary.n_users == N
    assert np.isfinite(second.primary.difference)


@pytest.mark.parametrize("package", ["trec_eval", "ranx", "recbole", "rectools", "sklearn"])
def test_means_are_those_of_measure(package: str) -> None:
    result = gate(TRUTH, BASE, CANDIDATE, "ndcg@5", like=package)
    means = [podium.measure(TRUTH, r, "ndcg@5", like=package).means for r in (BASE, CANDIDATE)]
    assert [result.primary.base, result.primary.candidate] == pytest.approx(
        [mean["ndcg@5"] for mean in means]
    )
    assert result.conventions["like"] == package
    content = json.loads(json.dumps(result.as_json()))
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(content)
    assert f"--like {package}" in str(result).replace("\xa0", " ")
