"""Files of events in the forms of published data sets, and column names for several tables."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

from podium import data
from podium.data.columns import ITEM, TIMESTAMP, USER, VALUE, resolve
from podium.data.interactions import read_weighted
from podium.errors import ArgumentError, DataError

ROWS = [(196, 242, 3.0, 10), (22, 377, 1.5, 30), (196, 51, 2.0, 20)]
COLUMNS = ("user", "item", "rating", "time")


def ids(column: Any) -> list[Any]:
    """Return ids, whether they are integers or texts."""
    return column.tolist() if isinstance(column, np.ndarray) else column.to_list()


def read(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    got = data.read_interactions(path, **options)
    assert got.value is not None
    assert got.timestamp is not None
    columns = (ids(got.user), ids(got.item), got.value.tolist(), got.timestamp.tolist())
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("separator", ["::", "\t", ",", ";", "|", " ", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_rows_without_a_header_are_read_with_any_separator(
    tmp_path: Path, separator: str, end: str
) -> None:
    text = end.join(separator.join(map(str, row)) for row in ROWS)
    for name, content in (("u.data", text.encode()), ("u.data.gz", gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(content)
        assert read(tmp_path / name, columns=COLUMNS) == ROWS


BAD = [
    *("", "1,2,3\n", "userId,movieId,rating,timestamp\n1,2,3,4\n", "1,2,3,4\n1,2\n"),
    *("1\t2\t3\t4\n1\t2\tx\t4\n", "1::2::3::4\n1::2::3::4::5\n"),
]
BAD_JSON = [
    ('{"user": 1, "item": 2}\n{"user": 1, "item"\n', "line 2"),
    ('{"user": 1, "item": 2}\n[1, 2]\n', "line 2"),
    ('[{"user": 1, "item": 2}]\n', "line 1"),
    ('{"user": 1, "item": 2}\n{"user": 1}\n', "item has 1 missing value, first at row 1"),
    ('{"user": 1, "item": [2]}\n', "item"),
    ('{"who": 1, "item": 2}\n', "user"),
]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        *(("u.data", text, r"line 2|first line|4 names|empty") for text in BAD),
        *(("bad.jsonl", text, words) for text, words in BAD_JSON),
    ],
)
def test_bad_rows_are_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    options: Any = {"columns": COLUMNS} if name == "u.data" else {}
    with pytest.raises(DataError, match=words):
        data.read_interactions(tmp_path / name, **options)


def test_columns_are_named_once_and_only_for_texts(tmp_path: Path) -> None:
    data.write_table({"user": [1], "item": [2]}, tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", {"user": [1], "item": [2]}):
        with raises(ArgumentError, "columns"):
            data.read_interactions(source, columns=["user", "item"])
    (tmp_path / "u.data").write_text("1,2\n")
    for columns in (["user"], ["user", "user"], ["user", ""]):
        with raises(ArgumentError, "columns"):
            data.read_interactions(tmp_path / "u.data", columns=columns)


def test_lists_of_items_are_rows(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0 5 6 7\n\n1\n2 6\n")
    (tmp_path / "names.txt").write_text("ann x y\nbob y z\n")
    lists = data.read_interactions(tmp_path / "train.txt")
    assert list(zip(ids(lists.user), ids(lists.item), strict=True)) == [
        (0, 5), (0, 6), (0, 7), (2, 6),
    ]  # fmt: skip
    assert data.read_truth(tmp_path / "train.txt").relevance.tolist() == [1.0] * 4
    named = data.read_interactions(tmp_path / "names.txt", format="lists")
    assert (ids(named.user), ids(named.item)) == (
        ["ann", "ann", "bob", "bob"],
        ["x", "y", "y", "z"],
    )
    with raises(DataError, "format", "columns"):  # equal lengths may be anything
        data.read_interactions(tmp_path / "names.txt")
    (tmp_path / "alone.txt").write_text("1\n2\n")
    with pytest.raises(DataError, match="no line with a user and an item"):
        data.read_interactions(tmp_path / "alone.txt", format="lists")


def test_json_lines_are_a_table(tmp_path: Path) -> None:
    keys = ("user_id", "asin", "overall", "unixReviewTime")
    objects = [{**dict(zip(keys, row, strict=True)), "text": "a\nb", "votes": [1]} for row in ROWS]
    del objects[0]["text"]
    text = "\n\n".join(map(json.dumps, objects))
    for name in ("reviews.jsonl", "reviews.json", "reviews.ndjson"):
        (tmp_path / name).write_text(text)
        assert read(tmp_path / name) == ROWS
    (tmp_path / "reviews.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert read(tmp_path / "reviews.jsonl.gz") == ROWS
    (tmp_path / "text.jsonl").write_text('{"user": "007", "item": "8"}\n')
    assert ids(data.read_interactions(tmp_path / "text.jsonl").user) == ["007"]


@pytest.mark.parametrize(
    "names",
    [
        ("userId", "movieId", "rating", "timestamp"),
        ("user_id:token", "item_id:token", "rating:float", "timestamp:float"),
        ("reviewerID", "asin", "overall", "unixReviewTime"),
        ("User-ID", "ISBN", "Book-Rating", "time"),
        ("USER ID", "Item_ID", "weight", "datetime"),
    ],
)
def test_names_of_published_data_are_known(names: tuple[str, ...]) -> None:
    found = resolve(("extra", *names), (USER, ITEM, VALUE, TIMESTAMP), {}, "a.csv")
    assert tuple(found.values()) == names
    assert resolve(("user", "item", "movieId"), (USER, ITEM), {}, "a")["item"] == "item"
    for several in (("user", "asin", "parent_asin"), ("user", "item_id", "itemId")):
        with raises(DataError, "item"):
            resolve(several, (USER, ITEM), {}, "a")


TRUTH = {"who": [1, 2], "what": [5, 6]}
RUN = {"user": [1, 2], "item": [5, 7], "score": [1.0, 1.0]}


def test_names_apply_to_the_tables_that_have_them() -> None:
    usual = data.ranking({"user": TRUTH["who"], "item": TRUTH["what"]}, RUN)
    for ranking in (
        data.ranking(TRUTH, RUN, user="who", item="what"),
        data.ranking(TRUTH, {"who": RUN["user"], **RUN}, user="who", item="what"),
    ):
        np.testing.assert_array_equal(ranking.relevance, usual.relevance)
    for call in (
        lambda: data.ranking(TRUTH, RUN, user="whom", item="what"),
        lambda: data.ranking(
            TRUTH, {"u": [1], "item": [5], "score": [1.0]}, user="who", item="what"
        ),
        lambda: data.read_run(RUN, user="who"),  # one table has no other
    ):
        with pytest.raises(DataError):
            call()


def test_positives_keep_their_times_and_weights_are_read_without_times() -> None:
    table = {"user": [1, 1, 2], "item": [5, 6, 5], "rating": [2, 5, 4], "time": [30, 10, 20]}
    high, low = data.read_interactions(table).positives(4)
    assert low is not None
    assert low.timestamp is not None
    assert high.timestamp is not None
    assert (high.timestamp.tolist(), low.timestamp.tolist()) == ([10, 20], [30])
    weighted = read_weighted({**table, "timestamp": [1, 2, 3]})  # two columns could be the time
    assert (weighted.value_name, weighted.timestamp) == ("rating", None)
    with pytest.raises(DataError, match=r"must be >= 0, got -1 at row 1 \(user 1\)"):
        read_weighted({**table, "rating": [2, -1, 4]})
