"""Columns of times of any type as values, rests and a zone, without rounding."""

from __future__ import annotations

import re
import sys
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.convert import finite, no_null
from podium.data.source import POLARS, Column, Source, as_column
from podium.errors import DataError

_INT64 = np.iinfo(np.int64)
_MOST_DAYS = _INT64.max // 86_400  # days whose seconds are in int64
_UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}  # the unit that replaces others

Parts: TypeAlias = "tuple[NDArray[Any], NDArray[np.int64] | None, str | None]"
"""Values, what they lack in units of 1e-18, and the zone. Both parts of a number have its sign."""

SEVERAL = "several zones"
DIGITS = 18  # of a fraction in an int64
_NUMBER = r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$"
_PLAIN = r"^(?P<sign>[-+]?)(?P<whole>[0-9]*)\.?(?P<part>[0-9]*)$"
_OFFSET = r"[Zz]|[-+][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?"
_ISO = (
    r"^(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ](?P<hour>[0-9]{2})"
    r"(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]+))?)?)?"
    rf" ?(?P<zone>{_OFFSET})?)?$"
)
_YEAR = re.compile(r"\d{4}(-\d\d)?")
_FRACTION = re.compile(r"(?<=:\d\d)[.,](\d+)")
_LONGEST = 60  # digits of a number that is written without its exponent
_UNITS_OF_TEXT = {6: "us", 9: "ns"}  # the unit of times with up to so many digits of a second


def of_texts(texts: pl.Series, name: str, source: Source) -> Parts:
    """Read numbers if all texts are numbers, or else ISO dates and times.

    Raises
    ------
    DataError
        If a text is neither, or one kind is mixed with the other.
    """
    POLARS.enter()
    stripped = texts.str.strip_chars()
    whole = _integers(stripped)
    if whole is not None:
        return whole, None, None
    is_number = stripped.str.contains(_NUMBER)
    if is_number.all():
        return *_decimals(stripped, name, source), None
    if is_number.sum() * 2 >= len(texts):
        raise _odd(texts, is_number, name, source)
    return _moments(texts, stripped, name, source)


def _integers(texts: pl.Series) -> NDArray[Any] | None:
    """Return the texts as int64 or uint64, or None if they are not such integers."""
    for kind in (pl.Int64, pl.UInt64):
        numbers = texts.cast(kind, strict=False)
        if not numbers.null_count():
            return numbers.rechunk().to_numpy()
    return None


def _decimals(
    texts: pl.Series, name: str, source: Source
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Return integers and fractions, or Decimals if the numbers have too many digits."""
    if texts.str.contains("[eE]").any():
        texts = _without_exponents(texts, name, source)
    fields = texts.str.extract_groups(_PLAIN).struct.unnest()
    part = fields["part"].str.strip_chars_end("0")
    digits = (fields["sign"] + fields["whole"] + (fields["whole"] == "").replace_strict(
        {True: "0", False: ""}, return_dtype=pl.String))  # fmt: skip
    whole = digits.cast(pl.Int64, strict=False)
    if whole.null_count() or (part.str.len_bytes() > DIGITS).any():
        if not (part != "").any() and (wide := _integers(digits)) is not None:
            return wide, None
        return np.array([Decimal(text) for text in texts], dtype=object), None
    rest = part.str.pad_end(DIGITS, "0").cast(pl.Int64).to_numpy()
    rest = np.where((fields["sign"] == "-").to_numpy(), -rest, rest)
    return whole.to_numpy(), rest if rest.any() else None


def _without_exponents(texts: pl.Series, name: str, source: Source) -> pl.Series:
    """Return the texts of the same numbers without exponents, if these are short."""
    plain: dict[str, str] = {}
    for text in texts.unique():
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("inf")
        if not number.is_finite() or abs(number.adjusted()) > _LONGEST:
            row = int((texts == text).arg_max() or 0)
            raise DataError(
                f"{source.name}: {name} must hold times, got {text!r} at {source.place_of(row)}. "
                "Convert the column."
            )
        plain[text] = format(number, "f")
    return texts.replace_strict(plain, return_dtype=pl.String)


def _moments(texts: pl.Series, stripped: pl.Series, name: str, source: Source) -> Parts:
    fields = stripped.str.extract_groups(_ISO).struct.unnest()
    days = fields["date"].str.to_date("%Y-%m-%d", strict=False)
    clock = [
        fields[unit].cast(pl.Int64).fill_null(0).to_numpy() for unit in ("hour", "minute", "second")
    ]
    is_time = days.is_not_null().to_numpy().copy()
    for values, end in zip(clock, (24, 60, 60), strict=True):
        is_time &= values < end
    part = fields["part"].fill_null("").str.strip_chars_end("0")
    is_time &= (part.str.len_bytes() <= DIGITS).to_numpy()
    if not is_time.all():
        raise _odd(texts, pl.Series(is_time), name, source)
    offset, zone = _offsets(texts, fields["zone"], name, source)
    hour, minute, second = clock
    day = days.to_physical().cast(pl.Int64).to_numpy()
    seconds = ((day * 24 + hour) * 60 + minute) * 60 + second - offset
    n_digits = int(part.str.len_bytes().max() or 0)  # pyright: ignore[reportArgumentType]
    rest = part.str.pad_end(DIGITS, "0").cast(pl.Int64).to_numpy()
    return *_in_unit(seconds, rest, n_digits), zone


def _in_unit(
    seconds: NDArray[np.int64], rest: NDArray[np.int64], n_digits: int
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Return times in microseconds or nanoseconds if these hold them, else seconds and the rest."""
    for digits, unit in _UNITS_OF_TEXT.items():
        limit = (2**63 - 1) // 10**digits - 1
        if n_digits <= digits and -limit <= seconds.min() and seconds.max() <= limit:
            whole = seconds * 10**digits + rest // 10 ** (DIGITS - digits)
            return whole.view(f"datetime64[{unit}]"), None
    return seconds.view("datetime64[s]"), rest


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
    _refuse_missing(column, name, source)
    if isinstance(column, np.ndarray) and column.dtype.kind not in "UST":
        return _of_array(column, name, source)
    return _of_series(pl.Series(column), name, source)


def time_column(values: Any, name: str, source: Source) -> Column:
    """Return a column of times as a Series or array, without rounding.

    Lists of dates and times, and lists of numbers that float64 would round, become texts.
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
    known = [None if _is_missing(value) else value for value in value_list]
    given = [value for value in known if value is not None]
    if given and all(isinstance(value, date | np.datetime64) for value in given):
        return pl.Series(name, [None if v is None else iso(v) for v in known], pl.String)
    if not _is_one_type(given):
        return pl.Series(name, [None if v is None else str(v) for v in known], pl.String)
    return as_column(values, name, source)


def _is_one_type(values: list[Any]) -> bool:
    """Return whether int64 or float64 holds the values, or they are no numbers."""
    if not all(isinstance(value, int | float | Decimal | np.number) for value in values):
        return True
    if all(isinstance(value, float | np.floating) for value in values):
        return True
    is_whole = all(isinstance(value, int | np.integer) for value in values)
    return is_whole and all(_INT64.min <= value <= _INT64.max for value in values)


def whole(array: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the values as int64, or None if it does not hold them."""
    if not array.size or array.dtype == np.int64:
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f" and (array != np.trunc(array)).any():
        return None
    is_within = int(array.min()) >= _INT64.min and int(array.max()) <= _INT64.max
    return array.astype(np.int64) if is_within else None


def _of_array(array: NDArray[Any], name: str, source: Source) -> Parts:
    kind = array.dtype.kind
    if kind == "M":
        return _in_known_unit(array, name, source), None, None
    if kind == "f":
        values = array.astype(np.float64)
        if (values != array).any():
            raise DataError(
                f"{source.name}: {name} must hold times that float64 can represent, got "
                f"{array.dtype}. Convert the column."
            )
        return values, None, None
    if kind in "iu":
        return _narrow(array), None, None
    raise _wrong_kind(array.dtype.name, name, source)


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return integers as int64 if it holds them."""
    narrow = whole(array)
    return array if narrow is None else narrow


def _in_known_unit(array: NDArray[Any], name: str, source: Source) -> NDArray[Any]:
    unit, count = np.datetime_data(array.dtype)
    wanted = _UNITS.get(unit, unit)
    days = array.astype("datetime64[D]").view(np.int64) if wanted == "D" else np.zeros(1, np.int64)
    is_in_range = max(-int(days.min(initial=0)), int(days.max(initial=0))) <= _MOST_DAYS
    if unit == wanted and count == 1 and is_in_range:
        return np.ascontiguousarray(array, f"datetime64[{unit}]")
    values = array.astype(f"datetime64[{wanted}]")
    if not is_in_range or (values.astype(array.dtype) != array).any():
        raise DataError(
            f"{source.name}: {name} has times of {array.dtype} that can't be represented in "
            f"datetime64[{wanted}]. Convert the column."
        )
    return values


def _of_series(series: pl.Series, name: str, source: Source) -> Parts:
    kind = series.dtype
    if isinstance(kind, pl.Categorical | pl.Enum | pl.Decimal):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        return of_texts(series, name, source)
    if isinstance(kind, pl.Date | pl.Datetime):
        unit = kind.time_unit if isinstance(kind, pl.Datetime) else "D"
        values = series.to_physical().cast(pl.Int64).rechunk().to_numpy()
        zone = kind.time_zone if isinstance(kind, pl.Datetime) else None
        return values.view(f"datetime64[{unit}]"), None, zone
    if isinstance(kind, pl.Int128 | pl.UInt128):
        return of_texts(series.cast(pl.String), name, source)
    if kind.is_integer():
        return _narrow(series.rechunk().to_numpy()), None, None
    if kind.is_float():
        return series.cast(pl.Float64).rechunk().to_numpy(), None, None
    raise _wrong_kind(str(kind), name, source)


def _wrong_kind(kind: str, name: str, source: Source) -> DataError:
    words = {"Time": "times of day", "Duration": "durations"}
    kind = "Duration" if kind.startswith(("Duration", "timedelta")) else kind
    return DataError(
        f"{source.name}: {name} must hold numbers or dates and times, got "
        f"{words.get(kind, kind)}. Convert the column."
    )


def _refuse_missing(column: Column, name: str, source: Source) -> None:
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":
        column = pl.Series(np.isnat(column)).replace(True, None)
    series = pl.Series(column)
    no_null(series, name, source)
    if series.dtype.is_float():
        finite(series.cast(pl.Float64).to_numpy(), name, None, source)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    # nan and NaT differ from themselves
    return isinstance(value, float | np.floating | Decimal | np.datetime64) and value != value
