"""The tables of an evaluation in common codes of users and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.frames import NO_FRAMES, Origin
from podium.data.ids import distinct
from podium.metrics import Measure
from podium.types import Mask

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

_NO_CODES = np.empty(0, np.int64)
_N_EXAMPLES = 3
_CACHED = 100_000  # rows; their keys take less than a megabyte
_DEPTH = 100


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of a table: the codes of users and items, and values or times if it has them.

    Times are keys of the order of the times of both parts; see `podium.data.times.keys_of`.
    `is_order` states that the values are not scores, but only have the order of ranks or of large
    integers.
    """

    user: Ints
    item: Ints
    value: Floats | None = None
    time: NDArray[Any] | None = None
    is_order: bool = False

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        """Return the rows of several parts, without times."""
        users, items, values = zip(*((p.user, p.item, p.values) for p in parts), strict=True)
        return cls(np.concatenate(users), np.concatenate(items), np.concatenate(values))

    @property
    def n_rows(self) -> int:
        return self.user.size

    @property
    def values(self) -> Floats:
        """The values, or 1 for every row."""
        return np.ones(self.n_rows) if self.value is None else self.value

    def ids(self, noun: str) -> Ints:
        """Return the codes of users or of items."""
        return self.user if noun == "user" else self.item

    def rows(self, index: Mask | Ints) -> Part:
        """Return some of the rows, without a copy if a mask keeps all of them."""
        if index.dtype == np.bool_ and index.all():
            return self
        return Part(
            self.user[index],
            self.item[index],
            None if self.value is None else self.value[index],
            None if self.time is None else self.time[index],
            self.is_order,
        )


@dataclass(frozen=True)
class Request:
    """What the caller measures, and how the candidates of runs are said to be drawn.

    One in `one_in` users is audited.
    """

    measure: Measure
    threshold: float
    has_threshold: bool
    is_rating: bool = False
    candidates: str | None = None
    one_in: int = 1

    @property
    def keeps_low_grades(self) -> bool:
        """Whether the measure gains from relevances below the threshold; see `low_grades`."""
        return self.measure.graded and not self.has_threshold

    @property
    def is_sampled(self) -> bool:
        """Whether the lists are said to be sampled candidates."""
        return self.candidates is not None

    @property
    def depth(self) -> int:
        """The number of items that a list needs; 100 if the measure reads the whole list."""
        k = _DEPTH if self.measure.k is None else self.measure.k
        # Among 2k - 1 items, there are k negatives or all positives that pap@k needs.
        return 2 * k - 1 if self.measure.name in ("pap", "pauc") else k


@dataclass(frozen=True, eq=False)
class Tables:
    """The training part, the test part and the runs, with common codes of users and items.

    Attributes
    ----------
    train, test : Part
        The rows as they were given; the value of a test row is its relevance.
    runs : dict of str to Part
        The rows of each run; the value is the score.
    users, items : (n_users,), (n_items,)
        The id of each code.
    request : Request
    other_items : pair of int64 arrays
        Codes of all items of the training part and of the test part, if not all users are audited.
    ages : float64, (n_train_rows,), or None
        The days from each training event to the last one.
    median_times : pair of float, or None
        The median time of the training part and of the test part, if their times are numbers.
    origin : Origin
    """

    train: Part
    test: Part
    runs: Mapping[str, Part]
    users: NDArray[Any]
    items: NDArray[Any]
    request: Request
    other_items: tuple[Ints, Ints] = (_NO_CODES, _NO_CODES)
    ages: Floats | None = None
    median_times: tuple[float, float] | None = None
    origin: Origin = NO_FRAMES

    @property
    def n_users(self) -> int:
        return self.users.size

    @property
    def n_items(self) -> int:
        return self.items.size

    @property
    def has_times(self) -> bool:
        return self.train.time is not None and self.test.time is not None

    def key(self, part: Part) -> Ints:
        """Return one number for each pair of user and item."""
        return part.user * self.n_items + part.item

    @cached_property
    def seen(self) -> Ints:
        """The keys of the distinct pairs of the training part, increasing."""
        return self.key(self.train)[self.train_order[self.first_rows]]

    @cached_property
    def seen_pairs(self) -> tuple[Ints, Ints]:
        """The users and the items of the distinct pairs of the training part."""
        return self.seen // self.n_items, self.seen % self.n_items

    @cached_property
    def train_order(self) -> Ints:
        """The order of the training rows by pair."""
        return np.argsort(self.key(self.train))

    @cached_property
    def first_rows(self) -> Ints:
        """The place in `train_order` where each distinct pair begins."""
        key = self.key(self.train)[self.train_order]
        return np.flatnonzero(np.append(True, key[1:] != key[:-1])) if key.size else key

    @cached_property
    def pair_times(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The earliest and the latest training event of each distinct pair; 0 without times."""
        if self.train.time is None:
            return np.zeros(self.seen.size), np.zeros(self.seen.size)
        time = self.train.time[self.train_order]
        return (
            np.minimum.reduceat(time, self.first_rows),
            np.maximum.reduceat(time, self.first_rows),
        )

    @cached_property
    def pair_ages(self) -> Floats | None:
        """The days from the latest event of each distinct training pair to the last of all."""
        if self.ages is None:
            return None
        return np.minimum.reduceat(self.ages[self.train_order], self.first_rows)

    @cached_property
    def n_events(self) -> Ints:
        """The number of training rows of each distinct pair."""
        return np.diff(np.append(self.first_rows, self.train.n_rows))

    @cached_property
    def truth(self) -> Part:
        """The test part with one row per pair: the one of the highest relevance."""
        return self.distinct(self.test)

    @cached_property
    def positives(self) -> Part:
        """The rows of the truth that reach the threshold."""
        return self.truth.rows(self.is_positive)

    @cached_property
    def is_positive(self) -> Mask:
        """Which rows of the truth reach the threshold."""
        return self.truth.values >= self.request.threshold

    @cached_property
    def test_users(self) -> Ints:
        """The codes of the users of the test part."""
        return np.flatnonzero(present(self.test.user, self.n_users))

    @cached_property
    def in_train(self) -> tuple[Mask, Mask]:
        """Which users and which items the training part has."""
        return (
            present(self.train.user, self.n_users),
            present(np.append(self.train.item, self.other_items[0]), self.n_items),
        )

    @cached_property
    def item_in_test(self) -> Mask:
        """Which items the test part has."""
        return present(np.append(self.test.item, self.other_items[1]), self.n_items)

    @cached_property
    def n_item_users(self) -> Ints:
        """The number of users of each item in the training part."""
        return np.bincount(self.seen_pairs[1], minlength=self.n_items)

    @cached_property
    def lists(self) -> dict[str, Part]:
        """The lists of each run with one row per pair, the one with the highest score."""
        return {name: self.distinct(run) for name, run in self.runs.items()}

    @cached_property
    def tested(self) -> dict[str, Part]:
        """The lists of each run for the users of the test part, one after the other."""
        is_tested = present(self.test_users, self.n_users)
        lists = {name: run.rows(is_tested[run.user]) for name, run in self.lists.items()}
        return {
            name: run if is_rising(run.user) else run.rows(np.argsort(run.user, kind="stable"))
            for name, run in lists.items()
        }

    def is_seen(self, part: Part) -> Mask:
        """Return which rows are pairs of the training part."""
        return is_among(self.key(part), self.seen)

    def respelled(self, noun: str, twin: Ints) -> Tables:
        """Return the tables with other codes of users or items, ``twin[code]``."""

        def one(part: Part) -> Part:
            return replace(part, **{noun: twin[part.ids(noun)]})

        others = self.other_items
        if noun == "item":
            others = twin[others[0]], twin[others[1]]
        return replace(
            self,
            train=one(self.train),
            test=one(self.test),
            runs={name: one(part) for name, part in self.runs.items()},
            other_items=others,
        )

    def without_times(self) -> Tables:
        """Return the tables without times."""
        train, test = (replace(part, time=None) for part in (self.train, self.test))
        return replace(self, train=train, test=test, ages=None, median_times=None)

    def repeats(self, part: Part) -> Mask:
        """Return which rows repeat the pair of a better row; of equal rows, which is open."""
        is_repeat = np.zeros(part.n_rows, np.bool_)
        key = self.key(part)
        in_order = np.sort(key)
        repeated_keys = distinct(in_order[1:][in_order[1:] == in_order[:-1]])
        rows = np.flatnonzero(is_among(key, repeated_keys))
        columns = [key[rows], -part.values[rows]]
        columns += [] if part.time is None else [part.time[rows]]
        order = rows[np.lexsort(columns[::-1])]  # by pair, then the highest value, then the time
        key = key[order]
        is_repeat[order[1:][key[1:] == key[:-1]]] = True
        return is_repeat

    def distinct(self, part: Part) -> Part:
        """Return the best row of each pair; the part itself if no pair repeats."""
        is_repeat = self.repeats(part)
        return part.rows(~is_repeat) if is_repeat.any() else part

    def pair_examples(self, part: Part) -> tuple[str, ...]:
        """Return the first pairs as texts, in the order of ids."""
        keys = _smallest(self.key(part))
        return tuple(
            f"user {self.users[key // self.n_items]}, item {self.items[key % self.n_items]}"
            for key in keys
        )

    def examples(self, noun: Literal["user", "item"], codes: Ints) -> tuple[str, ...]:
        """Return the first users or items as texts, in the order of ids."""
        labels = self.users if noun == "user" else self.items
        return tuple(f"{noun} {labels[code]}" for code in _smallest(codes))


def present(codes: Ints, size: int) -> Mask:
    """Return a flag for each code from 0 to size - 1: whether it occurs."""
    flags = np.zeros(size, np.bool_)
    flags[codes] = True
    return flags


def is_rising(keys: Ints) -> bool:
    """Return whether no key is below the one before it."""
    return bool((keys[1:] >= keys[:-1]).all())


def is_among(keys: Ints, ordered: Ints) -> Mask:
    """Return which keys are among increasing ones."""
    if not ordered.size:
        return np.zeros(keys.size, np.bool_)
    # In a table larger than a cache, a search for unordered keys takes five times as long.
    if ordered.size > _CACHED and not is_rising(keys):
        order = np.argsort(keys)
        result = np.empty(keys.size, np.bool_)
        result[order] = is_among(keys[order], ordered)
        return result
    place = np.searchsorted(ordered, keys)
    place[place == ordered.size] = 0
    return ordered[place] == keys


def _smallest(codes: Ints) -> Ints:
    if codes.size > _N_EXAMPLES:  # a partial sort, because there may be millions of rows
        codes = np.append(codes.min(), codes[codes > codes.min()])
    return distinct(codes)[:_N_EXAMPLES]
