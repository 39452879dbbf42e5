"""Files of published data: in a folder, in a .zip archive, compressed as .gz, or given directly."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from podium import _check
from podium.data.files import DAMAGED, error_line, open_bytes, unpacked
from podium.errors import DataError


@dataclass(frozen=True)
class Member:
    """A file and a function that opens it; `name` is its name in messages."""

    name: str
    path: str
    open: Callable[[], IO[bytes]]


def members(path: str | Path, title: str, url: str) -> list[Member]:
    """Return the files of a folder or archive, or the single file at path.

    Raises
    ------
    DataError
        If path does not exist (with the download address) or is not a readable archive.
    """
    place = Path(path)
    if not place.exists():
        raise DataError(f"{place} does not exist. Download {title} from {url} and pass its path.")
    if place.is_dir():
        files = sorted(p for p in place.rglob("*") if p.is_file())
        return [_plain(p, p.relative_to(place).as_posix()) for p in files]
    if place.suffix.lower() == ".zip":
        return _zipped(place)
    if place.suffix.lower() in (".rar", ".7z", ".tar", ".tgz"):
        raise DataError(
            f"{place} is an archive that podium can't open. Unpack it and pass the folder."
        )
    return [_plain(place, place.name)]


def pick(files: Iterable[Member], tails: Iterable[str]) -> Member | None:
    """Return the first file whose path ends in one of the tails, also with .gz.

    Earlier tails have priority, then files in fewer folders, then the order of names.
    """
    sorted_files = sorted(files, key=lambda file: (file.path.count("/"), file.path))
    for tail in tails:
        parts = PurePosixPath(tail.lower()).parts
        for file in sorted_files:
            file_parts = PurePosixPath(file.path.lower().removesuffix(".gz")).parts
            if file_parts[-len(parts) :] == parts:
                return file
    return None


def required(files: Iterable[Member], tails: Iterable[str], path: str | Path, url: str) -> Member:
    """Return the file of `pick`, or raise with the names of the searched files."""
    names = list(tails)
    file = pick(files, names)
    if file is None:
        raise DataError(
            f"{path} contains no {_check.listed(names)}. Pass the folder or archive as "
            f"downloaded from {url}."
        )
    return file


def _plain(path: Path, inner: str) -> Member:
    return Member(str(path), inner, lambda: open_bytes(path))


def _zipped(path: Path) -> list[Member]:
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    except DAMAGED as error:
        raise DataError(
            f"{path} can't be opened as zip ({error_line(error)}). Download it again."
        ) from error
    return [_inside(path, info) for info in sorted(infos, key=lambda info: info.filename)]


def _inside(path: Path, info: zipfile.ZipInfo) -> Member:
    def open_member() -> IO[bytes]:
        # The member keeps the file open after the archive is closed.
        with zipfile.ZipFile(path) as archive:
            member = archive.open(info)
        packed = info.filename.lower().endswith(".gz")
        return cast("IO[bytes]", gzip.open(member, "rb")) if packed else member

    name = f"{path}/{info.filename}"
    return Member(name, info.filename, lambda: unpacked(open_member, name, info.compress_size))
