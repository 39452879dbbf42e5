"""Runs (recommended items) and truths (relevant items), read from tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.columns import (
    ITEM,
    RANK,
    RELEVANCE,
    RUN,
    SCORE,
    TRUTH,
    USER,
    column_list,
    is_rating,
    is_usual,
    missing,
    misspelt,
)
from podium.data.convert import Ids, of_user, to_ids, to_scores
from podium.data.frames import NO_FRAMES, Origin
from podium.data.ids import codes_of, joined_ids, pair_codes
from podium.data.source import NOWHERE, ROWS, Column, Places, Source, nobody
from podium.data.tables import RoleColumns, open_table
from podium.errors import DataError, arg, warn
from podium.groups import Groups


def scores_of_ranks(
    ranks: NDArray[np.float64], name: str, user: Ids, table: Source
) -> NDArray[np.float64]:
    """Return -rank as scores, or raise if a rank is not an integer >= 1."""
    is_bad = (ranks < 1) | (ranks != np.floor(ranks))
    if is_bad.any():
        row = int(np.argmax(is_bad))
        requirement, advice = (
            (">= 1", "Number ranks from 1.")
            if ranks[row] < 1
            else ("an integer >= 1", "Give tied items the same rank, such as 1, 1, 3.")
        )
        raise DataError(
            f"{table.name}: {name} must be {requirement}, got {ranks[row]:g} at "
            f"{table.places.of(row)}{of_user(user, row)}. {advice}"
        )
    return -ranks


def refuse_contradiction(
    scores: NDArray[np.float64], ranks: Column, user: Ids, names: tuple[str, str], table: Source
) -> None:
    """Raise if a user's item of a higher score has a worse rank.

    Equal ranks or equal scores are no contradiction. Ranks may start at 0. Missing ranks and ranks
    that are not numbers are ignored.
    """
    column = pl.Series(ranks)
    if not (column.dtype.is_numeric() or column.dtype == pl.String):
        return
    values = column.cast(pl.Float64, strict=False).to_numpy()  # missing ranks become nan
    groups = Groups.from_qid(user if isinstance(user, np.ndarray) else codes_of(user)[0])
    order = np.arange(groups.n_rows) if groups.order is None else groups.order
    # By decreasing score, a user's ranks must not decrease. Most files are already sorted so.
    if (_falls(-scores[order], groups) | _falls(values[order], groups)).any():
        order = np.lexsort((values, -scores, groups.index))
    contradictions = np.flatnonzero(_falls(values[order], groups))
    if contradictions.size:
        first, second = sorted(order[contradictions[0] : contradictions[0] + 2].tolist())
        (score, rank), place_of = names, table.places.of
        raise DataError(
            f"{table.name}: {score} and {rank} contradict each other: {place_of(first)} has "
            f"{score} {scores[first]:g} and {rank} {values[first]:g}, {place_of(second)} has "
            f"{scores[second]:g} and {values[second]:g}{of_user(user, first)}. Choose one column "
            f"with {arg.score()} or {arg.rank()}."
        )


def _falls(values: NDArray[np.float64], groups: Groups) -> NDArray[np.bool_]:
    """Return whether each value is greater than the next one of its group."""
    is_greater = values[:-1] > values[1:]
    is_greater[groups.offsets[1:-1] - 1] = False
    return is_greater


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
    places : Places
        The places of the rows in messages.
    kind : str
        The package of the frame that was read, see `podium.data.frames.Origin`.
    empty : ids
        The users with an empty list, who have no row.
    """

    user: Ids
    item: Ids
    score: NDArray[np.float64]
    name: str = "The run"
    is_order: bool = False
    places: Places = ROWS
    kind: str = ""
    empty: Ids = field(default_factory=nobody)
    stored: ClassVar[None] = None

    @property
    def users(self) -> Ids:
        """The user of each row, then the users with an empty list."""
        return all_users(self.user, self.empty)


@dataclass(frozen=True, eq=False)
class Truth:
    """The relevant items: one row per judged user and item, in any order.

    Attributes
    ----------
    user, item : (n_rows,)
        int64 arrays, or Polars String Series.
    relevance : float64, (n_rows,)
        Finite relevances >= 0; those below 0 in the table are 0.
    name : str
        The name of the truth in messages.
    is_rating : bool
        Whether the relevance comes from a column named rating. A threshold is then required,
        because otherwise every rating would be positive.
    origin : Origin
        The kind of frame that was read, and the name of its column of users.
    places : Places
        The places of the rows in messages.
    empty : ids
        The users without judged items, who have no row.
    """

    user: Ids
    item: Ids
    relevance: NDArray[np.float64]
    name: str = "The truth"
    is_rating: bool = False
    origin: Origin = NO_FRAMES
    places: Places = ROWS
    empty: Ids = field(default_factory=nobody)
    stored: ClassVar[None] = None

    @property
    def users(self) -> Ids:
        """The user of each row, then the users without judged items."""
        return all_users(self.user, self.empty)

    @property
    def kind(self) -> str:
        """The package of the frame that was read."""
        return self.origin.kind


def all_users(user: Ids, empty: Ids) -> Ids:
    """Return the users of rows, then the users without rows."""
    return joined_ids([user, empty]) if len(empty) else user


def rows_of(table: Any, rows: NDArray[np.int64], places: Places = NOWHERE) -> Any:
    """Return some rows of a Run or Truth; the numbers after the last row are users without rows."""
    n_rows = len(table.item)
    alone, rows = rows[rows >= n_rows] - n_rows, rows[rows < n_rows]
    value = "score" if isinstance(table, Run) else "relevance"
    columns = {name: vars(table)[name][rows] for name in ("user", "item", value)}
    return replace(table, **columns, places=places, empty=table.empty[alone])


def _of_documents(table: Any, value: NDArray[np.float64]) -> Any:
    """Return the table with the best row of each user and item, in the order of these rows.

    The items are documents, of which each row is a part.
    """
    best = best_of_pairs(table, value)
    kept = np.append(best, len(table.item) + np.arange(len(table.empty)))
    return rows_of(table, kept, replace(table.places, kept=best))


def best_of_pairs(table: Any, value: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the row with the greatest value of each user and item, the first of equal ones."""
    pairs = pair_codes(table.user, table.item)
    order = np.lexsort((-value, pairs))
    is_best = np.append(True, np.diff(pairs[order]) != 0)[: order.size]
    return np.sort(order[is_best])


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
        The table, see `podium.data`. A tuple is (user, item, score), and a mapping of users has
        ``{item: score}``, or lists of items, best first. A sparse matrix has users as rows and
        scores as stored values, including zeros.
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
    given = {"user": user, "item": item, "score": score, "rank": rank}
    table = open_table(source, "run", RUN, given, format)
    names = table.resolve(RUN)
    score_role = RANK if "rank" in table.named and "score" not in table.named else SCORE
    score_role = score_role if score_role.name in names else RANK
    if score_role.name not in names:
        ordered = f" If its rows are in the order shown, pass {arg.rows_ranked(True)}."
        raise missing(table.names, (SCORE, RANK), table.name, ordered)
    # If neither is named, the score is used and the rank must not contradict it.
    has_both = score_role is SCORE and "score" not in table.named and "rank" in names
    other_roles = (replace(RANK, kind="any"),) if has_both else ()
    columns = RoleColumns.named(table, (USER, ITEM, score_role, *other_roles), names)
    users = columns.ids("user")
    score_name = names[score_role.name]
    values, has_scores = to_scores(table, score_name, columns.read[score_role.name], users)
    if score_role is RANK:
        values = scores_of_ranks(values, score_name, users, table)
    elif has_both:
        both_names = (names["score"], names["rank"])
        refuse_contradiction(values, columns.read["rank"], users, both_names, table)
    is_order = score_role is RANK or not has_scores
    items, empty = columns.ids("item"), to_ids(table.empty, names["user"], table)
    run = Run(users, items, values, table.name, is_order, table.places, table.kind, empty)
    return _of_documents(run, run.score) if "parent" in table.named else run


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
        The table, see `podium.data`. A tuple is (user, item) or (user, item, relevance). A mapping
        of users has ``{item: relevance}``, or lists or sets of relevant items.
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
        not finite, or a table has scores but no relevance.

    Warns
    -----
    PodiumWarning
        If relevances are below 0, as for spam in TREC's qrels. They count as 0.

    Examples
    --------
    >>> read_truth({"user": [1, 1], "item": ["a", "b"]}).relevance.tolist()
    [1.0, 1.0]
    """
    if isinstance(source, Truth):
        return source
    given = {"user": user, "item": item, "relevance": relevance}
    table = open_table(source, "truth", TRUTH, given, format)
    names = table.resolve(TRUTH)
    name = names.get("relevance")
    if name is None:
        _all_positive(table)
    columns = RoleColumns.named(table, TRUTH, names)
    users, items = columns.ids("user"), columns.ids("item")
    if name is None:
        values = np.ones(len(users))
    else:
        values = _without_negative(columns.numbers("relevance", users), name, table)
    is_ratings = name is not None and is_rating(name)
    origin, empty = Origin(table.kind, names["user"]), to_ids(table.empty, names["user"], table)
    truth = Truth(users, items, values, table.name, is_ratings, origin, table.places, empty)
    return _of_documents(truth, truth.relevance) if "parent" in table.named else truth


def _without_negative(values: NDArray[np.float64], name: str, table: Source) -> NDArray[np.float64]:
    """Return relevances in which those below 0, such as TREC's -2 for spam, are 0."""
    lowest = values.min(initial=0.0)
    if lowest == 0:
        return values
    warn(
        f"{table.name} has {name}s below 0, down to {lowest:g}. These items count as judged and "
        "not relevant, as 0 does."
    )
    return np.maximum(values, 0.0)


def _all_positive(table: Source) -> None:
    """Raise if a table without relevance looks like a run, or has a misspelt relevance."""
    if any(is_usual(name, SCORE, RANK) for name in table.names):
        raise DataError(
            f"{table.name} has scores or ranks, but no relevance column: "
            f"{column_list(table.names)}. Pass the truth first and the run second. If this table "
            f"is the truth, pass {arg.relevance()} or drop the scores and ranks."
        )
    if misspelt(table.names, (RELEVANCE,)):
        raise missing(table.names, (RELEVANCE,), table.name)
