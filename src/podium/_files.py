"""Files that are written completely or not at all, and checks against overwriting input files.

A file is written in a temporary folder beside its path, `.podium-<random>`, and moved to its path
when it is complete. Only a killed process leaves such a folder.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from podium.errors import ArgumentError

_MOST_LINKS = 40  # the limit of Linux


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Yield a temporary path whose file replaces `path` when the block succeeds.

    The file is synchronised to disk before it is moved. After an error, such as a full disk, the
    old file remains and the temporary file is removed. If `path` is a link, the link remains and
    its target is replaced. The new file gets the mode of the old one, and its owner if permitted.
    If `path` is not a regular file (a device, a pipe, /dev/stdout), it receives the bytes when the
    file is complete.

    Raises
    ------
    OSError
        If the file cannot be written. Its filename is `path`.

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
        if error.errno is not None and _is_temporary(error.filename):
            error.filename = os.fspath(path)
        raise


@contextmanager
def making(folder: Path) -> Generator[None]:
    """Make a folder and its parents, unless they exist, for a block that writes into it.

    If the block fails, a new folder is removed with its files, and so are its new parents.

    Raises
    ------
    OSError
        If the folder cannot be made.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     with suppress(ValueError), making(Path(base, "new", "parts")):
    ...         raise ValueError
    ...     os.listdir(base)
    []
    """
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        if folder in new:
            shutil.rmtree(folder, ignore_errors=True)
        for place in new:
            with suppress(OSError):  # it is not empty, or is removed already
                place.rmdir()
        raise


def is_stream(path: Path) -> bool:
    """Return whether path is a device, a pipe or an open file, which cannot be replaced.

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
    """Return whether path is a stream without a suffix, which is written in the plainest format.

    Examples
    --------
    >>> is_plain_stream(Path(os.devnull)), is_plain_stream(Path("run.csv"))
    (True, False)
    """
    return not path.suffix and is_stream(path)


def check_writable(path: Path) -> None:
    """Raise an OSError if `replacing` could not start to write."""
    if is_stream(path):
        if _descriptor(path) is None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with tempfile.TemporaryFile(dir=_target(path).parent):
        pass


class Named(NamedTuple):
    """A file and its name in messages, such as "--out" or "TRUTH"."""

    name: str
    path: Path


def refuse_same(read: Iterable[Named], written: Iterable[Named]) -> None:
    """Raise if a file to write is also read, or is written twice; links are followed.

    Raises
    ------
    ArgumentError
        If two files are the same. The message names both.
    """
    all_used = [(file, "read") for file in read]
    for file in written:
        for used, use in all_used:
            if _is_same(file.path, used.path):
                raise ArgumentError(
                    f"{file.name} {file.path} is the same file as {used.name} {used.path}, "
                    f"which is {use}. Name another file."
                )
        all_used.append((file, "written too"))


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two paths are one file; character devices such as /dev/null can be shared."""
    if os.path.normcase(os.path.realpath(one)) != os.path.normcase(os.path.realpath(other)):
        try:
            if not one.samefile(other):
                return False
        except OSError:  # one of them does not exist
            return False
    return not one.is_char_device()


@contextmanager
def _beside(path: Path) -> Generator[Path]:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    target = _target(path)
    with scratch_folder(target.parent) as folder:
        temporary = folder / path.name  # keep the suffix: writers derive the format from it
        temporary.touch()  # with the mode of new files, which some writers don't give
        old = target.stat() if target.exists() else temporary.stat()
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        _copy_mode_and_owner(temporary, old)
        temporary.replace(target)


@contextmanager
def _through(path: Path) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix=".podium-") as folder:
        temporary = Path(folder, path.name)
        yield temporary
        with temporary.open("rb") as source, _opened(path) as target:
            shutil.copyfileobj(source, target)


def _opened(path: Path) -> IO[bytes]:
    """Open a stream; a file that is already open continues at its position."""
    number = _descriptor(path)
    if number is None:
        return path.open("wb")
    sys.stdout.flush()
    return os.fdopen(os.dup(number), "wb")


def _target(path: Path) -> Path:
    """Return the target of a link, which may not exist."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target


def _descriptor(path: Path) -> int | None:
    """Return the descriptor of the open file that a path such as /dev/stdout or /dev/fd/3 names."""
    open_files = {os.path.realpath(folder) for folder in ("/dev/fd", "/proc/self/fd")}
    for _ in range(_MOST_LINKS):
        if path.name.isdecimal() and os.path.realpath(path.parent) in open_files:
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _copy_mode_and_owner(place: Path, old: os.stat_result) -> None:
    """Give a file the mode of another one, and its owner if permitted."""
    new = place.stat()
    if sys.platform != "win32" and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.chown(place, old.st_uid, old.st_gid)
    with suppress(PermissionError):  # the file system may have no modes
        place.chmod(stat.S_IMODE(old.st_mode))


@contextmanager
def scratch_folder(parent: Path) -> Generator[Path]:
    """Yield a new folder in `parent`, which is removed with its files when the block ends."""
    with tempfile.TemporaryDirectory(
        prefix=".podium-", dir=parent, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def _is_temporary(name: object) -> bool:
    """Return whether an error concerns a temporary file of this module, or names no file."""
    return name is None or f"{os.sep}.podium-" in str(name)
