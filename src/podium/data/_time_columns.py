"""Columns of times of any type as values and a zone."""

from __future__ import annotations

import re
import sys
from datetime import date, datetime
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.convert import finite, no_null
from podium.data.source import POLARS, Column, Source, as_column, is_missing
from podium.errors import DataError

_UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}  # the unit that replaces others

Parts: TypeAlias = "tuple[NDArray[Any], str | None]"
"""Values, and the zone."""

SEVERAL = "several zones"
_NUMBER = r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$"
_OFFSET = r"[Zz]|[-+][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?"
_ISO = (
    r"^(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ](?P<hour>[0-9]{2})"
    r"(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]+))?)?)?"
    rf" ?(?P<zone>{_OFFSET})?)?$"
)
_YEAR = re.compile(r"\d{4}(-\d\d)?")
_FRACTION = re.compile(r"(?<=:\d\d)[.,](\d+)")
_MICRO, _NANO = 6, 9  # digits of a second
_IN_NANOSECONDS = (2**63 - 1) // 10**_NANO - 1  # seconds since 1970 that nanoseconds can represent


def of_texts(texts: pl.Series, name: str, source: Source) -> Parts:
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


def _moments(texts: pl.Series, stripped: pl.Series, name: str, source: Source) -> Parts:
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
            f"{texts[bare]!r} at {source.place_of(bare)} and {texts[zoned]!r} at "
            f"{source.place_of(zoned)}. Convert the column."
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


def iso(at: Any) -> str | None:
    """Return a date or time, of which no part is lost, as the text that `of_texts` reads.

    Examples
    --------
    >>> iso("2012-06"), iso("20120608T00Z"), iso("2012-06-08 10:00:00.123456789")
    ('2012-06-01T00:00:00', '2012-06-08T00:00:00+00:00', '2012-06-08T10:00:00.123456789')
    """
    if isinstance(at, date):
        return at.isoformat()
    if not isinstance(at, str | np.datetime64):
        return None
    text = str(at).strip()  # pyright: ignore[reportUnknownArgumentType]
    text += "-01-01"[3 * text.count("-") :] if _YEAR.fullmatch(text) else ""
    part = _FRACTION.search(text)
    try:  # Python cuts a fraction after six digits, so it is put aside
        moment = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
    except ValueError:
        return None
    seconds, offset = moment.isoformat()[:19], moment.isoformat()[19:]
    return f"{seconds}{'' if part is None else '.' + part[1]}{offset}"


def offset_by_clock(text: str, zone: str) -> int | None:
    """Return the seconds from UTC of a local time, or None if it occurs twice or never there."""
    if zone == SEVERAL:
        return None
    if re.fullmatch(_OFFSET, zone):
        return offset_of(zone)
    local = pl.Series([datetime.fromisoformat(text[:19])])
    try:
        moment = local.dt.replace_time_zone(zone).dt.epoch("s")[0]
    except pl.exceptions.PolarsError:
        return None
    return int(local.dt.epoch("s")[0]) - int(moment)


def _odd(texts: pl.Series, is_usual: pl.Series, name: str, source: Source) -> DataError:
    """Return the error about the first text that differs from the usual kind."""
    row = int((~is_usual).arg_max() or 0)
    usual = f", and {texts[int(is_usual.arg_max() or 0)]!r} elsewhere" if is_usual.any() else ""
    return DataError(
        f"{source.name}: {name} must hold numbers or ISO times such as '2020-01-31T12:00:00', "
        f"got {texts[row]!r} at {source.place_of(row)}{usual}. Convert the column."
    )


def of_column(values: Any, name: str, source: Source) -> Parts:
    """Read a column of times; see `podium.data.times.read_times`."""
    column = time_column(values, name, source)
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        no_null(pl.Series(np.isnat(column)).replace(True, None), name, source)
        return _in_known_unit(column, name, source), None
    series = pl.Series(column)
    no_null(series, name, source)
    kind = series.dtype
    if isinstance(kind, pl.Categorical | pl.Enum | pl.Decimal | pl.String):
        return of_texts(series.cast(pl.String), name, source)
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
    pandas = cast("Any", sys.modules.get("pandas"))
    if (
        pandas is not None
        and isinstance(values, pandas.Series | pandas.Index)
        and isinstance(values.dtype, pandas.DatetimeTZDtype)
    ):
        return pl.Series(values)
    if isinstance(values, pl.Series | np.ma.MaskedArray):
        return as_column(values, name, source)
    if not isinstance(values, list):
        array: NDArray[Any] = np.asarray(values)
        if array.ndim == 1 and array.dtype.kind == "M":
            return array
        if array.ndim != 1 or array.dtype != object:
            return as_column(values, name, source)
    value_list: list[Any] = list(cast("Any", values))
    known = [None if is_missing(v) or str(v) == "NaT" else v for v in value_list]
    given = [value for value in known if value is not None]
    if given and all(isinstance(value, date | np.datetime64) for value in given):
        return pl.Series(name, [None if v is None else iso(v) for v in known], pl.String)
    return as_column(values, name, source)


def _in_known_unit(array: NDArray[Any], name: str, source: Source) -> NDArray[Any]:
    """Return times in days, seconds or a part of a second."""
    unit, _ = np.datetime_data(array.dtype)
    values = array.astype(f"datetime64[{_UNITS.get(unit, unit)}]")
    if (values.astype(array.dtype) != array).any():
        raise DataError(
            f"{source.name}: {name} has times of {array.dtype} that can't be represented in "
            f"{values.dtype}. Convert the column."
        )
    return values


def _wrong_kind(kind: str, name: str, source: Source) -> DataError:
    words = {"Time": "times of day", "Duration": "durations"}
    kind = "Duration" if kind.startswith(("Duration", "timedelta")) else kind
    return DataError(
        f"{source.name}: {name} must hold numbers or dates and times, got "
        f"{words.get(kind, kind)}. Convert the column."
    )
