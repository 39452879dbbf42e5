"""Times of events in their order, from any column; every comparison of times is made here.

Integers and dates are never converted to a unit or type that can't represent their values. Columns
of different types are compared by their ranks among the values of all columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data._time_columns import SEVERAL, iso, of_column, offset_by_clock
from podium.data.source import Source
from podium.errors import ArgumentError, DataError, arg

_INT64 = np.iinfo(np.int64)
_EXACT = 2**53  # float64 represents all integers up to here
_DAY = 86_400
_SMALL = ("s", "ms", "us", "ns", "ps", "fs", "as")
_PER_DAY = {"D": 1, **{unit: _DAY * 10 ** (3 * i) for i, unit in enumerate(_SMALL)}}
_ARGUMENT = Source("")


@dataclass(frozen=True, eq=False)
class Times:
    """Times of rows: numbers, or dates and times with or without a zone.

    Attributes
    ----------
    values : (n_rows,)
        int64 or float64; or datetime64, which is UTC if the times have a zone.
    zone : str or None
        The zone of dates and times: a name, an offset, or "several zones"; None without a zone.
    owner : str
        The table in messages.
    """

    values: NDArray[Any]
    zone: str | None = None
    owner: str = "the split"

    def __len__(self) -> int:
        return self.values.size

    @property
    def is_moment(self) -> bool:
        """Whether the times are dates and times, not numbers."""
        return self.values.dtype.kind == "M"

    def rows(self, index: Any) -> Times:
        """Return some of the rows."""
        return replace(self, values=self.values[index])

    def label(self, row: int) -> str:
        """Return the time of a row as text."""
        return str(self.values[row]) if self.zone is None else f"{self.values[row]}Z"

    def medians_with(self, other: Times) -> tuple[float, float] | None:
        """Return the median of both columns if they are numbers, or None."""
        if self.is_moment:
            return None
        first, second = (float(np.median(t.values.astype(np.float64))) for t in (self, other))
        return first, second

    def moment(self, at: Any, name: str) -> Times:
        """Return one time that a caller gives, to compare it with these.

        Parameters
        ----------
        at : number, text, date or time
            A number or its text if these times are numbers. Else a date or time; one without a zone
            is by the clock of these times.
        name : str
            The name of the argument in messages.

        Raises
        ------
        ArgumentError
            If the argument is of the other kind, it has a zone and these times have none, or the
            clock of these times is not known.
        """
        if not self.is_moment:
            is_number = not isinstance(at, bool) and isinstance(at, str | Decimal | Real)
            number = _one(str(at), name) if is_number else None
            if number is None or number.is_moment:
                raise ArgumentError(
                    f"{arg[name]} must be a number, as the timestamps are, got {at!r}."
                )
            return number
        text = iso(at)
        moment = None if text is None else _one(text, name)
        if text is None or moment is None or not moment.is_moment:
            raise ArgumentError(
                f"{arg[name]} must be a date or time such as '2011-10-01', got {at!r}."
            )
        if moment.zone is not None and self.zone is None:
            raise ArgumentError(
                f"{arg[name]} must be without a zone, as the timestamps are, got {at!r}. Write it "
                "by the clock of the timestamps."
            )
        if moment.zone is None and self.zone is not None:
            offset = offset_by_clock(text, self.zone)
            if offset is None:
                raise ArgumentError(
                    f"{arg[name]} must be a time with an offset from UTC such as "
                    f"'2011-10-01T00:00:00+01:00', because the timestamps have {self.zone} and "
                    f"{at!r} has none."
                    if self.zone == SEVERAL
                    else f"{arg[name]} must be one time in the zone {self.zone} of the timestamps, "
                    f"but {at!r} is none or two there. Add an offset from UTC such as '+01:00'."
                )
            in_utc = moment.values - np.timedelta64(offset, "s")
            moment = replace(moment, values=in_utc, zone=self.zone)
        return moment


def read_times(values: Any, name: str, source: Source) -> Times:
    """Read a column of times: numbers, dates, dates and times, or the text of these.

    Text is read as decimal numbers if all values are such, or else as ISO dates and times.

    Parameters
    ----------
    values : column
        The column, or `Times`, which are returned.
    name : str
        The name of the column in messages.
    source : Source
        The table, for messages.

    Raises
    ------
    DataError
        If a value is missing or is not a time, or the times have different kinds.

    Examples
    --------
    >>> table = Source("The table")
    >>> read_times(["2024-01-02", "9999-12-31"], "time", table).label(1)
    '9999-12-31T00:00:00.000000'
    >>> read_times(["1700000000123456791", "1700000000123456790"], "time", table).values.tolist()
    [1700000000123456791, 1700000000123456790]
    """
    if isinstance(values, Times):
        return values
    return Times(*of_column(values, name, source), owner=source.name)


def keys_of(*columns: Times) -> tuple[NDArray[Any], ...]:
    """Return arrays of one type that order the times of all columns.

    These are the values if one type can represent those of all columns, or else their dense ranks.

    Raises
    ------
    ArgumentError
        If the columns are of different kinds, or only one of two has a zone.
    """
    for column in columns[1:]:
        _refuse_other_kind(columns[0], column)
    arrays = [column.values for column in columns]
    if columns[0].is_moment:
        return _in_one_unit(arrays)
    if len({array.dtype for array in arrays}) == 1:
        return tuple(arrays)
    if all(_is_float(array) for array in arrays):
        return tuple(array.astype(np.float64) for array in arrays)
    return _ranks([array.tolist() for array in arrays])


def _refuse_other_kind(first: Times, second: Times) -> None:
    if first.is_moment != second.is_moment:
        dated, other = (first, second) if first.is_moment else (second, first)
        raise ArgumentError(
            f"The times of {_owner(dated)} are dates, and those of {_owner(other)} are numbers. "
            "Convert one of the columns, so that they can be compared."
        )
    if (first.zone is None) != (second.zone is None):
        zoned, other = (second, first) if first.zone is None else (first, second)
        raise ArgumentError(
            f"The times of {_owner(zoned)} have a zone, and those of {_owner(other)} have none. "
            "Convert one of the columns, so that they can be compared."
        )


def _owner(times: Times) -> str:
    """Return the name of the table within a sentence."""
    return re.sub("^The ", "the ", times.owner)


def _in_one_unit(arrays: list[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """Return moments as integers in the finest unit of all columns, or their ranks."""
    per_day = [_PER_DAY[np.datetime_data(array.dtype)[0]] for array in arrays]
    factors = [max(per_day) // n for n in per_day]
    pairs = list(zip([array.view(np.int64) for array in arrays], factors, strict=True))
    if all(_fits(values, factor) for values, factor in pairs):
        return tuple(values * factor if factor > 1 else values for values, factor in pairs)
    return _ranks([[value * factor for value in values.tolist()] for values, factor in pairs])


def _fits(values: NDArray[np.int64], factor: int) -> bool:
    extremes = (int(values.min()), int(values.max())) if values.size else ()
    return all(_INT64.min <= value * factor <= _INT64.max for value in extremes)


def _is_float(array: NDArray[Any]) -> bool:
    """Return whether float64 can represent the values."""
    return array.dtype.kind == "f" or max(-int(array.min()), int(array.max())) <= _EXACT


def _ranks(columns: list[list[Any]]) -> tuple[NDArray[Any], ...]:
    """Return the dense ranks of Python numbers, which are compared exactly, among all columns."""
    ordered = {value: rank for rank, value in enumerate(sorted({*chain.from_iterable(columns)}))}
    return tuple(np.array([ordered[value] for value in column]) for column in columns)


def _one(text: str, name: str) -> Times | None:
    """Return one number, date or time, or None if the text is none."""
    try:
        return replace(read_times(pl.Series([text]), name, _ARGUMENT), owner=name)
    except DataError:
        return None
