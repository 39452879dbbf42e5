"""Sampled ranks from a table of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.data.columns import USER, Role, resolve
from podium.data.convert import Ids, to_ids, to_numbers
from podium.data.ids import label_array
from podium.data.source import Kind, Source
from podium.data.tables import fetch, open_table
from podium.errors import ArgumentError, PodiumWarning
from podium.sampled.design import Floats
from podium.sampled.ranks import SampledRanks
from podium.sampled.reading.seen import read_seen

_USER = Role("user", USER.usual, required=False)
RANK = Role("rank", ("rank", "sampled_rank"))
_NEGATIVES = Role("n_negatives", ("n_negatives", "negatives"), required=False)
KINDS: dict[str, Kind] = {
    "user": "id",
    "item": "id",
    **dict.fromkeys(("rank", "n_negatives", "score", "target", "history"), "number"),
}
HISTORY = Role("history", ("history", "n_history", "n_train"), required=False)


def read_ranks(
    source: Any,
    *,
    n_items: ArrayLike,
    n_negatives: int | None = None,
    replacement: bool = True,
    stages: Any = None,
    seen: Any = None,
    columns: dict[str, str] | None = None,
    format: str | None = None,
) -> SampledRanks:
    """Read sampled ranks from a table: rank, and user, n_negatives, history where there are.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        See `podium.data`. A tuple is (user, rank), (user, rank, n_negatives) or (user, rank,
        n_negatives, history).
    n_items : int or int, (n,)
        Items that the samples were drawn from, the target among them.
    n_negatives : int, optional
        Sampled items beside the target, where the table has no column that says so.
    replacement, stages
        As in `SampledRanks`.
    seen : Seen, or what `read_seen` reads, optional
        Items that were never drawn for a user: n_items is then one number, and each user's
        catalogue has as many items fewer. Ranks cannot show whether that is so.
    columns : dict, optional
        Names of columns that don't have their usual name, by "user", "rank", "n_negatives",
        "history" (or n_history, n_train: see `SampledRanks`).
    format : str, optional
        Of a file whose name or content does not tell.

    Raises
    ------
    DataError
        For a missing or broken file, a missing column or value.
    ArgumentError
        For what `SampledRanks` refuses; where the sizes are given twice, or not at all; if seen
        is given and users are not, or a column of history is named.

    Examples
    --------
    >>> read_ranks({"user": [1, 2], "rank": [3, 1]}, n_items=50, n_negatives=9).ranks.tolist()
    [3, 1]
    """
    roles = (_USER, RANK, _NEGATIVES, HISTORY)
    table = open_table(source, "ranks", roles, format)
    found = resolve(table.names, roles, columns or {}, table.name)
    if (n_negatives is None) == ("n_negatives" not in found):
        raise ArgumentError(
            "n_negatives must be given once, as a number or as a column of the ranks, got "
            f"{'neither' if n_negatives is None else 'both'}."
        )
    values = fetch(table, found, KINDS)
    user = to_ids(values["user"], found["user"], table) if "user" in values else None
    rank = to_numbers(values["rank"], found["rank"], table, user)
    if n_negatives is None:
        sizes = to_numbers(values["n_negatives"], found["n_negatives"], table, user)
    else:
        sizes = n_negatives
    if seen is not None:
        if user is None:
            raise ArgumentError(f"seen= needs users, and {table.name} has no column of them.")
        refuse_history(columns, values, table.name)
        n_items = read_seen(seen).sizes(user, n_items, table.name)
    return SampledRanks(
        rank,
        _common(sizes, stages),
        n_items,
        replacement=replacement,
        user=None if user is None else label_array(user),
        stages=stages,
        history=own_items(values, found, table, user),
    )


def own_items(
    values: dict[str, Any], found: dict[str, str], table: Source, user: Ids | None
) -> Floats | None:
    """Return the column of numbers of own items, if there is one."""
    if "history" not in values:
        return None
    return to_numbers(values["history"], found["history"], table, user)


def refuse_history(columns: dict[str, str] | None, values: dict[str, Any], source: str) -> None:
    """Leave out counts of items that are not in the catalogues, unless they were asked for."""
    if "history" in (columns or {}):
        raise ArgumentError(
            "history counts a user's own items among those that were drawn from, and seen= says "
            "that they were left out. Pass one of the two."
        )
    if values.pop("history", None) is not None:
        warnings.warn(
            f"{source}: history is not read: seen= leaves a user's own items out.",
            PodiumWarning,
            stacklevel=3,
        )


def _common(sizes: int | Floats, stages: Any) -> Any:
    """Return one number where a column holds the same one throughout."""
    if isinstance(sizes, np.ndarray) and not stages and (sizes == sizes[0]).all():
        return int(sizes[0]) if float(sizes[0]).is_integer() else sizes
    return sizes
