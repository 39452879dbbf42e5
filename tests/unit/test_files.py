"""Files of arrays, files that appear whole, and what a write does to what was there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.raised import raises

from podium import data, rankers, report
from podium._arrays import read_arrays, with_digest, write_arrays
from podium._files import Named, refuse_same, replacing
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
    """Let no file grow beyond 2 bytes."""
    resource = pytest.importorskip("resource", reason="limits the size of files; of POSIX")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def _text(path: Path) -> None:
    with replacing(path) as beside:
        beside.write_text("new")


def _append(path: Path) -> None:
    with append_table(path) as append:
        append({"x": np.arange(3)})


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "text": ("a.txt", _text),
    "arrays": ("a", lambda path: write_arrays(path, "podium_test", 1, {"x": np.arange(3)}, {})),
    "page": ("a.html", lambda path: report.write({"title": "a"}, path)),
    "table": ("a.csv", lambda path: data.write_table({"x": np.arange(3)}, path)),
    "parquet": ("a.parquet", lambda path: data.write_table({"x": np.arange(3)}, path)),
    "pieces": ("a.parquet", _append),
    "packed": ("a.csv.gz", _append),
}
WRITERS_OF_NOTHING: list[tuple[str, Callable[[Path], None]]] = [
    ("a", lambda path: _write(path, header={"a": np.nan})),
    ("a", lambda path: _write(path, arrays={"o": np.array([None])})),
]


@pytest.mark.parametrize(("name", "write"), [*WRITERS.values(), *WRITERS_OF_NOTHING])
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
    _text(tmp_path / "a")
    assert seen == [(3, False)]


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
    for place in range(0, len(whole), 11):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        (tmp_path / "a").write_bytes(changed)
        try:
            arrays = read_arrays(tmp_path / "a", "podium_test", 3)[1]
        except DataError:
            continue
        # The name of the digest itself, or a byte between arrays.
        assert repr(arrays) == repr(expected), (place, whole[place - 9 : place + 9])


posix = pytest.mark.skipif(os.name != "posix", reason="a matter of POSIX")

_HANGING = """
import sys, time
from pathlib import Path
from podium._files import replacing

with replacing(Path(sys.argv[1])) as beside:
    beside.write_text("of the other process")
    print("ready", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def _read_from(path: Path) -> Generator[list[bytes]]:
    """Read a pipe to its end beside the block."""
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    yield got
    reader.join()


@posix
@pytest.mark.parametrize(("name", "write"), WRITERS.values(), ids=WRITERS)
def test_links_modes_and_pipes_stay(
    name: str, write: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    plain, link, pipe = (tmp_path / f"{kind}-{name}" for kind in ("plain", "link", "pipe"))
    target = tmp_path / "folder" / "target"
    link.symlink_to(Path("folder", "target"))
    for mode in (None, 0o600, 0o666):
        (tmp_path / "other").touch()
        if mode is not None:
            plain.chmod(mode)
        expected = (tmp_path / "other" if mode is None else plain).stat().st_mode
        write(plain)
        assert plain.stat().st_mode == expected
        write(link)  # a new target, then an old one
        assert link.is_symlink()
        assert _left(tmp_path / "folder") == ["target"]
        assert target.read_bytes() == plain.read_bytes() != b""
    os.mkfifo(pipe)
    with _read_from(pipe) as got:
        write(pipe)
    assert got == [plain.read_bytes()]
    assert pipe.is_fifo()
    assert len(_left(tmp_path)) == 5


def _left(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@posix
def test_device_is_written_to_and_stays() -> None:
    terminal, slave = os.openpty()
    try:
        place = Path(os.ttyname(slave))
        _text(place)
        assert place.is_char_device()
        assert os.read(terminal, 100) == b"new"
    finally:
        os.close(terminal)
        os.close(slave)


@posix
def test_pipe_gets_nothing_of_a_block_that_fails(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")

    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "a") as beside:  # noqa: PT012
        beside.write_text("half")
        raise ZeroDivisionError  # nobody reads, so that opening the pipe would not return
    assert (tmp_path / "a").is_fifo()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_stdout_goes_on_where_it_is(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from podium._files import replacing\n"
        "print('before')\n"
        "with replacing(Path('/dev/stdout')) as beside: _ = beside.write_text('new\\n')\n"
        "print('after')\n"
    )
    (tmp_path / "log").write_text("old\n")
    with (tmp_path / "log").open("a") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert (tmp_path / "log").read_text() == "old\nbefore\nnew\nafter\n"
    assert [each.name for each in tmp_path.iterdir()] == ["log"]


@contextmanager
def _other_process(path: Path) -> Generator[subprocess.Popen[str]]:
    """Give a process that has begun to write, and goes on when it gets a line."""
    argv = [sys.executable, "-c", _HANGING, str(path)]
    with subprocess.Popen(argv, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    with _other_process(tmp_path / "a.txt") as process:
        _text(tmp_path / "a.txt")
        assert len(_left(tmp_path)) == 2
        assert (tmp_path / "a.txt").read_text() == "new"
        process.communicate("go on\n")
        assert process.returncode == 0
    assert _left(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "of the other process"


def test_long_name_finds_room_beside_it(tmp_path: Path) -> None:
    name = "a" * 250 + ".txt"
    _text(tmp_path / name)
    assert _left(tmp_path) == [name]


def test_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    for path, kind in ((tmp_path, IsADirectoryError), (tmp_path / "no" / "a", FileNotFoundError)):
        with pytest.raises(kind) as caught:
            _text(path)
        assert caught.value.filename == str(path)


def test_same_file_is_refused_under_any_name(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").touch()
    names = [tmp_path / "a", tmp_path / "folder" / ".." / "a"]
    if os.name == "posix":
        for name, make in (("soft", Path.symlink_to), ("hard", Path.hardlink_to)):
            make(tmp_path / name, tmp_path / "a")
            names.append(tmp_path / name)
    a, *others = [Named(f"--{path.name}", path) for path in names]
    b, c, null = (Named("--out", Path(path)) for path in ("b", "c", os.devnull))
    for other in (a, *others):
        for read, written in (([a], [other]), ([other], [a]), ([], [a, other])):
            with pytest.raises(ArgumentError):
                refuse_same(read, written)
    refuse_same([a, *others], [b, c])
    refuse_same([null], [null, null])
