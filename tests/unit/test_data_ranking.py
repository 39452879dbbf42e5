"""(truth, run) -> Ranking: duplicates, ids that do not meet, and columns of users."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from tests.raised import raises

from podium import catalogue, data
from podium.data.users import user_column, user_positions
from podium.errors import ArgumentError, DataError, PodiumWarning

TRUTH = {
    "user": [1, 1, 1, 2, 3],
    "item": [10, 11, 12, 10, 13],
    "relevance": [1.0, 2.0, 0.0, 1.0, 1.0],
}
RUN = {
    "user": [2, 1, 3, 1, 9],
    "item": [10, 12, 11, 11, 10],
    "score": [0.5, 0.9, 0.4, 0.8, 1.0],
}


@pytest.mark.parametrize(
    ("truth", "run", "options", "parameters"),
    [
        (TRUTH, RUN, {"n_items": 2}, ("n_items",)),
        (TRUTH, RUN, {"n_items": 0}, ("n_items",)),
        (TRUTH, {**RUN, "item": [10, 99, 11, 11, 10]}, {"unjudged": "error"}, ("unjudged",)),
        ({"user": [1], "item": [1], "Rating": [5.0]}, RUN, {}, ("min_relevance",)),
    ],
)
def test_tables_that_need_an_option_name_it(
    truth: Any, run: Any, options: Any, parameters: tuple[str, ...]
) -> None:
    with raises(ArgumentError, *parameters):
        data.ranking(truth, run, **options)


def test_duplicates_name_user_item_and_rows() -> None:
    twice = {"user": ["u1", "u2", "u1"], "item": ["i7"] * 3}
    once = {"user": ["u1", "u2"], "item": ["i7", "i7"]}
    with pytest.raises(DataError, match=r"truth lists item 'i7' .* 'u1' \(rows 0 and 2\)"):
        data.ranking(twice, {**once, "score": [1, 2]})
    for options in ({}, {"missing": "skip", "unjudged": "skip"}):
        with pytest.raises(DataError, match=r"run lists item 'i7' .* 'u1' \(rows 0 and 2\)"):
            data.ranking(once, {**twice, "score": [2, 1, 1]}, **options)
    run = {"user": ["u", "u", "u"], "item": ["a", "b", "a"], "score": [3, 2, 1]}
    with pytest.raises(DataError, match="lists item 'a' twice for user 'u'"):
        data.top_items(run, 3)
    assert data.top_items(run, 2)[1].tolist() == [0, 1]


@pytest.mark.parametrize("kind", [np.int64, np.str_])
def test_random_ties_are_those_of_a_catalogue(kind: Any) -> None:
    rng = np.random.default_rng(1)
    truth = sparse.csr_array(rng.integers(0, 4, (9, 12)))
    levels = rng.integers(0, 3, (9, 12)).astype(float)
    expected = catalogue.rank_all(levels, truth, ties="random", seed=5)
    user, item = np.divmod(rng.permutation(108), 12)
    run = user.astype(kind), item.astype(kind), levels[user, item]
    got = data.ranking(truth, run, ties="random", seed=5)
    assert got.relevance.tolist() == expected.relevance.tolist()


@pytest.mark.parametrize("k", [1, 3, 50])
def test_top_items_are_the_start_of_a_full_sort(k: int) -> None:
    rng = np.random.default_rng(k)
    frame = pl.DataFrame(
        {
            "user": rng.integers(0, 20, 400),
            "item": rng.permutation(400),
            "score": rng.integers(0, 9, 400).astype(float),
        }
    )
    _, codes, ids = data.top_items(frame, k)
    order = frame.sort(["user", "score", "item"], descending=[False, True, False])
    expected = order.group_by("user", maintain_order=True).head(k)["item"]
    assert ids[codes].tolist() == expected.to_list()


def test_ranking_options_are_the_arguments_of_ranking() -> None:
    parameters = inspect.signature(data.ranking).parameters
    keywords = {n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert set(data.RankingOptions.__annotations__) == keywords


def test_values_of_users_are_text_as_it_is_written_or_unknown(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("user,Zip\n1,01\n2,\n")
    assert user_column(path, "Zip", np.array([1, 2])).tolist() == ["01", "unknown"]
    table: dict[str, Any] = {"user": ["b", "a", "c"], "plan": ["free", "", "paid"]}
    labels = np.array(["a", "b", "z"])
    assert user_column(table, "plan", labels).tolist() == ["unknown", "free", "unknown"]
    columns = {"user": np.array([1, 2]), "person": np.array([np.nan, 2.0])}
    for frame in (columns, pl.DataFrame(columns), pl.DataFrame(columns).to_pandas()):
        assert user_column(frame, "person", np.array([1, 2])).tolist() == ["unknown", "2.0"]
    for table, column in ((columns, "plan"), ({"user": [7, 7], "plan": ["a", "b"]}, "plan")):
        with pytest.raises(DataError):
            user_column(table, column, np.array([7]))


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("label_kind", [int, str])
def test_user_positions_are_those_of_labels_of_either_kind(kind: type, label_kind: type) -> None:
    users = np.array([kind(user) for user in (10, 9, 2, 10)])
    labels = np.array([label_kind(label) for label in (9, 10, 30)])
    assert user_positions(users, labels).tolist() == [1, 0, -1, 1]
    assert user_positions(users, labels[:0]).tolist() == [-1] * 4
    assert user_positions(users[:0], labels).size == 0


USERS = [1, 1, 2]


def joined(truth: Any, run: Any) -> list[float]:
    """Return what the run's lists hold, rank by rank."""
    scores = {"user": USERS, "item": run, "score": [3, 2, 1]}
    return data.ranking({"user": USERS, "item": truth}, scores).relevance.tolist()


@pytest.mark.parametrize(
    ("truth", "run", "ids"),
    [
        ([31, 32, 31], ["i31", "i32", "i31"], "31, .* 'i31'"),
        (["7", "8", "9"], ["7.0", "8.0", "9.0"], "'7', .* '7.0'"),
        (["a", "007", "b"], [7, 8, 9], "'007', .* 7"),
        ([" 7", " 8", " 9"], [8, 7, 9], "' 7', .* 7"),
    ],
)
def test_no_item_in_common_is_refused_with_one_of_each(truth: Any, run: Any, ids: str) -> None:
    with pytest.raises(DataError, match=ids):
        joined(truth, run)


def test_few_items_in_common_are_counted() -> None:
    with pytest.warns(PodiumWarning, match=r"2 item ids \(2 rows\) .* '007' and 7,"):
        assert joined(["007", "008", "123"], [7, 8, 123]) == [0.0, 0.0, 1.0]
    users, items = np.zeros(100, np.int64), np.arange(100)
    run = np.zeros(200, np.int64), np.arange(200) + 96, np.ones(200)
    with pytest.warns(PodiumWarning, match="^Only 4 of the 100 items of the truth are .* 200"):
        data.ranking((users, items), run)


@pytest.mark.parametrize("n_shown", [1, 10])
def test_a_run_of_few_popular_items_meets_a_truth_of_many(n_shown: int) -> None:
    """The share is of the table that has fewer ids."""
    users, items = np.repeat(np.arange(50), 20), np.arange(1000)
    shown = np.repeat(np.arange(50), n_shown), np.tile(np.arange(n_shown) * 7, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.ranking((users, items), (*shown, np.ones(50 * n_shown)))


def samples(n_users: int, size: int, n_items: int) -> tuple[Any, Any]:
    """Return a truth of one item a user, and lists of that item among sampled ones."""
    rng = np.random.default_rng(0)
    lists = np.array([rng.choice(n_items, size, replace=False) for _ in range(n_users)])
    users = np.repeat(np.arange(n_users), size)
    return (np.arange(n_users), lists[:, 3].copy()), (users, lists.ravel(), rng.random(users.size))


@pytest.mark.parametrize("n_lost", [0, 5])
def test_sampled_candidates_are_no_catalogue(n_lost: int) -> None:
    truth, run = samples(60, 100, 500)
    run = tuple(np.delete(column, np.arange(n_lost) * 100) for column in run)
    with pytest.warns(PodiumWarning, match=r"lists 100 of 500 items for each user"):
        data.ranking(truth, run)


@pytest.mark.parametrize(
    "change", ["few users", "catalogue", "a miss", "two positives", "lengths", "place"]
)
def test_lists_of_a_catalogue_are_no_samples(change: str) -> None:
    n_users, n_items = (19 if change == "few users" else 60), 150 if change == "catalogue" else 500
    truth, run = samples(n_users, 100, n_items)
    if change == "a miss":
        truth[1][5] = 10_000
    if change == "two positives":
        truth = np.append(truth[0], 0), np.append(truth[1], 10_000)
    if change == "lengths":
        run = tuple(np.delete(column, np.arange(7) * 100) for column in run)
    if change == "place":  # a model that finds the item among the first ten
        run = *run[:2], -np.tile((np.arange(100) - 3) % 100, n_users)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.ranking(truth, run)
