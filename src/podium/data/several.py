"""Common codes for the ids of several tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.convert import Ids, as_integers
from podium.data.ids import as_written, codes_of, joined_ids


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


def share_all(columns: Sequence[Ids], whole: Sequence[bool] = ()) -> CommonCodes:
    """Give the ids of several columns common codes.

    The integer 7 and the string "7" are the same id. "7.0" and "i7" are others.

    Parameters
    ----------
    columns : sequence of int64 array or String Series
    whole : sequence of bool
        Whether the first columns are integers that their file writes with ".0"; see `as_written`.

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
    flags = [*whole, *[False] * (len(columns) - len(whole))]
    written = [
        as_written(ids, is_whole, *columns) for ids, is_whole in zip(columns, flags, strict=True)
    ]
    ends = np.cumsum([len(column) for column in columns])[:-1]
    joined = joined_ids(written)
    codes, labels = codes_of(joined if isinstance(joined, np.ndarray) else as_integers(joined))
    return CommonCodes(tuple(np.split(codes, ends)), labels)
