"""Column names: the role of each column of a table.

A role is recognised by its usual names, or else by names of published data sets, or named by the
caller. Upper and lower case, "_", "-" and blanks make no difference, so that userId, USER_ID and
User-ID are one name. The type in a header of RecBole, such as user_id:token, is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from podium import _check
from podium.errors import ArgumentError, DataError, arg, hint

Kind: TypeAlias = Literal["id", "number", "any", "time"]
"""How a column is read."""

NO_HEADER = (
    "If its first line is data, insert a line with the column names above it"
    f"{hint(f', or name them with {arg.columns()}')}{hint(' of read_interactions')}."
)
"""The advice for a text file whose first line contains numbers."""

_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?")
_TYPE = re.compile(r":(token|float)(_seq)?$")  # in headers of RecBole
_IGNORED = re.compile(r"[\s_-]")


@dataclass(frozen=True)
class Role:
    """The role of a column: the parameter that names it, and the usual names of such columns.

    `published` are names of data sets, which apply if a table has no usual name. `kind` states how
    the column is read.
    """

    name: str
    usual: tuple[str, ...]
    required: bool = True
    published: tuple[str, ...] = ()
    kind: Kind = "any"


USER = Role(
    "user",
    ("user", "user_id", "qid", "query_id", "q_id"),
    published=("reviewer_id", "customer_id"),
    kind="id",
)
ITEM = Role(
    "item",
    ("item", "item_id", "doc_id"),
    published=(
        *("movie_id", "asin", "parent_asin", "product_id", "business_id", "book_id", "isbn"),
        *("artist_id", "video_id"),
    ),
    kind="id",
)
ANY_ITEM = replace(ITEM, required=False)
SCORE = Role("score", ("score", "prediction"), required=False, kind="number")
RANK = Role("rank", ("rank",), required=False, kind="number")
_RATINGS = ("overall", "book_rating")
RELEVANCE = Role(
    "relevance",
    ("relevance", "rating", "label"),
    required=False,
    published=_RATINGS,
    kind="number",
)
VALUE = Role(
    "value",
    ("value", "rating", "relevance", "label"),
    required=False,
    published=("weight", *_RATINGS),
    kind="number",
)
TIMESTAMP = Role(
    "timestamp",
    ("timestamp", "time"),
    required=False,
    published=("datetime", "unix_review_time"),
    kind="time",
)
TRUTH = (USER, ITEM, RELEVANCE)
RUN = (USER, ITEM, SCORE, RANK)
EVENTS = (USER, ITEM, VALUE, TIMESTAMP)
SPLIT = (USER, ITEM, TIMESTAMP, *(Role(name, (), required=False) for name in ("rating", "weight")))
"""The columns that a split names in its parts; only the caller can choose one of weights."""


def resolve(
    names: Sequence[str], roles: Sequence[Role], explicit: Mapping[str, str | None], source: str
) -> dict[str, str]:
    """Return the name of the column of each role that the table has.

    Raises
    ------
    DataError
        If a named column does not exist, a required role has no column, or two columns match one
        role.
    """
    column_of_role: dict[str, str] = {}
    for role in roles:
        explicit_name = explicit.get(role.name)
        column = (
            _usual(names, role, source)
            if explicit_name is None
            else _named(names, explicit_name, source)
        )
        if column is not None:
            column_of_role[role.name] = column
        elif role.required:
            raise missing(names, (role,), source)
    _refuse_shared(column_of_role, source)
    return column_of_role


def _refuse_shared(column_of_role: Mapping[str, str], source: str) -> None:
    """Raise if one column has two roles."""
    roles: dict[str, str] = {}
    for role, column in column_of_role.items():
        if column in roles:
            raise DataError(
                f"{source}: column {column!r} can't be both the {roles[column]} and the {role}. "
                f"Name the two columns with {arg[roles[column]]()} and {arg[role]()}."
            )
        roles[column] = role


def missing(
    names: Sequence[str], roles: Sequence[Role], source: str, advice: str = ""
) -> DataError:
    """Return the error for a table without a column for any of these roles."""
    usual_names = [name for role in roles for name in role.usual]
    hint_text = f" {NO_HEADER}" if _has_numbers(names) else misspelt(names, roles)
    return DataError(
        f"{source} has no {' or '.join(role.name for role in roles)} column: "
        f"{column_list(names)}. Name the column {_check.listed(usual_names)}, "
        f"or pass {' or '.join(str(arg[role.name]()) for role in roles)}.{advice}{hint_text}"
    )


def misspelt(names: Sequence[str], roles: Sequence[Role]) -> str:
    """Return " Did you mean 'x'?" for a column whose name is similar to a role's, else ""."""
    if _has_numbers(names):
        return ""
    usual_names = [name for role in roles for name in role.usual]
    return next(filter(None, (_check.nearest(name, names) for name in usual_names)), "")


def _has_numbers(names: Sequence[str]) -> bool:
    return any(_NUMBER.fullmatch(name.strip()) for name in names)


def column_list(names: Sequence[str]) -> str:
    """Return "it has 'a' and 'b'", the first 12 of them."""
    first_names = ", ".join(repr(name) for name in names[:12])
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"it has {first_names}{more}" if names else "it has no columns"


def _named(names: Sequence[str], explicit_name: str, source: str) -> str:
    if explicit_name in names:
        return explicit_name
    raise DataError(
        f"{source} has no column {explicit_name!r}: "
        f"{column_list(names)}.{_check.nearest(explicit_name, names)}"
    )


def canonical(name: str) -> str:
    """Return a name without what makes no difference.

    Examples
    --------
    >>> canonical("userId"), canonical(" USER_ID"), canonical("user_id:token")
    ('userid', 'userid', 'userid')
    """
    return _IGNORED.sub("", _TYPE.sub("", name.strip().lower()))


def is_usual(name: str, *roles: Role) -> bool:
    """Return whether a column name is a usual or published one of these roles."""
    known_names = {canonical(text) for role in roles for text in (*role.usual, *role.published)}
    return canonical(name) in known_names


def standard_names(
    names: Sequence[str], column_of_role: Mapping[str, str], *, counted: bool
) -> dict[str, str]:
    """Return the new name of each column that gets one: columns with a role have the role's name.

    The only column with a usual name of ratings gets the name "rating". With `counted`, there will
    be another column of weights. Columns whose names would then be ambiguous get ``other_`` before
    the name.

    Examples
    --------
    >>> named = {"user": "CustomerID", "item": "Item"}
    >>> standard_names(["CustomerID", "Item", "user"], named, counted=False)
    {'CustomerID': 'user', 'Item': 'item', 'user': 'other_user'}
    """
    renamed = {name: role for role, name in column_of_role.items()}
    values = [name for name in names if is_usual(name, VALUE)]
    has_value = counted or not {"rating", "weight"}.isdisjoint(column_of_role)
    if not has_value and len(values) == 1 and is_rating(values[0]):
        renamed[values[0]] = "rating"
    used = [role for role in (USER, ITEM, TIMESTAMP) if role.name in column_of_role]
    used += [replace(VALUE, usual=(*VALUE.usual, *VALUE.published))] if has_value else []
    taken = {canonical(name) for role in used for name in role.usual}
    others = [name for name in names if name not in renamed and canonical(name) in taken]
    return renamed | {name: f"other_{name}" for name in others}


def is_column(name: str) -> bool:
    """Return whether a name is a usual or published one of any role."""
    return is_usual(name, USER, ITEM, SCORE, RANK, RELEVANCE, VALUE, TIMESTAMP)


def _usual(names: Sequence[str], role: Role, source: str) -> str | None:
    for known_names in (role.usual, role.published):
        known = {canonical(name) for name in known_names}
        matches = [name for name in names if canonical(name) in known]
        if len(matches) > 1:
            raise DataError(
                f"{source} has {len(matches)} columns that could be the {role.name}: "
                f"{', '.join(map(repr, matches))}. Choose one with {arg[role.name]()}."
            )
        if matches:
            return matches[0]
    return None


def is_rating(column: str) -> bool:
    """Return whether a column is named rating; all ratings would be positive from relevance 1."""
    return canonical(column) in {"rating", *map(canonical, _RATINGS)}


def threshold(name: str, min_relevance: float | None, *, ratings: bool) -> float:
    """Return the smallest relevance of a positive item: min_relevance, or 1 by default.

    Ratings have no default.

    Parameters
    ----------
    name : str
        The name of the table in messages.
    min_relevance : float, optional
        The smallest relevance of a positive item.
    ratings : bool
        Whether the relevance comes from a column of ratings.

    Returns
    -------
    float
        The threshold, > 0.

    Raises
    ------
    ArgumentError
        If ratings come without min_relevance, or min_relevance is not > 0.

    Examples
    --------
    >>> threshold("truth.csv", None, ratings=False), threshold("truth.csv", 4, ratings=True)
    (1.0, 4.0)
    """
    if min_relevance is None and ratings:
        raise ArgumentError(
            f"{name} contains ratings, so {arg.min_relevance} is required: the smallest rating of "
            f"a positive item. For ratings from 1 to 5, pass for example {arg.min_relevance(4)}."
        )
    value = 1.0 if min_relevance is None else min_relevance
    return _check.positive(value, "min_relevance")
