"""What a write does to what was there: links, modes, devices, and what a killed process left."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from podium import _files, data, report
from podium._arrays import write_arrays
from podium._files import Named, is_stream, refuse_same, replacing
from podium.data.appending import append_table
from podium.errors import ArgumentError

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
every_writer = pytest.mark.parametrize(("name", "write"), WRITERS.values(), ids=WRITERS)


@posix
@every_writer
def test_link_stays_and_its_target_is_replaced(
    name: str, write: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / name
    link.symlink_to(Path("folder", "target"))
    for _ in ("a new target", "an old one"):
        write(link)
        assert link.is_symlink()
        assert [each.name for each in (tmp_path / "folder").iterdir()] == ["target"]
    write(tmp_path / f"plain-{name}")
    assert target.read_bytes() == (tmp_path / f"plain-{name}").read_bytes()


@posix
@every_writer
@pytest.mark.parametrize("mode", [0o600, 0o666, None])
def test_mode_is_that_of_the_old_file_or_of_other_new_ones(
    name: str, write: Callable[[Path], None], mode: int | None, tmp_path: Path
) -> None:
    (tmp_path / "other").touch()
    if mode is not None:
        (tmp_path / "other").chmod(mode)
        (tmp_path / "other").rename(tmp_path / name)
    expected = next(tmp_path.iterdir()).stat().st_mode
    write(tmp_path / name)
    assert (tmp_path / name).stat().st_mode == expected
    assert (tmp_path / name).stat().st_size > 0


@contextmanager
def _read_from(path: Path) -> Generator[list[bytes]]:
    """Read a pipe to its end beside the block."""
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    yield got
    reader.join()


@posix
@every_writer
def test_pipe_gets_the_whole_file(name: str, write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path / f"plain-{name}")
    os.mkfifo(tmp_path / name)
    with _read_from(tmp_path / name) as got:
        write(tmp_path / name)
    assert got == [(tmp_path / f"plain-{name}").read_bytes()]
    assert (tmp_path / name).is_fifo()
    assert len(list(tmp_path.iterdir())) == 2


@posix
def test_device_is_written_to_and_stays() -> None:
    terminal, slave = os.openpty()
    try:
        place = Path(os.ttyname(slave))
        assert is_stream(place)
        _text(place)
        assert place.is_char_device()
        assert os.read(terminal, 100) == b"new"
    finally:
        os.close(terminal)
        os.close(slave)


@posix
def test_pipe_gets_nothing_of_a_block_that_fails(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")

    def fail() -> None:
        with replacing(tmp_path / "a") as beside:
            beside.write_text("half")
            raise ZeroDivisionError  # nobody reads, so that opening the pipe would not return

    with pytest.raises(ZeroDivisionError):
        fail()
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


def _left(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


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


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path: Path) -> None:
    with _other_process(tmp_path / "a.txt") as process:
        process.kill()
        process.wait()
    (left,) = _left(tmp_path)
    assert left.startswith(".podium-")
    _text(tmp_path / "b.txt")  # another file's are left alone
    assert _left(tmp_path) == [left, "b.txt"]
    _text(tmp_path / "a.txt")
    assert _left(tmp_path) == ["a.txt", "b.txt"]


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    with _other_process(tmp_path / "a.txt") as process:
        _text(tmp_path / "a.txt")
        assert len(_left(tmp_path)) == 2
        assert (tmp_path / "a.txt").read_text() == "new"
        process.communicate("go on\n")
        assert process.returncode == 0
    assert _left(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "of the other process"


def test_nothing_is_removed_where_files_cannot_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_locks(number: int, *, wait: bool) -> bool:
        return False

    monkeypatch.setattr(_files, "lock_file", without_locks)
    with replacing(tmp_path / "a.txt") as beside:
        beside.write_text("slow")
        _text(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "slow"
    assert _left(tmp_path) == ["a.txt"]


def test_folder_that_was_taken_for_a_dead_ones_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, n_calls = _files.lock_file, 0

    def late(number: int, *, wait: bool) -> bool:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:  # another process removes the folder before it is locked
            (folder,) = tmp_path.iterdir()
            (folder / "lock").unlink()
            folder.rmdir()
        return lock(number, wait=wait)

    monkeypatch.setattr(_files, "lock_file", late)
    _text(tmp_path / "a.txt")
    assert _left(tmp_path) == ["a.txt"]
    assert n_calls > 1


def test_long_name_finds_room_beside_it(tmp_path: Path) -> None:
    name = "a" * 250 + ".txt"
    _text(tmp_path / name)
    assert _left(tmp_path) == [name]


def test_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    for path, kind in ((tmp_path, IsADirectoryError), (tmp_path / "no" / "a", FileNotFoundError)):
        with pytest.raises(kind) as caught:
            _text(path)
        assert caught.value.filename == str(path)


def _named(*paths: Path) -> list[Named]:
    return [Named(f"--{path.name}", path) for path in paths]


def test_same_file_is_refused_under_any_name(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").touch()
    names = [tmp_path / "a", tmp_path / "folder" / ".." / "a"]
    if os.name == "posix":
        for name, make in (("soft", Path.symlink_to), ("hard", Path.hardlink_to)):
            make(tmp_path / name, tmp_path / "a")
            names.append(tmp_path / name)
    for one in names:
        for other in names:
            with pytest.raises(ArgumentError, match=r"which is read\. Name another file"):
                refuse_same(_named(one), _named(other))
        with pytest.raises(ArgumentError, match="which is written too"):
            refuse_same([], _named(names[0], one))
    refuse_same(_named(*names, tmp_path / "none"), _named(tmp_path / "b", tmp_path / "c"))
    null = Path(os.devnull)
    refuse_same(_named(null), _named(null, null))
