"""Users of a gate: weights, clusters, ids of two kinds, and users that are missing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.gate_tables import BASE, CANDIDATE, TRUTH, USERS, N, Table, values

import podium
from podium.decide import gate
from podium.evaluation.stats import clustered_mean


def test_weights_and_clusters_reach_the_claims() -> None:
    difference = values("ndcg@5", CANDIDATE) - values("ndcg@5", BASE)
    for weight, cluster in (("visits", None), (None, "home"), ("visits", "home")):
        estimate = clustered_mean(
            difference,
            None if weight is None else USERS[weight],
            None if cluster is None else USERS[cluster],
        )
        claim = gate(
            TRUTH, BASE, CANDIDATE, "ndcg@5", users=USERS, weight=weight, cluster=cluster
        ).primary
        assert (claim.difference, claim.std_error) == pytest.approx(
            (estimate.mean, estimate.std_error)
        )
        assert claim.interval == pytest.approx(estimate.interval(0.95, 1.0, widened=1.0))


def test_users_without_weight_are_not_counted() -> None:
    users = {"user": USERS["user"], "w": [0.0] * 10 + [2.0] * (N - 10)}
    claim = gate(TRUTH, BASE, CANDIDATE, users=users, weight="w").primary
    assert (claim.n_users, claim.n_undefined) == (N - 10, 0)


def with_text_ids(table: Mapping[str, Any]) -> Table:
    return {name: [str(v) for v in c] if name == "user" else c for name, c in table.items()}


@pytest.mark.parametrize("is_text", [*itertools.product([False, True], repeat=4)])
def test_ids_of_tables_may_be_numbers_or_text(is_text: tuple[bool, ...]) -> None:
    """As text, user 10 is before user 9; the order of users must follow the labels."""
    judged, base, candidate, users = (
        with_text_ids(table) if text else table
        for table, text in zip((TRUTH, BASE, CANDIDATE, USERS), is_text, strict=True)
    )
    result = gate(judged, base, candidate, "ndcg@5", users=users, by="country", weight="visits")
    expected = gate(TRUTH, BASE, CANDIDATE, "ndcg@5", users=USERS, by="country", weight="visits")
    for one, other in zip(result.claims, expected.claims, strict=True):
        assert one.segment == other.segment
        assert (one.difference, one.std_error, one.base) == pytest.approx(
            (other.difference, other.std_error, other.base)
        )


def test_comparison_pairs_users_whose_ids_are_numbers_and_text() -> None:
    expected = (
        podium.compare(TRUTH, {"a": BASE, "b": CANDIDATE}, "ndcg@5").difference("ndcg@5", "b").test
    )
    mixed = podium.compare(TRUTH, {"a": BASE, "b": with_text_ids(CANDIDATE)}, "ndcg@5")
    assert mixed.difference("ndcg@5", "b").test.std_error == pytest.approx(expected.std_error)
    assert mixed.difference("ndcg@5", "b").test.wins == expected.wins


def test_undefined_users_are_counted_or_filled() -> None:
    judged = {**TRUTH, "relevance": [1.0] * len(TRUTH["user"])}
    judged["relevance"][0] = 0.0  # user 0 has no positive item
    skipped, filled = (
        gate(judged, BASE, CANDIDATE, "ndcg@5", undefined=rule).primary for rule in ("skip", "zero")
    )
    assert (skipped.n_users, skipped.n_undefined) == (N - 1, 1)
    assert (filled.n_users, filled.n_undefined) == (N, 0)
    assert filled.difference == pytest.approx(skipped.difference * (N - 1) / N)
