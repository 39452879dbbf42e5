"""Scans from a table of scores, whose candidates are listed by a proxy or drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.data.columns import ITEM, USER, is_usual
from podium.data.convert import Ids
from podium.data.ids import codes_of, label_array
from podium.data.tables import open_table
from podium.errors import DataError
from podium.sampled.design import Ints
from podium.sampled.reading.columns import (
    SCORE,
    STRATUM,
    TARGET,
    Columns,
    warn_of_known_targets,
    warn_of_popular_draws,
)
from podium.sampled.reading.ranks import refuse_more_items, refuse_without
from podium.sampled.reading.seen import Seen, catalogue_size, read_seen
from podium.sampled.scanning.ranks import Counts, ScannedRanks
from podium.sampled.scanning.strata import DRAWN, LISTED, Strata
from podium.sampled.shared.ranks import SharedRanks

STRATA = {LISTED: (LISTED, "certain", "list"), DRAWN: (DRAWN, "uniform", "random")}
"""The values of a column of strata: the first is usual, the others mean the same."""


def has_strata(source: Any, columns: dict[str, str] | None = None) -> bool:
    """Return whether a table has a column of strata."""
    if "stratum" in (columns or {}):
        return True
    return any(is_usual(name, STRATUM) for name in open_table(source, "scores", ()).names)


def read_scan(
    source: Any,
    *,
    n_items: int,
    k: int,
    ties: str = "worst",
    seen: Any = None,
    columns: dict[str, str] | None = None,
) -> ScannedRanks:
    """Read the scores of targets, of items that a proxy lists, and of drawn items.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        The table; see `podium.data`. It has one row per user and item, in any order, with the
        columns user, item, score, target (above 0 for held-out items) and stratum. The stratum of
        an item is "listed" if it is at the top of the proxy's list, which all these items must be
        in, and "drawn" if it was drawn uniformly without replacement from the other items. The
        stratum of a target shows whether the proxy lists it, and only serves for the warning.
    n_items : int
        The number of items of the whole catalogue, including the target and seen items.
    k : int
        The largest cutoff of measures.
    ties : {"worst", "best"}
        Whether items with the target's score count as above it.
    seen : table of pairs, optional
        The items of each user that are not ranked, such as the training data; see `read_seen`.
    columns : dict, optional
        The names of columns that do not have their usual name, by "user", "item", "score",
        "target", "stratum".

    Returns
    -------
    ScannedRanks
        One row per target, in the order of the table. All candidates of a user count for each of
        the user's targets. The user's other targets are ranked too, and count as listed items.

    Raises
    ------
    DataError
        If the file is missing or broken, if a column is missing, or if a value is not finite.
        If a user has an item twice or has no target, or if a stratum has another name.
        If there are more items than n_items, or if a candidate or a target is a seen item.

    Warns
    -----
    PodiumWarning
        If an item was drawn far more often than in a uniform sample. If nearly all targets are
        listed, but many are not in the same number of first items by their scores: the proxy was
        probably trained on them.

    Examples
    --------
    >>> table = {"user": [1, 1, 1], "item": [5, 6, 7], "score": [0.2, 0.9, 0.1],
    ...          "target": [1, 0, 0], "stratum": ["listed", "listed", "drawn"]}
    >>> read_scan(table, n_items=100, k=1)
    ScannedRanks(1 targets of 1 users, k=1, 2 items scored per target, 0.0% open)
    """
    table = _Table.read(source, n_items, seen, columns)
    counts = table.strata.counts(ties, keeps_targets=True)
    table.test(counts)
    return ScannedRanks(*counts, table.n_items, k=k, user=table.user, item=table.target)


def read_shared(
    source: Any,
    *,
    n_items: int,
    ties: str = "worst",
    seen: Any = None,
    columns: dict[str, str] | None = None,
) -> SharedRanks:
    """Read the same table for whole rankings, with all targets of a user.

    Parameters
    ----------
    source, ties, seen, columns
        The parameters of `read_scan`.
    n_items : int
        The number of items of the catalogue, including all targets.

    Returns
    -------
    SharedRanks
        One row per target, in the order of the table.

    Examples
    --------
    >>> table = {"user": [1, 1, 1, 1], "item": [5, 6, 7, 8], "score": [0.2, 0.9, 0.1, 0.5],
    ...          "target": [1, 0, 0, 1], "stratum": ["listed", "listed", "drawn", "drawn"]}
    >>> read_shared(table, n_items=100)
    SharedRanks(2 targets of 1 users, n_listed=1, n_negatives=1, n_items=100, replacement=False)
    """
    table = _Table.read(source, n_items, seen, columns)
    table.test(table.strata.counts(ties, keeps_targets=True))
    counts = table.strata.counts(ties, keeps_targets=False)
    return SharedRanks.of_counts(counts, table.n_items, table.user, table.target)


@dataclass(frozen=True, eq=False)
class _Table:
    """The rows of a table of strata.

    Attributes
    ----------
    name : str
    strata : Strata
        The scores, and the stratum of each row.
    item : (n,)
    user : (n_targets,)
    n_items : int, or int64, (n_targets,)
    """

    name: str
    strata: Strata
    item: NDArray[Any]
    user: NDArray[Any]
    n_items: int | Ints

    @classmethod
    def read(
        cls,
        source: Any,
        n_items: int,
        seen: Any,
        columns: dict[str, str] | None,
    ) -> _Table:
        roles = (USER, ITEM, SCORE, TARGET, STRATUM)
        table = Columns.read(source, "strata's scores", roles, columns)
        (user, item), is_target = table.pairs, table.is_target()
        is_listed = _is_listed(label_array(table.ids("stratum")), table.name)
        labels, codes = np.unique(label_array(user), return_inverse=True)
        _refuse_repeats(codes, codes_of(item)[0], labels, table.name)
        n_targets = np.bincount(codes[is_target], minlength=labels.size)
        refuse_without("target", n_targets, labels, table.name)
        sizes: int | Ints = catalogue_size(n_items)
        refuse_more_items(codes_of(item)[1].size, sizes, table.name)
        if seen is not None:
            sizes = _unseen_sizes(read_seen(seen), (user, item), is_target, n_items, table.name)
        rows = Strata(codes, table.scores(), is_target, ~is_listed)
        return cls(table.name, rows, label_array(item), labels[codes[is_target]], sizes)

    @property
    def target(self) -> NDArray[Any]:
        """The item of each target: (n_targets,)."""
        return self.item[self.strata.is_target]

    def test(self, counts: Counts) -> None:
        """Warn of items that were not drawn uniformly, and of a proxy that knew the targets."""
        is_target, is_drawn = self.strata.is_target, self.strata.is_drawn
        n_rest = self.n_items - 1 - counts.n_listed
        _, first_rows = np.unique(self.user, return_index=True)  # they share their draws
        chances = (counts.n_drawn / np.maximum(n_rest, 1))[first_rows]
        advice = "The estimates assume that all items outside the list have the same chance."
        drawn = self.item[is_drawn & ~is_target]
        warn_of_popular_draws(drawn, float(chances.sum()), advice, self.name)
        share_above = counts.above_drawn / np.maximum(counts.n_drawn, 1)
        rank = counts.above_listed + share_above * n_rest
        warn_of_known_targets(~is_drawn[is_target], rank < counts.n_listed, self.name)


def _unseen_sizes(
    seen: Seen, pairs: tuple[Ids, Ids], is_target: NDArray[np.bool_], n_items: int, name: str
) -> Ints:
    """Return the number of unseen items of each target's user; raise if the table has a seen one.

    A seen item among the listed or drawn ones would be counted in a catalogue without it.
    """
    sizes = seen.sizes(pairs[0], n_items, name)
    advice = "Leave seen items out of both strata"
    seen.candidates(pairs, is_target, n_items=n_items, source=name, on_seen="error", advice=advice)
    return sizes[is_target]


def _is_listed(strata: NDArray[Any], source: str) -> NDArray[np.bool_]:
    texts = np.char.lower(strata.astype(np.str_))
    is_listed, is_drawn = (np.isin(texts, names) for names in STRATA.values())
    is_unknown = ~(is_listed | is_drawn)
    if is_unknown.any():
        first = int(np.argmax(is_unknown))
        raise DataError(
            f"{source}: {int(is_unknown.sum())} strata are neither 'listed' nor 'drawn', first "
            f"{strata[first]!r} at row {first}. Items of the proxy's list are 'listed', random "
            "items are 'drawn'."
        )
    return is_listed


def _refuse_repeats(
    users: NDArray[np.intp], items: Ints, labels: NDArray[Any], source: str
) -> None:
    """Raise if a user has an item twice: in both strata, or as a target too."""
    order = np.lexsort((items, users))
    earlier, later = order[:-1], order[1:]
    is_repeated = (users[earlier] == users[later]) & (items[earlier] == items[later])
    if is_repeated.any():
        first = int(later[np.argmax(is_repeated)])
        raise DataError(
            f"{source}: {int(is_repeated.sum())} rows repeat an item of the same user, first at "
            f"row {first} (user {_check.label(labels[users[first]])}). Strata may not overlap, nor "
            "contain a target. Take the target out before the list is cut, and draw from the rest."
        )
