"""Users' seen items, which samples are said not to hold, and whether that is so."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.data.columns import ITEM, USER, resolve
from podium.data.convert import Ids, to_ids
from podium.data.ids import codes_of, share
from podium.data.overlap import Side, check_met, meet
from podium.data.tables import fetch, open_table
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.groups import find
from podium.sampled.candidates import Candidates
from podium.sampled.design import Ints

OnSeen = Literal["error", "drop"]

_ROLES = (USER, ITEM)
_FEW = 0.5  # share of users below which a table may be another data set's
_FEW_ITEMS = 0.05  # share of the rows to be expected below which items may be another data set's
_EXPECTED = 20  # rows of items that others had seen, from which their absence is no chance
_ROLE = "the table of seen items"


@dataclass(frozen=True, eq=False)
class Seen:
    """Items that users had before, and that are not in the users' catalogues.

    Attributes
    ----------
    name : str
        What messages call the table.
    user, item : int64 array or String Series, (n_pairs,)
        Distinct pairs.
    """

    name: str
    user: Ids
    item: Ids

    def sizes(self, user: Ids, n_items: ArrayLike, source: str) -> Ints:
        """Return how many items are left in the catalogue of each row's user.

        Parameters
        ----------
        user : int64 array or String Series, (n,)
        n_items : int
            Items of the whole catalogue.
        source : str
            What messages call the sample.

        Raises
        ------
        DataError
            If it has none of the users.
        """
        shared = share(self.user, user)
        sides = (Side(_ROLE, self.name, self.user), Side("the sample", source, user))
        met = check_met(shared, "user", *sides, few=0.0)
        if met.both.size < _FEW * met.n_right:
            warnings.warn(
                f"{met.both.size} of the {met.n_right} users of {source} are in {self.name}; the "
                "others count as having seen nothing.",
                PodiumWarning,
                stacklevel=3,
            )
        return whole(n_items) - self._n_seen(user)

    def _n_seen(self, user: Ids) -> Ints:
        """Return how many items each row's user has seen."""
        shared = share(self.user, user)
        users, counts = np.unique(shared.left, return_counts=True)
        place = find(users, shared.right)
        return np.where(place < 0, 0, counts[place])

    def holds(self, user: Ids, item: Ids) -> NDArray[np.bool_]:
        """Return whether each pair is one of them."""
        users, items = (
            np.unique(np.concatenate([shared.left, shared.right]), return_inverse=True)
            for shared in (share(self.user, user), share(self.item, item))
        )
        keys = users[1] * items[0].size + items[1]
        n = len(self.user)
        return np.isin(keys[n:], keys[:n])

    def candidates(
        self,
        pairs: tuple[Ids, Ids],
        target: NDArray[np.bool_],
        *,
        n_items: ArrayLike,
        source: str,
        on_seen: OnSeen,
    ) -> NDArray[np.bool_]:
        """Return which pairs are candidates that their users had seen.

        Parameters
        ----------
        pairs : tuple of (user, item), each (n,)
            Of targets and candidates.
        target : bool, (n,)
            Which of the pairs are targets.
        n_items : int
            Items of the whole catalogue.
        source : str
            What messages call the sample.
        on_seen : {"error", "drop"}
            Whether to refuse seen candidates.

        Raises
        ------
        DataError
            If a target is a seen item, a candidate is one that is not to be dropped, or no item is
            in both where some must be.

        Warns
        -----
        PodiumWarning
            If hardly any item is in both.
        """
        drop = _check.choice(on_seen, "seen_candidates", ("error", "drop")) == "drop"
        held = self.holds(*pairs)
        if (held & target).any():
            user, item, n = _first(pairs, held & target)
            raise DataError(
                f"{source}: {n} of {int(target.sum())} targets are in {self.name}, first "
                f"item {item} of user {user}. Take the held-out pairs out of the seen ones."
            )
        if held.any() and not drop:
            user, item, n = _first(pairs, held)
            raise DataError(
                f"{source}: {n} of {int((~target).sum())} candidates are in {self.name}, "
                f"first item {item} of user {user}, so that seen items were drawn too. Pass "
                "seen_candidates='drop' to leave them out of the samples, or leave out seen= to "
                "rank among all items."
            )
        self._check_items(pairs, n_items, source)
        return held

    def _check_items(self, pairs: tuple[Ids, Ids], n_items: ArrayLike, source: str) -> None:
        """Refuse a sample without items that others had seen, or warn, where it should have some.

        A user's own seen items are in no sample, so those of all users may be in none by chance.
        """
        user, item = pairs
        shared = share(self.item, item)
        met = meet(shared)
        n_others = met.n_left - self._n_seen(user)
        expected = float(n_others.sum()) / whole(n_items)
        if met.both.size or expected > _EXPECTED:
            sides = (Side(_ROLE, self.name, self.item), Side("the sample", source, item))
            check_met(shared, "item", *sides, few=0.0)
        if np.isin(shared.right, met.both).sum() < _FEW_ITEMS * expected:
            warnings.warn(
                f"{met.both.size} of the {met.n_left} items of {self.name} are among the "
                f"{met.n_right} of {source}. Check that both use the same item ids.",
                PodiumWarning,
                stacklevel=4,
            )


def whole(n_items: ArrayLike) -> int:
    """Return the size of the catalogue that seen items are taken from."""
    if np.ndim(n_items):
        raise ArgumentError(
            f"n_items must be one number with seen=, which makes the users' own of it, got "
            f"{np.size(n_items)}."
        )
    return _check.cutoff(np.asarray(n_items).item(), name="n_items")


def _first(pairs: tuple[Ids, Ids], rows: NDArray[np.bool_]) -> tuple[Any, Any, int]:
    """Return the first of some pairs, for messages, and how many there are."""
    user, item = (_check.label(column[int(np.argmax(rows))]) for column in pairs)
    return user, item, int(rows.sum())


def read_seen(
    source: Any, *, columns: dict[str, str] | None = None, format: str | None = None
) -> Seen:
    """Read the items that users had before: a table of user and item.

    Parameters
    ----------
    source : path, frame, mapping, tuple of arrays, or Seen
        See `podium.data`. Rows that repeat another count once. What was read before stays.
    columns : dict, optional
        Names of columns that don't have their usual name, by "user", "item".
    format : str, optional
        Of a file whose name or content does not tell.

    Raises
    ------
    DataError
        If the file is missing or broken, or a column or value is missing.

    Examples
    --------
    >>> read_seen({"user": [1, 1, 2], "item": [5, 5, 7]}).user.tolist()
    [1, 2]
    """
    if isinstance(source, Seen):
        return source
    table = open_table(source, "seen items", _ROLES, format)
    found = resolve(table.names, _ROLES, columns or {}, table.name)
    got = fetch(table, found, {"user": "id", "item": "id"})
    user, item = (to_ids(got[role], found[role], table) for role in ("user", "item"))
    (users, _), (items, names) = codes_of(user), codes_of(item)
    rows = np.unique(users * names.size + items, return_index=True)[1]
    return Seen(table.name.replace("The seen items", "the seen items"), user[rows], item[rows])


def without_seen(
    candidates: Candidates, seen: Any, *, source: str, seen_candidates: OnSeen = "error"
) -> Candidates:
    """Take users' seen items from the catalogues of candidates that are numbers of rows and items.

    Parameters
    ----------
    candidates : Candidates
        Its n_items is that of the whole catalogue.
    seen : Seen, or what `read_seen` reads
        The same numbers.
    source : str
        What messages call the candidates.
    seen_candidates : {"error", "drop"}
        What to do about candidates that their users had seen: refuse them, or drop them. Targets
        left without a candidate are dropped, which biases nothing.

    Raises
    ------
    DataError
        As `Seen.candidates` and `Seen.sizes`.
    """
    known, sizes = read_seen(seen), np.diff(candidates.offsets)
    user = np.asarray(candidates.user)
    pairs = (
        np.concatenate([user, np.repeat(user, sizes)]),
        np.concatenate([candidates.target, candidates.items]),
    )
    target = np.arange(pairs[0].size) < user.size
    n_items = candidates.n_items
    left = known.sizes(user, n_items, source)
    held = known.candidates(pairs, target, n_items=n_items, source=source, on_seen=seen_candidates)
    found = replace(candidates, n_items=left).without(held[user.size :])
    warn_of_lost(user.size - found.target.size, source)
    return found


def warn_of_lost(n: int, source: str) -> None:
    """Warn that targets are left without a candidate."""
    if n:
        warnings.warn(
            f"{source}: targets left out, since all of their candidates were seen items: {n}.",
            PodiumWarning,
            stacklevel=4,
        )
