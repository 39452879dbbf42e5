"""Files of arrays, and files that appear whole: what is read back, and what a full disk leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.raised import raises

from podium import data, rankers, report
from podium._arrays import read_arrays, replacing, with_digest, write_arrays
from podium.data.appending import append_table
from podium.errors import ArgumentError, DataError

SAVED = Path(__file__).parent / "saved"  # a file of each format

TABLE = np.arange(12.0).reshape(3, 4)
ARRAYS = {
    "plain": TABLE,
    "transposed": TABLE.T,
    "strided": TABLE[:, 1:3],
    "backwards": TABLE[::-1],
    "fortran": np.asfortranarray(TABLE),
    "scalar": np.array(3.5),
    "empty": np.zeros((0, 3), np.float32),
    "swapped": np.array([1, 2], ">i4"),
    "flags": np.array([True, False]),
    "bytes": np.array([7], np.uint8),
    "words": np.array(["é", "", "b c"]),
    "no_words": np.array([], np.str_),
    "odd.ends": np.array([1, 2]),
}


def _write(path: Path, **changes: Any) -> None:
    given = {"kind": "podium_test", "format": 3, "arrays": ARRAYS, "header": {"a": [1, "é"]}}
    write_arrays(path, **{**given, **changes})


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    _write(tmp_path / "a")
    header, arrays = read_arrays(tmp_path / "a", "podium_test", 3)
    assert len(header.pop("digest")) == 32
    assert header == {"format": 3, "a": [1, "é"]}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array, strict=name != "swapped")
        assert arrays[name].flags.writeable


def test_strings_that_are_none_are_refused(tmp_path: Path) -> None:
    b = np.array([98], np.uint8)
    for parts in (
        {"w.utf8": b},
        {"w.utf8": b + np.uint8(157), "w.ends": np.array([1])},  # no UTF-8
        {"w.utf8": b, "w.ends": np.array([1.0, 2.0])},
    ):
        header = with_digest(json.dumps({"format": 3}), parts)
        save_file(parts, tmp_path / "a", metadata={"podium_test": header})
        with pytest.raises(DataError, match="strings"):
            read_arrays(tmp_path / "a", "podium_test", 3)


@contextmanager
def _small_disk() -> Iterator[None]:
    """Let no file grow beyond 500 bytes."""
    resource = pytest.importorskip("resource", reason="limits the size of files; of POSIX")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def _write_text(path: Path) -> None:
    with replacing(path) as beside:
        beside.write_text("x" * 1000)


def _append(path: Path) -> None:
    with append_table(path) as append:
        append({"x": np.arange(1000)})


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a", lambda path: _write(path, header={"a": np.nan})),
        ("a", lambda path: _write(path, arrays={"o": np.array([None])})),
        ("a", lambda path: _write(path, arrays={"x": np.zeros(1000)})),
        ("a", _write_text),
        ("a.html", lambda path: report.write({"title": "a"}, path)),
        ("a.csv", _append),
        ("a.csv", lambda path: data.write_table({"x": np.arange(1000)}, path)),
    ],
)
def test_full_disk_and_what_has_no_form_leave_the_old_file(
    name: str, write: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text("old")
    words = "File too large|JSON compliant|dtype"
    with _small_disk(), pytest.raises(Exception, match=words) as caught:
        write(path)
    assert "\n" not in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert path.read_text() == "old"


def test_file_is_on_the_disk_before_it_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, bool]] = []

    def look(number: int) -> None:
        seen.append((os.fstat(number).st_size, (tmp_path / "a").exists()))

    monkeypatch.setattr(os, "fsync", look)
    _write_text(tmp_path / "a")
    assert seen == [(1000, False)]


def test_saved_model_is_read() -> None:
    model = rankers.load(SAVED / "linear.safetensors")
    assert model.coef_.tolist() == [0.7651650429449552, -0.1912912607362388]
    assert (model.loss, model.l2, model.stop_reason_) == ("pap-ramp@1", 0.5, "max_iter")
    assert model.history_["objective"].shape == (3,)


def test_same_bytes_are_written_again(tmp_path: Path) -> None:
    for name, kind in (("linear", "podium"), ("factorization", "podium_recommender")):
        old = SAVED / f"{name}.safetensors"
        header, arrays = read_arrays(old, kind, 1)
        del header["digest"]
        write_arrays(tmp_path / name, kind, header.pop("format"), arrays, header)
        assert (tmp_path / name).read_bytes() == old.read_bytes()


def test_any_damage_is_told(tmp_path: Path) -> None:
    _write(tmp_path / "a")
    whole = (tmp_path / "a").read_bytes()
    for asked in (("podium_other", 3), ("podium_test", 4)):
        with pytest.raises(DataError, match="checkpoint"):
            read_arrays(tmp_path / "a", *asked, noun="checkpoint")
    with raises(ArgumentError, "path"):
        _write(tmp_path / "absent" / "a")
    for share in (0.0, 0.1, 0.5, 0.99):
        (tmp_path / "a").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError) as caught:
            read_arrays(tmp_path / "a", "podium_test", 3)
        assert "\n" not in str(caught.value)
    (tmp_path / "a").write_bytes(whole)
    expected = read_arrays(tmp_path / "a", "podium_test", 3)[1]
    for place in range(0, len(whole), 5):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        (tmp_path / "a").write_bytes(changed)
        try:
            arrays = read_arrays(tmp_path / "a", "podium_test", 3)[1]
        except DataError:
            continue
        # The name of the digest itself, or a byte between arrays.
        assert repr(arrays) == repr(expected), (place, whole[place - 9 : place + 9])
