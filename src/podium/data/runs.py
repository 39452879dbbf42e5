"""Runs (recommended items), truths (relevant items) and interactions, read from tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data._ranks import refuse_contradiction, scores_of_ranks
from podium.data.columns import (
    ITEM,
    RANK,
    RELEVANCE,
    SCORE,
    TIMESTAMP,
    USER,
    VALUE,
    column_list,
    is_rating,
    is_usual,
    missing,
    resolve,
)
from podium.data.convert import (
    Ids,
    finite,
    of_user,
    to_ids,
    to_numbers,
    to_scores,
    to_times,
)
from podium.data.frames import NO_FRAMES, Origin, kind_of
from podium.data.source import Kind, Source
from podium.data.tables import fetch, open_table
from podium.errors import DataError


@dataclass(frozen=True, eq=False)
class Run:
    """The lists of a recommender: one row per user and item, in any order.

    Attributes
    ----------
    user, item : (n_rows,)
        int64 arrays, or Polars String Series.
    score : float64, (n_rows,)
        Finite scores, higher is better, in the order of the source's values; see `read_run`.
    name : str
        The name of the run in messages.
    is_order : bool
        Whether the scores only have the order of the source's values, which are ranks, or integers
        that float64 would round.
    """

    user: Ids
    item: Ids
    score: NDArray[np.float64]
    name: str = "The run"
    is_order: bool = False


@dataclass(frozen=True, eq=False)
class Truth:
    """The relevant items: one row per judged user and item, in any order.

    Attributes
    ----------
    user, item : (n_rows,)
        int64 arrays, or Polars String Series.
    relevance : float64, (n_rows,)
        Finite relevances >= 0.
    name : str
        The name of the truth in messages.
    is_rating : bool
        Whether the relevance comes from a column named rating. A threshold is then required,
        because otherwise every rating would be positive.
    origin : Origin
        The kind of frame that was read, and the name of its column of users.
    """

    user: Ids
    item: Ids
    relevance: NDArray[np.float64]
    name: str = "The truth"
    is_rating: bool = False
    origin: Origin = NO_FRAMES


@dataclass(frozen=True, eq=False)
class Interactions:
    """Events of users: one row per event, in the source's order.

    Attributes
    ----------
    user, item : (n_rows,)
        int64 arrays, or Polars String Series.
    value : float64, (n_rows,), or None
        A rating, a count or a similar value.
    timestamp : int64, float64 or datetime64, (n_rows,), or None
        The time of the event.
    """

    user: Ids
    item: Ids
    value: NDArray[np.float64] | None = None
    timestamp: NDArray[Any] | None = None


def read_run(
    source: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    score: str | None = None,
    rank: str | None = None,
    format: str | None = None,
) -> Run:
    """Read a run: user, item, and score or rank.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays, sparse matrix, or Run
        The table, see `podium.data`. A tuple is (user, item, score), and a mapping of mappings is
        ``{user: {item: score}}``. A sparse matrix has users as
        rows and scores as stored values, including zeros.
    user, item, score, rank : str, optional
        The names of columns without a usual name.
    format : {"parquet", "csv", "tsv", "arrow", "trec"}, optional
        The format of a file, if neither its name nor its content determines it.

    Returns
    -------
    Run
        The rows; the source itself if it is a Run.

    Raises
    ------
    DataError
        If a file is missing, empty or malformed, a column or an id is missing, a score is not
        finite, a rank is not an integer >= 1, or ranks and scores order a user's items differently.
        The message names the file and the line or row.

    Notes
    -----
    If a table has both, the score is used, as in trec_eval, and the rank must agree with it. With
    an explicit `score`, the rank is ignored. With only an explicit `rank`, the rank is used, and
    the score is -rank. Integers that float64 would round (beyond 2 ** 53) are replaced by their
    dense ranks.

    Examples
    --------
    >>> read_run({"user": ["u1", "u1"], "item": [3, 7], "rank": [2, 1]}).score.tolist()
    [-2.0, -1.0]
    """
    if isinstance(source, Run):
        return source
    roles = (USER, ITEM, SCORE, RANK)
    table = open_table(source, "run", roles, format)
    column_of_role = resolve(
        table.names, roles, {"user": user, "item": item, "score": score, "rank": rank}, table.name
    )
    score_role = "rank" if rank is not None and score is None else "score"
    score_role = score_role if score_role in column_of_role else "rank"
    if score_role not in column_of_role:
        raise missing(table.names, (SCORE, RANK), table.name)
    # If neither is named, the score is used and the rank must not contradict it.
    has_both = score_role == "score" and score is None and "rank" in column_of_role
    kinds: dict[str, Kind] = {"user": "id", "item": "id", score_role: "number"}
    columns = fetch(table, column_of_role, {**kinds, "rank": "any"} if has_both else kinds)
    users = to_ids(columns["user"], column_of_role["user"], table)
    values, has_scores = to_scores(table, column_of_role[score_role], columns[score_role], users)
    if score_role == "rank":
        values = scores_of_ranks(values, column_of_role[score_role], users, table)
    elif has_both:
        names = (column_of_role["score"], column_of_role["rank"])
        refuse_contradiction(values, columns["rank"], users, names, table)
    return Run(
        users,
        to_ids(columns["item"], column_of_role["item"], table, guess=not table.text_ids),
        values,
        table.name,
        is_order=score_role == "rank" or not has_scores,
    )


def read_truth(
    source: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    relevance: str | None = None,
    format: str | None = None,
) -> Truth:
    """Read a truth: user, item, and relevance; without a relevance column, all rows have 1.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays, sparse matrix, or Truth
        The table, see `podium.data`. A tuple is (user, item) or (user, item, relevance).
    user, item, relevance : str, optional
        The names of columns without a usual name.
    format : {"parquet", "csv", "tsv", "arrow", "trec", "svmlight"}, optional
        The format of a file, if neither its name nor its content determines it.

    Returns
    -------
    Truth
        The rows; the source itself if it is a Truth.

    Raises
    ------
    DataError
        If a file is missing, empty or malformed, a column or an id is missing, a relevance is
        negative or not finite, or a table has scores but no relevance.

    Examples
    --------
    >>> read_truth({"user": [1, 1], "item": ["a", "b"]}).relevance.tolist()
    [1.0, 1.0]
    """
    if isinstance(source, Truth):
        return source
    roles = (USER, ITEM, RELEVANCE)
    table = open_table(source, "truth", roles, format)
    explicit = {"user": user, "item": item, "relevance": relevance}
    column_of_role = resolve(table.names, roles, explicit, table.name)
    if "relevance" not in column_of_role:
        _all_positive(table)
    columns = fetch(table, column_of_role, {"user": "id", "item": "id", "relevance": "number"})
    users = to_ids(columns["user"], column_of_role["user"], table)
    items = to_ids(columns["item"], column_of_role["item"], table, guess=not table.text_ids)
    origin = Origin(kind_of(source), column_of_role["user"])
    if "relevance" not in column_of_role:
        return Truth(users, items, np.ones(len(users)), table.name, origin=origin)
    name = column_of_role["relevance"]
    values = finite(to_numbers(columns["relevance"], name, table, users), name, users, table)
    _not_negative(values, name, users, table)
    return Truth(users, items, values, table.name, is_rating(name), origin)


def read_interactions(
    source: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    value: str | None = None,
    timestamp: str | None = None,
    format: str | None = None,
    columns: Sequence[str] | None = None,
) -> Interactions:
    """Read interactions: user, item, and optionally value and timestamp.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays, or sparse matrix
        The table, see `podium.data`. A tuple is (user, item), optionally followed by value and
        timestamp.
    user, item, value, timestamp : str, optional
        The names of columns without a usual name. The usual names are "value", "rating",
        "relevance" and "label" for value, and "timestamp" and "time" for timestamp.
    format : {"parquet", "csv", "tsv", "arrow", "trec", "jsonl", "lists"}, optional
        The format of a file, if neither its name nor its content determines it. "lists" has one
        line per user: the user and the user's items.
    columns : sequence of str, optional
        The names of the columns of a text file without a header, in their order. The separator is
        found: two colons, tabs, commas, semicolons, bars or blanks.

    Returns
    -------
    Interactions
        The rows.

    Raises
    ------
    DataError
        If a file is missing, empty or malformed, or a column or a value is missing.

    Notes
    -----
    Times in text are read if they are ISO dates or times, such as "2020-01-31T12:00:00". Times
    without a zone are interpreted as UTC.

    Examples
    --------
    >>> events = read_interactions({"user": [1, 2], "item": [5, 5], "time": [10, 20]})
    >>> events.timestamp.tolist(), events.value is None
    ([10, 20], True)
    """
    roles = (USER, ITEM, VALUE, TIMESTAMP)
    table = open_table(source, "interactions", roles, format, columns)
    explicit = {"user": user, "item": item, "value": value, "timestamp": timestamp}
    column_of_role = resolve(table.names, roles, explicit, table.name)
    kinds: dict[str, Kind] = {"user": "id", "item": "id", "value": "number", "timestamp": "any"}
    read = fetch(table, column_of_role, kinds)
    values, times = read.get("value"), read.get("timestamp")
    return Interactions(
        to_ids(read["user"], column_of_role["user"], table),
        to_ids(read["item"], column_of_role["item"], table, guess=not table.text_ids),
        None
        if values is None
        else finite(
            to_numbers(values, column_of_role["value"], table), column_of_role["value"], None, table
        ),
        None if times is None else to_times(times, column_of_role["timestamp"], table),
    )


def _not_negative(values: NDArray[np.float64], name: str, user: Ids, table: Source) -> None:
    if values.min(initial=0.0) < 0:
        row = int(np.argmax(values < 0))
        raise DataError(
            f"{table.name}: {name} must be >= 0, got {values[row]:g} at {table.place_of(row)}"
            f"{of_user(user, row)}. Use 0 for items that are not relevant."
        )


def _all_positive(table: Source) -> None:
    """Raise if a table without relevance looks like a run, or has a misspelt relevance."""
    if any(is_usual(name, SCORE, RANK) for name in table.names):
        raise DataError(
            f"{table.name} has scores or ranks, but no relevance column: "
            f"{column_list(table.names)}. Pass the truth first and the run second. If this table "
            "is the truth, pass relevance= or drop the scores and ranks."
        )
    error = missing(table.names, (RELEVANCE,), table.name)
    if "Did you mean" in str(error):
        raise error
