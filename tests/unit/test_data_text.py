"""Text files: what their columns become, and which lines are no rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def test_trec_items_are_text_and_join_with_integers(tmp_path: Path) -> None:
    run = put(tmp_path, "1 Q0 9 1 2.5 a\n1 Q0 10 2 2.5 a\n", "sys.run")
    assert list(data.read_run(run).item) == ["9", "10"]
    ranked = data.ranking({"user": [1], "item": [10]}, run, ties="id")
    assert ranked.groups.labels.tolist() == [1]
    assert ranked.relevance.tolist() == [0.0, 1.0]


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
