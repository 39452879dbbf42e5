"""Ids: one set of integer codes for two id columns that are to be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium._kernels import read_only
from podium.data.convert import Ids, as_integers, one_chunk
from podium.data.source import POLARS

_FIRST_BITS = 16  # of the first table that distinct codes are collected in


@dataclass(frozen=True, eq=False)
class Shared:
    """Codes of two id columns: equal codes are equal ids.

    Attributes
    ----------
    left, right : int64
        A code for each row of the two columns. Integer ids are their own codes.
    names : Series or None
        The string that each code from 0 stands for; None where ids are integers.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    names: pl.Series | None

    def label(self, code: Any) -> Any:
        """Return the id that a code stands for."""
        return int(code) if self.names is None else self.names[int(code)]

    def labels(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids that codes stand for, as an array of integers or strings."""
        return codes if self.names is None else as_text(self.names.gather(codes))

    def by_value(self) -> Shared:
        """Return codes that rise with the numbers, where every id is one as it stands."""
        numbers = None if self.names is None else as_integers(self.names)
        if not isinstance(numbers, np.ndarray):
            return self
        return Shared(numbers[self.left], numbers[self.right], None)


def share(left: Ids, right: Ids, *, ordered: bool = True) -> Shared:
    """Give the ids of two columns common codes.

    Integers stay as they are. If one column holds strings, both are compared as strings.

    Parameters
    ----------
    left, right : int64 array or String Series
        Ids.
    ordered : bool
        Whether codes must rise with the ids; without it, strings are numbered as they appear.

    Notes
    -----
    Cost: nothing for integers; a hash of every string otherwise, and a sort of the distinct ones.
    """
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return Shared(left, right, None)
    # Categories of their own: the dictionary lives as long as the two columns and no longer.
    categories = pl.Categories.random()
    columns = [strings(column).cast(pl.Categorical(categories)) for column in (left, right)]
    names = categories.to_series()
    first, second = (one_chunk(column.to_physical().cast(pl.Int64)) for column in columns)
    if not ordered:
        return Shared(first, second, names)
    POLARS.enter()
    order = names.arg_sort().to_numpy()
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    return Shared(place[first], place[second], names.gather(order))


def distinct(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct codes, rising."""
    from podium.data import _kernels

    if not codes.size:
        return codes
    low, high = int(codes.min()), int(codes.max())
    if high - low < 4 * codes.size:
        present = np.zeros(high - low + 1, np.bool_)
        present[codes - low] = True
        return np.flatnonzero(present) + low
    bits = _FIRST_BITS
    while 4 << bits < codes.size:  # most columns name each id often, so a small table does
        keys, taken = np.empty(1 << bits, np.int64), np.zeros(1 << bits, np.bool_)
        if _kernels.collect_distinct(read_only(codes), np.uint64(64 - bits), keys, taken):
            return np.sort(keys[taken])
        bits += 2
    ordered = np.sort(codes)  # np.unique takes ten times as long where most codes differ
    return ordered[np.append(True, ordered[1:] != ordered[:-1])]


def codes_of(ids: Ids) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return codes from 0 and the distinct ids, rising, with ``distinct[codes] == ids``."""
    if isinstance(ids, np.ndarray):
        from podium.groups import encode

        return encode(ids)
    shared = share(ids, ids[:0])
    return shared.left, np.empty(0, np.str_) if shared.names is None else as_text(shared.names)


def strings(ids: Ids) -> pl.Series:
    """Return ids as a String Series."""
    return pl.Series(ids).cast(pl.String) if isinstance(ids, np.ndarray) else ids


def as_text(names: pl.Series) -> NDArray[np.str_]:
    """Return strings as a NumPy array of fixed width, the form of group labels."""
    return names.to_numpy().astype(np.str_)


def label_array(ids: Ids) -> NDArray[Any]:
    """Return ids as an array of integers or strings, the form of group labels."""
    return ids if isinstance(ids, np.ndarray) else as_text(ids)
