"""Text files: what their columns become, and which lines are no rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from podium import data
from podium.errors import DataError


def put(folder: Path, content: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def test_number_far_down_a_whole_column_is_read(tmp_path: Path) -> None:
    rows = "".join(f"{i},1,{i}\n" for i in range(10_001))
    got = data.read_features(put(tmp_path, f"qid,label,x\n{rows}7,1,0.5\n"))
    assert np.asarray(got.X)[-2:, 0].tolist() == [10_000.0, 0.5]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2"], [1.0, 2.0]),
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
    path = put(tmp_path, "qid,label,x,y\n1,0,1,2\n\n1,1,3o,4\n")
    with pytest.raises(DataError, match=r"x must hold numbers, got '3o' at line 4.*with ignore="):
        data.read_features(path)
    assert data.read_features(path, ignore=["x"]).feature_names == ("y",)


def test_column_of_words_is_no_feature(tmp_path: Path) -> None:
    path = put(tmp_path, "qid,note,x\n1,good,2\n1,nan,3\n1,,4\n")
    assert data.read_features(path).feature_names == ("x",)


def test_feature_is_named_once_and_has_no_other_role() -> None:
    table = {"qid": [1, 1], "label": [0, 1], "x": [1.0, 2.0]}
    with pytest.raises(DataError, match="features contains 'x' twice"):
        data.read_features(table, features=["x", "x"])
    for name, role in (("label", "relevance"), ("qid", "user")):
        with pytest.raises(DataError, match=rf"'{name}' is the {role} column"):
            data.read_features(table, features=["x", name])


@pytest.mark.parametrize("blank", ["\n", ",,\n", "\r\n"])
def test_blank_lines_are_no_rows(tmp_path: Path, blank: str) -> None:
    path = put(tmp_path, f"user,item,score\n1,2,0.5\n{blank}{blank}3,4,1.5\n{blank}{blank}")
    run = data.read_run(path)
    assert np.asarray(run.user).tolist() == [1, 3]
    assert run.score.tolist() == [0.5, 1.5]


def test_row_with_only_other_columns_is_still_a_row(tmp_path: Path) -> None:
    path = put(tmp_path, "user,item,score,note\n1,2,0.5,a\n\n,,,b\n")
    with pytest.raises(DataError, match="user has 1 missing value, first at line 4"):
        data.read_run(path)


def test_lines_are_counted_past_blanks_and_quoted_breaks(tmp_path: Path) -> None:
    path = put(tmp_path, 'note,user,item,score\n"two\nlines",1,2,0.5\n\nb,3,4,nan\n')
    with pytest.raises(DataError, match=r"first at line 5 \(user 3\)"):
        data.read_run(path)
    run = put(tmp_path, "1 Q0 d1 1 2.5 a\n\n2 Q0 d2 1 nan a\n", "sys.run")
    with pytest.raises(DataError, match=r"first at line 3 \(user 2\)"):
        data.read_run(run)


@pytest.mark.parametrize(
    "second",
    ["2020-01-02T10:00:00", "2020-01-02 10:00:00", "2020-01-02T10:00:00Z"],
)
def test_iso_times_are_read(tmp_path: Path, second: str) -> None:
    first = second.replace("01-02", "01-01")
    events = data.read_interactions(
        put(tmp_path, f"user,item,timestamp\n1,1,{first}\n1,2,{second}\n")
    )
    assert events.timestamp is not None
    expected = np.array(["2020-01-01T10:00", "2020-01-02T10:00"], "datetime64[us]")
    assert events.timestamp.tolist() == expected.tolist()
    assert data.splits.by_time(events.timestamp, test=0.5).test.tolist() == [1]


def test_zone_of_iso_times_is_taken_off(tmp_path: Path) -> None:
    path = put(tmp_path, "user,item,time\n1,1,2020-01-01T10:00:00+02:00\n")
    times = data.read_interactions(path).timestamp
    assert times is not None
    assert times.astype("datetime64[h]").astype(str).tolist() == ["2020-01-01T08"]


@pytest.mark.parametrize("bad", ["soon", "01/02/2020", "2020-13-01"])
def test_other_times_are_refused(tmp_path: Path, bad: str) -> None:
    path = put(tmp_path, f"user,item,time\n1,1,2020-01-01\n1,2,{bad}\n")
    with pytest.raises(DataError, match=rf"ISO times.*got '{bad}' at line 3"):
        data.read_interactions(path)
    path = put(tmp_path, f"user,item,time\n1,1,{bad}\n")
    with pytest.raises(DataError, match=rf"ISO times.*got '{bad}' at line 2"):
        data.read_interactions(path)


def test_trec_items_are_text_and_join_with_integers(tmp_path: Path) -> None:
    run = put(tmp_path, "1 Q0 9 1 2.5 a\n1 Q0 10 2 2.5 a\n", "sys.run")
    assert list(data.read_run(run).item) == ["9", "10"]
    ranked = data.ranking({"user": [1], "item": [10]}, run, ties="id")
    assert ranked.groups.labels.tolist() == [1]
    assert ranked.relevance.tolist() == [0.0, 1.0]


def test_trec_ties_are_broken_as_by_trec_eval(tmp_path: Path) -> None:
    peer = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    from podium.metrics import parse

    run = put(tmp_path, "1 Q0 9 1 2.5 a\n1 Q0 10 2 2.5 a\n1 Q0 100 3 2.5 a\n", "sys.run")
    for relevant in ("9", "10", "100"):
        qrels = put(tmp_path, f"1 0 {relevant} 1\n", "truth.qrels")
        theirs = peer.RelevanceEvaluator({"1": {relevant: 1}}, {"recip_rank"}).evaluate(
            {"1": {"9": 2.5, "10": 2.5, "100": 2.5}}
        )
        ours = parse("rr")(data.ranking(qrels, run, ties="id"))
        assert ours.tolist() == [theirs["1"]["recip_rank"]]
