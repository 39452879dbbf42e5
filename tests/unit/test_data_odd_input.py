"""Odd input that people have: separators, TREC files by content, parts, sparse cells, grades."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import podium
from podium import data
from podium.data.tables import open_table
from podium.data.users import user_column
from podium.errors import DataError, PodiumWarning

RUN = {"user": ["7", "7"], "item": ["b", "a"], "score": [2.0, 1.0]}


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "header", "word"),
    [
        ("a.csv", '"user";"item"', "semicolons"),
        ("a.csv", '"user"\t"item"', "tabs"),
        ("a.csv", '"us,er"\t"item"', "tabs"),
        ("a.tsv", '"user","item"', "commas"),
        ("a.csv", "user|item", "bars"),
        ("a.csv", "user item", "blanks"),
        ("a.csv", '"user" "item"', "blanks"),
    ],
)
def test_another_separator_is_named_before_quotes(
    tmp_path: Path, name: str, header: str, word: str
) -> None:
    path = _write(tmp_path / name, f"{header}\n1,2\n")
    with pytest.raises(DataError, match=word):
        data.read_truth(path)


def test_a_quoted_separator_or_a_blank_in_a_name_divides_nothing(tmp_path: Path) -> None:
    quoted = _write(tmp_path / "a.csv", '"a;b"\n1\n')
    assert open_table(quoted, "truth", ()).names == ("a;b",)
    blank = _write(tmp_path / "b.csv", "User ID\n1\n")
    assert open_table(blank, "truth", ()).names == ("User ID",)


@pytest.mark.parametrize("name", ["qrels.tsv", "qrels.csv", "qrels.txt", "qrels.trec"])
def test_qrels_are_read_by_content_and_grades_below_0_are_judged(tmp_path: Path, name: str) -> None:
    path = _write(tmp_path / name, "7\t0\ta\t1\n7\t0\tb\t-2\n")
    with pytest.warns(PodiumWarning, match="relevances below 0"):
        result = podium.measure(path, RUN, ["rr", "judged@2", "ndcg@2"])
    means = [result.values[name][0] for name in ("rr", "judged@2", "ndcg@2")]
    assert means == pytest.approx([1 / 2, 1, 1 / np.log2(3)])


def test_grades_below_0_in_parts_and_bounds(tmp_path: Path) -> None:
    truth = {"user": [7, 7], "item": ["a", "b"], "relevance": [1.0, -2.0]}
    run = {"user": [7, 7, 7], "item": ["b", "a", "c"], "score": [3.0, 2.0, 1.0]}
    for name, table in (("truth", truth), ("run", run)):
        pl.DataFrame(table).write_parquet(tmp_path / f"{name}.parquet")
    paths = [tmp_path / "truth.parquet", tmp_path / "run.parquet"]
    with pytest.warns(PodiumWarning, match="relevances below 0"):
        whole = podium.measure(truth, run, "ndcg@3", unjudged="bounds")
    with pytest.warns(PodiumWarning, match="relevances below 0"):
        parts = podium.measure(*paths, "ndcg@3", unjudged="bounds", memory="16MB")
    assert parts.values["ndcg@3"].tolist() == whole.values["ndcg@3"].tolist()


@pytest.mark.parametrize("fields", ["q1 Q0 b 1 3.0", "q1 Q0 b 1 3.0 my tag"])
def test_a_run_of_another_width_is_named(tmp_path: Path, fields: str) -> None:
    path = _write(tmp_path / "run.txt", f"{fields}\n")
    with pytest.raises(DataError, match=f"got {len(fields.split())}"):
        data.read_run(path)


def test_parts_may_differ_in_columns_that_nobody_reads(tmp_path: Path) -> None:
    folder = tmp_path / "truth"
    folder.mkdir()
    pl.DataFrame({"user": [1], "item": [1], "K": [None]}).write_parquet(folder / "p-0.parquet")
    second = pl.DataFrame({"note": ["x"], "K": ["y"], "user": [1], "item": [2]})
    second.write_parquet(folder / "p-1.parquet")
    assert data.read_truth(folder).item.tolist() == [1, 2]
    with pytest.raises(DataError, match="'note' is missing in"):
        data.read_truth(folder, item="note")


def test_cells_of_a_sparse_matrix_are_added() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    cells = np.array([100, 100, 1], np.int8), ([0, 0, 1], [2, 2, 0])
    truth = data.read_truth(sparse.coo_array(cells, shape=(2, 3)))
    rows = zip(truth.user, truth.item, truth.relevance, strict=True)
    assert sorted(rows) == [(0, 2, 200), (1, 0, 1)]


def test_a_pandas_frame_with_a_sparse_column_is_read() -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.arrays.SparseArray([1.0, 0.0])
    frame = pandas.DataFrame({"user": [1, 1], "item": [1, 2], "relevance": column})
    assert data.read_truth(frame).relevance.tolist() == [1, 0]
    odd = pandas.DataFrame({"user": [1], "item": [{}], "relevance": pandas.arrays.SparseArray([1])})
    with pytest.raises(DataError, match="item"):
        data.read_truth(odd)


def test_unknown_as_a_value_is_not_a_missing_value() -> None:
    users = {"user": [1, 2], "seg": ["unknown", None]}
    values = user_column(users, "seg", np.array([1, 2, 3]))
    assert values.tolist() == ["unknown", "no value", "no value"]
    result = podium.measure((["1", "2"], ["a", "a"]), (["1", "2"], ["a", "a"], [1.0, 1.0]), "rr")
    parts = result.segmented("seg", np.array(["unknown", None], object)).segments
    assert sorted(part.name for part in parts) == ["no value", "unknown"]


def test_rows_of_a_text_file_are_lines(tmp_path: Path) -> None:
    path = _write(tmp_path / "t.csv", "user,item\n7,a\n\n7,b\n7,a\n")
    with pytest.raises(DataError, match="lines 2 and 5"):
        podium.measure(path, RUN, "rr")
