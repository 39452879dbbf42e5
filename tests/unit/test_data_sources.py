"""Every kind of source gives the same columns, and tables are written completely or not at all."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.raised import raises

import podium
from podium import data
from podium.data.appending import append_table
from podium.errors import ArgumentError, DataError, PodiumError

USER = np.array([3, 1, 3, 2])
ITEM = np.array([10, 20, 30, 10])
SCORE = np.array([0.5, 2.0, -1.0, 0.25])
COLUMNS = {"user": USER, "item": ITEM, "score": SCORE}


def same(run: data.Run) -> None:
    assert np.asarray(run.user).tolist() == USER.tolist()
    assert np.asarray(run.item).tolist() == ITEM.tolist()
    assert run.score.tolist() == SCORE.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: COLUMNS,
        lambda: {name: values.tolist() for name, values in COLUMNS.items()},
        lambda: pl.DataFrame(COLUMNS),
        lambda: pl.LazyFrame(COLUMNS),
        lambda: pd.DataFrame(COLUMNS),
        lambda: pd.DataFrame(COLUMNS, index=[9, 8, 7, 6]),
        lambda: pa.table(COLUMNS),
        lambda: (USER, ITEM, SCORE),
        lambda: {**COLUMNS, "user": USER.astype(np.uint8), "item": ITEM.astype(np.float32)},
        lambda: data.read_run(COLUMNS),
    ],
    ids=["arrays", "lists", "polars", "lazy", "pandas", "index", "arrow", "tuple", "kinds", "run"],
)
def test_run_is_equal_from_every_object(make: Any) -> None:
    same(data.read_run(make()))


def test_score_counts_where_both_are_there() -> None:
    table = {"user": [1, 1], "item": [1, 2], "rank": [2, 1], "score": [0.5, 0.25]}
    assert data.read_run({**table, "rank": [0, 0]}).score.tolist() == [0.5, 0.25]
    assert data.read_run(table, score="score").score.tolist() == [0.5, 0.25]
    assert data.read_run(table, rank="rank").score.tolist() == [-2.0, -1.0]


def test_ranks_that_contradict_no_score_are_left_aside() -> None:
    table = {"user": [1, 1, 1], "item": [1, 2, 3], "score": [1, 3, 2]}
    for ranks in ([3, 1, 2], [2, 0, 1], [2, 1, 1], ["3", "1", None], ["x"] * 3, [[1]] * 3):
        assert data.read_run({**table, "rank": ranks}).score.tolist() == [1.0, 3.0, 2.0]
    rng = np.random.default_rng(0)
    users, scores = rng.integers(0, 9, 200), rng.permutation(200)
    table = {"user": users, "item": np.arange(200), "score": scores, "rank": 200 - scores}
    assert data.read_run(table).score.tolist() == scores.tolist()
    is_odd = np.arange(200) == 17
    table["rank"] = np.where(is_odd, 500, table["rank"])
    table["score"] = np.where(is_odd, scores[users == users[17]].max() + 0.5, scores)
    with pytest.raises(DataError, match=rf"score and rank contradict .*\(user {users[17]}\)"):
        data.read_run(table)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "run", None])
@pytest.mark.parametrize("top", [2**53 + 1, 2**63 - 1, -(2**53), 2**64 - 1])
def test_large_integers_keep_their_order(tmp_path: Path, suffix: str | None, top: int) -> None:
    scores = [top - 1, top, top - 2, 0]
    table: Any = {"user": [1] * 4, "item": ["a", "b", "c", "d"], "score": scores}
    expected = sorted(range(4), key=lambda i: scores[i])
    if suffix == "run":
        path = tmp_path / "sys.run"
        path.write_text(
            "".join(f"1 Q0 {i} 0 {s} tag\n" for i, s in zip("abcd", scores, strict=False))
        )
    elif suffix is not None:
        path = tmp_path / f"run.{suffix}"
        data.write_table(table, path)
    found = data.read_run(table if suffix is None else path).score
    assert np.argsort(found).tolist() == expected
    assert np.unique(found).size == 4


def test_trec_run_and_qrels(tmp_path: Path) -> None:
    run_text = "q1 Q0 d07 1 2.5 tag\nq1\tQ0  d8\t2  1.5 tag \r\n\nq2 Q0 d8 1 -1e-3 tag"
    (tmp_path / "sys.run").write_text(run_text)
    (tmp_path / "sys.txt").write_text(run_text)
    for name in ("sys.run", "sys.txt"):
        run = data.read_run(tmp_path / name)
        assert list(run.user) == ["q1", "q1", "q2"]
        assert list(run.item) == ["d07", "d8", "d8"]
        assert run.score.tolist() == [2.5, 1.5, -0.001]
    with gzip.open(tmp_path / "truth.qrels.gz", "wt") as file:
        file.write("101 0 9 2\n101 0 10 0\n")
    truth = data.read_truth(tmp_path / "truth.qrels.gz")
    assert np.asarray(truth.user).tolist() == [101, 101]
    assert list(truth.item) == ["9", "10"]
    assert truth.relevance.tolist() == [2.0, 0.0]
    (tmp_path / "u.data").write_text("196\t242\t3\t881250949\n186\t302\t3\t891717742\n")
    with pytest.raises(DataError):  # ratings without a header are no qrels
        data.read_truth(tmp_path / "u.data")


def piped(content: bytes) -> Path:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(content)
    return Path(f"/dev/fd/{reader}")


def test_format_is_told_by_content(tmp_path: Path) -> None:
    commas, tabs = "user,item,score\n1,2,3\n", "user\titem\tscore\n1\t2\t3\n"
    for name, content, format in (
        ("a.txt", commas, None),
        ("a", tabs, None),
        ("a.log", commas, "csv"),
        ("a.csv", tabs, "tsv"),
        ("a.dat", "1 Q0 2 1 3 x\n", None),
        ("b.csv", "\ufeff" + commas.replace("\n", "\r\n"), None),
        ("b.jsonl", '\ufeff{"user": 1, "item": 2, "score": 3}\n', None),
    ):
        (tmp_path / name).write_bytes(content.encode())
        for path in (tmp_path / name, piped(gzip.compress(content.encode()))):
            run = data.read_run(path, format=format)
            assert (int(run.user[0]), int(run.item[0]), float(run.score[0])) == (1, 2, 3.0)


def test_parquet_and_arrow_are_told_by_magic_bytes(tmp_path: Path) -> None:
    data.write_table(COLUMNS, tmp_path / "a.parquet")
    data.write_table(COLUMNS, tmp_path / "a.arrow")
    for name in ("a.parquet", "a.arrow"):
        same(data.read_run(piped((tmp_path / name).read_bytes())))
        same(data.read_run((tmp_path / name).rename(tmp_path / "x")))
    stream = io.BytesIO()
    pl.DataFrame(COLUMNS).write_ipc_stream(stream)
    (tmp_path / "stream.arrow").write_bytes(stream.getvalue())
    same(data.read_run(tmp_path / "stream.arrow"))


def test_csv_ids_are_integers_only_if_all_are(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    for values in (
        ["1", "20.0", "-3"],
        *(["1", odd] for odd in ("007", "+2", "2.5", "9" * 20, "a")),
    ):
        path.write_text("user,item,score\n" + "".join(f"1,{value},0.5\n" for value in values))
        expected = [1, 20, -3] if values[-1] == "-3" else values
        assert list(data.read_run(path).item) == expected


def test_categories_and_large_unsigned_ids_are_strings() -> None:
    big = 2**63 + 5
    frame = pl.DataFrame({"user": ["a", "b"], "item": [1, big], "score": [1, 2]}).with_columns(
        pl.col("user").cast(pl.Categorical), pl.col("item").cast(pl.UInt64)
    )
    run = data.read_run(frame)
    assert list(run.user) == ["a", "b"]
    assert list(run.item) == ["1", str(big)]
    run = data.read_run({"user": [1, 2], "item": [1, 2**65], "score": [1, 2]})
    assert list(run.item) == ["1", str(2**65)]


@pytest.mark.parametrize(("kind", "largest"), [(np.float32, 2**24), (np.float16, 2**11)])
def test_ids_that_a_type_of_floats_confuses_are_refused(kind: Any, largest: int) -> None:
    run = {"user": [1, 1], "score": [2.0, 1.0]}
    truth = {"user": [1], "item": [largest - 1]}
    exact = {**run, "item": np.array([largest - 1, 5], kind)}
    assert podium.measure(truth, exact, "rr").means == {"rr": 1.0}
    confused = {**run, "item": np.array([largest, 5], kind)}
    with pytest.raises(DataError, match=f"does not distinguish all integers from {largest} on"):
        podium.measure(truth, confused, "rr")


@pytest.mark.parametrize(
    "table",
    [
        {"a": {}},
        {"a": {"x": None}},
        {"a": {"x": "high"}},
        {"a": {"x": np.nan}},
        {"a": {1: 0.5, "x": 1.0}},
        {1: {1: 0.5}, "a": {1: 1.0}},
        {"a": {True: 0.5}},
        pd.DataFrame(COLUMNS).to_dict(),
        {**COLUMNS, "item": ITEM[:3]},
        7,
        (USER,),
    ],
)
def test_other_objects_are_refused(table: Any) -> None:
    with pytest.raises(PodiumError):
        data.read_run(table)
    with raises(ArgumentError, "format"):
        data.read_run(COLUMNS, format="csv")


READ: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": pl.read_csv,
    ".csv.gz": pl.read_csv,
    ".tsv": lambda path: pl.read_csv(path, separator="\t"),
    ".tsv.gz": lambda path: pl.read_csv(path, separator="\t"),
    ".arrow": pl.read_ipc,
    ".feather": pl.read_ipc,
}
PARTS = [
    {"user": np.array(["a", "b,\tc"]), "score": np.array([0.1, 1e-9])},
    {"user": np.array(["c"]), "score": np.array([1 / 3])},
]
each_suffix = pytest.mark.parametrize("suffix", READ)
pytestmark = pytest.mark.filterwarnings("ignore:Could not use mmap:RuntimeWarning")


@each_suffix
def test_parts_make_one_table(tmp_path: Path, suffix: str) -> None:
    path, at_once = tmp_path / f"run{suffix}", tmp_path / f"whole{suffix}"
    with append_table(path) as append:
        for part in PARTS:
            append(part)
        assert not path.exists()
    whole = {name: np.concatenate([part[name] for part in PARTS]) for name in PARTS[0]}
    data.write_table(whole, at_once)
    for written in (path, at_once):
        assert READ[suffix](written).to_dict(as_series=False) == {
            "user": ["a", "b,\tc", "c"],
            "score": [0.1, 1e-9, 1 / 3],
        }
    assert sorted(tmp_path.iterdir()) == [path, at_once]
    again = tmp_path / f"again{suffix}"
    data.write_table(whole, again)
    assert again.read_bytes() == at_once.read_bytes()


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.parquet.gz", "a.gz", "nowhere/a.csv"])
def test_unknown_suffix_and_folder_are_refused(tmp_path: Path, name: str) -> None:
    kind = DataError if "/" in name else ArgumentError
    with pytest.raises(kind) as caught:
        data.write_table({"x": [1]}, tmp_path / name)
    assert caught.type is kind
    assert not list(tmp_path.iterdir())


@each_suffix
def test_an_interrupted_table_leaves_no_file(tmp_path: Path, suffix: str) -> None:
    def write() -> None:
        with append_table(tmp_path / f"run{suffix}") as append:
            append(PARTS[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert list(tmp_path.iterdir()) == []


@each_suffix
def test_tables_may_have_no_rows_and_later_categories(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    with pytest.raises(ArgumentError):
        data.write_table({}, path)
    with append_table(path) as append:
        append({name: values[:0] for name, values in PARTS[0].items()})
    assert (READ[suffix](path).columns, READ[suffix](path).height) == (["user", "score"], 0)
    with append_table(path) as append:
        for users in (["a", "b"], ["c", "b", "d"]):
            append({"user": pl.Series(users, dtype=pl.Categorical)})
    assert READ[suffix](path)["user"].to_list() == ["a", "b", "c", "b", "d"]


@pytest.mark.parametrize("values", [[{"a": 1}, "b"], [1, "two"], [2**200, 1.5, None, "x"]])
def test_columns_of_several_kinds_are_refused(values: list[Any]) -> None:
    with pytest.raises(ArgumentError, match="item"):
        data.to_frame({"item": values})


def test_parts_of_a_series_are_rows_whatever_its_index(tmp_path: Path) -> None:
    series = pd.Series([1, 2, 3], index=[5.0, 6.0, 7.0])
    data.write_parts({"a": series}, tmp_path / "parts", n_rows=2)
    assert pl.read_parquet(tmp_path / "parts" / "*.parquet")["a"].to_list() == [1, 2, 3]
    assert len(list((tmp_path / "parts").iterdir())) == 2
    with pytest.raises(DataError, match="it exists"):
        data.write_parts({"a": series}, tmp_path / "parts")
