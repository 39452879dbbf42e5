"""Bad input: one sentence that names the file, the place, and the way out."""

from __future__ import annotations

import contextlib
import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from tests.raised import raises

import podium
from podium import data
from podium.data.appending import append_table
from podium.errors import ArgumentError, DataError, PodiumWarning


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv does not exist"):
        data.read_run(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="is a folder"):
        data.read_run(tmp_path)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.txt", "a.arrow", "a.run", "a.svm"])
def test_empty_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=rf"{name} is empty"):
        data.read_truth(put(tmp_path, name, ""))


@pytest.mark.parametrize("content", ["\n\n", " \n"])
def test_blank_file_is_empty(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match="is empty"):
        data.read_run(put(tmp_path, "a.csv", content))


def test_table_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a.csv has a header but no rows"):
        data.read_run(put(tmp_path, "a.csv", "user,item,score\n"))
    with pytest.raises(DataError, match="The run has no rows"):
        data.read_run({"user": [], "item": [], "score": []})


def test_missing_column_lists_what_is_there(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", "user,itm,score\n1,2,3\n")
    with pytest.raises(
        DataError, match=r"no item column: it has 'user', 'itm', 'score'.*Did you mean 'itm'"
    ):
        data.read_run(path)
    with pytest.raises(DataError, match=r"no score or rank column.*pass score= or rank=.*'scor'"):
        data.read_run({"user": [1], "item": [1], "scor": [1]})
    with pytest.raises(DataError, match=r"no column 'usr'.*Did you mean 'user'"):
        data.read_run(path, user="usr")


def test_two_columns_for_one_role_are_refused() -> None:
    with pytest.raises(DataError, match=r"2 columns that could be the user: 'user', 'qid'"):
        data.read_run({"user": [1], "qid": [1], "item": [1], "score": [1]})


def test_run_in_the_truths_place_is_noticed() -> None:
    with raises(DataError, "relevance"):
        data.read_truth({"user": [1], "item": [1], "score": [1.0]})


def test_misspelt_relevance_is_not_all_positive() -> None:
    with pytest.raises(DataError, match="Did you mean 'relevence'"):
        data.read_truth({"user": [1], "item": [1], "relevence": [0.0]})


def test_truncated_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    data.write_table(
        {"user": np.arange(1000), "item": np.arange(1000), "score": np.ones(1000)}, path
    )
    whole = path.read_bytes()
    for size in (len(whole) // 2, len(whole) - 3, 3):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"run\.parquet can't be read as parquet"):
            data.read_run(path)
    put(tmp_path, "run.parquet", "user,item,score\n1,2,3\n")
    with pytest.raises(DataError, match="can't be read as parquet"):
        data.read_run(path)


def test_damaged_pages_are_named(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    data.write_table(
        {"user": np.arange(9999), "item": np.arange(9999), "score": np.ones(9999)}, path
    )
    whole = bytearray(path.read_bytes())
    whole[4:2000] = b"\xff" * 1996
    path.write_bytes(whole)
    with pytest.raises(DataError, match="can't be read as parquet"):
        data.read_run(path)


def test_truncated_gz_is_named(tmp_path: Path) -> None:
    packed = gzip.compress(b"user,item,score\n" + b"1,2,3\n" * 1000)
    for content in (packed[: len(packed) // 2], b"no gzip at all"):
        with pytest.raises(DataError, match=r"a\.csv\.gz can't be read"):
            data.read_run(put(tmp_path, "a.csv.gz", content))


@pytest.mark.long
@pytest.mark.parametrize("name", ["a.csv.gz", "a.run.gz", "a.svm.gz"])
def test_file_that_swells_is_refused_before_it_fills_memory(tmp_path: Path, name: str) -> None:
    resource = pytest.importorskip("resource", reason="measures memory; of POSIX")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = b"1,2,3\n" if ".csv" in name else b"1 qid:1 1:1\n" if ".svm" in name else b"1 0 d 1\n"
    with gzip.open(tmp_path / name, "wb", 9) as file:
        file.write(b"user,item,relevance\n" if ".csv" in name else b"")
        for _ in range(80):
            file.write(line * ((1 << 20) // len(line)))
    with pytest.raises(DataError, match=r"unpacks to more than 64 MiB, over 100 times its size"):
        data.read_features(tmp_path / name) if ".svm" in name else data.read_truth(tmp_path / name)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20


def test_parquet_that_swells_is_refused(tmp_path: Path) -> None:
    zeros = np.zeros(1 << 20, np.int64)
    path = tmp_path / "a.parquet"
    with append_table(path) as append:
        for _ in range(24):
            append({"user": zeros, "item": zeros, "score": zeros})
    with pytest.raises(DataError, match=r"a\.parquet declares 75497472 values in \d+ bytes"):
        data.read_run(path)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_damaged_columns_are_read_or_named_without_a_panic(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Polars panics on some of these, which prints a page to stderr."""
    rng = random.Random(0)
    path = tmp_path / name
    columns = {"user": np.arange(300), "item": [f"i{i}" for i in range(300)], "score": np.ones(300)}
    pl.DataFrame(columns).write_parquet(path) if name == "a.parquet" else pl.DataFrame(
        columns
    ).write_ipc(path)
    whole = path.read_bytes()
    for _ in range(150):
        changed = bytearray(whole)
        for place in rng.sample(range(len(whole)), 3):
            changed[place] = rng.randrange(256)
        path.write_bytes(changed)
        with contextlib.suppress(DataError):
            data.read_run(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("call", [podium.measure, podium.compare])
def test_warnings_point_to_the_line_that_called_podium(call: Any) -> None:
    truth = {"user": [1, 2], "item": [1, 2], "relevance": [0.5, 1.0]}
    run = {"user": [1, 2], "item": [1, 2], "score": [1.0, 1.0]}
    runs = run if call is podium.measure else {"a": run, "b": run}
    with pytest.warns(PodiumWarning) as caught:
        call(truth, runs, "rr")
    assert {warning.filename for warning in caught} == {__file__}


def test_messages_are_one_line_whatever_they_quote(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", 'user,item,score\n1,2,"a\nb\x1b[2J\u2028c"\n')
    with pytest.raises(DataError) as caught:
        data.read_run(path)
    assert str(caught.value).isprintable()
    assert str(DataError("a\r\n  b\x1b[2J\u2028c ")) == "a b\N{REPLACEMENT CHARACTER}[2J c"


@pytest.mark.parametrize("odd", ["1,2,x", "1,2,.5,9"])
@pytest.mark.parametrize("above", ["", "\n", "\n\n"])
def test_line_that_is_wrong_is_found_wherever_it_is(tmp_path: Path, odd: str, above: str) -> None:
    rng = random.Random(0)
    for _ in range(30):
        n_lines = rng.randrange(1, 60)
        rows = [
            rng.choice(['1,"a ""b""",0.5', '"x\ny",2,1e3', "7,8,", "", "4,5"])
            for _ in range(n_lines)
        ]
        text = above + "user,item,score\n" + "".join(f"{row}\n" for row in rows)
        path = put(tmp_path, "a.csv", f"{text}{odd}\n1,2,3\n1,2,y\n")
        with pytest.raises(DataError, match=rf"line {text.count(chr(10)) + 1}: "):
            data.read_run(path)


def test_not_an_arrow_file_is_named(tmp_path: Path) -> None:
    for content in (b"ARROW1\0\0rest", b"something else"):
        with pytest.raises(DataError, match="can't be read as Arrow"):
            data.read_run(put(tmp_path, "a.arrow", content))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,3,high", r"line 3: score must be a number, got 'high'"),
        ("1,3,0.5,9", r"line 3: 4 fields, but the header has 3"),
        ("1,3", r"score has 1 missing value, first at line 3 \(user 1\)"),
        ("1,,0.5", r"item has 1 missing value, first at line 3"),
        ("1,3,nan", r"score has 1 non-finite value, first at line 3 \(user 1\)"),
        ("1,3,-inf", r"score has 1 non-finite value, first at line 3 \(user 1\)"),
    ],
)
def test_bad_csv_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = put(tmp_path, "run.csv", f"user,item,score\n1,2,0.5\n{line}\n2,2,0.5\n")
    with pytest.raises(DataError, match=rf"run\.csv.*{message}"):
        data.read_run(path)


def test_text_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, "run.csv", b"user,item,score\n1,caf\xe9,0.5\n")
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        data.read_run(path)


@pytest.mark.parametrize(
    ("name", "header", "message"),
    [
        ("a.csv", "user;item;score", r"separated by semicolons, .* by commas: .*Use commas\.$"),
        (
            "a.csv",
            "user\titem",
            r"separated by tabs, .*'user\\titem'\. Use the suffix \.tsv, or com",
        ),
        ("a.tsv", "user,item", r"separated by commas, .* by tabs: .* Use the suffix \.csv, or"),
        ("a.csv", "user,item\r1,2\r", r"has only carriage returns as line ends"),
        (
            "a.csv",
            "u1,i1,0.5",
            r"it has 'u1', 'i1', '0\.5'\. .* If its first line is data, insert a",
        ),
        ("a.csv", "7,7,0.5", r"two columns named '7' in its first line\. .*insert a line"),
    ],
)
def test_first_line_that_is_no_header_is_told(
    tmp_path: Path, name: str, header: str, message: str
) -> None:
    with pytest.raises(DataError, match=message) as raised:
        data.read_run(put(tmp_path, name, f"{header}\n1,2,0.5\n"))
    assert "Did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    "content",
    [
        b"PAR1\x15\x04,item",
        gzip.compress(b"user,item", mtime=0),
        "user,item\n".encode("utf-16"),
        b"a\x00,b",
    ],
)
def test_bytes_in_a_texts_place_are_shown_escaped_and_short(tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path, "run.csv", content + bytes(1000) + b"\n1,2\n")
    with pytest.raises(DataError, match=r"is not text: it begins with '.*\\x") as raised:
        data.read_run(path)
    assert str(raised.value).replace("\ufffd", "?").isprintable()
    assert len(str(raised.value)) < 300 + len(str(path))


@pytest.mark.parametrize("n_rows", [1, 30_000])
def test_quote_that_never_ends_is_named(tmp_path: Path, n_rows: int) -> None:
    path = put(tmp_path, "run.csv", 'user,item,score\n1,2,3\n3,"4,1\n' + "5,6,1\n" * n_rows)
    with pytest.raises(DataError, match=r"run\.csv, line 3: not a row of a table .* the quotes"):
        data.read_run(path)


def test_one_column_for_two_roles_is_refused() -> None:
    table = {"user": [1], "item": [2], "score": [0.5]}
    message = "'item' can't be both the user and the item. Name the two columns with user="
    for item in (None, "item"):
        with pytest.raises(DataError, match=message):
            data.read_run(table, user="item", item=item)


def test_repeated_header_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two columns named 'score'"):
        data.read_run(put(tmp_path, "a.csv", "user,item,score,score\n1,2,3,4\n"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 Q0 d2 2 1.5", r"line 2: 6 columns expected \(qid q0 docid rank score tag\), got 5"),
        ("q1 Q0 d2 2 1.5 a b", r"line 2: 6 columns expected .*, got 7"),
        ("q1 Q0 d2 2 best a", r"line 2: score must be a number, got 'best'"),
    ],
)
def test_bad_trec_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = put(tmp_path, "sys.run", f"q1 Q0 d1 1 2.5 a\n{line}\nq1 Q0 d3 3 1.0 a\n")
    with pytest.raises(DataError, match=rf"sys\.run, {message}"):
        data.read_run(path)


def test_trec_of_another_width_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="run has 6 columns and qrels have 4, got 3"):
        data.read_run(put(tmp_path, "sys.run", "q1 d1 1.0\n"))


def test_unknown_content_asks_for_the_format(tmp_path: Path) -> None:
    with raises(DataError, "format", "columns"):
        data.read_run(put(tmp_path, "run.xyz", "hello\n"))
    with pytest.raises(
        ArgumentError, match=r"format must be one of.*got 'cvs'.*Did you mean 'csv'"
    ):
        data.read_run(put(tmp_path, "run.csv", "user,item,score\n1,2,3\n"), format="cvs")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_score_that_is_not_finite_is_named(bad: float) -> None:
    table = {"user": ["u1", "u93", "u93"], "item": [1, 1, 2], "score": [1.0, bad, bad]}
    with pytest.raises(DataError, match=r"2 non-finite values, first at row 1 \(user 'u93'\)"):
        data.read_run(table)


def test_negative_relevance_counts_as_0_with_a_warning() -> None:
    with pytest.warns(PodiumWarning, match="relevances below 0, down to -2"):
        truth = data.read_truth({"user": [3, 4], "item": [1, 1], "relevance": [1, -2]})
    assert truth.relevance.tolist() == [1, 0]
    with pytest.raises(DataError, match=r"label must be >= 0, got -2 at row 0"):
        data.read_features({"qid": [3], "label": [-2], "x": [1]})


def test_rank_below_one_is_named() -> None:
    with pytest.raises(DataError, match=r"rank must be >= 1, got 0 at row 1 \(user 4\)"):
        data.read_run({"user": [3, 4], "item": [1, 1], "rank": [1, 0]})


def test_missing_ids_are_named() -> None:
    frame = pl.DataFrame({"user": ["a", None, None], "item": [1, 2, 3], "score": [1, 2, 3]})
    with pytest.raises(DataError, match="user has 2 missing values, first at row 1"):
        data.read_run(frame)


def test_ids_of_other_types_are_refused() -> None:
    with pytest.raises(DataError, match=r"item must hold integers or strings, got 1.5 at row 1"):
        data.read_run({"user": [1, 1], "item": [1.0, 1.5], "score": [1, 2]})
    with pytest.raises(DataError, match="user must hold integers or strings, got Boolean"):
        data.read_run({"user": [True], "item": [1], "score": [1]})


def test_score_that_is_text_is_refused() -> None:
    with pytest.raises(DataError, match="score must hold numbers, got strings, first 'high'"):
        data.read_run({"user": [1], "item": [1], "score": ["high"]})


def test_truncated_arrow_is_named_wherever_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "run.arrow"
    ids = np.arange(300)
    data.write_table({"user": ids, "item": ids, "score": np.ones(300)}, path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for size in rng.integers(1, len(whole) - 1, 40):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"run\.arrow can't be read as Arrow"):
            data.read_run(path)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("user", 3, r"user must be a column of values, got 3"),
        ("user", "ab", r"user must be a column of values, got 'ab'"),
        ("user", np.array(3), r"user must be a column of values"),
        ("item", ["a", [1]], r"item must hold numbers, strings or times of one kind, got list and"),
        ("item", ["a", None], r"item has 1 missing value, first at row 1 \(user|item has 1 miss"),
        ("item", pd.Series(["a", pd.NA], dtype="string"), r"item has 1 missing value"),
        ("item", pd.Series(["a", pd.NA], dtype=object), r"item has 1 missing value"),
        ("item", np.ma.array([1, 2], mask=[0, 1]), r"item is a masked array"),
        ("score", np.array([[1.0], [2.0]]), r"score must have one dimension, got shape \(2, 1\)"),
        ("score", [[1.0], [2.0]], r"score must hold numbers, got List\(Float64\)\."),
    ],
)
def test_column_that_is_none_is_named_in_one_line(column: str, values: Any, message: str) -> None:
    table = {"user": [1, 2], "item": [1, 2], "score": [0.5, 1.5], column: values}
    with pytest.raises(DataError, match=message) as caught:
        data.read_run(table)
    assert "\n" not in str(caught.value)


def test_integers_beyond_64_bits_are_strings() -> None:
    run = data.read_run({"user": [1, 2], "item": [1, 2**65], "score": [1, 2]})
    assert list(run.item) == ["1", str(2**65)]


@pytest.mark.parametrize("column", [3, np.array(3), sparse.csr_array(np.eye(2)), iter([1])])
def test_what_has_no_length_is_no_column(column: Any) -> None:
    with pytest.raises(ArgumentError, match="user must be a column of values"):
        data.to_frame({"user": column, "item": [1, 2]})
    with pytest.raises(DataError, match="user must be a column of values"):
        data.read_run({"user": column, "item": [1, 2], "score": [1.0, 2.0]})
