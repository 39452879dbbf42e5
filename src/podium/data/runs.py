"""Runs and truths: what was recommended, and what turned out to be relevant."""

from __future__ import annotations

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
    is_rating,
    missing,
    resolve,
    there,
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
from podium.data.source import Kind, Source
from podium.data.tables import fetch, open_table
from podium.errors import DataError


@dataclass(frozen=True, eq=False)
class Run:
    """What a recommender listed: a row for each user and item, in any order.

    Attributes
    ----------
    user, item : (n_rows,)
        int64 arrays, or Polars String Series.
    score : float64, (n_rows,)
        Finite; higher is better. In the order of the source's values, see `read_run`.
    name : str
        How messages call it.
    """

    user: Ids
    item: Ids
    score: NDArray[np.float64]
    name: str = "The run"


@dataclass(frozen=True, eq=False)
class Truth:
    """What is relevant: a row for each judged user and item, in any order.

    Attributes
    ----------
    user, item : (n_rows,)
        int64 arrays, or Polars String Series.
    relevance : float64, (n_rows,)
        Finite and >= 0.
    name : str
        How messages call it.
    is_rating : bool
        True if relevance comes from a column named rating: a threshold must then be given,
        or every rating would be positive.
    """

    user: Ids
    item: Ids
    relevance: NDArray[np.float64]
    name: str = "The truth"
    is_rating: bool = False


@dataclass(frozen=True, eq=False)
class Interactions:
    """What users did: a row for each event, in the source's order.

    Attributes
    ----------
    user, item : (n_rows,)
        int64 arrays, or Polars String Series.
    value : float64, (n_rows,), or None
        Rating, count or the like.
    timestamp : int64, float64 or datetime64, (n_rows,), or None
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
        See `podium.data`. A tuple is (user, item, score); a sparse matrix has users as rows and
        scores as stored values, zeros included.
    user, item, score, rank : str, optional
        Names of columns that don't have their usual name.
    format : {"parquet", "csv", "tsv", "arrow", "trec"}, optional
        Of a file whose name or content does not tell.

    Raises
    ------
    DataError
        For a missing, empty or broken file, a missing column, a missing id, a non-finite score,
        a rank that is no integer >= 1, or ranks and scores that order a user's items
        differently; it names the file and the line or row.

    Notes
    -----
    Where a table has both, the score counts, as in trec_eval, and the rank must agree with it,
    unless `score` is named; naming only `rank` chooses the rank, and its score is -rank.
    Integers that float64 would round (beyond 2 ** 53) become their places in rising order.

    Examples
    --------
    >>> read_run({"user": ["u1", "u1"], "item": [3, 7], "rank": [2, 1]}).score.tolist()
    [-2.0, -1.0]
    """
    if isinstance(source, Run):
        return source
    roles = (USER, ITEM, SCORE, RANK)
    table = open_table(source, "run", roles, format)
    found = resolve(
        table.names, roles, {"user": user, "item": item, "score": score, "rank": rank}, table.name
    )
    by = "rank" if rank is not None and score is None else "score"
    by = by if by in found else "rank"
    if by not in found:
        raise missing(table.names, (SCORE, RANK), table.name)
    # Where neither is named, the one that counts must not say otherwise than the other.
    both = by == "score" and score is None and "rank" in found
    kinds: dict[str, Kind] = {"user": "id", "item": "id", by: "number"}
    columns = fetch(table, found, {**kinds, "rank": "any"} if both else kinds)
    users = to_ids(columns["user"], found["user"], table)
    values = to_scores(table, found[by], columns[by], users)
    if by == "rank":
        values = scores_of_ranks(values, found[by], users, table)
    elif both:
        names = (found["score"], found["rank"])
        refuse_contradiction(values, columns["rank"], users, names, table)
    return Run(
        users,
        to_ids(columns["item"], found["item"], table, guess=not table.text_ids),
        values,
        table.name,
    )


def read_truth(
    source: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    relevance: str | None = None,
    format: str | None = None,
) -> Truth:
    """Read a truth: user, item, and relevance; without a relevance, every row counts 1.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays, sparse matrix, or Truth
        See `podium.data`. A tuple is (user, item) or (user, item, relevance).
    user, item, relevance : str, optional
        Names of columns that don't have their usual name.
    format : {"parquet", "csv", "tsv", "arrow", "trec", "svmlight"}, optional
        Of a file whose name or content does not tell.

    Raises
    ------
    DataError
        For a missing, empty or broken file, a missing column, a missing id, or a relevance that
        is negative or not finite; and for a table that has scores but no relevance.

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
    found = resolve(table.names, roles, explicit, table.name)
    if "relevance" not in found:
        _all_positive(table)
    columns = fetch(table, found, {"user": "id", "item": "id", "relevance": "number"})
    users = to_ids(columns["user"], found["user"], table)
    items = to_ids(columns["item"], found["item"], table, guess=not table.text_ids)
    if "relevance" not in found:
        return Truth(users, items, np.ones(len(users)), table.name)
    name = found["relevance"]
    values = finite(to_numbers(columns["relevance"], name, table, users), name, users, table)
    _not_negative(values, name, users, table)
    return Truth(users, items, values, table.name, is_rating(name))


def read_interactions(
    source: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    value: str | None = None,
    timestamp: str | None = None,
    format: str | None = None,
) -> Interactions:
    """Read interactions: user, item, and where they are there value and timestamp.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays, or sparse matrix
        See `podium.data`. A tuple is (user, item), with value and timestamp after them.
    user, item, value, timestamp : str, optional
        Names of columns that don't have their usual name; value is usually "value", "rating",
        "relevance" or "label", timestamp "timestamp" or "time".
    format : {"parquet", "csv", "tsv", "arrow", "trec"}, optional
        Of a file whose name or content does not tell.

    Raises
    ------
    DataError
        For a missing, empty or broken file, a missing column or a missing value.

    Notes
    -----
    Times given as text are read if they are ISO dates or times, "2020-01-31T12:00:00"; without a
    zone they are taken for UTC.

    Examples
    --------
    >>> events = read_interactions({"user": [1, 2], "item": [5, 5], "time": [10, 20]})
    >>> events.timestamp.tolist(), events.value is None
    ([10, 20], True)
    """
    roles = (USER, ITEM, VALUE, TIMESTAMP)
    table = open_table(source, "interactions", roles, format)
    explicit = {"user": user, "item": item, "value": value, "timestamp": timestamp}
    found = resolve(table.names, roles, explicit, table.name)
    kinds: dict[str, Kind] = {"user": "id", "item": "id", "value": "number", "timestamp": "any"}
    columns = fetch(table, found, kinds)
    values, times = columns.get("value"), columns.get("timestamp")
    return Interactions(
        to_ids(columns["user"], found["user"], table),
        to_ids(columns["item"], found["item"], table, guess=not table.text_ids),
        None
        if values is None
        else finite(to_numbers(values, found["value"], table), found["value"], None, table),
        None if times is None else to_times(times, found["timestamp"], table),
    )


def _not_negative(values: NDArray[np.float64], name: str, user: Ids, table: Source) -> None:
    if values.min() < 0:
        row = int(np.argmax(values < 0))
        raise DataError(
            f"{table.name}: {name} must be >= 0, got {values[row]:g} at {table.at(row)}"
            f"{of_user(user, row)}. Use 0 for what is not relevant."
        )


def _all_positive(table: Source) -> None:
    """Raise where a table without relevance looks like a run, or like a misspelt truth."""
    lower = [name.strip().lower() for name in table.names]
    if any(name in SCORE.usual + RANK.usual for name in lower):
        raise DataError(
            f"{table.name} has no relevance column, but scores or ranks: "
            f"{there(table.names)}. The truth comes first, then the run; if this is the "
            "truth, pass relevance= or drop that column."
        )
    error = missing(table.names, (RELEVANCE,), table.name)
    if "Did you mean" in str(error):
        raise error
