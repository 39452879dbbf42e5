"""The citation data's original files, and that reading a pickle runs nothing of its own."""

from __future__ import annotations

import copyreg
import io
import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.errors import DataError
from podium_studies.hiranandani2020 import citation

pandas = pytest.importorskip("pandas")

GROUPS = {  # author, paper: positives of rows
    (1, 10): (3, 12),  # stays
    (1, 11): (2, 8),  # too few positives
    (2, 10): (3, 31),  # less than a tenth
    (2, 12): (4, 40),  # just a tenth
}


def table(seed: int = 0) -> Any:
    """Return a table in the form of the published ones."""
    rng = np.random.default_rng(seed)
    rows = [
        (author, paper, int(i < positives))
        for (author, paper), (positives, size) in GROUPS.items()
        for i in range(size)
    ]
    frame = pandas.DataFrame(rows, columns=["u_id", "paper_id_written", "label"])
    frame["a_id"], frame["paper_id_referred"], frame["c_id"] = 0, "p", 5
    for column in citation.SIDE:
        frame[column] = rng.integers(0, 9, len(frame))
    vectors = rng.normal(size=(len(frame), 100))
    names = [str(i) for i in range(100)]
    return pandas.concat([frame, pandas.DataFrame(vectors, columns=names)], axis=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, name in enumerate(citation.FILES):
        table(seed).to_pickle(tmp_path / name)
    return tmp_path


def test_groups_and_features(folder: Path) -> None:
    parts = citation.read(folder)
    test, source = parts.test, table(2)
    assert np.unique(test.qid).tolist() == ["1_10", "2_12"]
    assert test.y.sum() == 3 + 4
    assert test.X.shape == (12 + 40, 155)
    first = source.iloc[0]
    assert test.X[0, :5].tolist() == [first[name] for name in citation.SIDE]
    writer = np.array([first[str(i)] for i in range(50)])
    cited = np.array([first[str(i)] for i in range(50, 100)])
    assert np.array_equal(test.X[0, 5:], np.concatenate([writer, cited, writer * cited]))
    assert not np.array_equal(parts.train.X, parts.valid.X)


class _Made:
    """Something that is pickled as the call, arguments and state that are given."""

    def __init__(self, *reduced: Any) -> None:
        self.reduced = reduced

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduced


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_what_pandas_writes_is_read(protocol: int) -> None:
    frame = table().iloc[2:9]
    read = citation.read_pickled(io.BytesIO(pickle.dumps(frame, protocol=protocol)))
    pandas.testing.assert_frame_equal(read, frame)


def test_tables_of_pandas_before_1_3_are_read() -> None:
    frame = table()
    axes = [frame.columns, frame.index]
    blocks = [{"values": b.values, "mgr_locs": b.mgr_locs.indexer} for b in frame._mgr.blocks]
    state = axes, [], [], {"0.14.1": {"axes": axes, "blocks": blocks}}
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=4)
    kind = type(frame._mgr)
    pickler.dispatch_table = {kind: lambda _: (copyreg.__newobj__, (kind,), state)}
    pickler.dump(_Made(pandas.DataFrame, (), {"_data": frame._mgr, "_typ": "dataframe"}))
    read = citation.read_pickled(io.BytesIO(stream.getvalue()))
    pandas.testing.assert_frame_equal(read, frame)


def test_nothing_else_that_a_file_names_is_called(folder: Path) -> None:
    file, made = folder / citation.FILES[1], str(folder / "made")
    for call in (_Made(os.mkdir, (made,)), _Made(partial(os.mkdir, made), ())):
        for content in (call, [call], _Made(pandas.DataFrame, (), {"_mgr": call})):
            file.write_bytes(pickle.dumps(content))
            with pytest.raises(DataError):
                citation.read(folder)
    assert not Path(made).exists()


def test_other_or_damaged_tables_are_refused(folder: Path) -> None:
    file = folder / citation.FILES[1]
    content = file.read_bytes()
    others = [pickle.dumps(pandas.DataFrame({"t": [1]})), pickle.dumps(table().assign(label="x"))]
    for damaged in (*others, b"", content[: len(content) // 2], content[:-9]):
        file.write_bytes(damaged)
        with pytest.raises(DataError):
            citation.read(folder)
