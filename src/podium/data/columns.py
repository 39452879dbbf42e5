"""Column names: which column of a table plays which role.

A role is recognised by its usual names in any case, or named outright by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from podium import _check
from podium.errors import ArgumentError, DataError

_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Role:
    """What a column is for: the parameter that names it, and the names that it usually has."""

    name: str
    usual: tuple[str, ...]
    required: bool = True


USER = Role("user", ("user", "user_id", "qid", "query_id", "q_id"))
ITEM = Role("item", ("item", "item_id", "doc_id"))
ANY_ITEM = Role("item", ITEM.usual, required=False)
SCORE = Role("score", ("score", "prediction"), required=False)
RANK = Role("rank", ("rank",), required=False)
RELEVANCE = Role("relevance", ("relevance", "rating", "label"), required=False)
VALUE = Role("value", ("value", "rating", "relevance", "label"), required=False)
TIMESTAMP = Role("timestamp", ("timestamp", "time"), required=False)


def resolve(
    names: Sequence[str], roles: Sequence[Role], explicit: Mapping[str, str | None], source: str
) -> dict[str, str]:
    """Return the column of each role that the table has.

    Raises
    ------
    DataError
        If a named column is not there, a required role has no column, or two columns fit one.
    """
    found: dict[str, str] = {}
    for role in roles:
        wanted = explicit.get(role.name)
        column = _usual(names, role, source) if wanted is None else _named(names, wanted, source)
        if column is not None:
            found[role.name] = column
        elif role.required:
            raise missing(names, (role,), source)
    _refuse_shared(found, source)
    return found


def _refuse_shared(found: Mapping[str, str], source: str) -> None:
    """Refuse one column for two roles."""
    roles: dict[str, str] = {}
    for role, column in found.items():
        if column in roles:
            raise DataError(
                f"{source}: column {column!r} can't be both the {roles[column]} and the {role}. "
                f"Say which is which by {roles[column]}= and {role}=."
            )
        roles[column] = role


def missing(names: Sequence[str], roles: Sequence[Role], source: str) -> DataError:
    """Return the error for a table that has a column for none of these roles."""
    usual = [name for role in roles for name in role.usual]
    if any(_NUMBER.fullmatch(name.strip()) for name in names):
        close = " If its first line is data, put the names of the columns above it."
    else:
        close = next((hint for name in usual if (hint := _check.nearest(name, names))), "")
    return DataError(
        f"{source} has no {' or '.join(role.name for role in roles)} column: "
        f"{there(names)}. Name it {_check.listed(usual)}, "
        f"or pass {' or '.join(f'{role.name}=' for role in roles)}.{close}"
    )


def there(names: Sequence[str]) -> str:
    """Return "it has 'a' and 'b'", the first 12 of them."""
    shown = ", ".join(repr(name) for name in names[:12])
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"it has {shown}{more}" if names else "it has no columns"


def _named(names: Sequence[str], wanted: str, source: str) -> str:
    if wanted in names:
        return wanted
    raise DataError(
        f"{source} has no column {wanted!r}: {there(names)}.{_check.nearest(wanted, names)}"
    )


def _usual(names: Sequence[str], role: Role, source: str) -> str | None:
    fits = [name for name in names if name.strip().lower() in role.usual]
    if len(fits) > 1:
        raise DataError(
            f"{source} has {len(fits)} columns that could be the {role.name}: "
            f"{', '.join(map(repr, fits))}. Say which by {role.name}=."
        )
    return fits[0] if fits else None


def is_rating(column: str) -> bool:
    """Tell by its name a column of ratings, each of which would be positive from 1."""
    return column.strip().lower() == "rating"


def threshold(name: str, min_relevance: float | None, *, ratings: bool) -> float:
    """Return the relevance from which an item is positive: 1 unless given, which ratings need.

    Parameters
    ----------
    name : str
        What messages call the table.
    min_relevance : float, optional
    ratings : bool
        Whether relevance comes from a column of ratings.

    Returns
    -------
    float
        Above 0.

    Raises
    ------
    ArgumentError
        If ratings come without min_relevance, or min_relevance is not above 0.

    Examples
    --------
    >>> threshold("truth.csv", None, ratings=False), threshold("truth.csv", 4, ratings=True)
    (1.0, 4.0)
    """
    if min_relevance is None and ratings:
        raise ArgumentError(
            f"{name} holds ratings: min_relevance must say from which rating an item is "
            "positive. Pass min_relevance=4 (--min-relevance 4) for ratings from 1 to 5."
        )
    value = 1.0 if min_relevance is None else min_relevance
    return _check.number(value, "min_relevance", low=0.0, strict=True)
