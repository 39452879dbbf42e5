"""Pickled tables: every form that pandas wrote, and a file that names a function."""

from __future__ import annotations

import io
import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.errors import DataError
from podium_studies.hiranandani2020.pickled import read_pickled

pandas = pytest.importorskip("pandas")


def _frame() -> Any:
    return pandas.DataFrame(
        {
            "user": [3, 1, 2],
            "paper": ["a", None, "é"],
            "share": [0.5, np.nan, 1e300],
            "flag": [True, False, True],
            "mixed": [1, "x", np.float64(2.5)],
            7: np.array([1, 2, 3], np.int8),
        }
    )


def _read(content: bytes) -> dict[str, Any]:
    return read_pickled(io.BytesIO(content), "t.pkl")


def _assert_same(found: dict[str, Any], frame: Any) -> None:
    assert list(found) == [str(name) for name in frame.columns]
    for name in frame.columns:
        expected = frame[name].to_numpy()
        assert found[str(name)].dtype == expected.dtype
        assert pandas.Series(found[str(name)]).equals(pandas.Series(expected))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame.iloc[:0],
        lambda frame: frame.iloc[[2, 0]],
        lambda frame: frame[["share", "user"]].T.T,
        lambda frame: frame[["share", "user"]].to_numpy().astype(">f8"),
        lambda frame: frame.assign(more=frame["share"] * 2)[["more", "user", "share"]],
    ],
    ids=["whole", "empty", "rows", "fortran", "plain", "order"],
)
def test_what_pandas_writes_is_read(protocol: int, change: Any) -> None:
    frame = pandas.DataFrame(change(_frame()))
    _assert_same(_read(pickle.dumps(frame, protocol=protocol)), frame)


class _Made:
    """Something that is pickled as the call, arguments and state that are given."""

    def __init__(self, *reduced: Any) -> None:
        self.reduced = reduced

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduced


def _table(manager: Any, key: str = "_mgr") -> bytes:
    state = {key: manager, "_typ": "dataframe"}
    return pickle.dumps(_Made(pandas.DataFrame, (), state), protocol=4)


def test_tables_of_pandas_before_1_3_are_read() -> None:
    frame = _frame()
    axes = [frame.columns, frame.index]
    blocks = [{"values": b.values, "mgr_locs": b.mgr_locs.indexer} for b in frame._mgr.blocks]
    state = (axes, [], [], {"0.14.1": {"axes": axes, "blocks": blocks}})
    old = _Made(type(frame._mgr), (), state)
    _assert_same(_read(_table(old, "_data")), frame)


def test_tables_of_pandas_1_3_are_read() -> None:
    from pandas.core.internals import blocks, managers

    frame = _frame()
    make = partial(blocks.new_block, ndim=2)
    made = tuple(_Made(make, (b.values, b.mgr_locs.indexer)) for b in frame._mgr.blocks)
    manager = _Made(managers.BlockManager, (made, [frame.columns, frame.index]))
    _assert_same(_read(_table(manager)), frame)


def test_tables_of_other_columns_are_refused() -> None:
    for column in (pandas.to_datetime(["2020-01-01"]), [[1]]):
        with pytest.raises(DataError):
            _read(pickle.dumps(pandas.DataFrame({"t": column})))


def test_nothing_that_a_file_names_is_called(tmp_path: Path) -> None:
    frame = _frame()
    for call in (os.mkdir, partial(os.mkdir, str(tmp_path / "made"))):
        args = () if isinstance(call, partial) else (str(tmp_path / "made"),)
        made = _Made(call, args)
        for content in (made, [made], _Made(type(frame), (), {"_mgr": made})):
            with pytest.raises(DataError):
                _read(pickle.dumps(content))
    assert not (tmp_path / "made").exists()


def test_a_truncated_table_is_refused() -> None:
    content = pickle.dumps(_frame())
    for stop in range(0, len(content), 97):
        with pytest.raises(DataError):
            _read(content[:stop])
