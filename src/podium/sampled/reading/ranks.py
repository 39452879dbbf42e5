"""Sampled ranks from a table of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.data.ids import label_array
from podium.errors import ArgumentError, arg, warn
from podium.sampled.design import Floats
from podium.sampled.ranks import SampledRanks
from podium.sampled.reading.columns import HISTORY, N_NEGATIVES, OPTIONAL_USER, RANK, Columns
from podium.sampled.reading.seen import read_seen


def read_ranks(
    source: Any,
    *,
    n_items: ArrayLike,
    n_negatives: int | None = None,
    replacement: bool = True,
    stages: Any = None,
    seen: Any = None,
    columns: dict[str, str] | None = None,
) -> SampledRanks:
    """Read sampled ranks from a table with a column rank and up to three optional columns.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        The table; see `podium.data`. A tuple is (user, rank), (user, rank, n_negatives) or (user,
        rank, n_negatives, history).
    n_items : int or int, (n,)
        The number of items that the samples were drawn from, including the target.
    n_negatives : int, optional
        The number of sampled items beside the target, if the table has no column for it.
    replacement, stages
        The design, as in `SampledRanks`.
    seen : Seen, or a table for `read_seen`, optional
        The items that were never drawn for a user. n_items must then be one number, and each user's
        catalogue is smaller by the user's seen items. Ranks cannot show whether this is the case.
    columns : dict, optional
        The names of columns that do not have their usual name, by "user", "rank", "n_negatives",
        "history" (usually history, n_history or n_train; see `SampledRanks`).

    Returns
    -------
    SampledRanks

    Raises
    ------
    DataError
        If the file is missing or broken, or if a column or value is missing.
    ArgumentError
        If the sizes are given twice or not at all, if seen is given without users or together with
        a named column of history, or for a reason listed in `SampledRanks`.

    Examples
    --------
    >>> read_ranks({"user": [1, 2], "rank": [3, 1]}, n_items=50, n_negatives=9).ranks.tolist()
    [3, 1]
    """
    read = Columns.read(source, "ranks", (OPTIONAL_USER, RANK, N_NEGATIVES, HISTORY), columns)
    if (n_negatives is None) == ("n_negatives" not in read.values):
        raise ArgumentError(
            f"{arg.n_negatives} must be given once, as a number or as a column of the ranks, got "
            f"{'neither' if n_negatives is None else 'both'}."
        )
    user = read.user
    sizes = read.numbers("n_negatives") if n_negatives is None else n_negatives
    if seen is not None:
        if user is None:
            raise ArgumentError(
                f"{arg.seen()} needs users, but {read.name} has no column of users."
            )
        refuse_history(columns, read)
        n_items = read_seen(seen).sizes(user, n_items, read.name)
    return SampledRanks(
        read.numbers("rank"),
        _one_size(sizes, stages),
        n_items,
        replacement=replacement,
        user=None if user is None else label_array(user),
        stages=stages,
        history=read.numbers("history") if "history" in read.values else None,
    )


def refuse_history(columns: dict[str, str] | None, read: Columns) -> None:
    """Drop the history if seen items were left out; raise if its column was named."""
    if "history" in (columns or {}):
        raise ArgumentError(
            f"history is the number of a user's own items that could be drawn, but {arg.seen()} "
            "leaves these out. Pass one of the two."
        )
    if read.values.pop("history", None) is not None:
        warn(f"{read.name}: history is ignored, because {arg.seen()} leaves out users' own items.")


def _one_size(sizes: int | Floats, stages: Any) -> Any:
    """Return one number if a column has the same number in all rows."""
    if isinstance(sizes, np.ndarray) and not stages and (sizes == sizes[0]).all():
        return int(sizes[0]) if float(sizes[0]).is_integer() else sizes
    return sizes
