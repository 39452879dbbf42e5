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
from podium.metrics import Measure, gini, parse_all

Table = dict[str, Any]
Lists = dict[Any, list[Any]]

N_USERS, N_ITEMS, SIZE, K = 40, 30, 6, 4
GENRES = ("drama", "war", "noir", "")
MEASURES = [f"{name}@{K}" for name in ("coverage", "gini", "novelty", "popularity", "diversity")]


def lists_of(seed: int, n_users: int = N_USERS, n_items: int = N_ITEMS) -> Lists:
    """Return lists of popular items, best first; some have no item at all or only one."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_items + 1)
    sizes = [0, 1, *[SIZE] * (n_users - 2)]
    return {
        user: rng.choice(n_items, size=size, replace=False, p=share / share.sum()).tolist()
        for user, size in enumerate(sizes)
    }


def run_of(lists: Lists, order: int | None = None) -> Table:
    """Return the run of lists, in a random order of rows if `order` is a seed."""
    rows: list[Any] = [(u, i, -rank) for u, items in lists.items() for rank, i in enumerate(items)]
    if order is not None:
        rows = [rows[i] for i in np.random.default_rng(order).permutation(len(rows))]
    return {name: [row[i] for row in rows] for i, name in enumerate(("user", "item", "score"))}


def catalogue(seed: int = 0) -> Table:
    """Return past interactions; the runs show other items too, and not all of these."""
    rng = np.random.default_rng(seed)
    items = [*rng.integers(3, 20, size=200).tolist(), 40, 41, 41]
    return {"user": rng.integers(9, size=203).tolist(), "item": items}


def measures(*texts: str) -> list[Measure]:
    return parse_all(texts or MEASURES)


def cosine(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    product = sum(p * q for p, q in zip(a, b, strict=True))
    return 1 - product / math.hypot(*a) / math.hypot(*b)


def mean_distance(items: list[Any], known: dict[Any, Any], distance: Any) -> float:
    """Return the mean distance over the pairs of known items; nan without a pair."""
    pairs = itertools.combinations([known[i] for i in items if known.get(i)], 2)
    distances = [distance(a, b) for a, b in pairs]
    return sum(distances) / len(distances) if distances else math.nan


def test_features_have_cosine_distances() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(N_ITEMS, 3)).round(2)
    vectors[4] = 0.0
    vectors[5, 1] = np.nan
    lists = lists_of(0)
    known = {i: tuple(v) for i, v in enumerate(vectors.tolist()) if i not in (4, 5)}
    table = {"item": list(range(N_ITEMS)), **{f"f{j}": vectors[:, j] for j in range(3)}}
    with pytest.warns(PodiumWarning, match=r"lacks 2 of the \d+ items that the run shows"):
        found = shown_values(
            {"": run_of(lists)}, measures("diversity@4"), np.arange(N_USERS), items=table
        )
    values = [mean_distance(items[:K], known, cosine) for items in lists.values()]
    np.testing.assert_allclose(found[""]["diversity@4"], values, rtol=1e-10, atol=1e-12)


def random_lists(n_users: int, seed: int) -> tuple[Any, Any]:
    lists = lists_of(seed, n_users, n_items=80)
    pairs = [(u, i) for u, items in lists.items() for i in items]
    users, items = np.array(pairs).T
    return users, items


def test_error_of_gini_is_about_that_of_deleting_each_user() -> None:
    n_users = 200
    users, items = random_lists(n_users, 3)
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


def measured(*texts: str, **options: Any) -> podium.Evaluation:
    lists = lists_of(0)
    pairs = [(user, item) for user in lists for item in lists[user][:2]]
    truth = {"user": [user for user, _ in pairs], "item": [item for _, item in pairs]}
    return podium.measure(truth, run_of(lists), texts, **options)


@pytest.mark.parametrize(
    ("texts", "options", "parameters"),
    [
        (["gini@2", "rr"], {}, ("catalogue",)),
        (["ild@2", "rr"], {}, ("items",)),
        (["rr"], {"catalogue": catalogue()}, ("catalogue",)),
        (
            ["gini@2"],
            {"catalogue": catalogue(), "items": {"item": [0], "genre": ["a"]}},
            ("items",),
        ),
        *(
            ([text, "rr"], {"catalogue": catalogue(), "interval": "wilson"}, ("interval",))
            for text in ("novelty@2", "arp@2")
        ),
    ],
)
def test_requests_without_the_tables_that_fit_are_refused_before_tables_are_read(
    texts: list[str], options: Table, parameters: tuple[str, ...]
) -> None:
    with raises(ArgumentError, *parameters):
        podium.measure("none.csv", "none.csv", texts, **options)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({}, "diversity@2"),
        ({"price": [0.5, 1.5]}, "diversity@2"),
        ({"a": [1, 2], "t": ["x", "y"]}, "ild@2"),
        ({"a": ["x", "y"], "t": ["x", "y"]}, "ild@2"),
        ({"genre": ["x", "y"]}, "ild(column=genres)@2"),
        ({"item": [1, 1], "genre": ["x", "y"]}, "ild@2"),
        ({"item": ["x1", "x2"], "genre": ["x", "y"]}, "ild@2"),
    ],
)
def test_tables_of_items_without_known_distances_are_refused(columns: Table, text: str) -> None:
    with pytest.raises(DataError):
        measured(text, items={"item": [0, 1], **columns})
    with pytest.raises(DataError, match="No item is in both tables"):
        measured("gini@2", catalogue={"user": [1], "item": [99]})


def test_a_run_that_shows_nothing_to_the_users() -> None:
    """Coverage is 0; the others have no list to be computed from."""
    run = {"user": [1], "item": [5], "score": [1.0]}
    found = shown_values(
        {"": run},
        measures(),
        np.array([2, 3]),
        catalogue={"user": [1], "item": [5]},
        items={"item": [5], "genre": ["war"]},
    )[""]
    assert found["coverage@4"].tolist() == [0, 0]
    for name in ("gini@4", "novelty@4", "popularity@4", "diversity@4"):
        assert np.isnan(found[name]).all()


def test_separators_blanks_and_repeats_of_categories() -> None:
    items = {"item": [0, 1], "genre": [" war |drama||war", "drama|war"]}
    run = {"user": [1, 1], "item": [0, 1], "score": [2.0, 1.0]}
    truth = {"user": [1], "item": [0]}
    assert podium.measure(truth, run, "ild@2", items=items).means == {"ild@2": 0.0}
    numbers = {"item": [0, 1], "kind": [3, 4], "year": [1990, 1990]}
    means = podium.measure(truth, run, ["ild(column=kind)@2", "ild(column=year)@2"], items=numbers)
    assert list(means.means.values()) == [1.0, 0.0]


def test_titles_are_not_categories() -> None:
    run = {"user": [1, 1], "item": [1, 2], "score": [2.0, 1.0]}
    truth, titles = {"user": [1], "item": [1]}, {"item": [1, 2], "title": ["Heat", "Alien"]}
    with pytest.raises(DataError):
        podium.measure(truth, run, "diversity@2", items=titles)
    result = podium.measure(truth, run, "diversity@2", items={**titles, "genre": ["a", "a"]})
    assert result.means == {"diversity@2": 0.0}
    features = {"item": [1, 2], "year": [1, 2], "length": [5, 3]}
    values = [
        podium.measure(truth, run, "diversity@2", items=table).means["diversity@2"]
        for table in (features, {**titles, **features})
    ]
    assert values[0] == values[1] > 0


def test_the_items_table_is_compared_with_the_run_as_it_was_read() -> None:
    # Above 0.5 is only item 9, which the table lacks. Items 1 and 2 show that the ids are the same.
    truth = {"user": [2, 2], "item": [1, 9]}
    run = {"user": [2, 2, 2], "item": [9, 1, 2], "score": [0.9, 0.4, 0.3]}
    items = {"item": [1, 2], "genre": ["a", "b"]}
    with pytest.warns(PodiumWarning):
        found = podium.measure(truth, run, "diversity@2", items=items, score_above=0.5)
    assert np.isnan(found.means["diversity@2"])
