"""Files of published data: in a folder, in a .zip archive, compressed as .gz, or given directly."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.data import Interactions
from podium.data.files import File, broken
from podium.errors import DataError
from podium_studies.study import DataFile, DataSet, Recipe

T = TypeVar("T")
Ints = NDArray[np.int64]
Pairs = tuple[Ints, Ints]
Matrix: TypeAlias = "sparse.csr_array[Any]"
"""The users and the items of pairs, (n_pairs,) each."""

_MOVIELENS = DataSet("", "MovieLens", "https://grouplens.org/datasets/movielens/", "")
_DAMAGED = (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile)  # archives
_BLOCK = 2**16  # users per draw of held-out items; fixed, because the draws depend on it
_RATINGS = {"100k": ("u.data", b"\t"), "1m": ("ratings.dat", b"::")}


@dataclass(frozen=True)
class Member:
    """A file and a function that opens it; `name` is its name in messages."""

    name: str
    path: str
    open: Callable[[], AbstractContextManager[IO[bytes]]]


class Context(NamedTuple):
    """Ones at the training pairs and at the held-out pairs, (n_users, n_items) each."""

    train: Matrix
    test: Matrix


def locate(recipe: Recipe, data: Path | None) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the path of each data set by its name, and the checksum of each of its files.

    The path is ``data / folder`` if that exists, else `data` itself: a folder, an archive or
    the file. Files may be compressed as .gz; checksums are of the decompressed content.

    Raises
    ------
    DataError
        If a data set is absent (the message has its address and licence), or if a file is not
        the one that the recipe was made for.
    """
    places: dict[str, Path] = {}
    checksums: dict[str, str] = {}
    for data_set in recipe.data:
        names = f" ({', '.join(file.name for file in data_set.files)})" if data_set.files else ""
        source = f"{data_set.url} (licence: {data_set.licence})"
        needed = f"{recipe.name} needs {data_set.title}{names}, {source}."
        if data is None or not data.exists():
            problem = "" if data is None else f"{data} does not exist. "
            raise DataError(
                f"{problem}{needed} Download it and pass data=PATH, the folder that contains it."
            )
        inner = data / data_set.folder
        place = places[data_set.folder] = inner if inner.exists() else data
        files = members(place, data_set.title, data_set.url) if data_set.files else []
        for file in data_set.files:
            member = pick(files, [file.name, *file.also])
            if member is None:
                raise DataError(f"{place} does not contain {file.name}. {needed}")
            checksums[f"{data_set.folder}/{file.name}"] = _checksum(member, file, data_set)
    return places, checksums


def _checksum(member: Member, file: DataFile, data_set: DataSet) -> str:
    with member.open() as stream:
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
    if file.sha256 and checksum != file.sha256:
        raise DataError(
            f"{member.name} differs from the {file.name} that the recipe needs: its sha256 is "
            f"{checksum[:12]}…, not {file.sha256[:12]}…. Download it again from {data_set.url}"
        )
    return checksum


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
    if place.suffix.lower() == ".zip":
        try:
            archive = zipfile.ZipFile(place)
        except _DAMAGED as error:
            raise broken(place, error) from error
        return [_zipped(archive, info) for info in archive.infolist() if not info.is_dir()]
    base = place if place.is_dir() else place.parent
    files = [file for file in place.rglob("*") if file.is_file()] if place.is_dir() else [place]
    names = {file: file.relative_to(base).as_posix() for file in files}
    return [Member(str(file), name, File(file).reading) for file, name in names.items()]


def _zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name = f"{archive.filename}/{info.filename}"

    @contextmanager
    def reading() -> Generator[IO[bytes]]:
        try:
            with archive.open(info) as stream:
                yield stream
        except _DAMAGED as error:
            raise broken(name, error) from error

    return Member(name, info.filename, reading)


def pick(files: Iterable[Member], tails: Iterable[str]) -> Member | None:
    """Return the first file whose path ends in one of the tails, also with .gz.

    Earlier tails have priority, then files in fewer folders, then the order of names.
    """
    sorted_files = sorted(files, key=lambda file: (file.path.count("/"), file.path))
    for tail in tails:
        for file in sorted_files:
            if f"/{file.path.lower()}".removesuffix(".gz").endswith(f"/{tail.lower()}"):
                return file
    return None


def find(place: str | Path, source: DataSet, *tails: str) -> list[Member]:
    """Return the files whose paths end in the tails, or raise with the name of one."""
    files = members(place, source.title, source.url)
    found = {tail: pick(files, [tail]) for tail in tails}
    for tail, file in found.items():
        if file is None:
            raise DataError(
                f"{place} contains no {tail!r}. Pass the folder or archive as downloaded from "
                f"{source.url}."
            )
    return [file for file in found.values() if file]


def read_lines(file: Member, parse: Callable[[bytes], T], *, skip: int = 0) -> list[T]:
    """Parse the lines that are not blank, after the first `skip` of them."""
    try:
        with file.open() as stream:
            lines = [line for line in stream.read().splitlines() if line.strip()]
        if not lines:
            raise ValueError("it is empty")
        return [parse(line) for line in lines[skip:]]
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{file.name} can't be read: {error}. Download it again.") from error


def columns(file: Member, delimiter: bytes, *, skip: int = 0) -> tuple[Ints, ...]:
    """Return the columns of integers of a file, after `skip` lines."""
    rows = read_lines(file, lambda line: [int(word) for word in line.split(delimiter)], skip=skip)
    return tuple(np.array(column, np.int64) for column in zip(*rows, strict=True))


def pairs(file: Member, delimiter: bytes, *, skip: int = 0) -> Pairs:
    """Return the first two columns of a file, the users and the items."""
    user, item, *_ = columns(file, delimiter, skip=skip)
    return user, item


def movielens(path: Path, kind: str) -> Interactions:
    """Read the ratings of MovieLens "100k" or "1m" from the publisher's folder, archive or file."""
    name, separator = _RATINGS[kind]
    (file,) = find(path, _MOVIELENS, name)
    user, item, rating, timestamp = columns(file, separator)
    return Interactions(user, item, rating.astype(np.float64), timestamp)


def numbered(user: Any, item: Any) -> Pairs:
    """Return unique pairs sorted by user, with users and items numbered from 0 by rising id."""
    users, items = (np.unique(np.asarray(ids), return_inverse=True)[1] for ids in (user, item))
    width = int(items.max()) + 1
    codes = np.unique(users.astype(np.int64) * width + items)
    return codes // width, codes % width


def matrix(user: Ints, item: Ints, shape: tuple[int, int]) -> Matrix:
    """Return a matrix with float32 ones at the pairs."""
    return sparse.csr_array((np.ones(user.size, np.float32), (user, item)), shape=shape)


def hold_out(pairs: Matrix, share: float, draws: Callable[[int], np.random.Generator]) -> Context:
    """Hold out a share of each user's items, rounded down, at random.

    Parameters
    ----------
    pairs : (n_users, n_items), sparse
    share : float
        The share of items to hold out, in (0, 1).
    draws : callable
        A function from the number of a block of users to its random generator.
    """
    is_held_out = np.empty(pairs.nnz, np.bool_)
    for block, first in enumerate(range(0, pairs.shape[0], _BLOCK)):
        offsets = pairs.indptr[first : first + _BLOCK + 1].astype(np.int64)
        sizes = np.diff(offsets)
        user = np.repeat(np.arange(sizes.size), sizes)
        order = np.lexsort((draws(block).random(user.size), user))
        rank = np.arange(user.size) - np.repeat(offsets[:-1] - offsets[0], sizes)
        part = is_held_out[offsets[0] : offsets[-1]]
        part[order] = rank < np.floor(share * sizes)[user]
    return Context(_kept(pairs, ~is_held_out), _kept(pairs, is_held_out))


def _kept(pairs: Matrix, chosen: NDArray[np.bool_]) -> Matrix:
    ends = np.concatenate([[0], np.cumsum(chosen)])[pairs.indptr]
    items = pairs.indices[chosen]
    return sparse.csr_array((np.ones(items.size, pairs.dtype), items, ends), shape=pairs.shape)


def lists(file: Member) -> Pairs:
    """Read lines with a user and the user's items, of which there may be none."""
    return _joined((int(row[0]), row[1:]) for row in read_lines(file, _integers))


def counted(place: Path, source: DataSet) -> Pairs:
    """Read users.dat: line n contains the number of items of user n, and the items."""
    (file,) = find(place, source, "users.dat")
    return _joined(enumerate(row[1:] for row in read_lines(file, _integers)))


def _integers(line: bytes) -> Ints:
    return np.array(line.split(), np.int64)


def _joined(rows: Iterable[tuple[int, Ints]]) -> Pairs:
    users, items = zip(*rows, strict=True)
    return np.repeat(users, [row.size for row in items]), np.concatenate(items)
