"""Items that users had seen, and checks that samples do not contain them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.data.columns import ITEM, USER
from podium.data.convert import Ids
from podium.data.ids import pair_codes, share
from podium.data.join import Side, check_common, common_ids
from podium.errors import ArgumentError, DataError, arg, warn
from podium.groups import find
from podium.sampled.design import Ints
from podium.sampled.reading.columns import read_columns

_MIN_SHARE = 0.5  # with a smaller share of users, the table may belong to another data set
_MIN_ITEM_SHARE = 0.05  # the same for the share of the expected rows
_EXPECTED = 20  # expected rows of items that others had seen; with more, their absence is an error
_SEEN_TABLE = "the table of seen items"
DROP = f"Pass {arg.seen_candidates('drop')} to drop them from the samples"


@dataclass(frozen=True, eq=False)
class Seen:
    """Items that users had before, which are not in the users' catalogues.

    Attributes
    ----------
    name : str
        The name of the table in messages.
    user, item : int64 array or String Series, (n_pairs,)
        The distinct pairs.
    """

    name: str
    user: Ids
    item: Ids

    def sizes(self, user: Ids, n_items: ArrayLike, source: str) -> Ints:
        """Return the number of items that are left in the catalogue of each row's user.

        Parameters
        ----------
        user : int64 array or String Series, (n,)
        n_items : int
            The number of items of the whole catalogue.
        source : str
            The name of the sample in messages.

        Returns
        -------
        int64, (n,)

        Raises
        ------
        DataError
            If the table has none of the users.

        Warns
        -----
        PodiumWarning
            If the table has less than half of the users.
        """
        shared = share(self.user, user)
        sides = (Side(_SEEN_TABLE, self.name, self.user), Side("the sample", source, user))
        overlap = check_common(shared, "user", *sides, min_share=0.0)
        if overlap.both.size < _MIN_SHARE * overlap.n_right:
            warn(
                f"{overlap.both.size} of the {overlap.n_right} users of {source} are in "
                f"{self.name}. The others are treated as users without seen items."
            )
        return catalogue_size(n_items) - self._n_seen(user)

    def _n_seen(self, user: Ids) -> Ints:
        """Return the number of items that each row's user has seen."""
        shared = share(self.user, user)
        users, counts = np.unique(shared.left, return_counts=True)
        position = find(users, shared.right)
        return np.where(position < 0, 0, counts[position])

    def holds(self, user: Ids, item: Ids) -> NDArray[np.bool_]:
        """Return whether each pair is a seen pair."""
        user_codes, item_codes = (
            np.unique(np.concatenate([shared.left, shared.right]), return_inverse=True)
            for shared in (share(self.user, user), share(self.item, item))
        )
        keys = user_codes[1] * item_codes[0].size + item_codes[1]
        n_seen = len(self.user)
        return np.isin(keys[n_seen:], keys[:n_seen])

    def candidates(
        self,
        pairs: tuple[Ids, Ids],
        is_target: NDArray[np.bool_],
        n_items: ArrayLike,
        source: str,
        advice: str | None,
    ) -> NDArray[np.bool_]:
        """Return which rows of a sample are candidates that their users had seen.

        Parameters
        ----------
        pairs : tuple of (user, item), each (n,)
            The user and the item of each row.
        is_target : bool, (n,)
            Whether a row is a target; the others are candidates.
        n_items : int
            The number of items of the whole catalogue.
        source : str
            The name of the sample in messages.
        advice : str or None
            The start of the last sentence of the error about seen candidates; None allows them.

        Returns
        -------
        bool, (n,)

        Raises
        ------
        DataError
            If a target is a seen item, if a candidate is one and these are not allowed, or if the
            sample and the table have no item in common although some must be.

        Warns
        -----
        PodiumWarning
            If the sample and the table have very few items in common.
        """
        is_seen = self.holds(*pairs)
        if (is_seen & is_target).any():
            user, item, n = _first_pair(pairs, is_seen & is_target)
            raise DataError(
                f"{source}: {n} of {int(is_target.sum())} targets are in {self.name}, first "
                f"item {item} of user {user}. Remove the held-out pairs from the seen items."
            )
        if is_seen.any() and advice is not None:
            user, item, n = _first_pair(pairs, is_seen)
            raise DataError(
                f"{source}: {n} of {int((~is_target).sum())} candidates are in {self.name}, first "
                f"item {item} of user {user}, so seen items were drawn too. {advice}, or leave out "
                f"{arg.seen()} to rank among all items."
            )
        self._check_items(pairs, n_items, source)
        return is_seen

    def _check_items(self, pairs: tuple[Ids, Ids], n_items: ArrayLike, source: str) -> None:
        """Raise or warn if the sample has too few of the items that other users had seen.

        A user's own seen items are in no sample, so that by chance a sample may have no seen item
        of any user.
        """
        user, item = pairs
        shared = share(self.item, item)
        overlap = common_ids(shared)
        n_others = overlap.n_left - self._n_seen(user)
        expected = float(n_others.sum()) / catalogue_size(n_items)
        if overlap.both.size or expected > _EXPECTED:
            sides = (Side(_SEEN_TABLE, self.name, self.item), Side("the sample", source, item))
            check_common(shared, "item", *sides, min_share=0.0)
        if np.isin(shared.right, overlap.both).sum() < _MIN_ITEM_SHARE * expected:
            warn(
                f"{overlap.both.size} of the {overlap.n_left} items of {self.name} are among the "
                f"{overlap.n_right} of {source}. Check that both use the same item ids."
            )


def catalogue_size(n_items: ArrayLike) -> int:
    """Return the size of the whole catalogue, from which seen items are removed."""
    if np.ndim(n_items):
        raise ArgumentError(
            f"{arg.n_items} must be one number, the size of the whole catalogue, from which "
            f"{arg.seen()} removes seen items, got {np.size(n_items)} numbers."
        )
    return _check.cutoff(np.asarray(n_items).item(), name="n_items")


def _first_pair(pairs: tuple[Ids, Ids], rows: NDArray[np.bool_]) -> tuple[Any, Any, int]:
    """Return the user and the item of the first of some pairs, and the number of these pairs."""
    user, item = (_check.label(column[int(np.argmax(rows))]) for column in pairs)
    return user, item, int(rows.sum())


def read_seen(source: Any, *, columns: dict[str, str] | None = None) -> Seen:
    """Read the items that users had before, from a table of user and item.

    Parameters
    ----------
    source : path, frame, mapping, tuple of arrays, or Seen
        The table; see `podium.data`. Repeated rows count once. A `Seen` is returned unchanged.
    columns : dict, optional
        The names of columns that do not have their usual name, by "user", "item".

    Returns
    -------
    Seen

    Raises
    ------
    DataError
        If the file is missing or broken, or if a column or value is missing.

    Examples
    --------
    >>> read_seen({"user": [1, 1, 2], "item": [5, 5, 7]}).user.tolist()
    [1, 2]
    """
    if isinstance(source, Seen):
        return source
    read = read_columns(source, "seen items", (USER, ITEM), columns)
    user, item = read.ids("user"), read.ids("item")
    rows = np.unique(pair_codes(user, item), return_index=True)[1]
    name = read.table.name.replace("The seen items", "the seen items")
    return Seen(name, user[rows], item[rows])
