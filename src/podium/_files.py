"""Files that appear whole or not at all, and files that must not be written over.

A file is written in a folder of its own beside its place, `.podium-<digest of its name>-<random>`,
and moved from there once it is whole. The folder holds a file that is locked as long as its
process lives. So the next write of the same name can tell what a killed process has left, and
removes it. Where files can't be locked, nothing is removed.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO, NamedTuple

from podium.errors import ArgumentError

_LOCK = "lock"
_MOST_LINKS = 40  # as many as Linux follows


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Give a path to write to, whose file takes the place of `path` when the block succeeds.

    The file is on the disk before it is moved. Where anything fails, a full disk too, the file
    that was there stays, and nothing is left beside it. A link stays, and what it points to is
    replaced. The mode of the old file is kept, and its owner where that is allowed. What is no
    regular file (a device, a pipe, /dev/stdout) gets the bytes once they are whole.

    Raises
    ------
    OSError
        If the file can't be written; its filename is `path`.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.txt")) as beside:
    ...         n_letters = beside.write_text("whole")
    ...     Path(folder, "a.txt").read_text()
    'whole'
    """
    writing = _through(path) if is_stream(path) else _beside(path)
    try:
        with writing as place:
            yield place
    except OSError as error:
        if error.errno is not None and _is_ours(error.filename):
            error.filename = os.fspath(path)
        raise


def is_stream(path: Path) -> bool:
    """Tell a device, a pipe or an open file, which can't be replaced, from a file or none.

    Examples
    --------
    >>> is_stream(Path(os.devnull)), is_stream(Path("model"))
    (True, False)
    """
    if _descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_plain_stream(path: Path) -> bool:
    """Tell a device or a pipe whose name has no suffix, which gets the plainest format.

    Examples
    --------
    >>> is_plain_stream(Path(os.devnull)), is_plain_stream(Path("run.csv"))
    (True, False)
    """
    return not path.suffix and is_stream(path)


def check_writable(path: Path) -> None:
    """Raise an OSError where `replacing` could not begin to write."""
    if is_stream(path):
        if _descriptor(path) is None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with tempfile.TemporaryFile(dir=_target(path).parent):
        pass


class Named(NamedTuple):
    """A file, and how a message calls it: "--out", "TRUTH"."""

    name: str
    path: Path


def refuse_same(read: Iterable[Named], written: Iterable[Named]) -> None:
    """Refuse files to write that are also read, and two that are one file, also through links.

    Raises
    ------
    ArgumentError
        If two are the same; it names both.
    """
    others = [(file, "read") for file in read]
    for file in written:
        for other, use in others:
            if _is_same(file.path, other.path):
                raise ArgumentError(
                    f"{file.name} {file.path} is the same file as {other.name} {other.path}, "
                    f"which is {use}. Name another file."
                )
        others.append((file, "written too"))


def _is_same(one: Path, other: Path) -> bool:
    """Tell whether two paths are one file; a character device, as /dev/null, serves for two."""
    if os.path.normcase(os.path.realpath(one)) != os.path.normcase(os.path.realpath(other)):
        try:
            if not one.samefile(other):
                return False
        except OSError:  # one of them is not there
            return False
    return not one.is_char_device()


@contextmanager
def _beside(path: Path) -> Generator[Path]:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    target = _target(path)
    old = target.stat() if target.exists() else None
    with _own_folder(target) as (folder, mode):
        place = folder / path.name  # with its suffix, which writers read the format off
        yield place
        with place.open("rb+") as file:
            os.fsync(file.fileno())
        _take_after(place, old, mode)
        place.replace(target)


@contextmanager
def _through(path: Path) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix=".podium-") as folder:
        place = Path(folder, path.name)
        yield place
        with place.open("rb") as whole, _opened(path) as target:
            shutil.copyfileobj(whole, target)


def _opened(path: Path) -> IO[bytes]:
    """Open a stream; a file that is open already goes on where it is."""
    number = _descriptor(path)
    if number is None:
        return path.open("wb")
    sys.stdout.flush()
    return os.fdopen(os.dup(number), "wb")


def _target(path: Path) -> Path:
    """Return where a link points, which need not exist."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target


def _descriptor(path: Path) -> int | None:
    """Return which open file of this process a path names, as /dev/stdout and /dev/fd/3 do."""
    open_files = {os.path.realpath(folder) for folder in ("/dev/fd", "/proc/self/fd")}
    for _ in range(_MOST_LINKS):
        if path.name.isdecimal() and os.path.realpath(path.parent) in open_files:
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _take_after(place: Path, old: os.stat_result | None, mode: int) -> None:
    """Give a new file the mode and the owner of the old one, or the mode of any new file."""
    new = place.stat()
    if old is not None:
        mode = stat.S_IMODE(old.st_mode)
        if hasattr(os, "chown") and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            with suppress(PermissionError):
                os.chown(place, old.st_uid, old.st_gid)
    if stat.S_IMODE(new.st_mode) != mode:
        with suppress(PermissionError):  # of file systems that have no modes
            place.chmod(mode)


@contextmanager
def _own_folder(target: Path) -> Generator[tuple[Path, int]]:
    """Give a new folder beside `target`, and the mode that new files have here."""
    start = f".podium-{blake2b(os.fsencode(target.name), digest_size=6).hexdigest()}-"
    _remove_dead(target.parent, start)
    folder, lock = _locked_folder(target.parent, start)
    try:
        yield folder, stat.S_IMODE(os.fstat(lock).st_mode)
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(parent: Path, start: str) -> tuple[Path, int]:
    """Make a folder, and lock the file that says that it is in use."""
    while True:
        folder = parent / f"{start}{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        lock = folder / _LOCK
        try:
            number = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        except (FileExistsError, FileNotFoundError):
            continue  # between these lines another process took the folder for a dead one's
        except OSError:
            folder.rmdir()
            raise
        lock_file(number, wait=True)
        if lock.exists():
            return folder, number
        os.close(number)


def _remove_dead(parent: Path, start: str) -> None:
    """Remove the folders of processes that live no longer."""
    try:
        found = [each for each in parent.iterdir() if each.name.startswith(start)]
    except OSError:  # a folder that may be written to, and not read
        return
    for folder in found:
        if not folder.is_symlink():
            _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    try:
        flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        number = os.open(folder / _LOCK, flags, 0o666)
    except OSError:
        return
    try:
        is_dead = lock_file(number, wait=False)
        if is_dead:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(number)
    if is_dead:  # Windows removes no file that is open, as the lock was
        shutil.rmtree(folder, ignore_errors=True)


if sys.platform == "win32":
    import msvcrt

    def lock_file(number: int, *, wait: bool) -> bool:
        """Lock an open file; return whether that was possible."""
        del wait  # a file that is open can't be removed, so there is nothing to wait for
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock_file(number: int, *, wait: bool) -> bool:
        """Lock an open file; return whether that was possible."""
        try:
            fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:  # another process holds it, or the file system has no locks
            return False
        return True


def _is_ours(name: object) -> bool:
    """Tell an error of the file beside, or of a file that was not named, from another's."""
    return name is None or f"{os.sep}.podium-" in str(name)
