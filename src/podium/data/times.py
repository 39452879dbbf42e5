"""Times of events in their order, from any column; every comparison of times is made here.

Integers and dates are never converted to a unit or type that can't represent their values. Columns
of different types are compared by their ranks among the values of all columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.convert import finite, no_null
from podium.data.source import POLARS, Column, Source, as_column, is_missing
from podium.errors import ArgumentError, DataError, arg

_Parts: TypeAlias = "tuple[NDArray[Any], str | None]"
"""Values, and the zone."""
SEVERAL = "several zones"
_NUMBER = r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$"
_OFFSET = r"[Zz]|[-+][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?"
_ISO = (
    r"^(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ](?P<hour>[0-9]{2})"
    r"(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]+))?)?)?"
    rf" ?(?P<zone>{_OFFSET})?)?$"
)
_ZONED = re.compile(r"datetime64\[\w+, ")  # the type of pandas for times with a zone
_MICRO, _NANO = 6, 9  # digits of a second
_IN_NANOSECONDS = (2**63 - 1) // 10**_NANO - 1  # seconds since 1970 that nanoseconds can represent
_ARGUMENT = Source("")


def _of_texts(texts: pl.Series, name: str, source: Source) -> _Parts:
    """Read numbers if all texts are numbers, or else ISO dates and times.

    Raises
    ------
    DataError
        If a text is neither, or one kind is mixed with the other.
    """
    POLARS.enter()
    stripped = texts.str.strip_chars()
    is_number = stripped.str.contains(_NUMBER)
    if is_number.all():
        return _numbers(stripped, name, source), None
    if is_number.sum() * 2 >= len(texts):
        raise _odd(texts, is_number, name, source)
    return _moments(texts, stripped, name, source)


def _numbers(series: pl.Series, name: str, source: Source) -> NDArray[Any]:
    """Return integers as int64 if it holds all of them, and other numbers as float64."""
    if not series.dtype.is_float():
        whole = series.cast(pl.Int64, strict=False)
        if not whole.null_count():
            return whole.rechunk().to_numpy()
    return finite(series.cast(pl.Float64).rechunk().to_numpy(), name, None, source)


def _moments(texts: pl.Series, stripped: pl.Series, name: str, source: Source) -> _Parts:
    """Read dates and times in microseconds, or in nanoseconds if they have more digits."""
    fields = stripped.str.extract_groups(_ISO).struct.unnest()
    days = fields["date"].str.to_date("%Y-%m-%d", strict=False)
    clock = [
        fields[unit].cast(pl.Int64).fill_null(0).to_numpy() for unit in ("hour", "minute", "second")
    ]
    is_time = days.is_not_null().to_numpy().copy()
    for values, end in zip(clock, (24, 60, 60), strict=True):
        is_time &= values < end
    if not is_time.all():
        raise _odd(texts, pl.Series(is_time), name, source)
    offset, zone = _offsets(texts, fields["zone"], name, source)
    hour, minute, second = clock
    day = days.to_physical().cast(pl.Int64).to_numpy()
    seconds = ((day * 24 + hour) * 60 + minute) * 60 + second - offset
    part = fields["part"].fill_null("").str.strip_chars_end("0")
    fits = seconds.min() >= -_IN_NANOSECONDS and seconds.max() <= _IN_NANOSECONDS
    has_more = bool((part.str.len_bytes() > _MICRO).any())
    digits, unit = (_NANO, "ns") if fits and has_more else (_MICRO, "us")
    rest = part.str.slice(0, digits).str.pad_end(digits, "0").cast(pl.Int64).to_numpy()
    return (seconds * 10**digits + rest).view(f"datetime64[{unit}]"), zone


def _offsets(
    texts: pl.Series, zones: pl.Series, name: str, source: Source
) -> tuple[NDArray[np.int64], str | None]:
    """Return the offset of each row from UTC in seconds, and the zone that all rows have."""
    n_bare = zones.null_count()
    if n_bare == len(zones):
        return np.zeros(len(zones), np.int64), None
    if n_bare:
        bare = int(zones.is_null().arg_max() or 0)
        zoned = int(zones.is_not_null().arg_max() or 0)
        raise DataError(
            f"{source.name}: {name} must hold times that all have a zone, or all have none, got "
            f"{texts[bare]!r} at {source.places.of(bare)} and {texts[zoned]!r} at "
            f"{source.places.of(zoned)}. Convert the column."
        )
    seconds = {zone: offset_of(zone) for zone in zones.unique()}
    offset = zones.replace_strict(seconds, return_dtype=pl.Int64).to_numpy()
    is_one = len(set(seconds.values())) == 1
    return offset, next(iter(seconds)).upper().replace("Z", "+00:00") if is_one else SEVERAL


def offset_of(zone: str) -> int:
    """Return the seconds of an offset such as "+09:00".

    Examples
    --------
    >>> offset_of("Z"), offset_of("-0130")
    (0, -5400)
    """
    fields = re.findall(r"\d\d", zone)
    seconds = sum(int(field) * 60 ** (2 - i) for i, field in enumerate(fields))
    return -seconds if zone.startswith("-") else seconds


def _in_utc(local: NDArray[Any], zone: str) -> NDArray[Any] | None:
    """Return a local time in UTC, or None if it occurs twice or never in the zone."""
    if zone == SEVERAL:
        return None
    if re.fullmatch(_OFFSET, zone):
        return local - np.timedelta64(offset_of(zone), "s")
    try:
        return pl.Series(local).dt.replace_time_zone(zone).to_numpy()
    except pl.exceptions.PolarsError:
        return None


def _odd(texts: pl.Series, is_usual: pl.Series, name: str, source: Source) -> DataError:
    """Return the error about the first text that differs from the usual kind."""
    row = int((~is_usual).arg_max() or 0)
    usual = f", and {texts[int(is_usual.arg_max() or 0)]!r} elsewhere" if is_usual.any() else ""
    return DataError(
        f"{source.name}: {name} must hold numbers or ISO times such as '2020-01-31T12:00:00', "
        f"got {texts[row]!r} at {source.places.of(row)}{usual}. Convert the column."
    )


def _of_column(values: Any, name: str, source: Source) -> _Parts:
    """Read a column of times; see `podium.data.times.read_times`."""
    series = pl.Series(time_column(values, name, source))
    no_null(series, name, source)
    kind = series.dtype
    if isinstance(kind, pl.Categorical | pl.Enum | pl.Decimal | pl.String):
        return _of_texts(series.cast(pl.String), name, source)
    if isinstance(kind, pl.Date | pl.Datetime):
        unit = kind.time_unit if isinstance(kind, pl.Datetime) else "D"
        moments = series.to_physical().cast(pl.Int64).rechunk().to_numpy()
        zone = kind.time_zone if isinstance(kind, pl.Datetime) else None
        return moments.view(f"datetime64[{unit}]"), zone
    if kind.is_numeric():
        return _numbers(series, name, source), None
    raise _wrong_kind(str(kind), name, source)


def time_column(values: Any, name: str, source: Source) -> Column:
    """Return a column of times as a Series or array.

    Dates and times of any unit are not rounded; those in a list become texts.
    """
    if _ZONED.match(str(getattr(values, "dtype", ""))):
        return pl.Series(values)
    if isinstance(values, pl.Series | np.ma.MaskedArray):
        return as_column(values, name, source)
    if isinstance(values, list) or str(getattr(values, "dtype", "")) == "object":
        known = [None if is_missing(v) or str(v) == "NaT" else v for v in cast("Any", values)]
        given = [value for value in known if value is not None]
        if given and all(isinstance(value, date | np.datetime64) for value in given):
            return pl.Series(name, [None if v is None else str(v) for v in known], pl.String)
    return as_column(values, name, source)


def _wrong_kind(kind: str, name: str, source: Source) -> DataError:
    words = {"Time": "times of day", "Duration": "durations"}
    kind = "Duration" if kind.startswith(("Duration", "timedelta")) else kind
    return DataError(
        f"{source.name}: {name} must hold numbers or dates and times, got "
        f"{words.get(kind, kind)}. Convert the column."
    )


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

    @property
    def kind(self) -> str:
        """What the times are, for messages; only times of one kind can be compared."""
        if not self.is_moment:
            return "numbers"
        return "dates without a zone" if self.zone is None else "dates with a zone"

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
        moment = None if isinstance(at, bool) else _one(str(at), name)
        if moment is None or moment.is_moment != self.is_moment:
            required = (
                "a date or time such as '2011-10-01'"
                if self.is_moment
                else "a number, as the timestamps are"
            )
            raise ArgumentError(f"{arg[name]} must be {required}, got {at!r}.")
        if moment.zone is not None and self.zone is None:
            raise ArgumentError(
                f"{arg[name]} must be without a zone, as the timestamps are, got {at!r}. Write it "
                "by the clock of the timestamps."
            )
        if moment.zone is None and self.zone is not None:
            in_utc = _in_utc(moment.values, self.zone)
            if in_utc is None:
                raise ArgumentError(
                    f"{arg[name]} must be a time with an offset from UTC such as "
                    f"'2011-10-01T00:00:00+01:00', because the timestamps are in {self.zone}, "
                    f"where {at!r} is not one time."
                )
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
    return Times(*_of_column(values, name, source), owner=source.name)


def keys_of(*columns: Times) -> tuple[NDArray[Any], ...]:
    """Return arrays of one type that order the times of all columns.

    Raises
    ------
    ArgumentError
        If the columns are of different kinds, only one of two has a zone, or no type can represent
        the times of all columns.
    """
    first = columns[0]
    for column in columns[1:]:
        if column.kind != first.kind:
            raise ArgumentError(
                f"The times of {_owner(first)} are {first.kind}, and those of {_owner(column)} are "
                f"{column.kind}. Convert one of the columns, so that they can be compared."
            )
    kind = np.result_type(*(column.values.dtype for column in columns))
    return tuple(_as_type(column, kind) for column in columns)


def _as_type(times: Times, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return the values as a type that can represent them, moments as integers."""
    values = times.values
    if values.dtype != kind:
        with np.errstate(invalid="ignore"):
            values = values.astype(kind)
            is_same = _back(values, times.values.dtype) == times.values
        if not is_same.all():
            raise ArgumentError(
                f"The times of {_owner(times)} can't be compared exactly as {kind}, such as "
                f"{times.label(int(np.argmin(is_same)))}. Convert one of the columns."
            )
    return values.view(np.int64) if times.is_moment else values


def _back(values: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return the values as the type that they had; NumPy fails for the first day in nanoseconds."""
    if kind.kind != "M":
        return values.astype(kind)
    ticks = np.ones(1, np.int64).view(kind).astype(values.dtype).view(np.int64)
    return (values.view(np.int64) // ticks).view(kind)


def _owner(times: Times) -> str:
    """Return the name of the table within a sentence."""
    return re.sub("^The ", "the ", times.owner)


def _one(text: str, name: str) -> Times | None:
    """Return one number, date or time, or None if the text is none."""
    try:
        return replace(read_times(pl.Series([text]), name, _ARGUMENT), owner=name)
    except DataError:
        return None
