"""Ranks in a run: their conversion to scores, and their agreement with scores."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.convert import Ids, of_user
from podium.data.ids import codes_of
from podium.data.source import Column, Source
from podium.errors import DataError, arg
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
            f"{table.place_of(row)}{of_user(user, row)}. {advice}"
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
        score, rank = names
        raise DataError(
            f"{table.name}: {score} and {rank} contradict each other: {table.place_of(first)} has "
            f"{score} {scores[first]:g} and {rank} {values[first]:g}, {table.place_of(second)} has "
            f"{scores[second]:g} and {values[second]:g}{of_user(user, first)}. Choose one column "
            f"with {arg.score()} or {arg.rank()}."
        )


def _falls(values: NDArray[np.float64], groups: Groups) -> NDArray[np.bool_]:
    """Return whether each value is greater than the next one of its group."""
    is_greater = values[:-1] > values[1:]
    is_greater[groups.offsets[1:-1] - 1] = False
    return is_greater
