"""Sampled ranks from a table of ranks, or of the scores of targets and candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._text import counted
from podium._ties import label_keys, random_bits
from podium.data.columns import ITEM, USER
from podium.data.ids import codes_of, label_array
from podium.errors import ArgumentError, DataError, arg, warn
from podium.sampled import _kernels
from podium.sampled.candidates import counts_above
from podium.sampled.design import Floats, Ints
from podium.sampled.ranks import SampledRanks, one_size, size_at
from podium.sampled.reading.columns import (
    HISTORY,
    N_NEGATIVES,
    OPTIONAL_USER,
    RANK,
    SCORE,
    TARGET,
    Columns,
    warn_of_popular_draws,
)
from podium.sampled.reading.seen import OnSeen, catalogue_size, read_seen, warn_of_dropped
from podium.sampled.sampling import from_doubled


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


_POPULAR = (
    "Ranks among items that were drawn by popularity cannot be corrected. Draw uniformly, or see "
    "Candidates.uniform."
)


Tie = Literal["worst", "best", "average", "random"]
_TIES: tuple[Tie, ...] = ("worst", "best", "average", "random")


def read_candidate_scores(
    source: Any,
    *,
    n_items: int,
    replacement: bool = True,
    ties: Tie = "worst",
    mixed: bool = False,
    seed: int = 0,
    seen: Any = None,
    seen_candidates: OnSeen = "error",
    columns: dict[str, str] | None = None,
) -> SampledRanks:
    """Read the scores of targets and their candidates, and rank each target among its candidates.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays
        The table; see `podium.data`. It has one row per user and item, in any order, with the
        columns user, item, score and target. The target column is above 0 for held-out items and 0
        for candidates. Each target is ranked among the user's candidates, which do not include the
        user's other targets. An optional column history is that of `SampledRanks`; it is read in
        the rows of targets.
    n_items : int
        The number of items that the candidates were drawn from, including the target. With seen
        items, the size of the whole catalogue.
    replacement : bool
        Whether an item could be drawn twice. A user's candidate may then be in several rows with
        the same score. A target may not.
    ties : {"worst", "best", "average", "random"}
        The order of equal scores, as in `sample_ranks`. "random" puts the target at a random
        position among equal scores.
    mixed : bool
        Whether users may have different numbers of candidates. Otherwise this is an error, because
        rows may have been lost.
    seed : int
        The seed of ties="random", whose result depends only on the seed, the user and the item.
    seen, seen_candidates
        The options of `read_negatives`. If seen candidates are dropped, samples may differ in size.
    columns : dict, optional
        The names of columns that do not have their usual name, by "user", "item", "score",
        "target", "history".

    Returns
    -------
    SampledRanks

    Raises
    ------
    DataError
        If the file is missing or broken, if a column is missing, or if a value is not finite.
        If users have no target or no candidate, or different numbers of candidates.
        If there are more items than n_items.
        If a target is repeated, or an item that could be drawn only once.
        If candidates or targets are seen items, or `seen` has none of the users or items.

    Warns
    -----
    PodiumWarning
        If an item was drawn far more often than in a uniform sample.

    Notes
    -----
    Integers beyond 2 ** 53, which float64 would round, are replaced by their ranks in increasing
    order.

    Examples
    --------
    >>> table = {"user": [1, 1, 1], "item": [5, 6, 7], "score": [0.2, 0.9, 0.1],
    ...          "target": [1, 0, 0]}
    >>> read_candidate_scores(table, n_items=100)
    SampledRanks(1 ranks of 1 users, n_negatives=2, n_items=100, replacement=True)
    """
    rule = _check.choice(ties, "ties", _TIES)
    read = Columns.read(source, "candidates' scores", (USER, ITEM, SCORE, TARGET, HISTORY), columns)
    (user, item), name = read.pairs, read.name
    if seen is not None:
        refuse_history(columns, read)
    rows = _Rows.of(label_array(user), label_array(item), read.scores(), read.is_target())
    with_replacement = _check.flag(replacement, "replacement")
    _refuse_repeats(rows, codes_of(item)[0], name, replacement=with_replacement)
    _refuse_mixed(rows.n_candidates(name), rows.names, mixed=mixed, source=name)
    sizes: int | Ints = catalogue_size(n_items)
    refuse_more_items(codes_of(item)[1].size, sizes, name)
    own_counts = None
    if "history" in read.values:
        own_counts = read.numbers("history", rows.is_target)[rows.is_target]
    if seen is not None:
        seen_items = read_seen(seen)
        is_seen = seen_items.candidates(
            (user, item),
            rows.is_target,
            n_items=n_items,
            source=name,
            on_seen=seen_candidates,
        )
        is_kept = rows.keep_candidates(~is_seen)
        sizes = seen_items.sizes(user, n_items, name)[is_kept & rows.is_target]
        if not is_kept.any():
            raise DataError(f"{name}: all candidates of all users are seen items. Draw others.")
        warn_of_dropped(int((rows.is_target & ~is_kept).sum()), name)
        rows = rows.keep(is_kept)
    n_negatives = rows.n_candidates(name)
    expected = float(n_negatives.sum()) / max(int(np.min(sizes)) - 1, 1)
    warn_of_popular_draws(rows.item[~rows.is_target], expected, _POPULAR, name)
    keys = label_keys(rows.names)[rows.owner], label_keys(rows.item[rows.is_target])
    return from_doubled(
        doubled_above(rows.codes, rows.score, rows.is_target, keys, rule, seed),
        size_at(one_size(n_negatives), rows.owner),
        sizes,
        replacement=replacement,
        user=rows.names[rows.owner],
        history=own_counts,
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Targets and candidates.

    Attributes
    ----------
    names : (n_users,)
        The distinct users in increasing order.
    codes : int64, (n,)
        The position in names of each row's user.
    item : (n,)
    score : float64, (n,)
    is_target : bool, (n,)
        Whether a row is a target.
    """

    names: NDArray[Any]
    codes: NDArray[np.intp]
    item: NDArray[Any]
    score: Floats
    is_target: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        user: NDArray[Any],
        item: NDArray[Any],
        score: Floats,
        is_target: NDArray[np.bool_],
    ) -> _Rows:
        """Return rows with numbered users."""
        names, codes = np.unique(user, return_inverse=True)
        return cls(names, codes, item, score, is_target)

    @property
    def owner(self) -> NDArray[np.intp]:
        """The position in names of each target's user."""
        return self.codes[self.is_target]

    def keep(self, rows: NDArray[np.bool_]) -> _Rows:
        """Return some of the rows."""
        user = self.names[self.codes[rows]]
        return _Rows.of(user, self.item[rows], self.score[rows], self.is_target[rows])

    def keep_candidates(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return some of the rows, without users that lose all candidates."""
        has_candidates = (
            np.bincount(self.codes[rows & ~self.is_target], minlength=self.names.size) > 0
        )
        return rows & has_candidates[self.codes]

    def n_candidates(self, source: str) -> Ints:
        """Return the number of candidates per user, or raise for users without one or a target."""
        n = self.names.size
        counts = [
            np.bincount(self.codes[selected], minlength=n)
            for selected in (self.is_target, ~self.is_target)
        ]
        for kind, count in zip(("target", "candidate"), counts, strict=True):
            refuse_without(kind, count, self.names, source)
        return counts[1].astype(np.int64)


def doubled_above(
    codes: Ints,
    score: Floats,
    is_target: NDArray[np.bool_],
    keys: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    rule: Tie,
    seed: int,
) -> Ints:
    """Return the doubled number of candidates above each target.

    `codes` has the number of each row's list, and `keys` those of each target's list and item.
    """
    above, equal = counts_above(codes, score, is_target, ~is_target)
    if rule == "random":
        units = np.empty(equal.size)
        _kernels.units(random_bits(seed), *keys, units)
        return 2 * (above + np.minimum((units * (equal + 1)).astype(np.int64), equal))
    return 2 * above + {"worst": 2, "best": 0, "average": 1}[rule] * equal


def _refuse_mixed(sizes: Ints, names: NDArray[Any], *, mixed: bool, source: str) -> None:
    is_different = sizes != np.bincount(sizes).argmax()
    if is_different.any() and not _check.flag(mixed, "mixed"):
        first = int(np.argmax(is_different))
        raise DataError(
            f"{source}: users have different numbers of candidates: {np.bincount(sizes).argmax()} "
            f"for most, {sizes[first]} for user {_check.label(names[first])}. Pass "
            f"{arg.mixed(True)} if samples were drawn with different sizes."
        )


def _refuse_repeats(rows: _Rows, item_codes: Ints, source: str, *, replacement: bool) -> None:
    """Raise for rows that repeat a user's item, unless it is a candidate that was drawn again.

    `item_codes` contains the items' codes.
    """
    order = np.lexsort((rows.is_target, item_codes, rows.codes))
    earlier, later = order[:-1], order[1:]
    is_repeated = (rows.codes[earlier] == rows.codes[later]) & (
        item_codes[earlier] == item_codes[later]
    )
    if replacement:
        is_repeated &= rows.is_target[later] | (rows.score[earlier] != rows.score[later])
    if not is_repeated.any():
        return
    first = int(np.argmax(is_repeated))
    earlier_row, later_row = earlier[first], later[first]
    user, item = (
        _check.label(label)
        for label in (rows.names[rows.codes[earlier_row]], rows.item[earlier_row])
    )
    if not replacement:
        raise DataError(
            f"{source}: user {user} has item {item} in two rows, but {arg.replacement(False)} "
            "means that no item was drawn twice (rows that repeat another: "
            f"{int(is_repeated.sum())}). Keep one row per user and item, or check how items were "
            "drawn."
        )
    if rows.is_target[earlier_row]:
        raise DataError(f"{source}: user {user} has target {item} in two rows. Keep one.")
    if rows.is_target[later_row]:
        raise DataError(
            f"{source}: user {user} has target {item} among the candidates too. Drop such "
            f"candidates, and pass {arg.mixed(True)} if samples then differ in size."
        )
    raise DataError(f"{source} has several scores for user {user} and item {item}. Keep one.")


def refuse_without(kind: str, counts: NDArray[Any], names: NDArray[Any], source: str) -> None:
    """Raise for users without a row of a kind, "target" or "candidate"."""
    if not counts.all():
        raise DataError(
            f"{source}: no {kind} for {counted(int((counts == 0).sum()), 'users')}, first user "
            f"{_check.label(names[np.argmin(counts)])}. The target column must be above 0 for "
            "held-out items and 0 for candidates."
        )


def refuse_more_items(n_named: int, n_items: int, source: str) -> None:
    """Raise if a table or file has more different items than the catalogue."""
    if n_named > n_items:
        raise DataError(
            f"{source} has {n_named} different items, but {arg.n_items} is {n_items}. Pass the "
            f"number of items that they were drawn from: with {arg.seen()}, that of the whole "
            "catalogue."
        )
