"""Bad input that an error names with its place, and files of events of published data sets."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.raised import raises

import podium
from podium import data
from podium.data.columns import ITEM, TIMESTAMP, USER, VALUE, resolve
from podium.data.interactions import read_weighted
from podium.errors import ArgumentError, DataError, PodiumWarning

HEADER = "user,item,score\n"


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


NO_TABLES: dict[str, tuple[str, str | bytes]] = {
    **{f"empty {name}": (name, "") for name in ("a.csv", "a.parquet", "a.txt", "a.arrow", "a.run")},
    "blank lines": ("a.csv", "\n\n"),
    "a header": ("a.csv", HEADER),
    "text as parquet": ("a.parquet", f"{HEADER}1,2,3\n"),
    "text as arrow": ("a.arrow", "something else"),
    "no arrow": ("a.arrow", b"ARROW1\0\0rest"),
    "half a gzip": ("a.csv.gz", gzip.compress(HEADER.encode() + b"1,2,3\n" * 1000)[:40]),
    "no gzip": ("a.csv.gz", b"no gzip at all"),
    "carriage returns": ("a.csv", "user,item\r1,2\r"),
    "data in place of a header": ("a.csv", "u1,i1,0.5\n1,2,0.5\n"),
    "numbers in place of a header": ("a.csv", "7,7,0.5\n1,2,0.5\n"),
    "repeated header": ("a.csv", "user,item,score,score\n1,2,3,4\n"),
    "parquet as text": ("a.csv", b"PAR1\x15\x04,item" + bytes(1000)),
    "gzip as text": ("a.csv", gzip.compress(b"user,item", mtime=0) + bytes(1000)),
    "utf-16": ("a.csv", "user,item\n".encode("utf-16")),
    "narrow TREC": ("sys.run", "q1 d1 1.0\n"),
}


@pytest.mark.parametrize(("name", "content"), NO_TABLES.values(), ids=NO_TABLES)
def test_what_is_no_table_is_named(tmp_path: Path, name: str, content: str | bytes) -> None:
    with pytest.raises(DataError, match=rf"{name}.") as caught:
        data.read_run(put(tmp_path, name, content))
    assert str(caught.value).replace("\ufffd", "?").isprintable()
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


BAD_LINES = {
    "a.csv": [
        *("1,3,high", "1,3,0.5,9", "1,3", "1,,0.5", "1,3,nan", "1,3,-inf", '3,"4,1'),
        b"1,caf\xe9,0.5",  # no UTF-8
    ],
    "a.run": ["q1 Q0 d2 2 1.5", "q1 Q0 d2 2 1.5 a b", "q1 Q0 d2 2 best a"],
}


@pytest.mark.parametrize("n_after", [1, 30_000])
def test_bad_line_is_named(tmp_path: Path, n_after: int) -> None:
    for name, lines in BAD_LINES.items():
        first = HEADER.encode() if name == "a.csv" else b"q1 Q0 d1 1 2.5 a\n"
        good = b"5,6,1\n" if name == "a.csv" else b"q1 Q0 d3 3 1.0 a\n"
        for line in lines:
            bad = line if isinstance(line, bytes) else line.encode()
            path = put(tmp_path, name, first + bad + b"\n" + good * n_after)
            with pytest.raises(DataError, match=rf"{name}.* line 2\b"):
                data.read_run(path)


@pytest.mark.parametrize("odd", ["1,2,x", "1,2,.5,9"])
@pytest.mark.parametrize("above", ["", "\n", "\n\n"])
def test_line_that_is_wrong_is_found_wherever_it_is(tmp_path: Path, odd: str, above: str) -> None:
    rng = random.Random(0)
    for _ in range(10):
        rows = rng.choices(
            ['1,"a ""b""",0.5', '"x\ny",2,1e3', "7,8,", "", "4,5"], k=rng.randrange(1, 60)
        )
        text = above + HEADER + "".join(f"{row}\n" for row in rows)
        path = put(tmp_path, "a.csv", f"{text}{odd}\n1,2,3\n1,2,y\n")
        with pytest.raises(DataError, match=rf"line {text.count(chr(10)) + 1}: "):
            data.read_run(path)


ROW: dict[str, Any] = {"user": [1, 2], "item": [1, 2], "score": [0.5, 1.5]}
BAD_TABLES: list[tuple[dict[str, Any], str]] = [
    ({"user": [], "item": [], "score": []}, "no rows"),
    ({**ROW, "score": [1.0, np.nan]}, r"1 non-finite value, .* row 1 \(user 2\)"),
    ({"user": [3, 4], "item": [1, 1], "rank": [1, 0]}, r"got 0 at row 1 \(user 4\)"),
    ({**ROW, "user": ["a", None]}, "1 missing value, first at row 1"),
    ({**ROW, "item": [1.0, 1.5]}, "1.5 at row 1"),
    *(
        ({**ROW, "user": wrong}, "user must")
        for wrong in ([True, False], 3, "ab", np.array(3), sparse.csr_array(np.eye(2)), iter([1]))
    ),
    ({**ROW, "item": ["a", [1]]}, "item"),
    ({**ROW, "item": pd.Series(["a", pd.NA], dtype="string")}, "item has 1 missing"),
    ({**ROW, "item": pd.Series(["a", pd.NA], dtype=object)}, "item has 1 missing"),
    ({**ROW, "item": np.ma.array([1, 2], mask=[0, 1])}, "item"),
    *(
        ({**ROW, "score": wrong}, "score must")
        for wrong in (["high", "low"], np.array([[1.0], [2.0]]), [[1.0], [2.0]])
    ),
]


@pytest.mark.parametrize(("table", "message"), BAD_TABLES)
def test_bad_table_is_named_in_one_line(table: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        data.read_run(table)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        (lambda: data.read_run({"user": [1], "item": [1]}), ("score", "rank", "rows_ranked")),
        (lambda: data.read_run({**ROW, "qid": [1, 2]}), ("user",)),
        (lambda: data.read_run(ROW, user="usr"), ()),
        (lambda: data.read_run(ROW, user="item"), ("user", "item")),
        (lambda: data.read_run(ROW, user="item", item="item"), ("user", "item")),
        (lambda: data.read_truth(ROW), ("relevance",)),
        (lambda: data.read_truth({"user": [1], "item": [1], "relevence": [0.0]}), ("relevance",)),
        (lambda: data.read_features({"qid": [3], "label": [-2], "x": [1]}), ()),
    ],
)
def test_columns_that_do_not_fit_name_their_parameters(
    call: Callable[[], Any], parameters: tuple[str, ...]
) -> None:
    with raises(DataError, *parameters):
        call()


def test_unknown_content_asks_for_the_format(tmp_path: Path) -> None:
    with raises(DataError, "format", "columns"):
        data.read_run(put(tmp_path, "run.xyz", "hello\n"))
    with raises(ArgumentError, "format"):
        data.read_run(put(tmp_path, "run.csv", f"{HEADER}1,2,3\n"), format="cvs")
    for path in (tmp_path / "nowhere.csv", tmp_path):
        with pytest.raises(DataError, match=path.name):
            data.read_run(path)


@pytest.mark.parametrize("call", [podium.measure, podium.compare])
def test_warnings_point_to_the_line_that_called_podium(call: Any) -> None:
    truth = {"user": [1, 2], "item": [1, 2], "relevance": [0.5, 1.0]}
    run = {"user": [1, 2], "item": [1, 2], "score": [1.0, 1.0]}
    runs = run if call is podium.measure else {"a": run, "b": run}
    with pytest.warns(PodiumWarning) as caught:
        call(truth, runs, "rr")
    assert {warning.filename for warning in caught} == {__file__}


def test_messages_are_one_line_whatever_they_quote(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", f'{HEADER}1,2,"a\nb\x1b[2J\u2028c"\n')
    with pytest.raises(DataError) as caught:
        data.read_run(path)
    assert str(caught.value).isprintable()
    assert str(DataError("a\r\n  b\x1b[2J\u2028c ")) == "a b\N{REPLACEMENT CHARACTER}[2J c"


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
    ('{"user": 1, "item": 2}\n' * 100 + '{"user": 1, "item": 2, "rating": 0}\n', "has 100 missing"),
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
