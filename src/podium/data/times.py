"""Times of events in their exact order, from any column; every comparison of times is made here.

A column is never converted to a unit or type that can't hold its values. Columns of different types
are compared by their ranks among the values of all columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data._time_columns import DIGITS, SEVERAL, iso, of_column, offset_by_clock, whole
from podium.data.source import POLARS, Source
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
        int64, uint64 or float64; Python integers or Decimals beyond them; or datetime64, which is
        UTC if the times have a zone.
    rest : int64, (n_rows,), or None
        The part of the numbers that `values` can't hold, in units of 1e-18. It has the sign of the
        number; for seconds it is >= 0.
    zone : str or None
        The zone of dates and times: a name, an offset, or "several zones"; None without a zone.
    owner : str
        The table in messages.
    """

    values: NDArray[Any]
    rest: NDArray[np.int64] | None = None
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
        rest = None if self.rest is None else self.rest[index]
        return replace(self, values=self.values[index], rest=rest)

    def label(self, row: int) -> str:
        """Return the time of a row as text."""
        value = str(self.values[row])
        if self.rest is not None:
            sign = "-" if self.rest[row] < 0 and not value.startswith("-") else ""
            value = f"{sign}{value}.{abs(int(self.rest[row])):018}".rstrip("0").rstrip(".")
        return value if self.zone is None else f"{value}Z"

    def array(self) -> NDArray[Any]:
        """Return an array with these values.

        Its type is int64, float64 or datetime64 if it holds the values, or else uint64 or object.

        Raises
        ------
        DataError
            If no unit of datetime64 holds all values.
        """
        if self.rest is None:
            return self.values
        if self.is_moment:
            raise DataError(
                f"The times of {_owner(self)} have parts of a second and lie outside of the years "
                "that datetime64 holds with these parts. Round the times to microseconds."
            )
        floats = _floats(self)
        if np.unique(floats).size == np.unique(keys_of(self)[0]).size:
            return floats
        return _objects(self)

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
            number = _number(at)
            if number is None:
                raise ArgumentError(
                    f"{arg[name]} must be a number, as the timestamps are, got {at!r}."
                )
            return replace(number, owner=name)
        text = iso(at)
        moment = None if text is None else _from_text(text, name)
        if text is None or moment is None:
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
            seconds, rest = _seconds(moment)
            moment = replace(
                moment,
                values=(seconds - offset).view("datetime64[s]"),
                rest=rest if rest.any() else None,
                zone=self.zone,
            )
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
    >>> times = read_times(["1700000000123456791.0", "1700000000123456790.0"], "time", table)
    >>> times.values.tolist()
    [1700000000123456791, 1700000000123456790]
    """
    if isinstance(values, Times):
        return values
    return Times(*of_column(values, name, source), owner=source.name)


def keys_of(*columns: Times) -> tuple[NDArray[Any], ...]:
    """Return arrays of one type that order the times of all columns.

    These are the values if one type holds those of all columns, or else their dense ranks.
    A decimal number that was read from text is compared with float64 values as the nearest float64.

    Raises
    ------
    ArgumentError
        If the columns are of different kinds, or only one of two has a zone.
    """
    for column in columns[1:]:
        _refuse_other_kind(columns[0], column)
    if columns[0].is_moment:
        return _in_one_unit(columns) or _ranks([_seconds(column) for column in columns])
    if any(column.values.dtype.kind == "f" for column in columns):
        columns = tuple(c if c.rest is None else Times(_floats(c), owner=c.owner) for c in columns)
    return _in_one_type(columns) or _number_ranks(columns)


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


def _in_one_unit(columns: tuple[Times, ...]) -> tuple[NDArray[Any], ...] | None:
    """Return the values in the finest unit of all columns, or None if it can't hold them."""
    units = [np.datetime_data(column.values.dtype)[0] for column in columns]
    per_day = max(_PER_DAY[unit] for unit in units)
    result: list[NDArray[Any]] = []
    for column, unit in zip(columns, units, strict=True):
        values = column.values.view(np.int64)
        factor = per_day // _PER_DAY[unit]
        if column.rest is not None or not _fits(values, factor):
            return None
        result.append(values * factor if factor > 1 else values)
    return tuple(result)


def _fits(values: NDArray[np.int64], factor: int) -> bool:
    extremes = (int(values.min()), int(values.max())) if values.size else ()
    return all(_INT64.min <= value * factor <= _INT64.max for value in extremes)


def _seconds(column: Times) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return whole seconds, and the rest in units of 1e-18 seconds."""
    unit = np.datetime_data(column.values.dtype)[0]
    values = column.values.view(np.int64)
    if unit == "D":
        return values * _DAY, np.zeros_like(values)
    per_second = _PER_DAY[unit] // _DAY
    seconds, part = np.divmod(values, per_second)
    rest = part * (10**DIGITS // per_second)
    return seconds, rest if column.rest is None else column.rest


def _in_one_type(columns: tuple[Times, ...]) -> tuple[NDArray[Any], ...] | None:
    if any(c.rest is not None or c.values.dtype == object for c in columns):
        return None
    arrays = [column.values for column in columns]
    if len({array.dtype for array in arrays}) == 1:
        return tuple(arrays)
    for convert in (whole, _rounded):
        converted = [convert(array) for array in arrays]
        if all(array is not None for array in converted):
            return tuple(cast("list[NDArray[Any]]", converted))
    return None


def _rounded(array: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the values as float64, or None if it would round them."""
    is_exact = array.dtype.kind == "f" or max(-int(array.min()), int(array.max())) <= _EXACT
    return array.astype(np.float64) if is_exact else None


def _number_ranks(columns: tuple[Times, ...]) -> tuple[NDArray[Any], ...]:
    pairs = [_pair(column) for column in columns]
    if all(pair is not None for pair in pairs):
        return _ranks(cast("Any", pairs))
    joined = np.concatenate([_objects(column) for column in columns])
    ranks = np.unique(joined, return_inverse=True)[1].reshape(-1)
    return _divided(ranks, [len(column) for column in columns])


def _pair(column: Times) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return integers and the exact rest, or None beyond int64; both have the number's sign."""
    if column.values.dtype == object:
        return None
    is_float = column.values.dtype.kind == "f"
    integers = whole(np.trunc(column.values) if is_float else column.values)
    if integers is None:
        return None
    if is_float:
        return integers, column.values - np.trunc(column.values)
    return integers, np.zeros_like(integers) if column.rest is None else column.rest


def _ranks(pairs: list[tuple[NDArray[Any], NDArray[Any]]]) -> tuple[NDArray[Any], ...]:
    """Return the dense ranks of pairs among those of all columns."""
    whole, rest = (np.concatenate(part) for part in zip(*pairs, strict=True))
    order = np.lexsort((rest, whole))
    whole, rest = whole[order], rest[order]
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.cumsum(
        np.append(False, (whole[1:] != whole[:-1]) | (rest[1:] != rest[:-1]))[: order.size]
    )
    return _divided(ranks, [len(pair[0]) for pair in pairs])


def _divided(values: NDArray[Any], sizes: list[int]) -> tuple[NDArray[Any], ...]:
    return tuple(np.split(values, np.cumsum(sizes)[:-1]))


def _objects(column: Times) -> NDArray[Any]:
    """Return Python numbers, which Python compares exactly."""
    values = column.values.tolist()
    if column.rest is not None:
        with localcontext(prec=60):
            values = [
                Decimal(whole) + Decimal(rest).scaleb(-DIGITS)
                for whole, rest in zip(values, column.rest.tolist(), strict=True)
            ]
    result = np.empty(len(values), object)
    result[:] = values
    return result


def _floats(column: Times) -> NDArray[np.float64]:
    """Return the float64 value that is nearest to each number."""
    POLARS.enter()
    rest = np.zeros(len(column), np.int64) if column.rest is None else column.rest
    sign = pl.Series(np.where((column.values < 0) | (rest < 0), "-", ""))
    whole = pl.Series(column.values).cast(pl.String).str.strip_prefix("-")
    part = pl.Series(np.abs(rest)).cast(pl.String).str.zfill(DIGITS)
    return (sign + whole + "." + part).cast(pl.Float64).to_numpy()


def _from_text(text: str, name: str) -> Times | None:
    """Return one date or time, or None if the text is none."""
    try:
        times = read_times(pl.Series([text]), name, _ARGUMENT)
    except DataError:
        return None
    return replace(times, owner=name) if times.is_moment else None


def _number(at: Any) -> Times | None:
    """Return one finite number, or None for anything else."""
    if isinstance(at, bool | np.bool_):
        return None
    if isinstance(at, str | Decimal | Integral):
        try:
            times = read_times(pl.Series([str(at)]), "at", _ARGUMENT)
        except DataError:
            return None
        return None if times.is_moment else times
    if not isinstance(at, Real):
        return None
    value = float(at)
    return Times(np.array([value])) if np.isfinite(value) and value == at else None
