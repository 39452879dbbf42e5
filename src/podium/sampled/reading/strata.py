"""Scans from a table of scores, whose candidates are listed by a proxy or drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.data.columns import ITEM, USER, Role, is_usual, resolve
from podium.data.convert import finite, to_ids, to_numbers, to_scores
from podium.data.ids import codes_of, label_array
from podium.data.tables import fetch, open_table
from podium.errors import DataError
from podium.sampled.design import Ints
from podium.sampled.reading.ranks import KINDS
from podium.sampled.reading.scores import SCORE, TARGET, refuse_without
from podium.sampled.reading.seen import catalogue_size, read_seen
from podium.sampled.reading.uniform import warn_of_popular_draws
from podium.sampled.scanning.ranks import ScannedRanks
from podium.sampled.scanning.strata import DRAWN, LISTED, Strata

STRATUM = Role("stratum", ("stratum",))
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
    n_items: ArrayLike,
    k: int,
    ties: str = "worst",
    seen: Any = None,
    columns: dict[str, str] | None = None,
    format: str | None = None,
) -> ScannedRanks:
    """Read the scores of targets, of items that a proxy lists, and of drawn items.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        The table; see `podium.data`. It has one row per user and item, in any order, with the
        columns user, item, score, target (above 0 for held-out items) and stratum. The stratum of
        an item is "listed" if it is at the top of the proxy's list, which all these items must be
        in, and "drawn" if it was drawn uniformly without replacement from the other items. The
        stratum of a target has no effect.
    n_items : int
        The number of items of the catalogue, including the target.
    k : int
        The largest cutoff of measures.
    ties : {"worst", "best"}
        Whether items with the target's score count as above it.
    seen : table of pairs, optional
        The items of each user that are not ranked, such as the training data; see `read_seen`.
    columns : dict, optional
        The names of columns that do not have their usual name, by "user", "item", "score",
        "target", "stratum".
    format : str, optional
        The format of a file, if neither its name nor its content determines it.

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

    Warns
    -----
    PodiumWarning
        If an item was drawn far more often than in a uniform sample.

    Examples
    --------
    >>> table = {"user": [1, 1, 1], "item": [5, 6, 7], "score": [0.2, 0.9, 0.1],
    ...          "target": [1, 0, 0], "stratum": ["listed", "listed", "drawn"]}
    >>> read_scan(table, n_items=100, k=1)
    ScannedRanks(1 targets of 1 users, k=1, 2 items scored per target, 0.0% open)
    """
    roles = (USER, ITEM, SCORE, TARGET, STRATUM)
    table = open_table(source, "strata's scores", roles, format)
    names = resolve(table.names, roles, columns or {}, table.name)
    values = fetch(table, names, {**KINDS, "stratum": "id"})
    user, item = (to_ids(values[name], names[name], table) for name in ("user", "item"))
    score, _ = to_scores(table, names["score"], values["score"], user)
    target = to_numbers(values["target"], names["target"], table, user)
    is_target = finite(target, names["target"], user, table) > 0
    strata = label_array(to_ids(values["stratum"], names["stratum"], table))
    is_listed = _is_listed(strata, table.name)
    labels, codes = np.unique(label_array(user), return_inverse=True)
    _refuse_repeats(codes, codes_of(item)[0], labels, table.name)
    n_targets = np.bincount(codes[is_target], minlength=labels.size)
    refuse_without("target", n_targets, labels, table.name)
    catalogue_sizes: int | Ints = catalogue_size(n_items)
    if seen is not None:
        catalogue_sizes = read_seen(seen).sizes(user, n_items, table.name)[is_target]
    scanned = Strata(codes, score, is_target, ~is_listed).ranks(
        catalogue_sizes,
        user=labels[codes[is_target]],
        k=k,
        ties=ties,
        keeps_targets=True,
    )
    _test_draws(scanned, label_array(item)[~is_listed & ~is_target], table.name)
    return scanned


def _test_draws(ranks: ScannedRanks, drawn: NDArray[Any], source: str) -> None:
    """Warn if an item was drawn more often than the same chance for all unlisted items allows."""
    _, first_rows = np.unique(ranks.user, return_index=True)  # targets of a user share its draws
    chances = ranks.n_drawn[first_rows] / (ranks.n_rest + ranks.n_drawn)[first_rows].clip(1)
    advice = "The estimates assume that all items outside the list have the same chance."
    warn_of_popular_draws(drawn, float(chances.sum()), advice, source)


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
