"""Tables of the scores of targets and their candidates: one row per user and item.

With a column of strata, the candidates are the top of a proxy's list and random others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._text import counted
from podium._ties import label_keys, random_bits
from podium.data.columns import ITEM, USER
from podium.data.convert import Ids, to_numbers, to_scores
from podium.data.ids import codes_of, label_array
from podium.errors import ArgumentError, DataError, arg, warn
from podium.sampled import _kernels
from podium.sampled.candidates import DRAWN, LISTED, strata_counts
from podium.sampled.design import Floats, Ints
from podium.sampled.ranks import Counts, SampledRanks, columns_at
from podium.sampled.reading.columns import HISTORY, SCORE, STRATUM, TARGET, read_columns
from podium.sampled.reading.seen import DROP, catalogue_size
from podium.sampled.sampling import counts_above
from podium.types import Mask

if TYPE_CHECKING:
    from podium.sampled.reading import SampleReader
    from podium.sampled.reading.seen import Seen

Tie = Literal["worst", "best", "random"]
TIES: tuple[Tie, ...] = get_args(Tie)

_MOST_ERRORS = 6.0  # Poisson standard errors above the expected number of draws
_LEAST_MISSES = 20  # with fewer, a list of the model's own would hardly miss targets either
_MISS_RATIO = 0.25  # misses of a proxy that was not trained on the targets are more frequent
_POPULAR = "Ranks among items that were drawn by popularity cannot be corrected. Draw uniformly."
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
    def read(
        cls, source: Any, reader: SampleReader, columns: Mapping[str, str], *, in_strata: bool
    ) -> ScoredRows:
        """Read a table of scores, with or without strata."""
        roles = (USER, ITEM, SCORE, TARGET, STRATUM if in_strata else HISTORY)
        read = read_columns(source, "candidates' scores", roles, columns)
        name, pairs, history = read.table.name, (read.ids("user"), read.ids("item")), None
        if reader.seen_items is not None:
            refuse_history(columns, name, is_read="history" in read)
        user, item = map(label_array, pairs)
        users, codes = np.unique(user, return_inverse=True)
        listed = _is_listed(label_array(read.ids("stratum")), name) if in_strata else None
        is_target = read.numbers("target", pairs[0]) > 0
        score = to_scores(read.table, read.names["score"], read.read["score"], pairs[0])[0]
        columns_of_rows = (users, codes, item, codes_of(pairs[1])[0], score, is_target, listed)
        if "history" in read and reader.seen_items is None:  # rows of candidates need not have it
            column = (read.read["history"], read.names["history"], read.table)
            history = to_numbers(*column, pairs[0], is_target)[is_target]
        rows = cls(name, *columns_of_rows, history, catalogue_size(reader.n_items))
        rows._refuse_repeats(replacement=reader.replacement and not in_strata)
        if in_strata:
            _refuse_without("target", rows._n_rows(is_target), rows)
        else:
            rows._check_sizes(reader.n_negatives)
        n_named = np.unique(rows.item_codes).size
        if n_named > reader.n_items:
            raise DataError(
                f"{name} has {n_named} different items, but {arg.n_items} is {reader.n_items}. "
                f"Pass the number of items that they were drawn from: with {arg.seen()}, that of "
                "the whole catalogue."
            )
        return rows if reader.seen_items is None else rows._without_seen(pairs, reader)

    def _without_seen(self, pairs: tuple[Ids, Ids], reader: SampleReader) -> ScoredRows:
        """Return the rows of items that users had not seen, from catalogues without these."""
        seen = cast("Seen", reader.seen_items)
        advice = DROP if self.is_listed is None else _LEAVE_OUT
        refusal = None if reader.seen_candidates == "drop" else advice
        is_seen = seen.candidates(pairs, self.is_target, reader.n_items, self.name, refusal)
        sizes = seen.sizes(pairs[0], reader.n_items, self.name)
        rows = replace(self, n_items=sizes[self.is_target])
        if not is_seen.any():
            return rows
        has_rest = np.bincount(self.codes[~is_seen & ~self.is_target], minlength=self.users.size)
        is_kept = ~is_seen & (has_rest > 0)[self.codes]
        if not is_kept.any():
            raise DataError(
                f"{self.name}: all candidates of all users are seen items. Draw others."
            )
        if n_dropped := int((self.is_target & ~is_kept).sum()):
            warn(
                f"{self.name}: targets dropped, because all of their candidates are seen items: "
                f"{n_dropped}."
            )
        kept_users, codes = np.unique(self.codes[is_kept], return_inverse=True)
        columns = columns_at(self, ("item", "item_codes", "score", "is_target"), is_kept)
        kept_sizes = sizes[self.is_target & is_kept]
        return replace(
            rows, users=self.users[kept_users], codes=codes, n_items=kept_sizes, **columns
        )

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

    def ranks(self, reader: SampleReader) -> SampledRanks:
        """Rank each target among the user's candidates."""
        ties, sizes = reader.ties or "worst", self.n_candidates[self.owner]
        rule = _check.choice(ties, "ties", TIES)
        above, equal = counts_above(self.codes, self.score, self.is_target, ~self.is_target)
        above += equal * (rule == "worst")
        if rule == "random":
            units = np.empty(equal.size)
            keys = label_keys(self.user), label_keys(self.target)
            _kernels.units(random_bits(reader.seed), *keys, units)
            above += np.minimum((units * (equal + 1)).astype(np.int64), equal)
        return SampledRanks(
            above + 1,
            sizes,
            self.n_items,
            replacement=reader.replacement,
            user=self.user,
            history=self.history,
        )

    def counts(self, ties: str, *, keeps_targets: bool) -> Counts:
        """Return the counts of each target in strata; see `strata_counts`."""
        is_drawn = ~np.asarray(self.is_listed)
        columns = (self.codes, self.score, self.is_target, is_drawn)
        return strata_counts(*columns, ties=ties, keeps_targets=keeps_targets)

    def warn_of_popular_draws(self) -> None:
        """Warn if an item was drawn far more often than in a uniform sample."""
        expected = float(self.n_candidates.sum()) / max(int(np.min(self.n_items)) - 1, 1)
        self._warn_of_popular(~self.is_target, expected, _POPULAR)

    def warn_of_bad_strata(self, counts: Counts) -> None:
        """Warn of items that were not drawn uniformly, and of a proxy that knew the targets.

        `counts` are those with the user's other targets.
        """
        is_listed = np.asarray(self.is_listed)
        n_rest = self.n_items - 1 - counts.n_listed
        _, first_rows = np.unique(self.owner, return_index=True)  # they share their draws
        chances = (counts.n_drawn / np.maximum(n_rest, 1))[first_rows]
        self._warn_of_popular(~is_listed & ~self.is_target, float(chances.sum()), _ALL_ALIKE)
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

    def _warn_of_popular(self, is_drawn: Mask, expected: float, advice: str) -> None:
        names, counts = np.unique(self.item[is_drawn], return_counts=True)
        limit = expected + _MOST_ERRORS * np.sqrt(expected) + _MOST_ERRORS
        is_common_list = counts.size > 1 and counts.min() == counts.max()  # the same for all users
        if is_common_list or int(counts.max(initial=0)) <= limit:
            return
        most, n_above = int(np.argmax(counts)), int((counts > limit).sum())
        warn(
            f"{self.name}: item {_check.label(names[most])} was drawn for {counts[most]} users, "
            f"but a uniform sample has it for about {expected:.0f}. {n_above} of {names.size} "
            f"drawn items have too many draws. {advice}"
        )

    def _n_rows(self, selected: Mask) -> Ints:
        return np.bincount(self.codes[selected], minlength=self.users.size).astype(np.int64)

    def _check_sizes(self, n_negatives: int | None) -> None:
        """Raise if users have another number of candidates than asked for; warn if they differ."""
        sizes = self.n_candidates
        if n_negatives is None:
            if sizes.min() < sizes.max():
                warn(
                    f"{self.name}: users have {sizes.min()} to {sizes.max()} candidates. If rows "
                    "were left out because of their scores, estimates are wrong. Pass the number "
                    f"of candidates that were drawn as {arg.n_negatives}, and users that lack some "
                    "are refused."
                )
        elif (sizes != n_negatives).any():
            first = int(np.argmax(sizes != n_negatives))
            raise DataError(
                f"{self.name}: user {_check.label(self.users[first])} has {sizes[first]} "
                f"candidates, but {arg.n_negatives} is {n_negatives}. Leave it out, or check that "
                "no rows were lost."
            )

    def _refuse_repeats(self, *, replacement: bool) -> None:
        """Raise if a user has an item twice, unless it was drawn twice and has one score."""
        order = np.lexsort((self.is_target, self.item_codes, self.codes))
        earlier, later = order[:-1], order[1:]
        is_wrong = self.codes[earlier] == self.codes[later]
        is_wrong &= self.item_codes[earlier] == self.item_codes[later]
        if replacement:
            is_wrong &= self.is_target[later] | (self.score[earlier] != self.score[later])
        earlier, later = earlier[is_wrong], later[is_wrong]
        if not earlier.size:
            return
        user = _check.label(self.users[self.codes[earlier[0]]])
        item = _check.label(self.item[earlier[0]])
        if self.is_listed is not None:
            fault = (
                f"item {item} in two rows (rows that repeat another: {earlier.size}). Strata may "
                "not overlap, nor contain a target. Take the target out before the list is cut, "
                "and draw from the rest."
            )
        elif not replacement:
            fault = (
                f"item {item} in two rows, but {arg.replacement(False)} means that no item was "
                f"drawn twice (rows that repeat another: {earlier.size}). Keep one row per user "
                "and item, or check how items were drawn."
            )
        elif self.is_target[earlier[0]]:
            fault = f"target {item} in two rows. Keep one."
        elif self.is_target[later[0]]:
            fault = f"target {item} among the candidates too. Drop such candidates."
        else:
            fault = f"several scores for item {item}. Keep one."
        raise DataError(f"{self.name}: user {user} has {fault}")


def refuse_history(columns: Mapping[str, str], name: str, *, is_read: bool) -> None:
    """Raise if a column of histories was named although seen items are left out; else warn."""
    if "history" in columns:
        raise ArgumentError(
            f"history is the number of a user's own items that could be drawn, but {arg.seen()} "
            "leaves these out. Pass one of the two."
        )
    if is_read:
        warn(f"{name}: history is ignored, because {arg.seen()} leaves out users' own items.")


def _refuse_without(kind: str, counts: Ints, rows: ScoredRows) -> None:
    """Raise if a user has no row of this kind."""
    if not counts.all():
        raise DataError(
            f"{rows.name}: no {kind} for {counted(int((counts == 0).sum()), 'users')}, first user "
            f"{_check.label(rows.users[np.argmin(counts)])}. A target column must be above 0 for "
            "held-out items and 0 for candidates."
        )


def _is_listed(strata: NDArray[Any], source: str) -> Mask:
    texts = np.char.lower(strata.astype(np.str_))
    is_listed = texts == LISTED
    is_unknown = ~(is_listed | (texts == DRAWN))
    if is_unknown.any():
        first = int(np.argmax(is_unknown))
        raise DataError(
            f"{source}: {int(is_unknown.sum())} strata are neither 'listed' nor 'drawn', first "
            f"{str(strata[first])!r} at row {first}. Items of the proxy's list are 'listed', "
            "random items are 'drawn'."
        )
    return is_listed
