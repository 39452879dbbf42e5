"""Scores of targets and their candidates, as a scorer's file holds them, to sampled ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._ties import label_keys, random_bits
from podium.data.columns import ITEM, USER, Role, resolve
from podium.data.columns import SCORE as USUAL_SCORE
from podium.data.convert import finite, to_ids, to_numbers, to_scores
from podium.data.ids import codes_of, label_array
from podium.data.tables import fetch, open_table
from podium.errors import DataError
from podium.sampled import _kernels
from podium.sampled.design import Floats, Ints
from podium.sampled.ranks import SampledRanks
from podium.sampled.reading.ranks import HISTORY, KINDS, own_items, refuse_history
from podium.sampled.reading.seen import OnSeen, read_seen, warn_of_lost, whole
from podium.sampled.sampling import from_twice

SCORE = Role("score", USUAL_SCORE.usual)
_TARGET = Role("target", ("target", "is_target", "relevance", "label"))

Tie = Literal["worst", "best", "average", "random"]
_TIES: tuple[Tie, ...] = ("worst", "best", "average", "random")


def read_candidate_scores(
    source: Any,
    *,
    n_items: ArrayLike,
    replacement: bool = True,
    ties: Tie = "worst",
    mixed: bool = False,
    seed: int = 0,
    seen: Any = None,
    seen_candidates: OnSeen = "error",
    columns: dict[str, str] | None = None,
    format: str | None = None,
) -> SampledRanks:
    """Read the scores of targets and their candidates, and rank each target among its own.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        See `podium.data`. A row for each user and item, in any order: user, item, score, and
        target, which is above 0 for held-out items and 0 for candidates. A user's targets are
        each ranked among the user's candidates, and are no candidates themselves. A column
        history, of which the targets' rows are read, is that of `SampledRanks`.
    n_items : int
        Items that the candidates were drawn from, and the target.
    replacement : bool
        Whether an item could be drawn twice: then a user's candidate may be in several rows, with
        the same score in each. A target may not.
    ties : {"worst", "best", "average", "random"}
        As in `sample_ranks`; "random" puts the target at any place among its equals.
    mixed : bool
        Allow users with different numbers of candidates, which otherwise are an error: rows may
        have been lost.
    seed : int
        For ties="random"; what it gives depends on user and item alone.
    seen, seen_candidates
        As in `read_negatives`; samples may then differ in size as far as they had seen items.
    columns : dict, optional
        Names of columns that don't have their usual name, by "user", "item", "score", "target",
        "history".
    format : str, optional
        Of a file whose name or content does not tell.

    Raises
    ------
    DataError
        For a missing or broken file, a missing column, a value that is not finite; for users
        without a target or without a candidate; for different numbers of candidates; for a target
        or an item twice that could not be drawn twice; if candidates or targets are seen items,
        or `seen` has none of the users or items.

    Notes
    -----
    Integers that float64 would round (beyond 2 ** 53) become their places in rising order.

    Examples
    --------
    >>> table = {"user": [1, 1, 1], "item": [5, 6, 7], "score": [0.2, 0.9, 0.1],
    ...          "target": [1, 0, 0]}
    >>> read_candidate_scores(table, n_items=100)
    SampledRanks(1 ranks of 1 users, n_negatives=2, n_items=100, replacement=True)
    """
    rule = _check.choice(ties, "ties", _TIES)
    roles = (USER, ITEM, SCORE, _TARGET, HISTORY)
    table = open_table(source, "candidates' scores", roles, format)
    found = resolve(table.names, roles, columns or {}, table.name)
    values = fetch(table, found, KINDS)
    user, item = (to_ids(values[name], found[name], table) for name in ("user", "item"))
    score = to_scores(table, found["score"], values["score"], user)
    target = to_numbers(values["target"], found["target"], table, user)
    target = finite(target, found["target"], user, table)
    if seen is not None:
        refuse_history(columns, values, table.name)
    rows = _Rows.of(label_array(user), label_array(item), score, target > 0)
    again = _check.flag(replacement, "replacement")
    _refuse_twice(rows, codes_of(item)[0], table.name, replacement=again)
    _refuse_mixed(rows.candidates(table.name), rows.names, mixed=mixed, source=table.name)
    sizes: int | Ints = whole(n_items)
    own = own_items(values, found, table, user)
    if seen is not None:
        known = read_seen(seen)
        drop = known.candidates(
            (user, item), rows.held, n_items=n_items, source=table.name, on_seen=seen_candidates
        )
        kept = rows.with_candidates(~drop)
        sizes = known.sizes(user, n_items, table.name)[kept & rows.held]
        if not kept.any():
            raise DataError(f"{table.name}: all candidates of all users are seen items.")
        warn_of_lost(int((rows.held & ~kept).sum()), table.name)
        rows = rows.keep(kept)
    n_negatives = rows.candidates(table.name)
    return from_twice(
        _twice_above(rows, rule, seed),
        int(n_negatives[0]) if (n_negatives == n_negatives[0]).all() else n_negatives[rows.owner],
        sizes,
        replacement=replacement,
        user=rows.names[rows.owner],
        history=None if own is None else own[rows.held],
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Targets and candidates.

    Attributes
    ----------
    names : (n_users,)
        Distinct users, rising.
    codes : int64, (n,)
        The place in names of each row's user.
    item : (n,)
    score : float64, (n,)
    held : bool, (n,)
        Whether a row is a target.
    """

    names: NDArray[Any]
    codes: NDArray[np.intp]
    item: NDArray[Any]
    score: Floats
    held: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        user: NDArray[Any],
        item: NDArray[Any],
        score: Floats,
        held: NDArray[np.bool_],
    ) -> _Rows:
        """Number the users."""
        names, codes = np.unique(user, return_inverse=True)
        return cls(names, codes, item, score, held)

    @property
    def owner(self) -> NDArray[np.intp]:
        """The place in names of each target's user."""
        return self.codes[self.held]

    def keep(self, rows: NDArray[np.bool_]) -> _Rows:
        """Return some of the rows."""
        user = self.names[self.codes[rows]]
        return _Rows.of(user, self.item[rows], self.score[rows], self.held[rows])

    def with_candidates(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return some of the rows without those of users that lose all candidates."""
        left = np.bincount(self.codes[rows & ~self.held], minlength=self.names.size) > 0
        return rows & left[self.codes]

    def candidates(self, source: str) -> Ints:
        """Return how many candidates each user has, and refuse users without one or a target."""
        n = self.names.size
        counts = [np.bincount(self.codes[part], minlength=n) for part in (self.held, ~self.held)]
        for kind, count in zip(("target", "candidate"), counts, strict=True):
            if not count.all():
                raise DataError(
                    f"{source}: {int((count == 0).sum())} users have no {kind}, first user "
                    f"{_check.label(self.names[np.argmin(count)])}. The target column must be "
                    "above 0 for held-out items and 0 for candidates."
                )
        return counts[1].astype(np.int64)


def _twice_above(rows: _Rows, rule: Tie, seed: int) -> Ints:
    """Return twice what is above each target."""
    above, equal = _counts(rows.codes, rows.score, rows.held)
    if rule == "random":
        keys = label_keys(rows.names)[rows.owner], label_keys(rows.item[rows.held])
        return 2 * (above + _places(equal, *keys, seed))
    return 2 * above + {"worst": 2, "best": 0, "average": 1}[rule] * equal


def _refuse_mixed(sizes: Ints, names: NDArray[Any], *, mixed: bool, source: str) -> None:
    odd = sizes != np.bincount(sizes).argmax()
    if odd.any() and not _check.flag(mixed, "mixed"):
        first = int(np.argmax(odd))
        raise DataError(
            f"{source}: users have different numbers of candidates: {np.bincount(sizes).argmax()} "
            f"for most, {sizes[first]} for user {_check.label(names[first])}. Pass mixed=True if "
            "they were drawn so."
        )


def _refuse_twice(rows: _Rows, places: Ints, source: str, *, replacement: bool) -> None:
    """Refuse rows that repeat a user's item, unless it is a candidate that was drawn again.

    `places` are the items' codes.
    """
    order = np.lexsort((rows.held, places, rows.codes))
    a, b = order[:-1], order[1:]
    twice = (rows.codes[a] == rows.codes[b]) & (places[a] == places[b])
    if replacement:
        twice &= rows.held[b] | (rows.score[a] != rows.score[b])
    if not twice.any():
        return
    first = int(np.argmax(twice))
    one, other = a[first], b[first]
    user, item = (_check.label(each) for each in (rows.names[rows.codes[one]], rows.item[one]))
    if not replacement:
        raise DataError(
            f"{source}: user {user} has item {item} in two rows, and replacement=False says that "
            f"no item was drawn twice (rows that repeat another: {int(twice.sum())}). Keep one of "
            "each user and item, or check how items were drawn."
        )
    if rows.held[one]:
        raise DataError(f"{source}: user {user} has target {item} in two rows. Keep one.")
    if rows.held[other]:
        raise DataError(
            f"{source}: user {user} has target {item} among the candidates too. Drop such "
            "candidates, and pass mixed=True if samples then differ in size."
        )
    raise DataError(f"{source} has several scores of user {user} and item {item}. Keep one.")


def _counts(codes: NDArray[np.intp], score: Floats, held: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return how many of their users' candidates are above each target, and how many equal it."""
    levels, level = np.unique(score, return_inverse=True)
    keys = codes * levels.size + level
    candidates, targets = np.sort(keys[~held]), keys[held]
    ends = np.searchsorted(candidates, (codes[held] + 1) * levels.size)
    after = np.searchsorted(candidates, targets, side="right")
    return ends - after, after - np.searchsorted(candidates, targets)


def _places(equal: Ints, users: NDArray[np.uint64], items: NDArray[np.uint64], seed: int) -> Ints:
    """Return how many of the equal ones come before, from 0 to all of them, equally likely."""
    units = np.empty(equal.size)
    _kernels.units(random_bits(seed), users, items, units)
    return np.minimum((units * (equal + 1)).astype(np.int64), equal)
