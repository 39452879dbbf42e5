"""One result describes one list: values, segments, curves, users and warnings agree."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.errors import ArgumentError
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


@pytest.mark.parametrize(
    ("truth", "run", "measure", "changes"),
    [
        (
            {"user": [1, 1, 1], "item": [1, 2, 4], "relevance": [1, 0, 0]},
            {"user": [1, 1, 1], "item": [2, 9, 1], "score": [0.5, 0.5, 0.1]},
            ("judged@1", "1.000", None),
            {"ties": "best"},
        ),
        (
            {"user": [1] * 4, "item": [1, 2, 3, 4], "relevance": [1, 0, 0, 0]},
            {"user": [1, 1], "item": [2, 1], "score": [0.9, 0.5]},
            ("pauc(clip=true)@3", "0.000", None),
            {"unretrieved": "drop"},
        ),
        (
            {"user": [1, 1], "item": [1, 2]},
            {"user": [1, 1], "item": [2, 3], "score": [0.9, 0.5]},
            ("recall@1", "0.500", 2),
            {"min_relevance": 1.0},
        ),
    ],
)
def test_explain_finds_a_convention_that_measure_has(
    truth: Any, run: Any, measure: Any, changes: Any
) -> None:
    name, value, threshold = measure
    search = podium.explain(truth, run, name, value=value, min_relevance=threshold).search
    assert search is not None
    assert changes in [change for match in search.matches for change in match.changes]
    assert not changes.keys() & search.without_effect.keys()
    options: Any = {"min_relevance": threshold, "mark_judged": name == "judged@1"} | changes
    assert podium.measure(truth, run, name, **options).means[name] == float(value)


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


@pytest.mark.parametrize("column", ["score", "rank"])
def test_audit_names_no_number_of_a_run_that_only_has_an_order(column: str) -> None:
    users = list(range(30))
    train = {"user": users * 2, "item": [50 + u % 5 for u in users] + [60 + u % 7 for u in users]}
    test = {"user": users, "item": [u % 10 for u in users]}
    values = (
        [1, 1, *range(2, 10)]
        if column == "rank"
        else [2**60 + 9] * 2 + [2**60 - i for i in range(8)]
    )
    run = {"user": np.repeat(users, 10), "item": [*range(10)] * 30, column: values * 30}
    findings = podium.audit(train, test, {"r": run}, "recall@2").findings
    [text] = [finding.text for finding in findings if finding.check == "saturated-scores"]
    assert "-1" not in text
    assert "highest score, 9" not in text


@pytest.mark.parametrize("length", [10, 50])
def test_lists_of_a_successful_model_are_not_called_samples(length: int) -> None:
    rng = np.random.default_rng(0)
    items = np.array([rng.choice(500, length, replace=False) for _ in range(60)])
    users = np.repeat(np.arange(60), length)
    place = rng.integers(0, 10, 60)
    truth = {"user": np.arange(60), "item": items[np.arange(60), place]}
    run = {"user": users, "item": items.ravel(), "rank": np.tile(np.arange(1, length + 1), 60)}
    assert not told(truth, run, "rr")


def test_a_convention_has_an_effect_if_it_changes_any_combination() -> None:
    truth = {"user": [1, 1, 2], "item": [1, 2, 1]}
    run = {"user": [1, 1, 2], "item": [1, 3, 2], "score": [2.0, 1.0, 1.0]}
    search = podium.explain(truth, run, "recall@2", value="0.250").search
    assert search is not None
    # drop: user 1 has 1 of 1, user 2 is undefined; zero changes that mean from 1 to 1/2.
    assert not {"unretrieved", "undefined"} & search.without_effect.keys()
    assert "ties" in search.without_effect


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
    truth = {"user": [*range(40)], "item": [1] * 40}
    base, candidate = lists([1, 2], [1.0, 0.5]), lists([1, 2], [0.5, 1.0])
    base, candidate = (
        {"user": np.repeat(np.arange(40), 2), "item": run["item"] * 2, "score": run["score"] * 2}
        for run in (base, candidate)
    )
    users = {"user": [*range(40)], "w": [1.0] * 20 + [0.0] * 20}
    found: list[float] = []
    for n in (20, 40):
        some = {name: column[:n] for name, column in truth.items()}
        decided = podium.gate(
            *(some, base, candidate, "rr"),
            users=users,
            weight="w",
            sequential=True,
            horizon=40,
            state=tmp_path / "state.json",
        )
        found.append(decided.primary.difference)
    assert found == [-0.5, -0.5]
    none = {**users, "w": [0.0] * 40}
    with pytest.raises(ArgumentError, match="weight"):
        podium.gate(truth, base, candidate, "rr", users=none, weight="w")


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
