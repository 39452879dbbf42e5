"""Reading the triplets of the taste profile, and holding out a share of each user's songs."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.errors import DataError

_BLOCK = 2**16  # users per draw of held-out songs; fixed, because the draws depend on it


@dataclass(frozen=True, eq=False)
class Split:
    """Training songs and held-out songs by user; users are in order of first appearance."""

    train: csr_array[Any]
    test: csr_array[Any]


def read(lines: IO[bytes], name: str) -> csr_array[Any]:
    """Read lines of user, song and count, separated by tabs, into a matrix of play counts.

    Raises
    ------
    DataError
        If a line is malformed, if a pair is repeated, or if there are no lines.

    Notes
    -----
    Cost: about a minute and 2 GB of memory for the 48 million lines of the published file.
    """
    users: dict[bytes, int] = {}
    songs: dict[bytes, int] = {}
    user, song, count = array("i"), array("i"), array("i")
    for number, line in enumerate(lines, 1):
        try:
            user_id, song_id, plays = line.split(b"\t")
            count.append(int(plays))
        except (ValueError, OverflowError):
            raise DataError(
                f"{name}, line {number} must be user, song and count, separated by tabs, got "
                f"{line[:80].decode(errors='replace').rstrip()!r}."
            ) from None
        user.append(users.setdefault(user_id, len(users)))
        song.append(songs.setdefault(song_id, len(songs)))
    if not count:
        raise DataError(f"{name} is empty. Download it again.")
    codes = [np.frombuffer(numbers, np.int32) for numbers in (user, song)]
    return _matrix(codes[0], codes[1], np.frombuffer(count, np.int32), name)


def _matrix(
    user: NDArray[np.int32], song: NDArray[np.int32], count: NDArray[np.int32], name: str
) -> csr_array[Any]:
    if count.min() < 1:
        line = int(np.argmin(count)) + 1
        raise DataError(f"{name}, line {line}: count must be at least 1, got {count[line - 1]}.")
    shape = (int(user.max()) + 1, int(song.max()) + 1)
    plays = csr_array((count, (user, song)), shape=shape)
    n_lines = count.size
    plays.sum_duplicates()
    if plays.nnz < n_lines:
        raise DataError(f"{name} has {n_lines - plays.nnz} repeated pairs of user and song.")
    return plays


def hold_out(
    plays: csr_array[Any], share: float, draws: Callable[[int], np.random.Generator]
) -> Split:
    """Hold out a share of each user's songs, rounded down, at random.

    Parameters
    ----------
    plays : (n_users, n_items), sparse
    share : float
        The share of songs to hold out, in (0, 1).
    draws : callable
        A function from the number of a block of users to its random generator.
    """
    is_held_out = np.empty(plays.nnz, np.bool_)
    for block, first in enumerate(range(0, plays.shape[0], _BLOCK)):
        offsets = plays.indptr[first : first + _BLOCK + 1].astype(np.int64)
        sizes = np.diff(offsets)
        user = np.repeat(np.arange(sizes.size), sizes)
        order = np.lexsort((draws(block).random(user.size), user))
        rank = np.arange(user.size) - np.repeat(offsets[:-1] - offsets[0], sizes)
        part = is_held_out[offsets[0] : offsets[-1]]
        part[order] = rank < np.floor(share * sizes)[user]
    return Split(_kept(plays, ~is_held_out), _kept(plays, is_held_out))


def _kept(plays: csr_array[Any], chosen: NDArray[np.bool_]) -> csr_array[Any]:
    ends = np.concatenate([[0], np.cumsum(chosen)])[plays.indptr]
    items = plays.indices[chosen]
    return csr_array((np.ones(items.size, np.int8), items, ends), shape=plays.shape)
