"""Times in text: decimal numbers, and ISO dates and times. Both are read without rounding."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.source import POLARS, Source
from podium.errors import DataError

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
_UNITS = {6: "us", 9: "ns"}  # the unit of times with up to so many digits of a second


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
    for digits, unit in _UNITS.items():
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
