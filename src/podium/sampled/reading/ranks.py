"""Readers: sampled ranks and files of candidates that others have written."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.data.columns import USER, Role, resolve
from podium.data.convert import Ids, to_ids, to_numbers
from podium.data.files import check_file, read_bytes
from podium.data.source import Kind, Source
from podium.data.tables import open_table
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.sampled._tables import fetch, labels
from podium.sampled.candidates import Candidates
from podium.sampled.ranks import SampledRanks
from podium.sampled.reading.seen import OnSeen, read_seen, without_seen

_USER = Role("user", USER.usual, required=False)
RANK = Role("rank", ("rank", "sampled_rank"))
_NEGATIVES = Role("n_negatives", ("n_negatives", "negatives"), required=False)
HISTORY = Role("history", ("history", "n_history", "n_train"), required=False)
_DIGITS = 18  # of numbers that int64 holds, whatever the digits are
_PAIR = re.compile(rb"\((\d+), ?(\d+)\)")


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
    kinds: dict[str, Kind] = {
        "user": "id",
        "rank": "number",
        "n_negatives": "number",
        "history": "number",
    }
    values = fetch(table, found, kinds)
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
        user=None if user is None else labels(user),
        stages=stages,
        history=own_items(values, found, table, user),
    )


def own_items(
    values: dict[str, Any], found: dict[str, str], table: Source, user: Ids | None
) -> NDArray[np.float64] | None:
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


def read_negatives(
    path: str | Path,
    *,
    n_items: ArrayLike,
    replacement: bool = False,
    own_target: Literal["error", "drop"] = "error",
    seen: Any = None,
    seen_candidates: OnSeen = "error",
) -> Candidates:
    """Read a file of sampled negatives as neural collaborative filtering's: a line a target.

    Parameters
    ----------
    path : path
        Lines of ``(user,item)``, a tab, and the candidates' numbers with tabs between them; .gz
        is unpacked. Users and items are row and column numbers of scores, from 0.
    n_items : int or int, (n,)
        Items that a target's candidates were drawn from, and the target. Where they were drawn
        from items that the user has not seen, that is fewer than the catalogue has, and another
        number for each line: see `seen`.
    replacement : bool
        Whether an item could be drawn twice.
    own_target : {"error", "drop"}
        What to do about a line whose candidates hold its own target: refuse the file, or drop
        the candidate. Sizes then differ between lines.
    seen : Seen, or what `read_seen` reads, optional
        Items that users had before, in the file's numbers. They are taken from the users'
        catalogues, of which n_items is then the whole.
    seen_candidates : {"error", "drop"}
        What to do where the file has seen items among the candidates: refuse it, or drop them.
        What is left of a uniform sample of all items is one of the unseen items.

    Raises
    ------
    DataError
        For a missing or broken file, or a line of another form; it names the line. If candidates
        or targets are seen items, or `seen` has none of the users.

    References
    ----------
    he2017.
    """
    file = Path(path)
    check_file(file, "negatives")
    lines = read_bytes(file).splitlines()
    if not lines:
        raise DataError(f"{file} has no lines.")
    heads: list[tuple[int, int]] = []
    drawn: list[NDArray[np.int64]] = []
    for number, line in enumerate(lines, 1):
        user, item, items = _line(line, number, file)
        own = items == item
        if own.any() and _check.choice(own_target, "own_target", ("error", "drop")) == "error":
            raise DataError(
                f"{file}: line {number} has its own target, item {item}, among its candidates. "
                "Pass own_target='drop' to leave it out there."
            )
        heads.append((user, item))
        drawn.append(items[~own])
    users, targets = np.array(heads, dtype=np.int64).T
    sizes = [items.size for items in drawn]
    found = Candidates(
        users.copy(),
        users.copy(),
        targets.copy(),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate(drawn),
        int(np.asarray(n_items)) if np.ndim(n_items) == 0 else np.asarray(n_items, dtype=np.int64),
        _check.flag(replacement, "replacement"),
    )
    if seen is None:
        return found
    return without_seen(found, seen, source=str(file), seen_candidates=seen_candidates)


def _line(line: bytes, number: int, file: Path) -> tuple[int, int, NDArray[np.int64]]:
    head, *fields = line.split() or [b""]
    match = _PAIR.fullmatch(head)
    if match is None or not fields or not all(field.isdigit() for field in fields):
        raise DataError(
            f"{file}: line {number} is not of the form (user,item), a tab, and item numbers with "
            f"tabs between them, got {line[:40].decode(errors='replace')!r}."
        )
    longest = max(match[1], match[2], *fields, key=len)
    if len(longest) > _DIGITS:
        raise DataError(
            f"{file}: line {number} has a number of {len(longest)} digits, "
            f"{longest[:20].decode()}..., where at most {_DIGITS} can be told apart. Number users "
            "and items anew."
        )
    return int(match[1]), int(match[2]), np.array(fields, dtype=np.bytes_).astype(np.int64)


def _common(sizes: int | NDArray[np.float64], stages: Any) -> Any:
    """Return one number where a column holds the same one throughout."""
    if isinstance(sizes, np.ndarray) and not stages and (sizes == sizes[0]).all():
        return int(sizes[0]) if float(sizes[0]).is_integer() else sizes
    return sizes
