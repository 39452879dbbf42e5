"""svmlight in blocks of whole queries: the same rows as read at once, wherever pieces end."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import data
from podium.data import svmlight
from podium.errors import ArgumentError, DataError, ScatteredQueriesError


def lines_of(sizes: list[int], width: int = 4) -> list[str]:
    """Queries of these sizes, numbered downwards, with every value different."""
    rng = np.random.default_rng(0)
    return [
        f"{i % 3} qid:{len(sizes) - query} "
        + " ".join(f"{j + 1}:{x:.6f}" for j, x in enumerate(rng.random(width)))
        for query, size in enumerate(sizes)
        for i in range(size)
    ]


def put(folder: Path, lines: list[str], name: str = "rows.svm") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), piece=st.integers(20, 900))
def test_blocks_are_the_rows_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], piece: int
) -> None:
    path = put(tmp_path_factory.mktemp("rows"), ["# a comment", *lines_of(sizes), ""])
    whole = data.read_features(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight, "_PIECE", piece)
        blocks = list(data.stream_features(path, 4))
    assert np.array_equal(np.concatenate([block.X for block in blocks]), whole.X)
    for name in ("y", "qid", "item"):
        parts = [getattr(block, name) for block in blocks]
        assert np.array_equal(np.concatenate(parts), getattr(whole, name)), name
    qids = [set(np.asarray(block.qid).tolist()) for block in blocks]
    assert sum(map(len, qids)) == len(set[int]().union(*qids)) == len(sizes)


@pytest.mark.parametrize("piece", [30, 1 << 20])
def test_query_that_comes_back_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(svmlight, "_PIECE", piece)
    lines = [
        "# note",
        "1 qid:9 1:1",
        "0 qid:9 1:2",
        "1 qid:4 1:1",
        "",
        "0 qid:9 1:3",
        "1 qid:4 1:4",
    ]
    path = put(tmp_path, lines)
    with pytest.raises(ScatteredQueriesError, match=r"rows\.svm, line 6: query 9 occurs again"):
        list(data.stream_features(path, 1))
    assert np.asarray(data.read_features(path).item).tolist() == [0, 1, 0, 2, 1]


def test_malformed_line_and_file_cut_short_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(svmlight, "_PIECE", 100)
    path = put(tmp_path, [*lines_of([3] * 9), "1 1:2"])
    with pytest.raises(DataError, match=r"rows\.svm, line 28: qid: and an integer"):
        list(data.stream_features(path, 4))
    packed = gzip.compress(put(tmp_path, lines_of([3] * 99)).read_bytes())
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(packed[: len(packed) - 9])
    with pytest.raises(DataError, match=r"cut\.txt\.gz can't be read"):
        list(data.stream_features(cut, 4))


def test_what_cannot_be_streamed_is_refused_at_once(tmp_path: Path) -> None:
    table = put(tmp_path, ["qid,label,x", "1,1,2"], "rows.csv")
    with pytest.raises(ArgumentError, match=r"must be an svmlight file, got .*rows\.csv"):
        data.stream_features(table, 1)
    with pytest.raises(ArgumentError, match="n_features must be an integer >= 1"):
        data.stream_features(put(tmp_path, ["1 qid:1 1:1"]), 0)
    with pytest.raises(DataError, match="has no rows"):
        list(data.stream_features(put(tmp_path, ["# nothing"], "a.svm"), 1))
