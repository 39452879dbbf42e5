"""Made listening data of the Million Song Dataset's shape, at any size, in bounded memory.

What users like is left out: a song's popularity alone decides who hears it. So speed and memory
can be measured on these data, and quality cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

N_USERS, N_ITEMS, N_PAIRS = 1_129_318, 386_133, 49_824_519
"""Users, songs, and pairs of both, of the collection that yun2014 factorises."""

_BLOCK = 2**14  # users that are drawn at a time: decides the numbers, so it is fixed
_FEWEST = 10.0  # songs of a user before scaling: the published collection has no user with fewer
_SPREAD = 1.1  # standard deviation of the logarithm of the songs beyond those
_HEAD = 50.0  # songs r = 0, 1, … are heard in proportion to 1 / (r + _HEAD): the first by 0.2 %

_ORDER, _PAIRS = 1, 2  # purpose numbers in the seeds of draws


@dataclass(frozen=True)
class Shape:
    """How many users, songs and drawn pairs there are: all songs, and a fraction of the rest."""

    n_users: int
    n_items: int
    n_pairs: int

    @classmethod
    def of(cls, fraction: float) -> Shape:
        """Return the shape of a fraction of the users, each with its songs."""
        return cls(max(1, round(fraction * N_USERS)), N_ITEMS, max(1, round(fraction * N_PAIRS)))


def draw(shape: Shape, seeds: Sequence[int]) -> csr_array[Any]:
    """Draw who hears what.

    Parameters
    ----------
    shape : Shape
    seeds : sequence of int
        What everything random derives from.

    Returns
    -------
    int8, (n_users, n_items), sparse
        Ones. A song that a user draws twice counts once, so there are fewer pairs than drawn: of
        the full shape 49.3 million.

    Notes
    -----
    Cost: about 4 s for the full shape. Memory: 5 bytes a pair, and 50 MB.
    """
    songs = np.random.default_rng([*seeds, _ORDER]).permutation(shape.n_items).astype(np.int32)
    items = np.empty(shape.n_pairs, np.int32)
    offsets = np.zeros(shape.n_users + 1, np.int32)
    end = 0
    for first in range(0, shape.n_users, _BLOCK):
        stop = min(first + _BLOCK, shape.n_users)
        rng = np.random.default_rng([*seeds, _PAIRS, first])
        counts, heard = _block(shape, first, stop, songs, rng)
        items[end : end + heard.size] = heard
        offsets[first + 1 : stop + 1] = end + np.cumsum(counts)
        end += heard.size
    rows = (np.ones(end, np.int8), items[:end], offsets)
    return csr_array(rows, shape=(shape.n_users, shape.n_items))


def _block(
    shape: Shape, first: int, stop: int, songs: NDArray[np.int32], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many songs each of some users hears, and which, rising."""
    n_users, n_items = stop - first, shape.n_items
    ends = [shape.n_pairs * user // shape.n_users for user in (first, stop)]
    activity = np.cumsum(_FEWEST + 3 * _FEWEST * rng.lognormal(-(_SPREAD**2) / 2, _SPREAD, n_users))
    drawn = np.diff(np.rint(activity / activity[-1] * (ends[1] - ends[0])), prepend=0.0)
    user = np.repeat(np.arange(n_users), drawn.astype(np.int64))
    place = _HEAD * np.expm1(rng.random(user.size) * np.log1p(n_items / _HEAD))
    pairs = user * n_items + songs[np.minimum(place.astype(np.int64), n_items - 1)]
    pairs.sort()
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return np.bincount(pairs // n_items, minlength=n_users), pairs % n_items
