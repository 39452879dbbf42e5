"""Ids of two tables that do not meet: refused, counted, or shown in both forms."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import data
from podium.errors import DataError, PodiumWarning

USERS = [1, 1, 2]


def joined(truth: Any, run: Any) -> list[float]:
    """Return what the run's lists hold, rank by rank."""
    scores = {"user": USERS, "item": run, "score": [3, 2, 1]}
    return data.ranking({"user": USERS, "item": truth}, scores).relevance.tolist()


@pytest.mark.parametrize(
    ("truth", "run", "message"),
    [
        ([31, 32, 31], ["i31", "i32", "i31"], r"the truth has 31, the run has 'i31'\."),
        (["7", "8", "9"], ["7.0", "8.0", "9.0"], r"the truth has '7', the run has '7.0'\."),
        (["a", "007", "b"], [7, 8, 9], r"the truth has '007', the run has 7\."),
        ([" 7", " 8", " 9"], [8, 7, 9], r"the truth has ' 7', the run has 7\."),
    ],
)
def test_no_item_in_common_is_refused_with_one_of_each(truth: Any, run: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"No item is in both tables: {message}"):
        joined(truth, run)


def test_one_number_in_two_forms_is_told_where_other_ids_meet() -> None:
    message = (
        r"2 item ids \(2 rows\) of the truth may be in the run in another .*, such as '007' and 7,"
    )
    with pytest.warns(PodiumWarning, match=message):
        assert joined(["007", "008", "123"], [7, 8, 123]) == [0.0, 0.0, 1.0]


def test_few_items_in_common_are_counted() -> None:
    users, items = np.zeros(100, np.int64), np.arange(100)
    with pytest.warns(
        PodiumWarning, match="^Only 4 of the 100 items of the truth are among the 200"
    ):
        data.ranking((users, items), (np.zeros(200, np.int64), np.arange(200) + 96, np.ones(200)))


@pytest.mark.parametrize("n_shown", [1, 10])
def test_a_run_of_few_popular_items_meets_a_truth_of_many(n_shown: int) -> None:
    """The share is of the table that has fewer ids."""
    users, items = np.repeat(np.arange(50), 20), np.arange(1000)
    shown = np.repeat(np.arange(50), n_shown), np.tile(np.arange(n_shown) * 7, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.ranking((users, items), (*shown, np.ones(50 * n_shown)))


def test_whole_floats_are_integers_in_every_format(tmp_path: Path) -> None:
    tables = {"user": [1.0, 1.0, 2.0], "item": [10.0, 11.0, 12.0], "score": [3.0, 2.0, 1.0]}
    for name in ("run.csv", "run.tsv", "run.parquet", "run.arrow", "run.csv.gz"):
        data.write_table(tables, tmp_path / name)
        run = data.read_run(tmp_path / name)
        assert np.asarray(run.user).tolist() == [1, 1, 2]
        assert np.asarray(run.item).tolist() == [10, 11, 12]


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
    with pytest.warns(
        PodiumWarning, match=r"lists 100 of 500 items for each user, .*podium estimate"
    ):
        data.ranking(truth, run)


@pytest.mark.parametrize("change", ["few users", "catalogue", "a miss", "two positives", "lengths"])
def test_lists_of_a_catalogue_are_no_samples(change: str) -> None:
    n_users, n_items = (19 if change == "few users" else 60), 150 if change == "catalogue" else 500
    truth, run = samples(n_users, 100, n_items)
    if change == "a miss":
        truth[1][5] = 10_000
    if change == "two positives":
        truth = np.append(truth[0], 0), np.append(truth[1], 10_000)
    if change == "lengths":
        run = tuple(np.delete(column, np.arange(7) * 100) for column in run)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.ranking(truth, run)
