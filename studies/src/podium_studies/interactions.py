"""Readers of published interactions: pairs of a user and an item, in the formats of their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.data.archive import Member, members, required
from podium.errors import DataError
from podium_studies.recipe import DataSet

T = TypeVar("T")
Ints: TypeAlias = NDArray[np.int64]
Pairs: TypeAlias = tuple[Ints, Ints]
"""The users and the items of pairs, (n_pairs,) each."""


def numbered(user: Any, item: Any) -> Pairs:
    """Return unique pairs sorted by user, with users and items numbered from 0 by rising id."""
    users = np.unique(np.asarray(user), return_inverse=True)[1]
    items = np.unique(np.asarray(item), return_inverse=True)[1]
    width = int(items.max()) + 1
    codes = np.unique(users.astype(np.int64) * width + items)
    return codes // width, codes % width


def matrix(user: Ints, item: Ints, shape: tuple[int, int]) -> sparse.csr_array[Any]:
    """Return a matrix with float32 ones at the pairs."""
    return sparse.csr_array((np.ones(user.size, np.float32), (user, item)), shape=shape)


def columns(file: Member, delimiter: bytes, *, skip: int = 0) -> Pairs:
    """Return the integers in the first two columns of a file, after `skip` lines."""

    def pair(line: bytes) -> tuple[int, int]:
        user, item, *_ = line.split(delimiter)
        return int(user), int(item)

    table = np.array(read_lines(file, pair, skip=skip), np.int64)
    return table[:, 0], table[:, 1]


def lists(file: Member) -> Pairs:
    """Read lines with a user and the user's items, of which there may be none."""
    rows = read_lines(file, _integers)
    return _joined((int(row[0]), row[1:]) for row in rows)


def counted(place: Path, source: DataSet) -> Pairs:
    """Read users.dat: line n contains the number of items of user n, and the items."""
    file = required(members(place, source.title, source.url), ["users.dat"], place, source.url)
    rows = read_lines(file, _integers)
    for number, row in enumerate(rows, 1):
        if row[0] != row.size - 1:
            raise broken(file, f"line {number} declares {row[0]} items but has {row.size - 1}")
    return _joined((number, row[1:]) for number, row in enumerate(rows))


def read_lines(file: Member, parse: Callable[[bytes], T], *, skip: int = 0) -> list[T]:
    """Parse the lines that are not blank, after the first `skip` of them."""
    try:
        with file.open() as stream:
            lines = [line for line in stream.read().splitlines() if line.strip()]
        rows = [parse(line) for line in lines[skip:]]
    except (OSError, EOFError, ValueError) as error:
        raise broken(file, error) from error
    if not lines:
        raise broken(file, "it is empty")
    return rows


def broken(file: Member, reason: object) -> DataError:
    """Return the error of a file that can't be read."""
    return DataError(f"{file.name} can't be read: {reason}. Download it again.")


def _integers(line: bytes) -> Ints:
    return np.array(line.split(), np.int64)


def _joined(rows: Iterable[tuple[int, Ints]]) -> Pairs:
    users, items = zip(*rows, strict=True)
    return np.repeat(users, [row.size for row in items]), np.concatenate(items)
