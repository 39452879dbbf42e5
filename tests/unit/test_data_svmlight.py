"""svmlight with qid: exact numbers and named lines."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.raised import raises

from podium import data
from podium.data import svmlight
from podium.data.files import File
from podium.data.svmlight import Rows
from podium.errors import ArgumentError, DataError, PodiumError

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
    truth = data.read_truth(path)
    assert np.asarray(truth.user).tolist() == [10, 7, 10]
    assert np.asarray(truth.item).tolist() == [0, 0, 1]
    assert truth.relevance.tolist() == [2.0, 0.0, 1.5]


def test_svmlight_is_told_by_what_follows_its_comments(tmp_path: Path) -> None:
    for comments in ("# of 5 May, 12:30\n", "#\n\n# a,b\n#c\td\n", "\n# a\r\n"):
        path = put(tmp_path, comments + "1 qid:3 1:2\n0 qid:3 1:4\n")
        assert np.asarray(data.read_features(path).X).tolist() == [[2.0], [4.0]]
    assert File(put(tmp_path, "#user\titem\n1\t2\n")).format() == "tsv"
    assert File(put(tmp_path, "#user,item\n1,2\n")).format() == "csv"
    for content in ("# a\nuser,item\n", "# a\n", "# 12:30 1:5\n# a\n"):
        with raises(DataError, "format", "columns"):
            File(put(tmp_path, content)).format()


def test_svmlight_is_sparse_where_little_is_stored(tmp_path: Path) -> None:
    got = data.read_features(put(tmp_path, "1 qid:1 9:2\n0 qid:1 3:4 8:5\n"))
    assert sparse.issparse(got.X)
    assert dict(got.X.todok().items()) == {(0, 8): 2, (1, 2): 4, (1, 7): 5}


BAD_LINES = [
    "x qid:1 1:2", "1x qid:1 1:2", "1 1:2 2:3", "1", "1 qid:a 1:2", "1 qid: 1:2", "1 qid:-3 1:1",
    "1 qid:1 1:2 3", "1 qid:1 1:2 x:3", "1 qid:1 1:2 3:", "1 qid:1 1:2 3:1e", "1 qid:1 1:nan",
    "1 qid:1 2:2 1:3", "1 qid:1 0:2", "1 qid:9223372036854775808 1:2", "1 qid:01 1:2",
    "1 qid:1234567890123456789x 1:2", "1 qid:1 1:1:1", "1 qid:1 1:1 1234567890:1",
    "1 qid:1 1234567890", "-1 qid:1 1:2", "1 qid:1 1:2 2:1e400", "1 qid:1 1:2 256:-1e400",
    "1e400 qid:1 1:2", "1 qid:1 1:2 999999999:1",
]  # fmt: skip


@pytest.mark.parametrize("line", BAD_LINES)
def test_malformed_svmlight_line_is_named(tmp_path: Path, line: str) -> None:
    path = put(tmp_path, f"1 qid:1 1:2\n# note\n{line}\n0 qid:1 1:2\n")
    with pytest.raises(DataError, match=r"train\.txt, line 3: "):
        data.read_features(path)


def parse(content: bytes) -> Rows:
    with tempfile.NamedTemporaryFile(suffix=".svm") as file:
        Path(file.name).write_bytes(content)
        return svmlight.parse([File(Path(file.name))])


@settings(max_examples=4 * settings().max_examples)
@given(st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=20))
def test_numbers_are_read_as_python_reads_them(numbers: list[float]) -> None:
    texts = [text for x in numbers for text in (repr(x), f"{x:.6f}", f"{x:.3e}", f"{x:.17g}")]
    line = " ".join(f"{i}:{text}" for i, text in enumerate(texts, start=1))
    label = texts[0].removeprefix("-")
    rows = parse(f"{label} qid:1 {line}\n".encode())
    assert rows.pieces[0].features.data.tolist() == [float(text) for text in texts]
    assert rows.labels.tolist() == [float(label)]


@pytest.mark.parametrize(
    "text",
    ["0.000000", "00012.5", "123456789012345678901234", "0.0000000000000000000000000000012345",
     "9007199254740993", "1.7e308", "-0.0", "1E+05", "4.35", "2.2250738585072014e-308"],
)  # fmt: skip
def test_hard_numbers_are_exact(text: str) -> None:
    value = parse(f"0 qid:1 1:{text}\n".encode()).pieces[0].features.data[0]
    assert value == float(text)
    assert np.signbit(value) == np.signbit(float(text))


def test_a_qid_is_any_integer_of_64_bits(tmp_path: Path) -> None:
    qids = [2**63 - 1, 2**63 - 2, 10**18, 10**18 - 1, 10, 0]
    path = put(tmp_path, "".join(f"1 qid:{qid} 1:1\n" for qid in qids))
    assert np.asarray(data.read_features(path).qid).tolist() == qids
    assert np.asarray(data.read_truth(path).user).tolist() == qids


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
    with pytest.raises(DataError, match=r"query 3 is in .*S0\.txt and in .*S3\.txt"):
        data.read_features([*paths, put(tmp_path, "1 qid:3 1:6", "S3.txt")])
    table = put(tmp_path, "qid,label,x\n1,1,2\n", "a.csv")
    for wrong in ([], [None], [paths[0], paths[0]], [paths[0], table]):
        with pytest.raises(ArgumentError):
            data.read_features(wrong)


@pytest.mark.parametrize("piece", [12, 1 << 24])
def test_feature_beyond_the_width_is_named_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(svmlight, "_PIECE", piece)
    texts = "1 qid:1 1:1\n", "# note\n1 qid:2 4:2\n\n0 qid:2 7:2\n0 qid:3 7:1\n", "0 qid:4 6:1\n"
    paths = [put(tmp_path, text, f"S{i}.svm") for i, text in enumerate(texts)]
    for options, n in (({"n_features": 3}, 3), ({"features": ["1", "2"]}, 2)):
        with pytest.raises(DataError, match=rf"S1\.svm.* has feature 7, but {n} features"):
            data.read_features(paths, **options)


def test_float32_is_the_nearest_of_each_number(tmp_path: Path) -> None:
    path = put(tmp_path, "1 qid:1 1:0.1 2:3\n0 qid:1 1:16777217 2:1e-50\n")
    got = data.read_features(path, dtype=np.float32)
    assert got.X.dtype == np.float32
    assert np.array_equal(got.X, np.array([[0.1, 3], [16777217, 1e-50]], np.float32))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("1 qid:1 1:0.5\n0 qid:1 2:0.1\n", {"features": ["2"]}),
        ("1 qid:1 1:0.5\n0 qid:1 2:0.1\n", {"features": ["1"]}),
        ("1 qid:1 1:0.5\n0 qid:1 2:0.1\n", {"features": ["1", "2"], "n_features": 3}),
        ("1 qid:1 1:0.5\n", {"ignore": ["1"]}),
        ("1 qid:1 1:0.5\n", {"user": "qid"}),
        ("1 qid:1 1:0.5\n", {"dtype": "int64"}),
        ("1 qid:1 1:1e39\n", {"dtype": "float32"}),
        ("1 qid:1\n0 qid:1\n", {}),
        ("# nothing\n", {"format": "svmlight"}),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, text: str, options: Any) -> None:
    path = put(tmp_path, text)
    with pytest.raises(PodiumError):
        data.read_features(path, **options)


def test_rows_may_have_no_feature_and_a_truth_is_checked_to_its_last(tmp_path: Path) -> None:
    path = put(tmp_path, "1 qid:1\n0 qid:1\n")
    assert data.read_features(path, n_features=2).X.shape == (2, 2)
    assert data.read_truth(path).relevance.tolist() == [1.0, 0.0]
    with pytest.raises(DataError, match="line 2"):
        data.read_truth(put(tmp_path, "1 qid:1 1:2\n0 qid:1 1:2 2:x\n"))
    packed = tmp_path / "train.txt.gz"  # two packed files put together
    packed.write_bytes(gzip.compress(b"1 qid:1 1:2\n") + gzip.compress(b"0 qid:2 1:3\n"))
    assert data.read_features(packed).X.tolist() == [[2.0], [3.0]]


def lines_of(sizes: list[int]) -> str:
    """Queries of these sizes, numbered downwards, with every value different."""
    rng = np.random.default_rng(0)
    return "\n".join(
        f"{i % 3} qid:{len(sizes) - query} "
        + " ".join(f"{j + 1}:{x:.6f}" for j, x in enumerate(rng.random(4)))
        for query, size in enumerate(sizes)
        for i in range(size)
    )


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), piece=st.integers(20, 900))
def test_pieces_give_the_rows_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], piece: int
) -> None:
    path = put(tmp_path_factory.mktemp("rows"), f"# a comment\n{lines_of(sizes)}\n\n")
    whole = data.read_features(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight, "_PIECE", piece)
        in_pieces = data.read_features(path)
    for name in ("X", "y", "qid", "item"):
        assert np.array_equal(getattr(in_pieces, name), getattr(whole, name)), name


def test_malformed_line_and_file_cut_short_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(svmlight, "_PIECE", 100)
    path = put(tmp_path, f"{lines_of([3] * 9)}\n1 1:2\n", "rows.svm")
    with pytest.raises(DataError, match=r"rows\.svm, line 28"):
        data.read_features(path)
    packed = gzip.compress(lines_of([3] * 99).encode())
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(packed[: len(packed) - 9])
    with pytest.raises(DataError, match=r"cut\.txt\.gz can't be read"):
        data.read_features(cut)


def test_letor_ohsumed_equals_scikit_learns_reader(podium_data: Callable[[str], Path]) -> None:
    from sklearn.datasets import load_svmlight_file

    path = podium_data("letor-ohsumed/min/S1.txt.gz")
    X, y, qid = load_svmlight_file(str(path), query_id=True)
    got = data.read_features(path)
    assert not sparse.issparse(got.X)
    assert np.array_equal(got.X, X.toarray())
    assert np.array_equal(got.y, y)
    assert np.array_equal(got.qid, qid)
