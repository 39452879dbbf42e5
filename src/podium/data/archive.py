"""Publishers' data: a file in a folder, in a .zip archive, packed as .gz, or named itself."""

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
    """A file and how to open it; `name` is for messages."""

    name: str
    path: str
    open: Callable[[], IO[bytes]]


def members(path: str | Path, what: str, url: str) -> list[Member]:
    """Return the files of a folder or archive, or the one file that path is.

    Raises
    ------
    DataError
        If path does not exist (with the place to download it) or is no archive that opens.
    """
    place = Path(path)
    if not place.exists():
        raise DataError(f"{place} does not exist. Download {what} from {url} and pass its path.")
    if place.is_dir():
        files = sorted(p for p in place.rglob("*") if p.is_file())
        return [_plain(p, p.relative_to(place).as_posix()) for p in files]
    if place.suffix.lower() == ".zip":
        return _zipped(place)
    if place.suffix.lower() in (".rar", ".7z", ".tar", ".tgz"):
        raise DataError(f"{place} can't be opened here: unpack it and pass the folder.")
    return [_plain(place, place.name)]


def pick(files: Iterable[Member], tails: Iterable[str]) -> Member | None:
    """Return the file whose path ends in one of the tails (also with .gz), the first tail first.

    The shallowest file wins, then the first by name.
    """
    listed = sorted(files, key=lambda file: (file.path.count("/"), file.path))
    for tail in tails:
        parts = PurePosixPath(tail.lower()).parts
        for file in listed:
            own = PurePosixPath(file.path.lower().removesuffix(".gz")).parts
            if own[-len(parts) :] == parts:
                return file
    return None


def required(files: Iterable[Member], tails: Iterable[str], path: str | Path, url: str) -> Member:
    """Return `pick`'s file, or raise with what was looked for."""
    wanted = list(tails)
    found = pick(files, wanted)
    if found is None:
        raise DataError(
            f"{path} holds no {_check.listed(wanted)}. Pass the folder or archive as it comes "
            f"from {url}."
        )
    return found


def _plain(path: Path, inner: str) -> Member:
    return Member(str(path), inner, lambda: open_bytes(path))


def _zipped(path: Path) -> list[Member]:
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    except DAMAGED as error:
        raise DataError(
            f"{path} can't be opened as zip ({error_line(error)}). Get it again."
        ) from error
    return [_inside(path, info) for info in sorted(infos, key=lambda info: info.filename)]


def _inside(path: Path, info: zipfile.ZipInfo) -> Member:
    def open_member() -> IO[bytes]:
        # The member keeps the file open after its archive is closed.
        with zipfile.ZipFile(path) as archive:
            member = archive.open(info)
        packed = info.filename.lower().endswith(".gz")
        return cast("IO[bytes]", gzip.open(member, "rb")) if packed else member

    name = f"{path}/{info.filename}"
    return Member(name, info.filename, lambda: unpacked(open_member, name, info.compress_size))
