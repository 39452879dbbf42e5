"""The citation data's original files, and that reading a pickle runs nothing of its own."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.data.pickled import read_pickled
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


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_any_protocol_reads(protocol: int) -> None:
    stream = io.BytesIO(pickle.dumps(table(), protocol=protocol))
    actual = read_pickled(stream, "t.pkl")
    assert np.array_equal(actual["7"], table()["7"])
    assert set(actual["paper_id_referred"]) == {"p"}


def _without(column: str) -> Callable[[Any], Any]:
    return lambda frame: frame.drop(columns=column)


def _with(column: str, value: Any) -> Callable[[Any], Any]:
    return lambda frame: frame.assign(**{column: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("CoAuthorCount"), r"has no column 'CoAuthorCount'\. It has"),
        (_without("99"), "has no column '99'"),
        (_with("label", 2), "label must be 0 or 1, got 2 in row 0"),
        (_with("label", 0), "no group of an author and a paper has at least 3 positives"),
        (_with("3", float("nan")), "3 has no finite value in row 0"),
        (_with("3", "x"), "3 must contain numbers"),
    ],
)
def test_a_table_of_another_form_is_explained(
    folder: Path, change: Callable[[Any], Any], message: str
) -> None:
    change(table()).to_pickle(folder / citation.FILES[1])
    with pytest.raises(DataError, match=message) as raised:
        citation.read(folder)
    assert "CitationDataset_Val.pkl" in str(raised.value)


def test_an_absent_file_is_named(folder: Path) -> None:
    (folder / citation.FILES[2]).unlink()
    with pytest.raises(DataError, match=r"contains no 'CitationDataset_Test\.pkl'"):
        citation.read(folder)


class _Calls:
    """Something that would make a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_a_pickle_cannot_call_what_it_likes(tmp_path: Path) -> None:
    target = tmp_path / "made"
    content = pickle.dumps(_Calls(target))
    with pytest.raises(DataError, match="mkdir, which plain tables do not"):
        read_pickled(io.BytesIO(content), "t.pkl")
    assert not target.exists()
    pickle.loads(content)  # the plain reader does call it
    assert target.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "can't be read as a pickled table"),
        (b"user,item\n1,2\n", "can't be read as a pickled table"),
        (b"\x80\x04\x95" + b"\xff" * 8, "exhausted before seeing STOP"),
        (b"\x80\x04cpandas.core.internals.blocks\nnew_block\n)R.", "can't be read as a pickled"),
        (pickle.dumps([1, 2]), "contains a list, not a pandas"),
    ],
)
def test_other_files_are_explained(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_pickled(io.BytesIO(content), "t.pkl")
