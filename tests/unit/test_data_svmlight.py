"""svmlight with qid: exact numbers, named lines."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.raised import raises

from podium import data
from podium.data import svmlight
from podium.data.files import sniff
from podium.data.svmlight import Rows
from podium.errors import ArgumentError, DataError

TEXT = (
    "# a comment line\n"
    "2 qid:10 1:0.5 2:-1.25 3:1e-3 # doc = 1:x\n"
    "\n"
    "0 qid:7 1:1 2:2 3:3\r\n"
    "  1.5\tqid:10\t1:+4 2:.5 3:6. "
)


def put(folder: Path, content: str, name: str = "train.txt") -> Path:
    path = folder / name
    path.write_text(content)
    return path


@pytest.mark.parametrize("name", ["train.txt", "train.svm", "train.letor", "train.dat"])
def test_svmlight_reads_labels_qids_and_features(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(TEXT.removeprefix("# a comment line\n").encode())
    got = data.read_features(path)
    assert got.y is not None
    assert got.y.tolist() == [2.0, 0.0, 1.5]
    assert np.asarray(got.qid).tolist() == [10, 7, 10]
    assert np.asarray(got.item).tolist() == [0, 0, 1]
    assert np.asarray(got.X).tolist() == [[0.5, -1.25, 1e-3], [1, 2, 3], [4, 0.5, 6]]
    assert got.feature_names == ("1", "2", "3")


@pytest.mark.parametrize("comments", ["# of 5 May, 12:30\n", "#\n\n# a,b\n#c\td\n", "\n# a\r\n"])
def test_svmlight_is_told_by_what_follows_its_comments(tmp_path: Path, comments: str) -> None:
    path = put(tmp_path, comments + "1 qid:3 1:2\n0 qid:3 1:4\n")
    assert np.asarray(data.read_features(path).X).tolist() == [[2.0], [4.0]]


def test_other_text_with_a_comment_stays_what_it_was(tmp_path: Path) -> None:
    assert sniff(put(tmp_path, "#user\titem\n1\t2\n")) == "tsv"
    assert sniff(put(tmp_path, "#user,item\n1,2\n")) == "csv"
    for content in ("# a\nuser,item\n", "# a\n", "# 12:30 1:5\n# a\n"):
        with raises(DataError, "format", "columns"):
            sniff(put(tmp_path, content))


def test_svmlight_is_sparse_where_little_is_stored(tmp_path: Path) -> None:
    got = data.read_features(put(tmp_path, "1 qid:1 9:2\n0 qid:1 3:4 8:5\n"))
    assert sparse.issparse(got.X)
    assert got.X.toarray().tolist() == [
        [0, 0, 0, 0, 0, 0, 0, 0, 2],
        [0, 0, 4, 0, 0, 0, 0, 5, 0],
    ]


def test_svmlight_is_a_truth(tmp_path: Path) -> None:
    truth = data.read_truth(put(tmp_path, "2 qid:4 1:1\n0 qid:4 1:2\n1 qid:5 1:3\n"))
    assert np.asarray(truth.user).tolist() == [4, 4, 5]
    assert np.asarray(truth.item).tolist() == [0, 1, 0]
    assert truth.relevance.tolist() == [2.0, 0.0, 1.0]


BAD_LINES = [
    "x qid:1 1:2", "1x qid:1 1:2", "1 1:2 2:3", "1", "1 qid:a 1:2", "1 qid: 1:2", "1 qid:-3 1:1",
    "1 qid:1 1:2 3", "1 qid:1 1:2 x:3", "1 qid:1 1:2 3:", "1 qid:1 1:2 3:1e", "1 qid:1 1:nan",
    "1 qid:1 2:2 1:3", "1 qid:1 0:2", "1 qid:9223372036854775808 1:2", "1 qid:01 1:2",
    "1 qid:1234567890123456789x 1:2", "1 qid:1 0000000001:1", "1 qid:1 1:1 1234567890:1",
    "1 qid:1 1234567890", "-1 qid:1 1:2", "1 qid:1 1:2 2:1e400", "1 qid:1 1:2 256:-1e400",
    "1e400 qid:1 1:2", "1 qid:1 1:2 999999999:1",
]  # fmt: skip


@pytest.mark.parametrize("line", BAD_LINES)
def test_malformed_svmlight_line_is_named(tmp_path: Path, line: str) -> None:
    path = put(tmp_path, f"1 qid:1 1:2\n# note\n{line}\n0 qid:1 1:2\n")
    with pytest.raises(DataError, match=r"train\.txt, line 3: "):
        data.read_features(path)


def test_malformed_line_is_counted_across_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(svmlight, "_PIECE", 40)
    lines = [f"{i % 3} qid:{i} 1:{i}.5 2:{i}" for i in range(1, 101)]
    got = data.read_features(put(tmp_path, "\n".join(lines)))
    assert np.asarray(got.X)[:, 0].tolist() == [i + 0.5 for i in range(1, 101)]
    lines[76] = "broken"
    with pytest.raises(DataError, match="line 77:"):
        data.read_features(put(tmp_path, "\n".join(lines)))


def parse(content: bytes) -> Rows:
    with tempfile.NamedTemporaryFile(suffix=".svm") as file:
        Path(file.name).write_bytes(content)
        return svmlight.parse([Path(file.name)])


@settings(max_examples=4 * settings().max_examples)
@given(st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=20))
def test_numbers_are_read_as_python_reads_them(numbers: list[float]) -> None:
    texts = [text for x in numbers for text in (repr(x), f"{x:.6f}", f"{x:.3e}", f"{x:.17g}")]
    line = " ".join(f"{i}:{text}" for i, text in enumerate(texts, start=1))
    label = texts[0].removeprefix("-")
    rows = parse(f"{label} qid:1 {line}\n".encode())
    assert rows.pieces[0].values.tolist() == [float(text) for text in texts]
    assert rows.labels.tolist() == [float(label)]


@pytest.mark.parametrize(
    "text",
    ["0.000000", "00012.5", "123456789012345678901234", "0.0000000000000000000000000000012345",
     "9007199254740993", "1.7e308", "-0.0", "1E+05", "4.35", "2.2250738585072014e-308"],
)  # fmt: skip
def test_hard_numbers_are_exact(text: str) -> None:
    value = parse(f"0 qid:1 1:{text}\n".encode()).pieces[0].values[0]
    assert value == float(text)
    assert np.signbit(value) == np.signbit(float(text))


def test_a_qid_is_any_integer_of_64_bits(tmp_path: Path) -> None:
    qids = [2**63 - 1, 2**63 - 2, 10**18, 10**18 - 1, 10, 0]
    path = put(tmp_path, "".join(f"1 qid:{qid} 1:1\n" for qid in qids))
    assert np.asarray(data.read_features(path).qid).tolist() == qids
    assert np.asarray(data.read_truth(path).user).tolist() == qids
    streamed = [block.qid for block in data.stream_features(path, n_features=1)]
    assert np.concatenate(streamed).tolist() == qids


def test_arguments_that_svmlight_cannot_follow_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("1 qid:1 1:0.5\n0 qid:1 2:0.1\n")
    assert data.read_features(path, features=["1", "2"]).feature_names == ("1", "2")
    with pytest.raises(DataError):
        data.read_features(path, features=["2"])
    with pytest.raises(DataError):
        data.read_features(path, features=["1"])
    with raises(ArgumentError, "n_features", "features"):
        data.read_features(path, features=["1", "2"], n_features=3)
    with raises(ArgumentError, "ignore"):
        data.read_features(path, ignore=["1"])
    with pytest.raises(ArgumentError):
        data.read_features(path, user="qid")


def test_float32_is_the_nearest_of_each_number(tmp_path: Path) -> None:
    path = put(tmp_path, "1 qid:1 1:0.1 2:3\n0 qid:1 1:16777217 2:1e-50\n")
    got = data.read_features(path, dtype=np.float32)
    assert got.X.dtype == np.float32
    assert np.array_equal(got.X, np.array([[0.1, 3], [16777217, 1e-50]], np.float32))
    path.write_text("1 qid:1 1:1e39\n")
    with pytest.raises(DataError, match=r"line 1: the value of feature 1 is too large for float32"):
        data.read_features(path, dtype="float32")
    with pytest.raises(ArgumentError, match="dtype must be float64 or float32, got 'int64'"):
        data.read_features(path, dtype="int64")


def test_several_files_are_read_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svmlight, "_PIECE", 40)
    parts = ["1 qid:3 1:1 2:2\n0 qid:3 1:3\n" * 3, "2 qid:1 1:4 2:1 3:5\n", "1 qid:4 1:6"]
    paths = [put(tmp_path, text, f"S{i}.txt") for i, text in enumerate(parts)]
    several = data.read_features(paths)
    whole = data.read_features(put(tmp_path, "".join(parts)))
    assert np.array_equal(several.X, whole.X)
    assert np.array_equal(several.y, whole.y)
    assert np.array_equal(several.item, whole.item)
    assert several.item.tolist() == [0, 1, 2, 3, 4, 5, 0, 0]
    with pytest.raises(DataError, match=r"query 3 is in .*S0\.txt and in .*S3\.txt\. In one"):
        data.read_features([*paths, put(tmp_path, "1 qid:3 1:6", "S3.txt")])
    table = put(tmp_path, "qid,label,x\n1,1,2\n", "a.csv")
    with pytest.raises(ArgumentError, match=r"only if all are svmlight files, got .*a\.csv"):
        data.read_features([paths[0], table])
    for wrong in ([], [None], [paths[0], paths[0]], put(tmp_path, "# nothing\n", "a.svm")):
        with pytest.raises(ArgumentError):
            data.read_features(wrong)


@pytest.mark.parametrize("piece", [12, 1 << 24])
def test_feature_beyond_the_width_is_named_by_its_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(svmlight, "_PIECE", piece)
    parts = [
        "1 qid:1 1:1\n",
        "# note\n1 qid:2 1:1 4:2\n\n0 qid:2 1:1 7:2\n0 qid:3 7:1\n",
        "0 qid:4 6:1\n",
    ]
    paths = [put(tmp_path, text, f"S{i}.svm") for i, text in enumerate(parts)]
    with pytest.raises(
        DataError, match=r"S1\.svm has feature 7 at line 4, but 3 features are required"
    ):
        data.read_features(paths, n_features=3)
    with pytest.raises(DataError, match=r"S1\.svm has feature 7 at line 4, but 2 features"):
        data.read_features(paths, features=["1", "2"])


def test_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svmlight, "_PIECE", 1 << 10)
    monkeypatch.setattr(svmlight, "_LONGEST", 1 << 20)
    path = put(tmp_path, "# note\n1 qid:1 1:2 #" + "x" * (5 << 18) + "\n0 qid:1 1:3\n", "a.svm")
    with pytest.raises(DataError, match=r"a\.svm, line 2: a line must be at most 1 MiB long"):
        data.read_features(path)
    path = put(tmp_path, "# note\n1 qid:1 1:2 #" + "x" * (1 << 19) + "\n0 qid:1 1:3\n", "a.svm")
    assert data.read_features(path).X.tolist() == [[2.0], [3.0]]


def test_packed_files_put_together_are_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(b"1 qid:1 1:2\n") + gzip.compress(b"0 qid:2 1:3\n"))
    assert data.read_features(path).X.tolist() == [[2.0], [3.0]]


def test_rows_without_any_feature_are_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "1 qid:1\n0 qid:1\n")
    with pytest.raises(DataError, match=r"train\.txt has no feature: its lines end after the qid"):
        data.read_features(path)
    assert data.read_features(path, n_features=2).X.shape == (2, 2)
    assert data.read_truth(path).relevance.tolist() == [1.0, 0.0]


def test_truth_is_checked_to_its_last_feature(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 2: a feature must be id:value"):
        data.read_truth(put(tmp_path, "1 qid:1 1:2\n0 qid:1 1:2 2:x\n"))
