"""Tables of the scores of targets and their candidates: one row per user and item.

With a column of strata, the candidates are the top of a proxy's list and random others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._text import counted
from podium._ties import label_keys, random_bits
from podium.data.columns import ITEM, USER
from podium.data.ids import codes_of, label_array
from podium.errors import ArgumentError, DataError, arg, warn
from podium.sampled import _kernels
from podium.sampled.candidates import counts_above, repeats
from podium.sampled.design import Floats, Ints
from podium.sampled.ranks import Counts, columns_at
from podium.sampled.reading.columns import HISTORY, SCORE, STRATUM, TARGET, Columns
from podium.sampled.reading.seen import catalogue_size
from podium.sampled.scanning.strata import DRAWN, LISTED, strata_counts
from podium.types import Mask

if TYPE_CHECKING:
    from podium.sampled.reading import SampleReader

Tie = Literal["worst", "best", "average", "random"]
TIES: tuple[Tie, ...] = get_args(Tie)

STRATA = {LISTED: (LISTED, "certain", "list"), DRAWN: (DRAWN, "uniform", "random")}
"""The values of a column of strata: the first is usual, the others mean the same."""

_MOST_ERRORS = 6.0  # Poisson standard errors above the expected number of draws
_LEAST_MISSES = 20  # with fewer, a list of the model's own would hardly miss targets either
_MISS_RATIO = 0.25  # misses of a proxy that was not trained on the targets are more frequent
_POPULAR = (
    "Ranks among items that were drawn by popularity cannot be corrected. Draw uniformly, or see "
    "Candidates.uniform."
)
_ALL_ALIKE = "The estimates assume that all items outside the list have the same chance."
_LEAVE_OUT = "Leave seen items out of both strata"


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows of a table of scores.

    Attributes
    ----------
    name : str
        The name of the table in messages.
    users : (n_users,)
        The distinct users.
    codes : int64, (n,)
        The number of each row's user.
    item : (n,)
    item_codes : int64, (n,)
        The number of each row's item.
    score : float64, (n,)
    is_target : bool, (n,)
    is_listed : bool, (n,), or None
        Whether the stratum of a row is the list of a proxy.
    history : int64, (n_targets,), or None
    n_items : int, or int64, (n_targets,)
        The number of items that each target is ranked among.
    """

    name: str
    users: NDArray[Any]
    codes: NDArray[np.intp]
    item: NDArray[Any]
    item_codes: Ints
    score: Floats
    is_target: Mask
    is_listed: Mask | None
    history: NDArray[Any] | None
    n_items: int | Ints

    @classmethod
    def read(cls, source: Any, reader: SampleReader, columns: Mapping[str, str]) -> ScoredRows:
        """Read a table of scores without strata."""
        n_items, seen = reader.n_items, reader.seen_items
        roles = (USER, ITEM, SCORE, TARGET, HISTORY)
        read = Columns.read(source, "candidates' scores", roles, columns)
        if seen is not None:
            refuse_history(columns, read)
        rows = cls._of(read, n_items)
        rows._refuse_repeats(replacement=_check.flag(reader.replacement, "replacement"))
        rows._refuse_mixed(mixed=reader.mixed)
        refuse_more_items(np.unique(rows.item_codes).size, n_items, rows.name)
        if "history" in read.values:
            history = read.numbers("history", rows.is_target)[rows.is_target]
            rows = replace(rows, history=history)
        if seen is None:
            return rows
        options: dict[str, Any] = {"n_items": n_items, "source": rows.name}
        options["drop"] = reader.seen_candidates == "drop"
        is_seen = seen.candidates(read.pairs, rows.is_target, **options)
        has_rest = np.bincount(rows.codes[~is_seen & ~rows.is_target], minlength=rows.users.size)
        is_kept = ~is_seen & (has_rest > 0)[rows.codes]
        sizes = seen.sizes(read.pairs[0], n_items, rows.name)[is_kept & rows.is_target]
        if not is_kept.any():
            raise DataError(
                f"{rows.name}: all candidates of all users are seen items. Draw others."
            )
        warn_of_dropped(int((rows.is_target & ~is_kept).sum()), rows.name)
        return rows._keep(is_kept, sizes)

    @classmethod
    def read_strata(
        cls, source: Any, reader: SampleReader, columns: Mapping[str, str]
    ) -> ScoredRows:
        """Read a table of scores with strata."""
        n_items, seen = reader.n_items, reader.seen_items
        roles = (USER, ITEM, SCORE, TARGET, STRATUM)
        read = Columns.read(source, "strata's scores", roles, columns)
        is_listed = _is_listed(label_array(read.ids("stratum")), read.name)
        rows = replace(cls._of(read, n_items), is_listed=is_listed)
        _, later = repeats(rows.codes, rows.item_codes)
        if later.size:
            raise DataError(
                f"{rows.name}: {later.size} rows repeat an item of the same user, first at row "
                f"{later[0]} (user {_check.label(rows.users[rows.codes[later[0]]])}). Strata may "
                "not overlap, nor contain a target. Take the target out before the list is cut, "
                "and draw from the rest."
            )
        _refuse_without("target", rows._n_rows(rows.is_target), rows)
        refuse_more_items(np.unique(rows.item_codes).size, n_items, rows.name)
        if seen is None:
            return rows
        sizes = seen.sizes(read.pairs[0], n_items, rows.name)[rows.is_target]
        options: dict[str, Any] = {"n_items": n_items, "source": rows.name, "advice": _LEAVE_OUT}
        seen.candidates(read.pairs, rows.is_target, drop=False, **options)
        return replace(rows, n_items=sizes)

    @classmethod
    def _of(cls, read: Columns, n_items: int) -> ScoredRows:
        user, item = map(label_array, read.pairs)
        users, codes = np.unique(user, return_inverse=True)
        columns = (codes_of(read.pairs[1])[0], read.scores(), read.is_target(), None)
        return cls(read.name, users, codes, item, *columns, None, catalogue_size(n_items))

    @property
    def owner(self) -> NDArray[np.intp]:
        """The number of each target's user: int64, (n_targets,)."""
        return self.codes[self.is_target]

    @property
    def user(self) -> NDArray[Any]:
        """The user of each target: (n_targets,)."""
        return self.users[self.owner]

    @property
    def target(self) -> NDArray[Any]:
        """The item of each target: (n_targets,)."""
        return self.item[self.is_target]

    @property
    def n_candidates(self) -> Ints:
        """The number of each user's candidates; raise for users without a target or candidate."""
        _refuse_without("target", self._n_rows(self.is_target), self)
        counts = self._n_rows(~self.is_target)
        _refuse_without("candidate", counts, self)
        return counts

    def doubled_above(self, ties: Tie, seed: int) -> Ints:
        """Return twice the number of candidates above each target: int64, (n_targets,)."""
        keys = label_keys(self.users)[self.owner], label_keys(self.target)
        return doubled_above(self.codes, self.score, self.is_target, keys, ties, seed)

    def counts(self, ties: str, *, keeps_targets: bool) -> Counts:
        """Return the counts of each target in strata; see `strata_counts`."""
        is_drawn = ~np.asarray(self.is_listed)
        columns = (self.codes, self.score, self.is_target, is_drawn)
        return strata_counts(*columns, ties=ties, keeps_targets=keeps_targets)

    def warn_of_popular_draws(self) -> None:
        """Warn if an item was drawn far more often than in a uniform sample."""
        expected = float(self.n_candidates.sum()) / max(int(np.min(self.n_items)) - 1, 1)
        _warn_of_popular_draws(self.item[~self.is_target], expected, _POPULAR, self.name)

    def warn_of_bad_strata(self, counts: Counts) -> None:
        """Warn of items that were not drawn uniformly, and of a proxy that knew the targets.

        `counts` are those with the user's other targets.
        """
        is_listed = np.asarray(self.is_listed)
        n_rest = self.n_items - 1 - counts.n_listed
        _, first_rows = np.unique(self.owner, return_index=True)  # they share their draws
        chances = (counts.n_drawn / np.maximum(n_rest, 1))[first_rows]
        drawn = self.item[~is_listed & ~self.is_target]
        _warn_of_popular_draws(drawn, float(chances.sum()), _ALL_ALIKE, self.name)
        share_above = counts.above_drawn / np.maximum(counts.n_drawn, 1)
        in_top = counts.above_listed + share_above * n_rest < counts.n_listed
        in_list = is_listed[self.is_target]
        n_missed, n_low = int((~in_list).sum()), int((~in_top).sum())
        if n_low >= _LEAST_MISSES and n_missed < _MISS_RATIO * n_low:
            warn(
                f"{self.name}: the proxy lists {in_list.sum()} of {in_list.size} targets, but by "
                f"their scores only about {in_top.sum()} are among as many items. If the proxy was "
                "trained on the targets, its lists do not help to evaluate a model that was not. "
                "If you do not know which targets it lists, give all targets the stratum 'drawn'."
            )

    def _n_rows(self, selected: Mask) -> Ints:
        return np.bincount(self.codes[selected], minlength=self.users.size).astype(np.int64)

    def _keep(self, rows: Mask, n_items: Ints) -> ScoredRows:
        users, codes = np.unique(self.users[self.codes[rows]], return_inverse=True)
        columns = columns_at(self, ("item", "item_codes", "score", "is_target"), rows)
        return replace(self, users=users, codes=codes, n_items=n_items, **columns)

    def _refuse_mixed(self, *, mixed: bool) -> None:
        sizes = self.n_candidates
        is_different = sizes != np.bincount(sizes).argmax()
        if is_different.any() and not _check.flag(mixed, "mixed"):
            first = int(np.argmax(is_different))
            raise DataError(
                f"{self.name}: users have different numbers of candidates: "
                f"{np.bincount(sizes).argmax()} for most, {sizes[first]} for user "
                f"{_check.label(self.users[first])}. Pass {arg.mixed(True)} if samples were drawn "
                "with different sizes."
            )

    def _refuse_repeats(self, *, replacement: bool) -> None:
        """Raise if a user has an item twice, unless it was drawn twice and has one score."""
        earlier, later = repeats(self.codes, self.item_codes, self.is_target)
        if replacement:
            is_wrong = self.is_target[later] | (self.score[earlier] != self.score[later])
            earlier, later = earlier[is_wrong], later[is_wrong]
        if not earlier.size:
            return
        user = _check.label(self.users[self.codes[earlier[0]]])
        item = _check.label(self.item[earlier[0]])
        if not replacement:
            raise DataError(
                f"{self.name}: user {user} has item {item} in two rows, but "
                f"{arg.replacement(False)} means that no item was drawn twice (rows that repeat "
                f"another: {earlier.size}). Keep one row per user and item, or check how items "
                "were drawn."
            )
        if self.is_target[earlier[0]]:
            raise DataError(f"{self.name}: user {user} has target {item} in two rows. Keep one.")
        if self.is_target[later[0]]:
            raise DataError(
                f"{self.name}: user {user} has target {item} among the candidates too. Drop such "
                f"candidates, and pass {arg.mixed(True)} if samples then differ in size."
            )
        raise DataError(
            f"{self.name} has several scores for user {user} and item {item}. Keep one."
        )


def doubled_above(
    codes: Ints,
    score: Floats,
    is_target: Mask,
    keys: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    ties: Tie,
    seed: int,
) -> Ints:
    """Return twice the number of candidates above each target: int64, (n_targets,).

    Parameters
    ----------
    codes : int64, (n,)
        The number of each row's user, whose candidates it is ranked among.
    score : float64, (n,)
    is_target : bool, (n,)
    keys : pair of uint64, (n_targets,)
        The keys of the target's user and of its item, which determine random ties.
    ties : {"worst", "best", "average", "random"}
    seed : int
    """
    rule = _check.choice(ties, "ties", TIES)
    above, equal = counts_above(codes, score, is_target, ~is_target)
    if rule == "random":
        units = np.empty(equal.size)
        _kernels.units(random_bits(seed), *keys, units)
        return 2 * (above + np.minimum((units * (equal + 1)).astype(np.int64), equal))
    return 2 * above + {"worst": 2, "best": 0, "average": 1}[rule] * equal


def refuse_history(columns: Mapping[str, str], read: Columns) -> None:
    """Raise if a column of histories was named although seen items are left out; or ignore it."""
    if "history" in columns:
        raise ArgumentError(
            f"history is the number of a user's own items that could be drawn, but {arg.seen()} "
            "leaves these out. Pass one of the two."
        )
    if read.values.pop("history", None) is not None:
        warn(f"{read.name}: history is ignored, because {arg.seen()} leaves out users' own items.")


def warn_of_dropped(n: int, source: str) -> None:
    """Warn if targets are left without a candidate."""
    if n:
        warn(f"{source}: targets dropped, because all of their candidates are seen items: {n}.")


def refuse_more_items(n_named: int, n_items: int, source: str) -> None:
    """Raise if there are more different items than the catalogue has."""
    if n_named > n_items:
        raise DataError(
            f"{source} has {n_named} different items, but {arg.n_items} is {n_items}. Pass the "
            f"number of items that they were drawn from: with {arg.seen()}, that of the whole "
            "catalogue."
        )


def _refuse_without(kind: str, counts: Ints, rows: ScoredRows) -> None:
    """Raise if a user has no row of this kind."""
    if not counts.all():
        raise DataError(
            f"{rows.name}: no {kind} for {counted(int((counts == 0).sum()), 'users')}, first user "
            f"{_check.label(rows.users[np.argmin(counts)])}. The target column must be above 0 for "
            "held-out items and 0 for candidates."
        )


def _is_listed(strata: NDArray[Any], source: str) -> Mask:
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


def _warn_of_popular_draws(drawn: NDArray[Any], expected: float, advice: str, source: str) -> None:
    names, counts = np.unique(drawn, return_counts=True)
    limit = expected + _MOST_ERRORS * np.sqrt(expected) + _MOST_ERRORS
    is_common_list = counts.size > 1 and counts.min() == counts.max()  # the same for all users
    if is_common_list or int(counts.max(initial=0)) <= limit:
        return
    most, n_above = int(np.argmax(counts)), int((counts > limit).sum())
    warn(
        f"{source}: item {_check.label(names[most])} was drawn for {counts[most]} users, but a "
        f"uniform sample has it for about {expected:.0f}. {n_above} of {names.size} drawn "
        f"items have too many draws. {advice}"
    )
