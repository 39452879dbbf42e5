"""The numbers that are to be explained: means with their digits, and values of users."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from podium.errors import ArgumentError, DataError, arg
from podium.metrics import Measure, parse
from podium.types import Mask, PerGroup

Value = str | float | Mapping[Any, Any]
"""A mean, or the value of each user."""

_FEWEST_DIGITS = 3
_MOST_ABOVE = 10.0  # times the bound of a measure; a percentage is above it
_ROUNDED = 0.5001  # a share of the last digit
_EXACT = 10  # digits of values of users without a fraction, such as hits


@dataclass(frozen=True)
class Number:
    """A number of another implementation.

    Attributes
    ----------
    measure : Measure
    text : str
        The number as it was given; of values of users, their number.
    target : float
        The mean; nan for values of users.
    half : float
        Half of the last digit.
    users : dict of str to float
        The values of users, by the text of their labels; without those that have none.
    """

    measure: Measure
    text: str
    target: float
    half: float
    users: dict[str, float]

    @classmethod
    def of(cls, measure: Measure, value: Value) -> Number:
        """Read a mean, or the value of each user.

        Raises
        ------
        ArgumentError
            If a value is not a number, a mean has fewer than three digits after the point, or it
            is far from the bounds of the measure.
        """
        if not isinstance(value, Mapping):
            target, n_digits = _mean(str(value), measure)
            return cls(measure, str(value), target, _ROUNDED * 10.0**-n_digits, {})
        defined = {user: number for user, number in value.items() if number not in (None, "")}
        read = {str(user): _parsed(str(number)) for user, number in defined.items()}
        if not read:
            raise ArgumentError(f"{arg.value} has no users for {measure}. Pass at least one value.")
        n_digits = max(n for _, n in read.values())
        half = _ROUNDED * 10.0 ** -(n_digits if 1 < n_digits < _EXACT else _EXACT)
        users = {user: number for user, (number, _) in read.items()}
        return cls(measure, f"{len(read)} values of users", np.nan, half, users)

    def fits(self, mean: float) -> bool:
        """Return whether a mean has these digits."""
        return abs(mean - self.target) <= self.half

    def same(self, values: PerGroup) -> Mask:
        """Return which users of `of_users` have these values."""
        numbers = np.array(list(self.users.values()))
        return (np.abs(values - numbers) <= self.half) | (np.isnan(values) & np.isnan(numbers))


def _parsed(value: str) -> tuple[float, int]:
    """Return a number and its digits after the point."""
    try:
        target = float(value)
    except ValueError:
        raise ArgumentError(
            f"{arg.value} must be a number such as 0.3121, got {value!r}."
        ) from None
    mantissa, _, exponent = value.strip().lower().partition("e")
    return target, len(mantissa.partition(".")[2]) - int(exponent or 0)


def _mean(value: str, measure: Measure) -> tuple[float, int]:
    """Return a mean that the measure can have, and its digits after the point."""
    target, n_digits = _parsed(value)
    low, high = measure.metric.bounds
    if not low <= target <= _MOST_ABOVE * high:
        percent = f" Write a percentage as {target / 100:g}." if high < target <= 100 * high else ""
        raise ArgumentError(
            f"{arg.value} must be from {low:g} to {high:g} for {measure}, got {value}.{percent}"
        )
    if n_digits < _FEWEST_DIGITS:
        raise ArgumentError(
            f"{arg.value} must have at least {_FEWEST_DIGITS} digits after the point, because many "
            f"conventions give {value}. Pass more digits, such as 0.3121."
        )
    return target, n_digits


def numbers_of(value: Value, measure: Measure) -> list[Number]:
    """Return the numbers of ``value=``: one of the first measure, or one for each measure."""
    if not isinstance(value, Mapping):
        return [Number.of(measure, value)]
    return [Number.of(parse(name), number) for name, number in value.items()]


def read_values(path: Path) -> dict[str, Value]:
    """Read the numbers in a result file of another tool.

    Parameters
    ----------
    path : Path
        JSON of measures, of measures by user (pytrec_eval) or of MTEB; or CSV with the columns
        measure and value, or with a column for each measure. In CSV, a column of users (user, qid,
        query, query_id) makes them values of users.

    Raises
    ------
    DataError
        If the file can't be read or names no measure of relevance.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        is_json = text.lstrip()[:1] in ("{", "[")
        values = dict(_of_json(json.loads(text, parse_float=str))) if is_json else _of_csv(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, csv.Error) as error:
        raise DataError(f"{path} can't be read as numbers: {error}") from None
    if not values:
        raise DataError(
            f"{path} names no measure. Pass JSON such as {{'ndcg@5': 0.5731}}, or CSV with the "
            "columns measure and value."
        )
    return {**values, **_padded({n: v for n, v in values.items() if not isinstance(v, Mapping)})}


def _padded(means: Mapping[str, Any]) -> dict[str, str]:
    """Return means with the digits of the longest one, because JSON drops final zeros."""
    read = {name: _parsed(str(value)) for name, value in means.items()}
    n_digits = max((n for _, n in read.values()), default=0)
    return {name: f"{mean:.{max(n_digits, 0)}f}" for name, (mean, _) in read.items()}


_USERS = ("user", "qid", "query", "query_id", "user_id")


def _of_csv(text: str) -> dict[str, Value]:
    rows = list(csv.DictReader(text.splitlines()))
    names = {name.strip().lower(): name for name in (rows[0] if rows else {}) if name}
    user = next((names[name] for name in _USERS if name in names), None)
    values: dict[str, Any] = {}
    for row in rows:
        cells = {row[names["measure"]]: row[names["value"]]} if "measure" in names else row
        for name, value in cells.items():
            if measure := _measure(name):
                at = values if user is None else values.setdefault(measure, {})
                at[measure if user is None else row[user]] = value
    return values


def _of_json(content: Any) -> Iterator[tuple[str, Value]]:
    """Yield measures with their means or their values by user, wherever they are."""
    if isinstance(content, list):
        for part in cast("list[Any]", content):
            yield from _of_json(part)
    if not isinstance(content, dict):
        return
    inner = cast("dict[str, Any]", content)
    by_user: dict[str, dict[str, Any]] = {}
    for name, value in inner.items():
        if isinstance(value, dict):
            values = cast("dict[str, Any]", value)
            if measure := _measure(name):
                yield measure, values
            elif name not in ("scores", "test", "dev") and any(map(_measure, values)):
                for label, number in values.items():
                    if measure := _measure(label):
                        by_user.setdefault(measure, {})[name] = number
                continue
        elif isinstance(value, str | int | float) and (measure := _measure(name)):
            yield measure, value
        yield from _of_json(value)
    yield from by_user.items()


def _measure(name: str) -> str:
    """Return the text of a measure of relevance, such as ndcg_at_10, or an empty text."""
    try:
        measure = parse(name.replace("_at_", "@"))
    except ArgumentError:
        return ""
    return str(measure) if measure.metric.reads == "relevance" else ""
