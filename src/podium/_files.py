"""Files that are written completely or not at all, and checks against overwriting input files.

A file is written in a temporary folder beside its path, `.podium-<digest of its name>-<random>`,
and moved to its path when it is complete. The folder contains a lock file that stays locked as
long as the process lives. The next write of the same name uses the lock to find and remove the
folders of killed processes. If files cannot be locked, nothing is removed.
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
    old = target.stat() if target.exists() else None
    with _temporary_folder(target) as (folder, mode):
        temporary = folder / path.name  # keep the suffix: writers derive the format from it
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        _copy_mode_and_owner(temporary, old, mode)
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


def _copy_mode_and_owner(place: Path, old: os.stat_result | None, mode: int) -> None:
    """Set the mode and the owner of the old file, or else the given mode."""
    new = place.stat()
    if old is not None:
        mode = stat.S_IMODE(old.st_mode)
        if sys.platform != "win32" and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            with suppress(PermissionError):
                os.chown(place, old.st_uid, old.st_gid)
    if stat.S_IMODE(new.st_mode) != mode:
        with suppress(PermissionError):  # the file system may have no modes
            place.chmod(mode)


@contextmanager
def scratch_folder(parent: Path) -> Generator[Path]:
    """Yield a new folder in `parent`, which is removed with its files when the block ends.

    Folders that killed processes left in `parent` are removed first.
    """
    with _temporary_folder(parent / "scratch") as (folder, _):
        yield folder


@contextmanager
def _temporary_folder(target: Path) -> Generator[tuple[Path, int]]:
    """Yield a new folder beside `target`, and the mode of new files in the parent folder."""
    start = f".podium-{blake2b(os.fsencode(target.name), digest_size=6).hexdigest()}-"
    _remove_dead(target.parent, start)
    folder, lock = _locked_folder(target.parent, start)
    try:
        yield folder, stat.S_IMODE(os.fstat(lock).st_mode)
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(parent: Path, start: str) -> tuple[Path, int]:
    """Create a folder and lock the file that marks it as used."""
    while True:
        folder = parent / f"{start}{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        lock = folder / _LOCK
        try:
            number = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        except (FileExistsError, FileNotFoundError):
            continue  # another process removed the folder before the lock file existed
        except OSError:
            folder.rmdir()
            raise
        lock_file(number, wait=True)
        if lock.exists():
            return folder, number
        os.close(number)


def _remove_dead(parent: Path, start: str) -> None:
    """Remove the folders of processes that have ended."""
    try:
        folders = [path for path in parent.iterdir() if path.name.startswith(start)]
    except OSError:  # the folder may be writable but not readable
        return
    for folder in folders:
        if not folder.is_symlink():
            _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    try:
        flags = os.O_CREAT | os.O_RDWR | (0 if sys.platform == "win32" else os.O_NOFOLLOW)
        number = os.open(folder / _LOCK, flags, 0o666)
    except OSError:
        return
    try:
        is_dead = lock_file(number, wait=False)
        if is_dead:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(number)
    if is_dead:  # again, because Windows does not remove open files, and the lock was open
        shutil.rmtree(folder, ignore_errors=True)


if sys.platform == "win32":
    import msvcrt

    def lock_file(number: int, *, wait: bool) -> bool:
        """Lock an open file; return whether that was possible."""
        del wait  # open files cannot be removed on Windows, so waiting is unnecessary
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


def _is_temporary(name: object) -> bool:
    """Return whether an error concerns a temporary file of this module, or names no file."""
    return name is None or f"{os.sep}.podium-" in str(name)
