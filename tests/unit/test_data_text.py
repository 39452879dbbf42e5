"""Text files and odd input: columns, separators, lines, sparse cells, numbers that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import podium
from podium import data, sampled
from podium.data.tables import open_table
from podium.data.users import user_column
from podium.errors import ArgumentError, DataError, PodiumWarning


def put(folder: Path, content: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([*map(str, range(10_001)), "0.5"], [*range(10_001), 0.5]),
        ([" 1", "2.5 "], [1.0, 2.5]),
        (["1", ""], [1.0, np.nan]),
        (["true", "False"], [1.0, 0.0]),
        (["1e3", "nan"], [1000.0, np.nan]),
        (["1", "99999999999999999999"], [1.0, 1e20]),
    ],
)
def test_feature_cells_become_numbers(
    tmp_path: Path, cells: list[str], expected: list[float]
) -> None:
    path = put(tmp_path, "qid,x\n" + "".join(f"1,{cell}\n" for cell in cells))
    np.testing.assert_array_equal(np.asarray(data.read_features(path).X)[:, 0], expected)


def test_feature_with_a_bad_cell_is_refused_unless_ignored(tmp_path: Path) -> None:
    path = put(tmp_path, "qid,label,x,y,note\n1,0,1,2,good\n\n1,1,3o,4,\n")
    with pytest.raises(DataError, match=r"'3o' at line 4"):
        data.read_features(path)
    assert data.read_features(path, ignore=["x"]).feature_names == ("y",)


@pytest.mark.parametrize("blank", ["\n", ",,\n", "\r\n"])
def test_blank_lines_are_no_rows(tmp_path: Path, blank: str) -> None:
    path = put(tmp_path, f"user,item,score\n1,2,0.5\n{blank}{blank}3,4,1.5\n{blank}{blank}")
    run = data.read_run(path)
    assert np.asarray(run.user).tolist() == [1, 3]
    assert run.score.tolist() == [0.5, 1.5]


def test_lines_are_counted_past_blanks_and_quoted_breaks(tmp_path: Path) -> None:
    path = put(tmp_path, "user,item,score,note\n1,2,0.5,a\n\n,,,b\n")
    with pytest.raises(DataError, match="user has 1 missing value, first at line 4"):
        data.read_run(path)
    path = put(tmp_path, 'note,user,item,score\n"two\nlines",1,2,0.5\n\nb,3,4,nan\n')
    with pytest.raises(DataError, match=r"first at line 5 \(user 3\)"):
        data.read_run(path)
    run = put(tmp_path, "1 Q0 d1 1 2.5 a\n\n2 Q0 d2 1 nan a\n", "sys.run")
    with pytest.raises(DataError, match=r"first at line 3 \(user 2\)"):
        data.read_run(run)


PRICES = {"qid": [1], "label": [1], "price": [2.0], "note": ["x"]}


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (PRICES, {"ignore": ["price"]}),
        (PRICES, {"n_features": 3}),
        (PRICES, {"ignore": ["pric"]}),
        *((PRICES, {"features": ["price", name]}) for name in ("price", "qid", "note", "pric")),
        ({"qid": [], "price": []}, {}),
        ({**PRICES, "label": [-2]}, {}),
    ],
)
def test_features_that_do_not_fit_are_refused(table: Any, options: dict[str, Any]) -> None:
    assert data.read_features(PRICES, n_features=1).feature_names == ("price",)
    with pytest.raises(DataError):
        data.read_features(table, **options)


RUN = {"user": ["7", "7"], "item": ["b", "a"], "score": [2.0, 1.0]}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("q1 Q0 b 1 3.0", "got 5"),
        ("q1 Q0 b 1 3.0 my tag", "got 7"),
    ],
)
def test_another_width_is_named(tmp_path: Path, text: str, word: str) -> None:
    path = put(tmp_path, f"{text}\n1,2\n", "run.txt")
    with pytest.raises(DataError, match=word):
        data.read_run(path)


@pytest.mark.parametrize("separator", ["\t", ";", ",", "|", " "])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_another_separator_is_read(tmp_path: Path, separator: str, suffix: str) -> None:
    lines = ('"user"', '"item"', '"no,te"'), ("1", "a", "x"), ("2", "b", '"y|\tz"')
    text = "\n".join(separator.join(fields) for fields in lines)
    truth = data.read_truth(put(tmp_path, text, f"a{suffix}"))
    assert (truth.user.tolist(), truth.item.to_list()) == ([1, 2], ["a", "b"])


def test_unknown_as_a_value_is_not_a_missing_value() -> None:
    users = {"user": [1, 2], "seg": ["unknown", None]}
    values = user_column(users, "seg", np.array([1, 2, 3]))
    assert values.tolist() == ["unknown", "no value", "no value"]


def test_a_quoted_separator_or_a_blank_in_a_name_divides_nothing(tmp_path: Path) -> None:
    for text, name in (('"a;b"\n1\n', "a;b"), ("User ID\n1\n", "User ID")):
        assert open_table(put(tmp_path, text), "truth", ()).names == (name,)


@pytest.mark.parametrize("name", ["qrels.tsv", "qrels.csv", "qrels.txt", "qrels.trec"])
def test_qrels_are_read_by_content_and_grades_below_0_are_judged(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, "7\t0\ta\t1\n7\t0\tb\t-2\n", name)
    with pytest.warns(PodiumWarning, match="relevances below 0"):
        result = podium.measure(path, RUN, ["rr", "judged@2", "ndcg@2"])
    means = [result.values[name][0] for name in ("rr", "judged@2", "ndcg@2")]
    assert means == pytest.approx([1 / 2, 1, 1 / np.log2(3)])


def test_parts_may_differ_in_columns_that_nobody_reads(tmp_path: Path) -> None:
    folder = tmp_path / "truth"
    folder.mkdir()
    pl.DataFrame({"user": [1], "item": [1], "K": [None]}).write_parquet(folder / "p-0.parquet")
    second = pl.DataFrame({"note": ["x"], "K": ["y"], "user": [1], "item": [2]})
    second.write_parquet(folder / "p-1.parquet")
    assert data.read_truth(folder).item.tolist() == [1, 2]
    with pytest.raises(DataError, match="'note' is missing in"):
        data.read_truth(folder, item="note")


def test_cells_of_sparse_matrices_and_columns_are_read() -> None:
    cells = np.array([100, 100, 1, 0], np.int8), ([0, 0, 1, 1], [2, 2, 0, 1])
    truth = data.read_truth(sparse.coo_array(cells, shape=(2, 3)))  # equal cells are added
    rows = zip(truth.user, truth.item, truth.relevance, strict=True)
    assert sorted(rows) == [(0, 2, 200), (1, 0, 1), (1, 1, 0)]
    column = pd.arrays.SparseArray([1.0, 0.0])
    frame = pd.DataFrame({"user": [1, 1], "item": [1, 2], "relevance": column})
    assert data.read_truth(frame).relevance.tolist() == [1, 0]
    with pytest.raises(DataError, match="item"):
        data.read_truth(frame.assign(item=[{}, {}]))


def test_rows_of_a_text_file_are_lines(tmp_path: Path) -> None:
    path = put(tmp_path, "user,item\n7,a\n\n7,b\n7,a\n")
    with pytest.raises(DataError, match="lines 2 and 5"):
        podium.measure(path, RUN, "rr")


SIGNALLING = np.array([0x7FF0000000000001], np.uint64).view(np.float64)


def _column(n: int) -> np.ndarray:
    values = np.arange(1.0, n + 1)
    values.view(np.uint64)[n // 2] = SIGNALLING.view(np.uint64)[0]
    return values


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [1, 3, 40])
def test_signalling_nan_is_named_without_numpys_warning(tmp_path: Path, n: int) -> None:
    run = {"user": np.arange(n), "item": np.arange(n), "score": np.ones(n)}
    for name in ("user", "item", "score", "rank"):
        columns = {**run, name: _column(n)}
        if name == "rank":
            del columns["score"]
        pl.DataFrame(columns).write_parquet(tmp_path / "run.parquet")
        with pytest.raises(DataError, match=name):
            data.read_run(tmp_path / "run.parquet")
    table = {"qid": [1, 1, 1], "label": [1, 0, 0], "x": _column(3), "y": [1e306, 1.0, 2.0]}
    X = np.asarray(data.read_features(table, dtype="float32").X)
    assert np.isnan(X[:, 0]).tolist() == [False, True, False]
    assert np.isinf(X[0, 1])
    for odd in (SIGNALLING[0], 1e300, 1e306, -1e308, np.inf, 2.0**53):
        with pytest.raises(ArgumentError, match="ranks"):
            sampled.SampledRanks([1.0, odd, 2.0], n_items=100, n_negatives=10)
