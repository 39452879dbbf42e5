"""Tables as one ranking: options, duplicates, ties, and ids that are whole numbers."""

from __future__ import annotations

import unicodedata
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from tests.raised import raises
from tests.ranked import rank_all

import podium
from podium import data
from podium.data import buckets
from podium.data.lists import top_rows
from podium.data.storage import Storage
from podium.data.unjudged import pool_unjudged
from podium.data.users import known_and_unknown, read_ids, user_column, user_positions
from podium.decide.explain.explanation import differences
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.groups import Groups
from podium.recommenders import EASE

TRUTH = {
    "user": [1, 1, 1, 2, 3],
    "item": [10, 11, 12, 10, 13],
    "relevance": [1.0, 2.0, 0.0, 1.0, 1.0],
}
RUN = {"user": [2, 1, 3, 1, 9], "item": [10, 12, 11, 11, 10], "score": [0.5, 0.9, 0.4, 0.8, 1.0]}


@pytest.mark.parametrize(
    ("truth", "run", "options", "parameters"),
    [
        (TRUTH, RUN, {"n_items": 2}, ("n_items",)),
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


@pytest.mark.parametrize("kind", [np.int64, np.str_])
def test_random_ties_are_those_of_a_catalogue(kind: Any) -> None:
    rng = np.random.default_rng(1)
    truth = sparse.csr_array(rng.integers(0, 4, (9, 12)))
    levels = rng.integers(0, 3, (9, 12)).astype(float)
    expected = rank_all(levels, truth, ties="random", seed=5)
    user, item = np.divmod(rng.permutation(108), 12)
    run = user.astype(kind), item.astype(kind), levels[user, item]
    got = data.ranking(truth, run, ties="random", ties_seed=5)
    assert got.relevance.tolist() == expected.relevance.tolist()


@pytest.mark.parametrize("k", [1, 3, 50])
def test_top_rows_are_the_start_of_a_full_sort(k: int) -> None:
    rng = np.random.default_rng(k)
    frame = pl.DataFrame(
        {
            "user": rng.integers(0, 20, 400),
            "item": rng.permutation(400),
            "score": rng.integers(0, 9, 400).astype(float),
        }
    )
    user, item, score = (frame[name].to_numpy() for name in ("user", "item", "score"))
    _, rows = top_rows(Groups.from_qid(user), score, item, k)
    order = frame.sort(["user", "score", "item"], descending=[False, True, False])
    expected = order.group_by("user", maintain_order=True).head(k)["item"]
    assert item[rows].tolist() == expected.to_list()


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


USERS = [1, 1, 2]


def joined(truth: Any, run: Any) -> list[float]:
    """Return what the run's lists hold, rank by rank."""
    scores = {"user": USERS, "item": run, "score": [3, 2, 1]}
    return data.ranking({"user": USERS, "item": truth}, scores).relevance.tolist()


@pytest.mark.parametrize(
    ("truth", "run", "ids"),
    [
        ([31, 32, 31], ["i31", "i32", "i31"], "31, .* 'i31'"),
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


def _csv(path: Path, text: str) -> Path:
    path.write_text(text.replace(" ", "\n") + "\n")
    return path


def test_audit_finds_pairs_of_both_parts(tmp_path: Path) -> None:
    train = _csv(tmp_path / "train.csv", "user,item 1.0,1.0 2.0,2.0 3.0,1.0")
    test = _csv(tmp_path / "test.csv", "user,item 1.0,1.0 2.0,1.10")
    renamed_train = {"user": ["u1", "u2", "u3"], "item": ["a", "b", "a"]}
    renamed_test = {"user": ["u1", "u2"], "item": ["a", "c"]}
    found, renamed = (
        {f.check: f.count for f in podium.audit(*parts).findings}
        for parts in ((train, test), (renamed_train, renamed_test))
    )
    assert found == renamed
    assert any("train" in name for name in found)


def test_users_of_a_table_are_found_by_numbers_and_by_text(tmp_path: Path) -> None:
    for first, second in (("1.0", "2.0"), ("1.0", "2.10"), ("1", "2")):
        table = _csv(tmp_path / "users.csv", f"user,country {first},FR {second},UK")
        assert user_column(table, "country", np.array([1, 3])).tolist() == ["FR", "unknown"]
    table = _csv(tmp_path / "users.csv", "user,country 1.0,FR 2.0,UK")
    assert user_column(table, "country", np.array(["1.0", "1.10"])).tolist() == ["FR", "unknown"]
    assert user_positions(pl.Series(["1", "2"]), np.array([1])).tolist() == [0, -1]


def test_categories_and_catalogue_of_whole_items(tmp_path: Path) -> None:
    truth = {"user": [1, 2], "item": ["2.0", "1.10"]}
    items = _csv(tmp_path / "j.csv", "item,genre 1.0,a 2.0,b 3.0,b 1.10,b")
    catalogue = _csv(tmp_path / "c.csv", "user,item 7,1.0 8,2.0 9,3.0 9,4.0")
    options: Any = {"items": items, "catalogue": catalogue, "missing": "skip"}
    for other, covered in (("1.10", 3 / 5), ("3.0", 3 / 4)):  # of 1.0 to 4.0, and of 1.10 or not
        text = f"user,item,rank 1,1.0,1 1,2.0,2 2,{other},1 2,1.0,2"
        run = _csv(tmp_path / "r.csv", text)
        means = podium.measure(truth, run, ["diversity@2", "coverage@2"], **options).means
        assert means["diversity@2"] == 1.0  # a and b in both lists
        assert means["coverage@2"] == pytest.approx(covered)


def test_parts_give_the_values_of_whole_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "is_large", lambda tables, storage: True)
    monkeypatch.setattr(buckets, "n_buckets_for", lambda need, storage: 3)
    truth = _csv(tmp_path / "t.csv", "user,item 1.0,1.0 2.0,2.0 3.0,3.0")
    plain, text = tmp_path / "plain.parquet", tmp_path / "text.parquet"
    pl.DataFrame({"user": [1, 2, 3], "item": [1, 5, 3], "rank": [1] * 3}).write_parquet(plain)
    users, items = ["1.0", "2.0", "3.0", "x"], ["1.0", "2.0", "1.10", "2.0"]
    pl.DataFrame({"user": users, "item": items, "rank": [1] * 4}).write_parquet(text)
    right = {plain: [1.0, 0.0, 1.0], text: [1.0, 1.0, 0.0]}
    for runs in ({"a": plain, "b": text}, {"a": text, "b": plain}):
        for memory in (None, "64KiB"):
            options: Any = {"catalogue": truth, "storage": Storage(memory)}
            found = podium.compare(truth, runs, ["rr", "coverage@1"], **options).evaluations
            assert {runs[n]: e.values["rr"].tolist() for n, e in found.items()} == right


def test_pairs_and_lists_of_ids_are_matched(tmp_path: Path) -> None:
    whole = data.read_interactions(_csv(tmp_path / "a.csv", "user,item 1.0,1.0 2.0,2.0"))
    text = data.read_interactions(_csv(tmp_path / "b.csv", "user,item 1.0,1.0 2.0,1.10"))
    known, n_others = text.known_to(whole)
    assert (np.asarray(known.user).tolist(), np.asarray(known.item).tolist()) == ([1], [1])
    assert n_others == 1
    known, n_others = whole.known_to(text)
    assert (np.asarray(known.item).tolist(), n_others) == ([1], 1)
    assert EASE().fit(text, seen=known).n_items_ == 2
    first, second = (data.read_truth(tmp_path / name) for name in ("a.csv", "b.csv"))
    assert differences(first, second).n_common_pairs == 1
    assert differences(second, first).n_common_pairs == 1
    mixed = read_ids(_csv(tmp_path / "a.txt", "1.0 2.10 1.0"), "item")
    ids, unknown = known_and_unknown(mixed, np.array([1, 2]))
    assert (ids.tolist(), unknown.tolist()) == ([1], ["2.10"])
    numbers = read_ids(_csv(tmp_path / "b.txt", "2.0 1.0"), "item")
    ids, unknown = known_and_unknown(numbers, np.array(["1.0", "2.10"]))
    assert (ids.tolist(), unknown.tolist()) == (["1.0"], [2])


def test_unjudged_items_of_two_runs_are_the_same_items(tmp_path: Path) -> None:
    truth = _csv(tmp_path / "t.csv", "user,item 1,1.0")
    whole = _csv(tmp_path / "a.csv", "user,item,rank 1,1.0,1 1,2.0,2")
    text = _csv(tmp_path / "b.csv", "user,item,rank 1,2.0,1 1,1.10,2 1,1.0,3")
    pool = pool_unjudged(truth, whole, text)
    found = zip(pool.items(np.arange(2)).tolist(), pool.base_rank, pool.candidate_rank, strict=True)
    assert list(found) == [("2", 2, 1), ("1.10", 0, 2)]


E = "é"
PAIRS = {
    (unicodedata.normalize("NFD", E), E): "Unicode",
    (" a", "a"): "blanks",
    ("a\u00a0b", "a b"): "blanks",
    ("ABC", "abc"): "case",
    (" " + unicodedata.normalize("NFD", "\u00c9"), E): "Unicode form and blanks and upper",
    ("007", "7.00"): "form of a number",
    ("a\u200b", "a"): "invisible",
    ("\ufeffA\u2060", "a"): "invisible characters and upper",
}


def _tables(left: str, right: str) -> tuple[Any, Any]:
    truth = {"user": ["u", "v"], "item": [left, "x"]}
    run = {"user": ["u", "v"], "item": [right, "x"], "score": [1.0, 1.0]}
    return truth, run


@pytest.mark.parametrize(("pair", "word"), PAIRS.items())
def test_a_difference_in_spelling_is_named_with_its_rows(pair: tuple[str, str], word: str) -> None:
    truth, run = _tables(*pair)
    with pytest.warns(PodiumWarning, match=rf"1 row.*{word}"):
        podium.measure(truth, run, "rr")
    alone = ({**truth, "item": [pair[0]] * 2}, {**run, "item": [pair[1]] * 2})
    with pytest.raises(DataError, match=word):
        podium.measure(*alone, "rr")


def test_ids_with_a_zero_fraction_are_integers(tmp_path: Any) -> None:
    truth = _csv(tmp_path / "t.csv", "user,item\n5.0,1.0\n")
    run = _csv(tmp_path / "r.csv", "user,item,rank\n5.0,2.10,1\n5.0,2,2\n5.0,1.0,3\n")
    assert podium.measure(truth, run, "rr").values["rr"].tolist() == [1 / 3]
    twice = _csv(tmp_path / "s.csv", "user,item,rank\n5.0,1,1\n5.0,1.0,2\n")
    with pytest.raises(DataError, match="twice"):
        podium.measure(truth, twice, "rr")
    versions = _csv(tmp_path / "v.csv", "user,item\nu1,2.0\nu2,3.0\n")
    listed = _csv(tmp_path / "w.csv", "user,item,rank\nu1,1.10,1\nu1,2.0,2\nu2,3.0,1\n")
    assert podium.measure(versions, listed, "rr").values["rr"].tolist() == [0.5, 1.0]
    users = _csv(tmp_path / "x.csv", "user,item,rank\n5.0,1.0,1\nx,1.0,1\n")
    result = podium.measure(truth, users, "rr")
    assert (result.labels.tolist(), result.values["rr"].tolist()) == ([5], [1.0])
    both = podium.compare(truth, {"a": run, "b": users}, "rr")
    assert both.difference("rr", "b").test.difference == pytest.approx(2 / 3)
    whole = {"user": [5], "item": [1], "score": [1.0]}
    assert podium.measure(truth, whole, "rr").values["rr"].tolist() == [1.0]
