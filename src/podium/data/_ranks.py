"""Ranks in a run: as scores, and against the scores beside them."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.convert import Ids, of_user
from podium.data.ids import codes_of
from podium.data.source import Column, Source
from podium.errors import DataError
from podium.groups import Groups


def scores_of_ranks(
    ranks: NDArray[np.float64], name: str, user: Ids, table: Source
) -> NDArray[np.float64]:
    """Return ranks with their sign turned, or raise for one that is no integer >= 1."""
    bad = (ranks < 1) | (ranks != np.floor(ranks))
    if bad.any():
        row = int(np.argmax(bad))
        wanted, advice = (
            (">= 1", "Count ranks from 1.")
            if ranks[row] < 1
            else ("an integer >= 1", "Items of one rank share it: 1, 1, 3.")
        )
        raise DataError(
            f"{table.name}: {name} must be {wanted}, got {ranks[row]:g} at {table.at(row)}"
            f"{of_user(user, row)}. {advice}"
        )
    return -ranks


def refuse_contradiction(
    scores: NDArray[np.float64], ranks: Column, user: Ids, names: tuple[str, str], table: Source
) -> None:
    """Raise where a user's item of a higher score has a rank that is worse.

    Equal ranks and equal scores contradict nothing, nor do ranks that count from 0, are missing
    or are no numbers.
    """
    column = pl.Series(ranks)
    if not (column.dtype.is_numeric() or column.dtype == pl.String):
        return
    places = column.cast(pl.Float64, strict=False).to_numpy()  # nan where missing
    groups = Groups.from_qid(user if isinstance(user, np.ndarray) else codes_of(user)[0])
    order = np.arange(groups.n_rows) if groups.order is None else groups.order
    # Down a user's scores, ranks must not fall. Most files are in that order already.
    if (_falls(-scores[order], groups) | _falls(places[order], groups)).any():
        order = np.lexsort((places, -scores, groups.index))
    step = np.flatnonzero(_falls(places[order], groups))
    if step.size:
        first, second = sorted(order[step[0] : step[0] + 2].tolist())
        score, rank = names
        raise DataError(
            f"{table.name}: {score} and {rank} contradict each other: {table.at(first)} has "
            f"{score} {scores[first]:g} and {rank} {places[first]:g}, {table.at(second)} "
            f"{scores[second]:g} and {places[second]:g}{of_user(user, first)}. Say which counts "
            "by score= or rank=."
        )


def _falls(values: NDArray[np.float64], groups: Groups) -> NDArray[np.bool_]:
    """Tell where a value is above the next one of its group."""
    falls = values[:-1] > values[1:]
    falls[groups.offsets[1:-1] - 1] = False
    return falls
