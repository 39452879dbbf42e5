"""Bounds over unjudged items of rankings and two runs, and measures of the items shown."""

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
from podium.evaluation import difference_bounds, judgement_bounds, labels_to_settle, measure
from podium.evaluation.stats import clustered_mean
from podium.metrics import gini, parse
from podium.metrics.shown import gini_values
from podium.ranking import Ranking

TRUTH = {"user": ["u", "u", "v"], "item": [1, 2, 1], "relevance": [1, 2, 1]}
RUN = {"user": ["u", "u", "v", "v"], "item": [9, 1, 1, 9], "score": [4, 3, 2, 1]}


@pytest.mark.parametrize("ties", ["worst", "best", "average"])
def test_ties_with_unjudged_items_are_refused_unless_ids_order_them(ties: Any) -> None:
    tied = {**RUN, "score": [4, 3, 1, 1]}
    with raises(ArgumentError, "unjudged", "ties"):
        measure(TRUTH, tied, "recall", unjudged="bounds", ties=ties)
    for rule in ("id", "random"):
        measure(TRUTH, tied, "recall", unjudged="bounds", ties=rule)
    judged_only = {"user": ["u", "u", "u", "v"], "item": [9, 1, 2, 1], "score": [4, 3, 3, 1]}
    measure(TRUTH, judged_only, "recall", unjudged="bounds", ties=ties)


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
    ties = Ranking.from_scores([2.0, 2.0], [0, 1], ties="threshold", judged=[False, True])
    judgement_bounds(many, "precision@5")
    one_user = {name: column[:2] for name, column in RUN.items()}
    labels = np.array(["u", "v"])
    for call in (
        lambda: judgement_bounds(many, "ndcg"),
        lambda: judgement_bounds(many, "ndcg", [1.0]),
        lambda: judgement_bounds(two, "ndcg(gain=exp2)", [1, 2000]),
        lambda: judgement_bounds(ties, "ap"),
        lambda: measure(TRUTH, RUN, "rr").bounds_of_mean("rr"),
        lambda: data.pool_unjudged(TRUTH, RUN, one_user, labels=labels, missing="skip"),
        lambda: data.pool_unjudged(TRUTH, RUN, RUN, unjudged="skip"),
    ):
        with pytest.raises(ArgumentError):
            call()
    assert data.pool_unjudged(TRUTH, RUN, one_user, missing="skip").labels.tolist() == ["u"]
    nothing = {**TRUTH, "relevance": [0, 0, 0]}
    with pytest.warns(PodiumWarning):
        undefined = measure(nothing, RUN, "rr", unjudged="bounds")
    assert np.isnan(undefined.bounds_of_mean("rr")).all()


N_USERS, SIZE = 40, 6
PAST = {"user": [1, 2], "item": [0, 1]}


def lists_of(seed: int, n_users: int = N_USERS, n_items: int = 30) -> tuple[Any, Any]:
    """Return users and the items of their lists, best first; popular ones are in more lists."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_items + 1)
    lists = [
        rng.choice(n_items, SIZE, replace=False, p=share / share.sum()) for _ in range(n_users)
    ]
    is_listed = np.arange(n_users * SIZE) >= 2 * SIZE - 1  # one user has no list, one has one item
    return np.repeat(np.arange(n_users), SIZE)[is_listed], np.concatenate(lists)[is_listed]


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
