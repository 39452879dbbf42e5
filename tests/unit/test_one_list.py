"""One result describes one list: values, segments, curves, users and warnings agree."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.errors import ArgumentError, PodiumWarning
from podium.evaluation import details, stats
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


def test_the_order_of_rows_has_no_effect_on_means_over_ties() -> None:
    truth = {**lists([0, 1, 2], []), "relevance": [0.1, 0.2, 0.3] * len(USERS)}
    truth = {"user": truth["user"], "item": [0, 1, 2] * len(USERS), "relevance": truth["relevance"]}
    a, b = lists([0, 1, 2], [0.5] * 3), lists([2, 1, 0], [0.5] * 3)
    assert is_equal(podium.compare(truth, {"a": a, "b": b}, "ndcg@2", ties="average"))


@pytest.mark.parametrize("column", ["genre", "feature"])
def test_diversity_does_not_depend_on_the_order_of_a_list(column: str) -> None:
    rng = np.random.default_rng(5)
    items: Table = {"item": [*range(10)]}
    if column == "genre":
        items["genre"] = ["|".join(rng.choice([*"abcdefg"], 3, replace=False)) for _ in range(10)]
    else:
        items |= {f"f{i}": rng.normal(size=10) for i in range(4)}
    truth = {"user": list(USERS), "item": [0] * len(USERS)}
    for _ in range(5):
        a, b = (lists([*range(10)], rng.permutation(10).tolist()) for _ in "ab")
        assert is_equal(podium.compare(truth, {"a": a, "b": b}, "diversity@10", items=items))


def test_gini_and_novelty_do_not_depend_on_the_order_of_a_list() -> None:
    rng = np.random.default_rng(3)
    shown = [rng.choice(20, 5, replace=False).tolist() for _ in range(40)]
    a = {
        "user": np.repeat(np.arange(40), 5),
        "item": np.ravel(shown),
        "score": [5, 4, 3, 2, 1] * 40,
    }
    b = {**a, "score": [1, 2, 3, 4, 5] * 40}
    past = {"user": [1] * 60, "item": rng.integers(0, 23, 60)}
    truth = {"user": np.arange(40), "item": [shown[u][0] for u in range(40)]}
    compared = podium.compare(truth, {"a": a, "b": b}, ["gini@5", "novelty@5"], catalogue=past)
    assert [d.test.t_p_value for d in compared.differences] == [1, 1]


def test_values_that_differ_by_rounding_are_equal() -> None:
    test = stats.paired([0.3, 0.5, 0.0], [0.1 + 0.2, 0.75, 1e-300])
    assert (test.wins, test.losses, test.equal) == (2, 0, 1)


@pytest.mark.parametrize(
    "options", [{"unretrieved": "drop"}, {"score_above": 0.0}, {"ties": "threshold"}]
)
def test_a_gate_refuses_the_bounds_that_measure_refuses(options: Any) -> None:
    truth = {"user": [1, 1, 2], "item": [1, 2, 1]}
    run = {"user": [1, 1, 2], "item": [1, 4, 1], "score": [0.9, 0.8, 0.3]}
    refused: Any = {**options, "unjudged": "bounds"}
    with pytest.raises(ArgumentError, match="unjudged"):
        podium.gate(truth, run, run, "ap", **refused)
    with pytest.raises(ArgumentError, match="unjudged"):
        podium.data.pool_unjudged(truth, run, run, **refused)


TRUTH = {"user": [1, 1, 2], "item": [1, 2, 1]}


def end(truth: Any, run: Any, measure: str, like: str) -> float:
    """Return the value of a package that explain gives, after that of measure was checked."""
    [steps] = podium.explain(truth, run, measure, like=like).packages
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert steps.end == pytest.approx(
            podium.measure(truth, run, measure, like=like).means[measure]
        )
    return steps.end


def test_explain_puts_tied_positives_at_their_last_rank_as_scikit_learn() -> None:
    run = {"user": [1, 1, 1, 2], "item": [3, 1, 2, 1], "score": [0.9, 0.5, 0.5, 0.9]}
    assert end(TRUTH, run, "ap", "sklearn") == pytest.approx((2 / 3 + 1) / 2)


def test_explain_rounds_scores_before_it_removes_those_of_0() -> None:
    run = {"user": [1, 1, 2], "item": [1, 2, 1], "score": [0.9, 1e-46, 0.5]}
    assert end(TRUTH, run, "recall", "torchmetrics") == (1 / 2 + 1) / 2


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


def graded(seed: int = 4) -> tuple[Table, Table]:
    """Return a truth with grades and a user without a positive, and a run."""
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(30), 6)
    items = np.concatenate([rng.choice(30, 6, replace=False) for _ in range(30)])
    relevance = np.where(users > 4, rng.integers(0, 4, users.size), 0)
    shown = np.concatenate([rng.choice(30, 20, replace=False) for _ in range(30)])
    run = {"user": np.repeat(np.arange(30), 20), "item": shown, "score": rng.random(600)}
    return {"user": users, "item": items, "relevance": relevance}, run


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        ("ndcg@5", {"like": "rectools"}),
        ("ndcg@5", {"like": "trec_eval"}),
        ("ap@5", {"like": "recbole"}),
        ("judged@5", {}),
        ("recall@5", {"undefined": "zero"}),
    ],
)
def test_curves_are_the_measures_at_other_cutoffs(measure: str, options: Any) -> None:
    truth, run = graded()
    kept = podium.measure(truth, run, measure, keep_lists=True, **options)
    [curve] = details.of_evaluation(kept)["curves"].values()
    means = dict(zip(curve["k"], curve["means"][""], strict=True))
    assert means[5] == pytest.approx(kept.means[measure])
    other = measure.replace("@5", "@10")
    assert means[10] == pytest.approx(podium.measure(truth, run, other, **options).means[other])


@pytest.mark.parametrize(
    ("options", "shown", "missed"),
    [
        ({}, [("2", False), ("1", True), ("4", False)], 1),
        ({"ties": "best"}, [("1", True), ("2", False), ("4", False)], 1),
        ({"score_above": 0.45}, [("2", False), ("1", True)], 1),
        ({"unjudged": "skip"}, [("1", True)], 1),
        ({"unretrieved": "drop"}, [("2", False), ("1", True), ("4", False)], 0),
    ],
)
def test_the_worst_served_users_have_the_measured_lists(
    options: Any, shown: list[Any], missed: int
) -> None:
    truth = {"user": [1, 1], "item": [1, 3]}
    run = {"user": [1, 1, 1], "item": [1, 2, 4], "score": [0.5, 0.5, 0.4]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the order of equal scores matters
        kept = podium.measure(truth, run, "rr", keep_lists=True, **options)
    [user] = details.of_evaluation(kept)["users"]["users"]
    assert [(item["text"], item["relevant"]) for item in user["lists"][0][1]] == shown
    assert user["n_missed"] == missed


@pytest.mark.parametrize("by", ["engagement", "n_pos"])
def test_segments_are_those_of_the_truth_for_every_order_of_runs(by: str) -> None:
    truth = {"user": [1] * 3 + [2], "item": [1, 2, 3, 1]}
    a = {"user": [1, 1, 2], "item": [1, 9, 1], "score": [2, 1, 3]}
    b = {"user": [1, 1, 1, 2], "item": [9, 1, 2, 1], "score": [3, 2, 1, 2]}
    found: list[list[float]] = []
    for runs in ({"a": a, "b": b}, {"b": b, "a": a}):
        compared = podium.compare(truth, runs, "recall@1", unretrieved="drop", by=by)
        [one, three] = [segment.mask.tolist() for segment in compared.evaluations["a"].segments]
        assert one == [False, True]
        assert three == [True, False]
        found.append([d.test.difference for d in compared.differences])
    assert found[0] == [-value for value in found[1]]


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


def test_the_lowest_score_is_rounded_as_scores_are() -> None:
    truth = {"user": [1, 1], "item": [1, 2]}
    run = {"user": [1, 1, 1], "item": [1, 2, 3], "score": [0.3, 0.1, 0.1]}
    for is_single in (False, True):
        options: Any = {"score_above": 0.1, "single_precision": is_single}
        assert podium.measure(truth, run, "recall", **options).means["recall"] == 1 / 2


def test_auc_at_1_is_undefined_and_never_refused() -> None:
    truth = {"user": [1, 2], "item": [1, 1]}
    run = {"user": [1, 2], "item": [1, 1], "score": [0.9, 0.1]}
    with pytest.warns(PodiumWarning, match="auc@1"):
        found = podium.measure(truth, run, "auc@1", score_above=0.5)
    assert np.isnan(found.values["auc@1"]).all()


def test_values_equal_up_to_rounding_have_bins() -> None:
    for value in (1 / 3, 0.0, 1e17):
        bins = bin_values([value, value * (1 + 2e-16)], 24)
        assert sum(bins["counts"]) == 2
        assert bins["edges"][0] < value < bins["edges"][-1]
    truth = {"user": [1] * 3 + [2] * 3, "item": [1, 2, 3] * 2}
    a = {"user": truth["user"], "item": [1, 8, 9, 1, 2, 9], "score": [3, 2, 1] * 2}
    b = {"user": truth["user"], "item": [1, 2, 9, 1, 2, 3], "score": [3, 2, 1] * 2}
    compared = podium.compare(truth, {"a": a, "b": b}, "recall@3", keep_lists=True)
    assert sum(details.of_comparison(compared)["gains"]["histogram"]["counts"]) == 2


def test_audit_counts_undefined_users_as_measure_does() -> None:
    train = {"user": [1, 2, 3, 1], "item": [1, 2, 3, 4]}
    test = {"user": [1, 2], "item": [2, 3], "relevance": [1, 0]}
    runs = {"r": {"user": [1, 1, 2], "item": [2, 3, 1], "score": [0.9, 0.5, 0.1]}}

    def found(measure: str) -> list[Any]:
        findings = podium.audit(train, test, runs, measure).findings
        return [finding for finding in findings if finding.check == "users-without-positives"]

    [loss] = found("topk_loss@1")
    right = podium.measure(test, runs["r"], "topk_loss@1", undefined="zero").means["topk_loss@1"]
    assert [e.without_fault for e in loss.effects if e.run == "r"] == [right]
    assert not found("judged@1")  # which needs no positive


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


def test_popularity_describes_the_list_that_precision_describes() -> None:
    truth = {"user": [1, 1], "item": [1, 2], "relevance": [1, 1]}
    run = {"user": [1] * 4, "item": [8, 1, 9, 2], "score": [4, 3, 2, 1]}
    past = {"user": [*range(10)], "item": [1, 2, 2] + [8] * 7}
    found = podium.measure(
        truth, run, ["precision@2", "popularity@2"], catalogue=past, unjudged="skip"
    )
    assert found.means == {"precision@2": 1.0, "popularity@2": (1 + 2) / 2}
    tied = {"user": [1, 1], "item": [1, 8], "score": [1, 1]}
    for seed in range(8):
        found = podium.measure(
            *(truth, tied, ["precision@1", "popularity@1"]),
            catalogue=past,
            ties="random",
            seed=seed,
        )
        assert found.means["popularity@1"] == (1 if found.means["precision@1"] else 7)


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
