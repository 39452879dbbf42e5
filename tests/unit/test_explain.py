"""podium.explain: conventions that give a number, steps to a package, differences of tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.raised import raises

import podium
from podium import presets
from podium.data import ranking, read_run, read_truth
from podium.data.join import Join
from podium.decide.explain.lists import ListsByChoice
from podium.errors import ArgumentError, DataError
from podium.protocol import Conventions


def tables(seed: int, n_users: int = 60) -> tuple[Any, Any]:
    """Return tables with every cause of a difference: ties, near ties, grades, missing rows."""
    rng = np.random.default_rng(seed)
    user, item = np.repeat(np.arange(n_users), 12), np.tile(np.arange(12), n_users)
    score = np.round(rng.standard_normal(user.size), 1)
    score += 1e-9 * rng.integers(-1, 2, user.size)
    is_judged = rng.random(user.size) < 0.6
    grades = rng.choice([0.0, 0.0, 1.0, 2.0, 3.0], user.size)
    grades[user % 7 == 0] = 0.0
    is_listed = (user % 9 != 0) & (rng.random(user.size) < 0.8)
    truth = {"user": user[is_judged], "item": item[is_judged], "relevance": grades[is_judged]}
    run = {"user": user[is_listed], "item": item[is_listed], "score": score[is_listed]}
    return truth, run


@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
@pytest.mark.parametrize("like", presets.PACKAGES)
@pytest.mark.parametrize("measure", ["ndcg@5", "ap@5", "precision@5"])
def test_steps_lead_to_the_value_of_the_package(like: str, measure: str) -> None:
    truth, run = tables(4)
    run["score"] = np.arange(run["score"].size)[::-1] * 0.5 + 1.0  # no ties, no score below 0
    if presets.get(like).fields["missing"] == "error":
        users = np.unique(run["user"])
        truth = {name: column[np.isin(truth["user"], users)] for name, column in truth.items()}
    try:
        expected = podium.measure(truth, run, measure, like=like).means[measure]
    except ArgumentError:
        with raises(ArgumentError, "like"):
            podium.explain(truth, run, measure, like=like)
        return
    (steps,) = podium.explain(truth, run, measure, like=like).packages
    assert steps.end == pytest.approx(expected, abs=1e-12)
    assert steps.start + sum(s.change for s in steps.steps) == pytest.approx(steps.end, abs=1e-12)
    assert all(s.n_users for s in steps.steps if abs(s.change) > 1e-12)


def test_tables_are_compared_before_any_measure() -> None:
    truth = {"user": ["a", "a", "b"], "item": [1, 2, 1], "relevance": [1, 2, 1]}
    other_truth = {"user": ["a", "a", "c"], "item": [1, 2, 1], "relevance": [1, 1, 1]}
    run = {"user": ["a", "a", "b"], "item": [1, 2, 1], "score": [0.3, 0.2, 0.5]}
    other_run = {"user": ["a", "a", "a"], "item": [1, 2, 3], "score": [0.2, 0.2, 0.1]}
    of_truths, of_runs = podium.explain(
        truth, run, other_truth=other_truth, other_run=other_run
    ).differences

    def counts(of: Any) -> dict[str, tuple[int, int]]:
        return {line.label: (line.n_yours, line.n_theirs) for line in of.lines}

    assert counts(of_truths) == {
        "users": (2, 2),
        "users only here": (1, 1),
        "pairs": (3, 3),
        "pairs only here": (1, 1),
    }
    assert (of_truths.n_common_pairs, of_truths.n_changed_pairs) == (2, 1)
    assert counts(of_runs)["pairs only here"] == (1, 1)
    assert (of_runs.n_changed_pairs, of_runs.n_users_reordered) == (1, 1)
    same = podium.explain(truth, run, other_run=run).differences[0]
    assert counts(same)["users only here"] == counts(same)["pairs only here"] == (0, 0)
    assert same.n_changed_pairs == 0


def test_wrong_values_are_refused() -> None:
    for value in ("31.21", "0.31", "x", "-0.2"):
        with raises(ArgumentError, "value"):
            podium.explain(*tables(5), "ndcg@5", value=value)


def test_value_of_no_conventions_has_a_nearest_one() -> None:
    found = podium.explain(*tables(5), "ndcg@5", value="0.9999").search
    assert found is not None
    assert not found.matches
    assert found.nearest.value != 0.9999
    assert found.n_combinations > 1000


def test_tables_are_compared_without_a_value_of_the_measure() -> None:
    truth = {"user": [1, 1, 2], "item": [1, 2, 1], "rating": [4, 1, 5]}
    run = {"user": [1, 1], "item": [1, 2], "score": [0.3, 0.2]}
    explanation = podium.explain(truth, run, "ap@5", other_run=run)  # no threshold is needed
    assert (explanation.n_users, explanation.n_missing) == (2, 1)
    assert explanation.search is None
    assert not explanation.packages
    with pytest.raises(ArgumentError, match="min_relevance"):
        podium.explain(truth, run, "ap@5", other_run=run, value="0.123")


@pytest.mark.parametrize("grades", [(1, 2, 3), (0, 2, 3), (0.5, 1, 2)])
@pytest.mark.parametrize("min_relevance", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("listed", [(3, 3), (3, 2), (3, 0)])
@pytest.mark.parametrize("unjudged", ["negative", "skip"])
def test_lists_are_whole_as_in_ranking(
    grades: tuple[float, ...], min_relevance: float, listed: tuple[int, int], unjudged: Any
) -> None:
    truth = {"user": [1, 1, 1, 2, 2, 2], "item": [1, 2, 3] * 2, "relevance": [*grades] * 2}
    n_unjudged = 2
    users = np.repeat([1, 1, 2], [listed[0], n_unjudged, listed[1]])
    items = np.concatenate([np.arange(n) + 1 for n in (listed[0] + n_unjudged, listed[1])])
    run = {"user": users, "item": items, "score": 0.5 + np.arange(users.size)}
    rules: dict[str, Any] = {"unjudged": unjudged, "min_relevance": min_relevance}
    expected = ranking(truth, run, missing="zero", **rules)
    join = Join.of(read_truth(truth), read_run(run))
    found = ListsByChoice(join, Conventions()).ranking(rules)
    assert found.n_items.tolist() == expected.n_items.tolist()


def test_scores_beyond_single_precision_stay_double() -> None:
    truth, run = tables(6)
    run["score"] = run["score"] * 1e39
    with raises(DataError, "single_precision"):
        podium.measure(truth, run, "ap@5", missing="zero", single_precision=True)
    with raises(DataError, "single_precision"):
        podium.explain(truth, run, "ap@5", like="trec_eval")
    found = podium.explain(truth, run, "ap@5", value="0.9999").search
    assert found is not None
    assert "single_precision" not in found.nearest.changes[0]


def test_values_of_users_whose_ids_merge_are_matched() -> None:
    truth = {"user": ["Ann", "ann", "ben"], "item": ["a", "b", "A"], "relevance": [1, 1, 1]}
    run = {"user": ["Ann", "ben", "ben"], "item": ["A", "b", "a"], "score": [0.9, 0.8, 0.7]}
    values = {"recall@2": {"Ann": "0.5000", "ann": "0.5000", "ben": "1.0000"}}
    search = podium.explain(truth, run, value=values).search
    assert search is not None
    assert {"reading": "ids-without-case"} in search.matches[0].changes


def test_threshold_that_matters_only_with_ties_is_found() -> None:
    truth = {"user": ["a", "a", "b", "c"], "item": [1, 2, 1, 1], "relevance": [1, 2, 2, 2]}
    run = {"user": ["a", "a", "b", "b", "c"], "item": [1, 3, 1, 3, 4], "score": [0.5] * 5}
    value = podium.measure(truth, run, "precision@1", ties="average").means["precision@1"]
    search: Any = podium.explain(
        truth, run, "precision@1", value=f"{value:.6f}", min_relevance=2
    ).search
    assert {"ties": "average", "min_relevance": 1.0} in search.matches[0].changes


def test_mean_over_ties_that_matters_only_with_a_threshold_is_found() -> None:
    truth = {"user": [5] * 3, "item": [1, 2, 3], "relevance": [2, 1, 0]}
    run = {"user": [5] * 4, "item": [3, 2, 1, 4], "score": [0.9, 0.9, 0.8, 0.7]}
    value = podium.measure(truth, run, "ndcg", ties="average").means["ndcg"]
    search: Any = podium.explain(truth, run, "ndcg", value=f"{value:.6f}", min_relevance=2).search
    assert {"ties": "average", "min_relevance": 1.0} in search.matches[0].changes


def test_threshold_that_is_refused_alone_is_searched_with_another_change() -> None:
    truth = {"user": ["a", "a", "b"], "item": [1, 9, 2], "relevance": [1, 1, 1]}
    run = {"user": ["a"] * 3 + ["b"] * 3, "item": [3, 1, 2] * 2, "score": [0.3, 0.2, 0.1] * 2}
    value = podium.measure(truth, run, "auc", unretrieved="drop").means["auc"]
    search: Any = podium.explain(truth, run, "auc", value=f"{value:.6f}", min_relevance=2).search
    assert {"unretrieved": "drop", "min_relevance": 1.0} in search.matches[0].changes
