"""One result describes one list, and values that depend on an order of equal scores are said."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.report.figures import bin_values

USERS = range(20)
Table = dict[str, Any]


def lists(items: list[Any], scores: list[float]) -> Table:
    """Return the same list for each user."""
    return {
        "user": [u for u in USERS for _ in items],
        "item": items * len(USERS),
        "score": scores * len(USERS),
    }


def is_equal(comparison: podium.evaluation.Comparison) -> bool:
    [difference] = comparison.differences
    test = difference.test
    counts = test.wins, test.losses, test.equal
    return counts == (0, 0, len(USERS)) and difference.holm_p_value == 1 and test.effect_size == 0


@pytest.mark.parametrize("measure", ["recall@10", "precision@10", "f1@10"])
def test_a_tie_of_the_whole_list_equals_each_of_its_orders(measure: str) -> None:
    truth = {"user": list(USERS), "item": [0] * len(USERS)}
    tied = lists([*range(10)], [0.5] * 10)
    distinct = lists([*range(10)], [*range(10)])
    assert is_equal(podium.compare(truth, {"a": tied, "b": distinct}, measure, ties="average"))


def test_mean_hits_of_ties_that_the_cutoff_divides_are_equal_fractions() -> None:
    # 1 of 3 tied items: one of them is in the top 2 with 2/3. 1 hit + (1 of 3) = (2 of 3 + 2 of 3).
    truth = {"user": [1, 1], "item": ["a", "b"]}
    a = {"user": [1] * 4, "item": ["a", "b", "x", "y"], "score": [2, 1, 1, 1]}
    b = {"user": [1] * 3, "item": ["a", "b", "x"], "score": [1, 1, 1]}
    values = [
        podium.measure(truth, r, "recall@2", ties="average").values["recall@2"] for r in (a, b)
    ]
    assert values[0].tolist() == values[1].tolist() == [(4 / 3) / 2]


def told(*arguments: Any, **options: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        podium.measure(*arguments, **options)
    return " ".join(str(warning.message) for warning in caught)


def test_warnings_describe_the_truth_and_not_what_the_lists_hold() -> None:
    truth = {"user": [1, 1, 2, 2], "item": [1, 2] * 2, "relevance": [3, 1] * 2}
    run = {"user": [1, 1, 2, 2], "item": [2, 9] * 2, "score": [2, 1] * 2}
    text = told(truth, run, ["recall@1", "err@2"], unretrieved="drop", min_relevance=2)
    assert "unretrieved" in text
    assert "largest" not in text
    assert not told(truth, run, ["recall@1", "err@2"], unretrieved="drop")
    nothing = {"user": [1, 2], "item": [8, 1], "score": [1, 1]}
    text = told({"user": [1, 2], "item": [1, 2]}, nothing, "recall@1", unretrieved="drop")
    assert "unretrieved" in text
    assert "column" not in text


def test_a_gate_shows_the_gini_of_the_run_that_has_one() -> None:
    truth = {"user": [1, 2], "item": [1, 2]}
    a = {"user": [1, 2], "item": [1, 2], "score": [1.0, 1.0]}
    b = {"user": [1, 2], "item": [1, 2], "score": [-1.0, -1.0]}
    past = {"user": [1, 1], "item": [1, 2]}
    guards = {"gini@1": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decided = podium.gate(truth, a, b, "rr", guards=guards, catalogue=past, score_above=0)
    [guard] = [claim for claim in decided.claims if claim.measure == "gini@1"]
    assert guard.base == 0
    assert np.isnan(guard.candidate)


def test_a_look_may_have_only_new_users_of_weight_0(tmp_path: Path) -> None:
    n = 40
    truth = {"user": [*range(n)], "item": [1] * n}
    base, candidate = (
        {"user": np.repeat(truth["user"], 2), "item": [1, 2] * n, "score": scores * n}
        for scores in ([1.0, 0.5], [0.5, 1.0])
    )
    users = {"user": [*range(n)], "w": [1.0] * 20 + [0.0] * 20}
    options: Any = {"sequential": True, "horizon": n, "state": tmp_path / "state.json"}
    for n_users in (20, n):
        some = {name: column[:n_users] for name, column in truth.items()}
        look = podium.gate(some, base, candidate, "rr", users=users, weight="w", **options)
        assert look.primary.difference == -0.5


def test_diversity_of_features_does_not_depend_on_the_order_of_a_list() -> None:
    rng = np.random.default_rng(5)
    items: Table = {"item": [*range(10)], **{f"f{i}": rng.normal(size=10) for i in range(4)}}
    truth = {"user": list(USERS), "item": [0] * len(USERS)}
    for _ in range(5):
        a, b = (lists([*range(10)], rng.permutation(10).tolist()) for _ in "ab")
        assert is_equal(podium.compare(truth, {"a": a, "b": b}, "diversity@10", items=items))


def test_values_equal_up_to_rounding_have_bins() -> None:
    for value in (1 / 3, 0.0, 1e17):
        bins = bin_values([value, value * (1 + 2e-16)], 24)
        assert sum(bins["counts"]) == 2
        assert bins["edges"][0] < value < bins["edges"][-1]


def runs(n_users: int, n_tied: int) -> tuple[Table, Table, Table]:
    """Return a truth, a run whose first users have ties, and one that is right every other time.

    The ties are of a relevant and another item, so that precision@1 of these users is 0 or 1.
    """
    user = np.repeat(np.arange(n_users), 2)
    truth = {"user": np.arange(n_users), "item": np.zeros(n_users, int)}
    score = np.where(user < n_tied, 1.0, np.tile([0.0, 1.0], n_users))
    tied = {"user": user, "item": np.tile([0, 1], n_users), "score": score}
    is_right = user % 2 == 0
    other = np.where(is_right, np.tile([1.0, 0.0], n_users), np.tile([0.0, 1.0], n_users))
    return truth, tied, {**tied, "score": other}


def random_tables(seed: int, n_users: int = 60, n_items: int = 12) -> tuple[Table, Table]:
    rng = np.random.default_rng(seed)
    user, item = np.repeat(np.arange(n_users), n_items), np.tile(np.arange(n_items), n_users)
    keep = rng.random(user.size) < 0.8
    run = {"user": user[keep], "item": item[keep], "score": rng.integers(0, 4, keep.sum()) * 1.0}
    is_judged = rng.random(user.size) < 0.4
    truth = {"user": user[is_judged], "item": item[is_judged]}
    return {**truth, "relevance": rng.integers(0, 3, is_judged.sum())}, run


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unjudged": "skip"},
        {"unretrieved": "drop"},
        {"score_above": 0.5},
        {"min_relevance": 2.0},
        {"missing": "zero", "undefined": "zero"},
        {"n_items": 40},
        {"like": "ranx", "missing": "zero", "min_relevance": 2.0},
    ],
)
def test_first_is_the_mean_under_best(options: dict[str, Any]) -> None:
    truth, run = random_tables(len(options))
    measures = ["ndcg@3", "ap", "rr", "precision@2", "recall@4"]
    if "like" not in options:
        measures += ["judged@3", "bpref", "topk_loss@2"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = podium.measure(truth, run, measures, **options)
        best = podium.measure(truth, run, measures, ties="best", **options)
    for name in measures:
        np.testing.assert_array_equal(result.best[name], best.values[name])
        effect = result.as_json()["measures"][name].get("ties")
        if effect is not None:
            assert effect["first"] == pytest.approx(best.means[name])
            assert effect["last"] == pytest.approx(result.means[name])
            assert effect["n_lists"] == int(
                (~np.isclose(result.values[name], best.values[name], equal_nan=True)).sum()
            )


@pytest.mark.filterwarnings("ignore:.*order of equal scores")
@pytest.mark.parametrize(
    ("n_tied", "margin", "decisions", "verdict"),
    [
        (373, 0.0, ("pass", "fail"), "cannot tell"),
        (100, 0.0, ("pass", "pass"), "superior"),
        (245, 0.2, ("pass", "pass"), "non-inferior"),  # superior if relevant items are last
    ],
)
def test_a_verdict_is_the_one_that_holds_in_both_orders(
    n_tied: int, margin: float, decisions: tuple[str, str], verdict: str
) -> None:
    # The candidate is right for half of the users; the base for none, or for those with ties.
    truth, tied, other = runs(500, n_tied)
    result = podium.gate(truth, tied, other, "precision@1", margin=margin)
    assert (result.passed, result.verdict) == (decisions == ("pass", "pass"), verdict)
    assert result.ties is not None
    assert (result.ties.decisions, result.ties.n_lists) == (decisions, n_tied)
    assert f"{n_tied} of 500 users" in " ".join(str(result).split())
    assert result.ties.first[0].base == pytest.approx(n_tied / 500)
    compared = podium.compare(truth, {"a": tied, "b": other}, "precision@1").as_json()
    assert compared["measures"]["precision@1"]["means"]["a"]["ties"]["n_lists"] == n_tied
    for ties, decision in zip(("worst", "best"), decisions, strict=True):
        options: Any = {"ties": ties, "margin": margin}
        assert podium.gate(truth, tied, other, "precision@1", **options).decision == decision


@pytest.mark.filterwarnings("ignore:.*order of equal scores")
def test_a_look_that_depends_on_ties_does_not_pass(tmp_path: Path) -> None:
    truth, tied, other = runs(500, 373)
    early = {name: column[:200] for name, column in truth.items()}
    for name, ties in (("open", {}), ("chosen", {"ties": "worst"})):
        options: Any = {"sequential": True, "state": tmp_path / name, **ties}
        looks = [podium.gate(t, tied, other, "precision@1", **options) for t in (early, truth)]
        assert [look.passed for look in looks] == [bool(ties)] * 2
    assert podium.gate(truth, tied, other, "precision@1", **options).passed
