"""Measures of the items shown, against their definitions in pure Python."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

import podium
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.evaluation.influence import coverage_values, gini_values
from podium.evaluation.shown import shown_values
from podium.evaluation.stats import clustered_mean, paired
from podium.metrics import gini, parse_all

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
    with pytest.warns(PodiumWarning, match=r"lacks 2 of the \d+ items that the run shows"):
        found = shown_values({"": run}, parse_all("diversity@4"), np.arange(N_USERS), items=table)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-9)
    values: list[float] = []
    for user in range(N_USERS):
        known = [unit[i] for i in items[users == user][:4] if i not in (4, 5)]
        distances = [1 - a @ b for a, b in itertools.combinations(known, 2)]
        values.append(float(np.mean(distances)) if distances else math.nan)
    np.testing.assert_allclose(found[""]["diversity@4"], values, rtol=1e-10, atol=1e-12)


def test_error_of_gini_is_about_that_of_deleting_each_user() -> None:
    n_users = 200
    users, items = lists_of(3, n_users, n_items=80)
    values = gini_values(users, items, n_users, 90)
    deleted = np.array([gini(items[users != u], 90) for u in range(n_users)])
    variance = (n_users - 1) / n_users * ((deleted - deleted.mean()) ** 2).sum()
    assert clustered_mean(values).std_error == pytest.approx(math.sqrt(variance), rel=0.06)
    assert values.mean() == pytest.approx(gini(items, 90), abs=1e-14)


@pytest.mark.long
@pytest.mark.parametrize("measure", ["gini", "coverage"])
def test_paired_t_test_has_its_size_for_exchangeable_runs(measure: str) -> None:
    """If each user's two lists change places at random, about 5 % of p values are below 5 %.

    The error of coverage is too large, so that its p values are.
    """
    n_users, n_items, n_replays = 150, 90, 2000
    rng = np.random.default_rng(0)
    # Two models: one shows popular items, the other shows all items about equally often.
    log_shares = np.outer([1.5, 0.2], -np.log(np.arange(1, n_items + 1)))
    users = np.repeat(np.arange(n_users), SIZE)
    values = gini_values if measure == "gini" else coverage_values
    n_rejected = 0
    for _ in range(n_replays):
        keys = log_shares[:, None, :] + rng.gumbel(size=(2, n_users, n_items))
        lists = np.argpartition(-keys, SIZE, axis=2)[:, :, :SIZE]
        is_exchanged = rng.random(n_users) < 0.5
        runs = np.where(is_exchanged[:, None], lists[::-1], lists)
        a, b = (values(users, run.ravel(), n_users, n_items) for run in runs)
        n_rejected += paired(a, b, n_permutations=1).t_p_value < 0.05
    lowest = 0.03 if measure == "gini" else 0.01
    assert lowest < n_rejected / n_replays < 0.07, n_rejected / n_replays


@pytest.mark.parametrize(
    ("texts", "options", "parameters"),
    [
        (["gini@2", "rr"], {}, ("catalogue",)),
        (["ild@2", "rr"], {}, ("items",)),
        (["rr"], {"catalogue": PAST}, ("catalogue",)),
        (["gini@2"], {"catalogue": PAST, "items": PAST}, ("items",)),
        (["novelty@2"], {"catalogue": PAST, "interval": "wilson"}, ("interval",)),
    ],
)
def test_requests_without_the_tables_that_fit_are_refused_before_tables_are_read(
    texts: list[str], options: dict[str, Any], parameters: tuple[str, ...]
) -> None:
    with raises(ArgumentError, *parameters):
        podium.measure("none.csv", "none.csv", texts, **options)


TRUTH, RUN = {"user": [1], "item": [0]}, {"user": [1, 1], "item": [0, 1], "score": [2.0, 1.0]}


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
        podium.measure(TRUTH, RUN, text, items={"item": [0, 1], **columns})
    with pytest.raises(DataError, match="No item is in both tables"):
        podium.measure(TRUTH, RUN, "gini@2", catalogue={"user": [1], "item": [99]})


def test_categories_are_sets_and_titles_are_none() -> None:
    def diversity(text: str = "ild@2", **columns: Any) -> float:
        table = {"item": [0, 1], **columns}
        return podium.measure(TRUTH, RUN, text, items=table).means[text]

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
