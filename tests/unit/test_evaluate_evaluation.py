"""Evaluations: segments, streams, conventions, pairs of runs by label, and refusals."""

from __future__ import annotations

import itertools
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

import podium
from podium import data
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.evaluation import (
    compare_evaluations,
    difference_bounds,
    evaluate,
    judgement_bounds,
    labels_to_settle,
    measure,
    stats,
)
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.stats import clustered_mean
from podium.metrics import gini, parse
from podium.metrics.shown import gini_values
from podium.ranking import Ranking

# Group 1 has both positives first, group 2 its one positive last, group 3 nothing to find.
SCORES = [9.0, 8.0, 7.0, 6.0, 9.0, 8.0, 7.0, 9.0, 8.0]
RELEVANCE = [1, 1, 0, 0, 0, 0, 1, 0, 0]
QID = [1, 1, 1, 1, 2, 2, 2, 3, 3]


@pytest.fixture
def ranking() -> Ranking:
    return Ranking.from_scores(SCORES, RELEVANCE, QID)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ([10, 0.5, 0.25], ["0.25", "0.5", "10"]),
        (["10 to 20", "5 to 9", "5 to 10"], ["5 to 9", "5 to 10", "10 to 20"]),
        ([5, None, 10], ["5", "10", "unknown"]),
        ([30.0, float("nan"), 30.0], ["30.0", "unknown"]),
        (["unknown", None, "unknown"], ["no value", "unknown"]),
    ],
)
def test_segments_are_in_the_order_of_numbers_in_their_names(
    ranking: Ranking, key: list[Any], names: list[str]
) -> None:
    segments = evaluate(ranking, "rr").segmented("age", np.array(key, object)).segments
    assert [s.name for s in segments] == names
    assert np.sum([s.mask for s in segments], axis=0).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        (lambda r: evaluate(r, "rr", undefined="error"), ("undefined",)),
        (lambda r: evaluate(r, []), ("measures",)),
        (lambda r: evaluate(r, ["rr", "mrr"]), ("measures",)),
        (lambda r: evaluate(r, "coverage@2"), ("catalogue",)),
        (lambda r: evaluate(r, "diversity@2"), ("items",)),
        (lambda r: evaluate([r, r], "rr"), ()),
        (lambda r: evaluate([], "rr"), ()),
        (lambda r: evaluate(r, "rr").pooled("rr"), ()),
        (lambda r: evaluate(r, "rr").segmented("country", ["UK", "DE"]), ()),
        (lambda r: evaluate(r, "rr").summary("ap"), ()),
        (lambda r: evaluate(r, "rr").segmented("engagement"), ("by",)),
    ],
)
def test_bad_arguments_are_named(ranking: Ranking, call: Any, parameters: tuple[str, ...]) -> None:
    with raises(ArgumentError, *parameters):
        call(ranking)


def test_values_are_found_by_any_text_of_a_measure(ranking: Ranking) -> None:
    e = evaluate(ranking, ["map@2", "ndcg(gain=linear)@ 3", "precision@2"])
    assert list(e.values) == ["map@2", "ndcg(gain=linear)@ 3", "precision@2"]
    for table in (e.values, e.means):
        assert table["map@2"] is table["ap@2"] is table["ap(norm=n_pos)@2"]
        assert "map@2" in table
        assert table.get("MAP @ two") is None
        assert "ap@3" not in table
    assert "p@2" not in e.weights or e.weights["p@2"] is e.weights["precision@2"]


@pytest.mark.parametrize(
    ("relevance", "options", "measures", "message"),
    [
        (1.0, {"min_relevance": 6}, ["rr", "ap@2"], "min_relevance=6: the largest is 1"),
        (0.25, {}, ["rr", "ndcg@2"], "largest is 0.25, so rr is undefined"),
        (0.0, {}, ["ndcg@2"], "ndcg@2 is undefined"),
        (1.0, {}, ["pap@9"], "pap@9 is undefined for all groups"),
        (1.0, {}, ["err@2"], r"adds only 0\.0625"),
    ],
)
def test_undefined_or_small_values_warn_with_the_reason(
    relevance: float, options: Any, measures: list[str], message: str
) -> None:
    grades = [relevance * g for g in RELEVANCE]
    with pytest.warns(PodiumWarning, match=message) as caught:
        evaluate(Ranking.from_scores(SCORES, grades, QID, **options), measures)
    assert len(caught) == 1
    block = [Ranking.from_scores([1, 0], [5, 0], [99, 99])]  # a later block of a stream
    evaluate([Ranking.from_scores(SCORES, RELEVANCE, QID), *block], ["rr", "pap@1"])


TRUTH = {"user": [1, 1, 2, 3], "item": ["a", "b", "a", "c"]}
RUN = {"user": [1, 1, 2], "item": ["a", "c", "c"], "score": [0.9, 0.8, 0.7]}
USERS = {"user": [3, 2, 1], "country": ["x", "y", "x"]}


def test_users_table_shares_the_name_of_the_user_column() -> None:
    truth, run = (
        {"who": t["user"], **{k: v for k, v in t.items() if k != "user"}} for t in (TRUTH, RUN)
    )
    users = {"who": USERS["user"], "country": USERS["country"]}
    e = measure(truth, run, "recall@1", missing="zero", by="country", users=users, user="who")
    plain = measure(TRUTH, RUN, "recall@1", missing="zero", by="country", users=USERS)
    assert [s.mask.tolist() for s in e.segments] == [s.mask.tolist() for s in plain.segments]


@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
def test_users_that_a_package_refuses_can_have_a_rule() -> None:
    with pytest.raises(ArgumentError, match="missing"):
        measure(TRUTH, RUN, "rr@5", like="recbole")
    given = measure(TRUTH, RUN, "rr@5", like="recbole", missing="zero")
    assert given.conventions["missing"] == given.as_json()["protocol"]["missing"] == "zero"
    assert given.means == measure(TRUTH, RUN, "rr@5", missing="zero").means


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ({"by": "country"}, ("by", "users")),
        ({"users": USERS}, ("users", "by")),
        ({"by": "engagement", "users": USERS}, ("users", "by")),
        ({"by": "n_pos", "users": {**USERS, "n_pos": [5, 6, 7]}}, ("by",)),
    ],
)
def test_segments_that_fit_no_table_of_users_are_refused(
    options: Any, parameters: tuple[str, ...]
) -> None:
    with raises(ArgumentError, *parameters):
        measure(TRUTH, RUN, "recall@1", missing="zero", **options)


N, SIZE = 24, 6
MEASURES = ["rr", "ndcg@3", "topk_loss@1"]
RELEVANT = np.tile([1, 1, 0, 0, 0, 0], N)


def run(noise: float, *, labels: Any = None, seed: int = 0, **options: Any) -> Evaluation:
    """Evaluate lists with two positives in six, ranked the better the smaller the noise."""
    scores = RELEVANT + noise * np.random.default_rng(seed).normal(size=N * SIZE)
    qid = np.repeat(np.arange(N) if labels is None else labels, SIZE)
    return evaluate(Ranking.from_scores(scores, RELEVANT, qid), MEASURES, **options)


def test_groups_are_matched_by_label() -> None:
    a = run(2.0).segmented("odd", np.arange(N) % 2)
    b = run(1.0, labels=np.arange(10, 10 + N), seed=1)
    comparison = compare_evaluations({"a": a, "b": b})
    shared = np.arange(10, N)
    for e in comparison.evaluations.values():
        assert e.labels.tolist() == shared.tolist()
    expected = stats.paired(a.values["rr"][10:], b.values["rr"][: N - 10])
    assert comparison.difference("rr", "b").test == expected
    masks = [s.mask.tolist() for s in comparison.evaluations["a"].segments]
    assert masks == [(shared % 2 == 0).tolist(), (shared % 2 == 1).tolist()]
    scores = RELEVANT + np.random.default_rng(0).normal(size=N * SIZE)
    blocks = [
        Ranking.from_scores(scores[SIZE * i :][:SIZE], RELEVANT[:SIZE], np.full(SIZE, i))
        for i in reversed(range(1, N))
    ]
    comparison = compare_evaluations({"whole": run(1.0), "stream": evaluate(blocks, MEASURES)})
    test = comparison.difference("rr", "stream").test
    assert (test.wins, test.losses, test.equal) == (0, 0, N - 1)


def test_runs_that_cannot_be_paired_are_refused() -> None:
    one = run(1.0)
    other_measure = evaluate(Ranking.from_scores([1.0], [1]), "rr")
    for runs in (
        {},
        {"a": one},
        {"a": one, "b": run(1.0, labels=np.arange(100, 100 + N))},
        {"a": one, "b": other_measure},
    ):
        with pytest.raises(ArgumentError):
            compare_evaluations(runs)
    with pytest.raises(ArgumentError, match="got undefined='skip' in a and 'zero' in b"):
        compare_evaluations({"a": one, "b": run(1.0, undefined="zero")})
    other_intervals = run(1.0, interval="bootstrap", level=0.9)
    assert compare_evaluations({"a": one, "b": other_intervals}).differences


JUDGED = {"user": ["u", "u", "v"], "item": [1, 2, 1], "relevance": [1, 2, 1]}
SHOWN = {"user": ["u", "u", "v", "v"], "item": [9, 1, 1, 9], "score": [4, 3, 2, 1]}


@pytest.mark.parametrize("ties", ["worst", "best", "average"])
def test_ties_with_unjudged_items_are_refused_unless_ids_order_them(ties: Any) -> None:
    tied = {**SHOWN, "score": [4, 3, 1, 1]}
    with raises(ArgumentError, "unjudged", "ties"):
        measure(JUDGED, tied, "recall", unjudged="bounds", ties=ties)
    for rule in ("id", "random"):
        measure(JUDGED, tied, "recall", unjudged="bounds", ties=rule)
    judged_only = {"user": ["u", "u", "u", "v"], "item": [9, 1, 2, 1], "score": [4, 3, 3, 1]}
    measure(JUDGED, judged_only, "recall", unjudged="bounds", ties=ties)


def test_high_grades_that_differ_little_are_given_together() -> None:
    order = -np.arange(5)
    r = Ranking.from_scores(order, [3, 0, 0, 0, 0], judged=[True, True, True, False, False])
    values = [
        parse("ndcg")(Ranking.from_scores(order, [3, 0, 0, *grades]))[0]
        for grades in product((0, 3, 4), repeat=2)
    ]
    low, high = judgement_bounds(r, "ndcg", [3, 4])
    assert low == pytest.approx(min(values), abs=1e-12)
    assert high == pytest.approx(max(values), abs=1e-12)


def test_labels_are_the_fewest_here_and_weights_count() -> None:
    users = np.arange(3)
    truth = {"user": users, "item": [0, 0, 0]}
    base = {"user": [0, 1, 2, 2], "item": [7, 8, 0, 9], "rank": [1, 1, 1, 2]}
    candidate = {"user": [0, 1, 2, 2], "item": [0, 0, 9, 0], "rank": [1, 1, 1, 2]}
    pool = data.pool_unjudged(truth, base, candidate)
    # 1 + 1 - 1; items 7 and 8 could make each of the first two differences 0.
    assert difference_bounds(pool, "p@1")["precision@1"].value.tolist() == [1.0, 1.0, -1.0]
    labels = labels_to_settle(pool, "precision@1")
    assert labels["user"].tolist() == [0]
    assert labels["item"].tolist() == [7]
    assert not labels_to_settle(pool, "p@1", weights=np.array([1.0, 0.0, 0.0]))["user"].size
    equal = labels_to_settle(pool, "p@1", weights=np.array([1.0, 0.0, 1.0]))
    assert not equal["item"].size


def test_what_has_no_bounds_is_refused() -> None:
    n = 101  # ndcg takes at most 100 grades
    many = Ranking.from_scores(-np.arange(n), np.arange(n) + 1.0, judged=np.ones(n, np.bool_))
    two = Ranking.from_scores([2, 1], [1, 0], judged=[True, False])
    judgement_bounds(many, "precision@5")
    one_user = {name: column[:2] for name, column in SHOWN.items()}
    labels = np.array(["u", "v"])
    for call in (
        lambda: judgement_bounds(many, "ndcg"),
        lambda: judgement_bounds(many, "ndcg", [1.0]),
        lambda: judgement_bounds(two, "ndcg(gain=exp2)", [1, 2000]),
        lambda: judgement_bounds(two, "ap"),
        lambda: measure(JUDGED, SHOWN, "rr").bounds_of_mean("rr"),
        lambda: data.pool_unjudged(JUDGED, SHOWN, one_user, labels=labels, missing="skip"),
        lambda: data.pool_unjudged(JUDGED, SHOWN, SHOWN, unjudged="skip"),
    ):
        with pytest.raises(ArgumentError):
            call()
    assert data.pool_unjudged(JUDGED, SHOWN, one_user, missing="skip").labels.tolist() == ["u"]
    nothing = {**JUDGED, "relevance": [0, 0, 0]}
    with pytest.warns(PodiumWarning):
        undefined = measure(nothing, SHOWN, "rr", unjudged="bounds")
    assert np.isnan(undefined.bounds_of_mean("rr")).all()


N_USERS, DEPTH = 40, 6
PAST = {"user": [1, 2], "item": [0, 1]}


def lists_of(seed: int, n_users: int = N_USERS, n_items: int = 30) -> tuple[Any, Any]:
    """Return users and the items of their lists, best first; popular ones are in more lists."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_items + 1)
    lists = [
        rng.choice(n_items, DEPTH, replace=False, p=share / share.sum()) for _ in range(n_users)
    ]
    is_listed = (
        np.arange(n_users * DEPTH) >= 2 * DEPTH - 1
    )  # one user has no list, one has one item
    return np.repeat(np.arange(n_users), DEPTH)[is_listed], np.concatenate(lists)[is_listed]


def test_features_have_cosine_distances() -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 3)).round(2)
    vectors[4] = 0.0
    vectors[5, 1] = np.nan
    users, items = lists_of(0)
    run = {"user": users, "item": items, "score": -np.arange(users.size)}
    table = {"item": list(range(30)), **{f"f{j}": vectors[:, j] for j in range(3)}}
    truth = {"user": range(N_USERS), "item": [0] * N_USERS}
    with pytest.warns(PodiumWarning, match=r"lacks 2 of the \d+ items that the run shows"):
        found = measure(truth, run, "diversity@4", missing="zero", items=table).values
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-9)
    values: list[float] = []
    for user in range(N_USERS):
        known = [unit[i] for i in items[users == user][:4] if i not in (4, 5)]
        distances = [1 - a @ b for a, b in itertools.combinations(known, 2)]
        values.append(float(np.mean(distances)) if distances else math.nan)
    np.testing.assert_allclose(found["diversity@4"], values, rtol=1e-10, atol=1e-12)


def test_error_of_gini_is_about_that_of_deleting_each_user() -> None:
    n_users = 200
    users, items = lists_of(3, n_users, n_items=80)
    values = gini_values(users, items, n_users, 90)
    deleted = np.array([gini(items[users != u], 90) for u in range(n_users)])
    variance = (n_users - 1) / n_users * ((deleted - deleted.mean()) ** 2).sum()
    assert clustered_mean(values).std_error == pytest.approx(math.sqrt(variance), rel=0.06)
    assert values.mean() == pytest.approx(gini(items, 90), abs=1e-14)


@pytest.mark.parametrize(
    ("texts", "options", "parameters"),
    [
        (["gini@2", "rr"], {}, ("catalogue",)),
        (["ild@2", "rr"], {}, ("items",)),
        (["rr"], {"catalogue": PAST}, ("catalogue",)),
        (["gini@2"], {"catalogue": PAST, "items": PAST}, ("items",)),
    ],
)
def test_requests_without_the_tables_that_fit_are_refused_before_tables_are_read(
    texts: list[str], options: dict[str, Any], parameters: tuple[str, ...]
) -> None:
    with raises(ArgumentError, *parameters):
        podium.measure("none.csv", "none.csv", texts, **options)


ONE_USER, TWO_ITEMS = (
    {"user": [1], "item": [0]},
    {"user": [1, 1], "item": [0, 1], "score": [2.0, 1.0]},
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("diversity@2", {}),
        ("diversity@2", {"title": ["Heat", "Alien"]}),
        ("diversity@2", {"price": [0.5, 1.5]}),
        ("ild@2", {"a": [1, 2], "t": ["x", "y"]}),
        ("ild@2", {"a": ["x", "y"], "t": ["x", "y"]}),
        ("ild(column=genres)@2", {"genre": ["x", "y"]}),
        ("ild@2", {"item": [1, 1], "genre": ["x", "y"]}),
        ("ild@2", {"item": ["x1", "x2"], "genre": ["x", "y"]}),
    ],
)
def test_tables_of_items_without_known_distances_are_refused(
    text: str, columns: dict[str, Any]
) -> None:
    with pytest.raises(DataError):
        podium.measure(ONE_USER, TWO_ITEMS, text, items={"item": [0, 1], **columns})
    with pytest.raises(DataError, match="No item is in both tables"):
        podium.measure(ONE_USER, TWO_ITEMS, "gini@2", catalogue={"user": [1], "item": [99]})


def test_categories_are_sets_and_titles_are_none() -> None:
    def diversity(text: str = "ild@2", **columns: Any) -> float:
        table = {"item": [0, 1], **columns}
        return podium.measure(ONE_USER, TWO_ITEMS, text, items=table).means[text]

    assert diversity(genre=[" war |drama||war", "drama|war"]) == 0
    numbers = {"kind": [3, 4], "year": [1990, 1990]}
    assert [diversity(f"ild(column={c})@2", **numbers) for c in numbers] == [1, 0]
    titles = ["Heat", "Alien"]
    assert diversity(title=titles, genre=["a", "a"]) == 0
    features = {"year": [1, 2], "length": [5, 3]}
    assert diversity(title=titles, **features) == diversity(**features) > 0


def test_the_items_table_is_compared_with_the_run_as_it_was_read() -> None:
    # Above 0.5 is only item 9, which the table lacks. Items 1 and 2 show that the ids are the same.
    truth = {"user": [2, 2], "item": [1, 9]}
    run = {"user": [2, 2, 2], "item": [9, 1, 2], "score": [0.9, 0.4, 0.3]}
    items = {"item": [1, 2], "genre": ["a", "b"]}
    with pytest.warns(PodiumWarning):
        found = podium.measure(truth, run, "diversity@2", items=items, score_above=0.5)
    assert np.isnan(found.means["diversity@2"])
