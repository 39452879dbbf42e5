"""Common integer codes for two columns of ids that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium._ties import label_keys, text_order
from podium.data.convert import Ids, as_integers, one_chunk
from podium.data.source import POLARS
from podium.groups import encode, find

_BLOCK = 1 << 16  # codes whose differences stay in the cache


@dataclass(frozen=True, eq=False)
class Shared:
    """Codes of two id columns: equal codes are equal ids.

    Attributes
    ----------
    left, right : int64
        The code of each row of the two columns. Integer ids are their own codes.
    names : Series or None
        The string of each code, from 0; None if ids are integers.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    names: pl.Series | None

    def label(self, code: Any) -> Any:
        """Return the id of a code."""
        return int(code) if self.names is None else self.names[int(code)]

    def labels(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids of codes, as an array of integers or strings."""
        return label_array(self.ids(codes))

    def ids(self, codes: NDArray[np.int64]) -> Ids:
        """Return the ids of codes, in the form of a column."""
        return codes if self.names is None else self.names.gather(codes)

    def left_rows(self) -> NDArray[np.int64]:
        """Return a row of the left column with the id of each row of the right one, or -1."""
        order = np.argsort(self.left, kind="stable")
        position = find(self.left[order], self.right)
        return np.where(position < 0, -1, order[position]) if order.size else position

    def drawn_keys(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return bits that the ids determine, given their codes; 7 and '7' have the same bits."""
        names = self.names
        return codes if names is None else label_keys(names.to_numpy())[codes].view(np.int64)

    def text_keys(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return numbers that increase with the text of ids, given their codes; 10 precedes 9."""
        return text_order(codes) if self.names is None else self._text_places[codes]

    @cached_property
    def _text_places(self) -> NDArray[np.int64]:
        POLARS.enter()
        names: Any = self.names
        return _places(names.arg_sort())

    def value_keys(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return numbers that increase with ids, given their codes: 9 precedes 10, then text.

        The order of two ids does not depend on the others.
        """
        if self.names is None:
            return codes
        POLARS.enter()
        numbers = self.names.cast(pl.Int64, strict=False)
        numbers = numbers.set(numbers.cast(pl.String) != self.names, None)
        ids = pl.DataFrame({"number": numbers, "text": self.names})
        order = ids.select(pl.arg_sort_by("number", "text", nulls_last=True)).to_series()
        return _places(order)[codes]


def _places(order: pl.Series) -> NDArray[np.int64]:
    """Return the place of each code in an order of all codes."""
    places = np.empty(len(order), np.int64)
    places[order.to_numpy()] = np.arange(places.size)
    return places


def share(left: Ids, right: Ids, *, ordered: bool = True) -> Shared:
    """Give the ids of two columns common codes.

    Integers are not changed. If one column contains strings, both are compared as strings.

    Parameters
    ----------
    left, right : int64 array or String Series
        The ids.
    ordered : bool
        Whether codes must increase with the ids. Otherwise strings are numbered in the order of
        appearance.

    Notes
    -----
    Cost: none for integers; otherwise a hash of every string, and a sort of the distinct ones.
    """
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return Shared(left, right, None)
    # Separate categories, so that the dictionary is freed together with the two columns.
    categories = pl.Categories.random()
    columns = [strings(column).cast(pl.Categorical(categories)) for column in (left, right)]
    names = categories.to_series()
    first, second = (one_chunk(column.to_physical().cast(pl.Int64)) for column in columns)
    if not ordered:
        return Shared(first, second, names)
    POLARS.enter()
    order = names.arg_sort()
    places = _places(order)
    return Shared(places[first], places[second], names.gather(order))


def distinct(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct codes, increasing."""
    if not codes.size:
        return codes
    low, high = int(codes.min()), int(codes.max())
    if high - low < 4 * codes.size:
        present = np.zeros(high - low + 1, np.bool_)
        for start in range(0, codes.size, _BLOCK):  # differences of all codes would fill new memory
            present[codes[start : start + _BLOCK] - low] = True
        return np.flatnonzero(present) + low
    ordered = np.sort(codes)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])]


def first_repeated(codes: NDArray[np.int64]) -> int | None:
    """Return the smallest code that occurs twice, or None."""
    ordered = np.sort(codes)
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
    return int(ordered[repeated[0]]) if repeated.size else None


def distinct_ids(ids: Ids) -> Ids:
    """Return the distinct ids, increasing."""
    if isinstance(ids, np.ndarray):
        return distinct(ids)
    POLARS.enter()
    return ids.unique().sort()


def joined_ids(columns: Sequence[Ids]) -> Ids:
    """Return the ids of several columns as one; as strings if they are strings in one of them."""
    filled = [column for column in columns if len(column)]
    arrays = [column for column in filled if isinstance(column, np.ndarray)]
    if len(arrays) == len(filled):
        return np.concatenate([np.empty(0, np.int64), *arrays])
    return pl.concat([strings(column).alias("id") for column in filled])


def codes_of(ids: Ids) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return codes from 0 and the distinct ids, increasing, with ``distinct[codes] == ids``."""
    if isinstance(ids, np.ndarray):
        return encode(ids)
    shared = share(ids, ids[:0])
    return shared.left, np.empty(0, np.str_) if shared.names is None else label_array(shared.names)


def pair_codes(user: Ids, item: Ids) -> NDArray[np.int64]:
    """Return a number per row, which is that of its user and item."""
    users, items = (codes_of(ids)[0] for ids in (user, item))
    return users * (int(items.max(initial=0)) + 1) + items


@dataclass(frozen=True, eq=False)
class CommonCodes:
    """Codes from 0 for the ids of several columns: equal codes are equal ids.

    Attributes
    ----------
    columns : tuple of int64
        The codes of each column.
    labels : (n_ids,)
        The id of each code, increasing: integers if every id is a plain integer, else strings.
    """

    columns: tuple[NDArray[np.int64], ...]
    labels: NDArray[Any]


def share_all(columns: Sequence[Ids]) -> CommonCodes:
    """Give the ids of several columns common codes.

    The integer 7 and the string "7" are the same id. "i7" is another.

    Parameters
    ----------
    columns : sequence of int64 array or String Series

    Returns
    -------
    CommonCodes
        Codes in the order of the ids: in numeric order if every id is a plain integer.

    Examples
    --------
    >>> import polars as pl
    >>> shared = share_all([np.array([10, 2]), pl.Series(["2", "10"])])
    >>> [codes.tolist() for codes in shared.columns], shared.labels.tolist()
    ([[1, 0], [0, 1]], [2, 10])
    """
    ends = np.cumsum([len(column) for column in columns])[:-1]
    joined = joined_ids(columns)
    codes, labels = codes_of(joined if isinstance(joined, np.ndarray) else as_integers(joined))
    return CommonCodes(tuple(np.split(codes, ends)), labels)


def strings(ids: Ids) -> pl.Series:
    """Return ids as a String Series."""
    return pl.Series(ids).cast(pl.String) if isinstance(ids, np.ndarray) else ids


def label_array(ids: Ids) -> NDArray[Any]:
    """Return ids as an array of integers or strings (of fixed width), the type of group labels."""
    return ids if isinstance(ids, np.ndarray) else ids.to_numpy().astype(np.str_)


def in_type_of(ids: Ids, others: Ids) -> Ids:
    """Return ids, all of which are among others, in the type of others."""
    if isinstance(others, np.ndarray) and not isinstance(ids, np.ndarray):
        return one_chunk(ids.cast(pl.Int64))
    return ids
