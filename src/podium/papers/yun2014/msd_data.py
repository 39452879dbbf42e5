"""The taste profile's triplets, read line by line, and a fifth of each user's songs held out."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.errors import DataError

_BLOCK = 2**16  # users whose songs are held out at a time: decides the numbers, so it is fixed


@dataclass(frozen=True, eq=False)
class Split:
    """Songs that are learned from, and those held out; users in order of appearance."""

    train: csr_array[Any]
    test: csr_array[Any]


def read(lines: IO[bytes], name: str) -> csr_array[Any]:
    """Read lines of user, song and count, apart by tabs, into play counts by user and song.

    Raises
    ------
    DataError
        For a line of another form (with its number), a pair that comes twice, or no lines.

    Notes
    -----
    Cost: about a minute for the 48 million lines of the published file, and 2 GB of memory.
    """
    users: dict[bytes, int] = {}
    songs: dict[bytes, int] = {}
    user, song, count = array("i"), array("i"), array("i")
    for number, line in enumerate(lines, 1):
        try:
            one, other, plays = line.split(b"\t")
            count.append(int(plays))
        except (ValueError, OverflowError):
            raise DataError(
                f"{name} line {number} must be user, song and count, apart by tabs, got "
                f"{line[:80].decode(errors='replace').rstrip()!r}."
            ) from None
        user.append(users.setdefault(one, len(users)))
        song.append(songs.setdefault(other, len(songs)))
    if not count:
        raise DataError(f"{name} is empty. Get it again.")
    codes = [np.frombuffer(each, np.int32) for each in (user, song)]
    return _matrix(codes[0], codes[1], np.frombuffer(count, np.int32), name)


def _matrix(
    user: NDArray[np.int32], song: NDArray[np.int32], count: NDArray[np.int32], name: str
) -> csr_array[Any]:
    if count.min() < 1:
        line = int(np.argmin(count)) + 1
        raise DataError(f"{name} line {line} has count {count[line - 1]}, which must be above 0.")
    shape = (int(user.max()) + 1, int(song.max()) + 1)
    plays = csr_array((count, (user, song)), shape=shape)
    n_lines = count.size
    plays.sum_duplicates()
    if plays.nnz < n_lines:
        raise DataError(f"{name} has {n_lines - plays.nnz} pairs of user and song twice.")
    return plays


def hold_out(
    plays: csr_array[Any], share: float, draws: Callable[[int], np.random.Generator]
) -> Split:
    """Hold out a share of each user's songs, rounded down, at random.

    Parameters
    ----------
    plays : (n_users, n_items), sparse
    share : float
        In (0, 1).
    draws : callable
        From the number of a block of users to its random numbers.
    """
    held = np.empty(plays.nnz, np.bool_)
    for block, first in enumerate(range(0, plays.shape[0], _BLOCK)):
        offsets = plays.indptr[first : first + _BLOCK + 1].astype(np.int64)
        sizes = np.diff(offsets)
        user = np.repeat(np.arange(sizes.size), sizes)
        order = np.lexsort((draws(block).random(user.size), user))
        rank = np.arange(user.size) - np.repeat(offsets[:-1] - offsets[0], sizes)
        part = held[offsets[0] : offsets[-1]]
        part[order] = rank < np.floor(share * sizes)[user]
    return Split(_kept(plays, ~held), _kept(plays, held))


def _kept(plays: csr_array[Any], chosen: NDArray[np.bool_]) -> csr_array[Any]:
    ends = np.concatenate([[0], np.cumsum(chosen)])[plays.indptr]
    items = plays.indices[chosen]
    return csr_array((np.ones(items.size, np.int8), items, ends), shape=plays.shape)
