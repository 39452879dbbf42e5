"""The effect of a fault: the mean of the measure with the fault and without it.

The measure is compared on runs, and on lists without a model: popular items of all or the last
days, own items, and random items.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium._text import counted
from podium.data import Run, Truth
from podium.data.ids import distinct
from podium.data.lists import Lists, Whole, top_rows
from podium.decide.audit.tables import Floats, Ints, Part, Tables, is_among, present
from podium.errors import PodiumError
from podium.evaluation.finding import Effect
from podium.evaluation.stats import Summary, summarize
from podium.groups import Groups
from podium.protocol import Conventions
from podium.types import Mask

_WINDOWS = (7.0, 14.0, 30.0, 3.0, 1.0)  # days; the first one of equal ones is taken
_HELD_OUT = 0.1  # share of the training pairs on which the window is chosen, the last ones
_SEED = 0
_N_MOMENTS = 20  # a popularity list changes little within a twentieth of the test users


def popularity_list(
    tables: Tables,
    counts: Ints,
    length: int,
    *,
    with_seen: bool = False,
    users: Ints | None = None,
) -> Part:
    """Return the most popular items for each user of the test part.

    Parameters
    ----------
    tables : Tables
    counts : int64, (n_items,)
        The popularity of each item. Items with 0 are not listed.
    length : int
        The number of items per user.
    with_seen : bool
        Whether items that the user has in the training part may be listed.
    users : int64, (n,), optional
        Some of the users, in increasing order.

    Notes
    -----
    Cost: one pass over the training pairs of the test users, and length numbers per user.
    """
    order = np.argsort(-counts, kind="stable")  # the lower id comes first among equal counts
    n_listed = int((counts > 0).sum())
    users = tables.test_users if users is None else users
    position = np.tile(np.arange(length), (users.size, 1))
    if not with_seen:
        position += _n_seen_before(tables, order, length, users)
    is_item = position < n_listed
    rows = np.repeat(np.arange(users.size), length).reshape(position.shape)[is_item]
    return Part(users[rows], order[position[is_item]], -position[is_item].astype(float))


def recent_counts(tables: Tables, length: int) -> tuple[float, Ints] | None:
    """Return a number of days, and the users of each item in these last days of training.

    Among the windows that contain some of the events, but not all, it is the one whose list before
    the last tenth of the pairs has the highest dcg on these. None without times or such a window.
    """
    ages, items = tables.pair_ages, tables.seen_pairs[1]
    if ages is None or not ages.size:
        return None
    end = np.quantile(ages, _HELD_OUT)
    held_out = items[ages <= end]
    best, window = -1.0, None
    for days in _WINDOWS:
        in_window = (ages > end) & (ages <= end + days)
        counts = np.bincount(items[in_window], minlength=tables.n_items)
        top = np.argsort(-counts, kind="stable")[:length]
        gains = np.zeros(tables.n_items)
        gains[top] = (counts[top] > 0) / np.log2(2 + np.arange(top.size))
        gain = float(gains[held_out].sum())
        if gain > best and not (ages < days).all():
            best, window = gain, days
    if window is None:
        return None
    return window, np.bincount(items[ages < window], minlength=tables.n_items)


def own_history(tables: Tables, counts: Ints, length: int) -> Part:
    """Return the training items of each test user, most frequent and latest first, then others.

    Parameters
    ----------
    tables : Tables
    counts : int64, (n_items,)
        The popularity of the items that follow the user's own.
    length : int
        The number of items per user; users with some own items, but fewer, have more.
    """
    user, item = tables.seen_pairs
    rows = np.flatnonzero(present(tables.test_users, tables.n_users)[user])
    user, item, time = user[rows], item[rows], tables.pair_times[1][rows].astype(float)
    span = time.max() - time.min() + 1 if time.size else 1.0
    score = tables.n_events[rows] + (time - time.max(initial=-np.inf)) / span
    best = top_rows(Groups.from_qid(user), score, item, length)[1]
    history = Part(user[best], item[best], score[best])
    n_own = np.bincount(history.user, minlength=tables.n_users)[tables.test_users]
    others = popularity_list(tables, counts, length, users=tables.test_users[n_own < length])
    return Part.joined([history, others])


def popularity_before(tables: Tables, length: int, *, with_seen: bool = False) -> Part:
    """Return the items that were the most popular before each user's first test event.

    The users are divided into at most 20 groups by the time of their first test event. The
    popularity is that of training events that are not later than the earliest of the group.

    References
    ----------
    ji2020.
    """
    first = first_times(tables)[tables.test_users]
    order = np.lexsort((tables.test_users, first))
    groups = np.array_split(order, min(_N_MOMENTS, order.size))
    by_time = np.argsort(tables.pair_times[0])
    moments = [first[group[0]] for group in groups]
    ends = np.searchsorted(tables.pair_times[0][by_time], moments, side="right")
    items = tables.seen_pairs[1][by_time]
    counts = np.zeros(tables.n_items, np.int64)
    lists: list[Part] = []
    for group, new in zip(groups, np.split(items, ends)[:-1], strict=True):
        counts += np.bincount(new, minlength=tables.n_items)
        users = np.sort(tables.test_users[group])
        lists.append(popularity_list(tables, counts, length, with_seen=with_seen, users=users))
    return Part.joined(lists)


def first_times(tables: Tables) -> NDArray[Any]:
    """Return the time of the first test event of each user; the latest time for other users."""
    time = tables.test.time
    if time is None:
        return np.zeros(tables.n_users)
    first = np.full(tables.n_users, time.max(), dtype=time.dtype)
    np.minimum.at(first, tables.test.user, time)
    return first


def _n_seen_before(tables: Tables, order: Ints, length: int, users: Ints) -> Ints:
    """Return the number of seen items before each user's j-th unseen item, j < length."""
    n_items, seen_user, seen_item = tables.n_items, *tables.seen_pairs
    position = np.empty(n_items, np.int64)
    position[order] = np.arange(n_items)
    start, end = (np.searchsorted(seen_user, users, side=side) for side in ("left", "right"))
    n_seen = end - start
    row = np.repeat(np.arange(users.size), n_seen)
    place = position[seen_item[np.arange(row.size) + np.repeat(end - np.cumsum(n_seen), n_seen)]]
    # An item after length + n_seen places cannot come before the last of `length` unseen items.
    is_early = place < length + n_seen[row]
    key = np.sort(row[is_early] * n_items + place[is_early])
    row, place = key // n_items, key % n_items
    first_row = np.searchsorted(row, np.arange(users.size))
    n_unseen_before = place - (np.arange(row.size) - first_row[row])
    is_before = n_unseen_before < length
    cells = row[is_before] * length + n_unseen_before[is_before]
    counts = np.bincount(cells, minlength=users.size * length).reshape(users.size, length)
    return np.cumsum(counts, axis=1)


def random_list(tables: Tables, length: int) -> Part:
    """Return items that are drawn uniformly for each user of the test part, without repeats."""
    users, n_items = tables.test_users, tables.n_items
    rng = np.random.default_rng(_SEED)
    order, start = rng.permutation(n_items), rng.integers(n_items, size=users.size)
    place = np.arange(min(length, n_items))
    items = order[(start[:, None] + place) % n_items]
    scores = np.broadcast_to(-place.astype(float), items.shape)
    return Part(np.repeat(users, place.size), items.ravel(), scores.ravel().copy())


POPULARITY = "a popularity list"
OWN_HISTORY = "a list of the user's own items"
_REPEATING = 0.05  # share of seen positives from which a popularity list repeats seen items


class Pricing:
    """The tables of an evaluation and the values of their lists.

    Parameters
    ----------
    tables : Tables

    Attributes
    ----------
    base : dict of str to float64 (n_test_users,)
        The values of each run, and of the popularity list, for every user of the test part.
        Users that a run lacks have the worst value; nan is undefined.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.request = tables.request
        self.base: dict[str, Floats] = {}
        self._others: dict[tuple[str, str], Floats] = {}
        self._positive: dict[str, Mask] = {}
        for name in tables.runs:
            self.base[name] = self.values(tables.truth, tables.list_of(name))
        if tables.train.n_rows:
            self.base[POPULARITY] = self.values(tables.truth, self.popularity)

    @cached_property
    def popularity(self) -> Part:
        """The popularity list."""
        return self.popular(self.tables.n_item_users)

    @cached_property
    def baselines(self) -> dict[str, Part]:
        """Lists without a model by name: popular, recent and, if users repeat, their own items."""
        if not self.tables.train.n_rows:
            return {}
        lists = {POPULARITY: self.popularity}
        counts, recent = self.tables.n_item_users, recent_counts(self.tables, self._length)
        if recent is not None:
            counts = recent[1]
            lists[f"a list of the last {counted(recent[0], 'days')}"] = self.popular(counts)
        if self.is_repeating:
            lists[OWN_HISTORY] = own_history(self.tables, counts, self._length)
        return lists

    @cached_property
    def baseline_values(self) -> dict[str, Floats]:
        """The values of these lists for each test user."""
        truth, known = self.tables.truth, self.base
        lists = self.baselines.items()
        return {n: known[n] if n in known else self.values(truth, part) for n, part in lists}

    @cached_property
    def random(self) -> Floats:
        """The values of a random list."""
        return self.values(self.tables.truth, random_list(self.tables, self._length))

    @cached_property
    def is_repeating(self) -> bool:
        """Whether users often consume an item again, so that seen items must be listed."""
        positives = self.tables.positives
        return (
            bool(self.tables.is_seen(positives).mean() >= _REPEATING) if positives.n_rows else False
        )

    @cached_property
    def has_low_grades(self) -> bool:
        """Whether the measure gains from items that are not positive."""
        is_low = (self.tables.truth.values > 0) & ~self.tables.is_positive
        return self.request.keeps_low_grades and bool(is_low.any())

    @property
    def _length(self) -> int:
        return min(self.request.depth, self.tables.n_items)

    def popular(self, counts: Ints) -> Part:
        """Return the popularity list of some counts of items."""
        return popularity_list(self.tables, counts, self._length, with_seen=self.is_repeating)

    def is_positive(self, name: str) -> Mask:
        """Return which rows of the lists of a run, for test users, are positives."""
        if name not in self._positive:
            keys = np.sort(self.tables.key(self.tables.positives))
            self._positive[name] = is_among(self.tables.key(self.tables.tested(name)), keys)
        return self._positive[name]

    def list_of(self, name: str) -> Part:
        """Return the lists of a run, or the popularity list."""
        return self.popularity if name == POPULARITY else self.tables.list_of(name)

    def values(self, truth: Part, run: Part, *, ties: str = "worst") -> Floats:
        """Return the value of every user of the test part; nan if undefined.

        If the truth and the run have no user or no item in common, all values are the worst ones.
        """
        users = self.tables.test_users
        values = np.full(users.size, np.nan)
        if not truth.n_rows:
            return values
        if not run.n_rows or not self._share_ids(truth, run):
            worst = self.request.measure.metric.worst
            return np.where(self.has_relevant(truth), worst, np.nan)
        threshold = self.request.threshold if self.request.has_threshold else None
        rules = {"missing": "zero", "ties": ties, "min_relevance": threshold}
        lists = Lists.of(
            Truth(truth.user, truth.item, truth.values),
            Run(run.user, run.item, run.values),
            Conventions.of(rules),
            Whole(float(truth.values.min())),
            measures=[self.request.measure],
        )
        with suppress(PodiumError):  # such as lists that are too short for pap@k
            values[np.searchsorted(users, lists.labels)] = self.request.measure(lists.ranking)
        return values

    def in_order(self, name: str, order: Literal["best", "reverse", "random"]) -> Floats:
        """Return the values of a run in another order.

        "best" has positives first among equal scores, and "reverse" the lowest score first.
        """
        if (name, order) not in self._others:
            run, ties = self.tables.list_of(name), "best" if order == "best" else "worst"
            if order != "best":
                draws = np.random.default_rng(0).random(run.n_rows)
                run = Part(run.user, run.item, draws if order == "random" else -run.values)
            self._others[name, order] = self.values(self.tables.truth, run, ties=ties)
        return self._others[name, order]

    def summary(self, values: Floats) -> Summary:
        """Return the mean over users for whom the measure is defined."""
        return summarize(values, bounds=self.request.measure.metric.bounds)

    def effect(self, run: str, with_fault: Floats, without_fault: Floats, of: str = "") -> Effect:
        """Return the effect from the users' values, or from their differences from run `of`."""
        bounds = self.request.measure.metric.bounds
        width = bounds[1] - bounds[0]
        limits = (-width, width) if of else bounds
        before, after = (summarize(v, bounds=limits) for v in (with_fault, without_fault))
        ends = of, before.interval, after.interval
        text = str(self.request.measure)
        return Effect(run, text, before.mean, after.mean, before.std_error, *ends)

    def effects(self, values: Mapping[str, tuple[Floats, Floats]]) -> tuple[Effect, ...]:
        """Return the effects on lists by name, then those on the differences of two runs.

        Parameters
        ----------
        values : dict of str to pair of float64 (n_test_users,)
            The values with the fault and without it. Other runs keep the values of `base`.
        """
        single = [self.effect(name, *both) for name, both in values.items()]
        first, *others = [*self.tables.runs] or [""]
        pairs = ((name, first) for name in others if {name, first} & values.keys())
        for pair in pairs:
            run, of = (values.get(name, (self.base[name],) * 2) for name in pair)
            single.append(self.effect(pair[0], run[0] - of[0], run[1] - of[1], pair[1]))
        return tuple(single)

    def of_truth(self, truth: Part) -> tuple[Effect, ...]:
        """Return the effects on all runs and the popularity list of another truth."""
        return self.effects(
            {n: (base, self.values(truth, self.list_of(n))) for n, base in self.base.items()}
        )

    def of_seen_pairs(self, truth: Part) -> tuple[Effect, ...]:
        """Return the effects of another truth on all runs and a popularity list with seen items.

        The usual popularity list leaves out seen items and can't profit from seen pairs.
        """
        counts = self.tables.n_item_users
        seen = popularity_list(self.tables, counts, self._length, with_seen=True)
        return (
            *(effect for effect in self.of_truth(truth) if effect.run != POPULARITY),
            self.effect(
                f"{POPULARITY} with seen items",
                self.values(self.tables.truth, seen),
                self.values(truth, seen),
            ),
        )

    def of_users(self, keep: Mask) -> tuple[Effect, ...]:
        """Return the effects of leaving out users; `keep` has a flag for each test user."""
        return self.effects({n: (b, np.where(keep, b, np.nan)) for n, b in self.base.items()})

    def of_run(self, name: str, run: Part) -> tuple[Effect, ...]:
        """Return the effect of other lists of a run."""
        return self.effects({name: (self.base[name], self.values(self.tables.truth, run))})

    def of_counts(self, without_fault: Ints, with_fault: Ints | None = None) -> tuple[Effect, ...]:
        """Return the effect on a popularity list of other counts of items."""
        truth = self.tables.truth
        before = (
            self.base[POPULARITY]
            if with_fault is None
            else self.values(truth, self.popular(with_fault))
        )
        return (self.effect(POPULARITY, before, self.values(truth, self.popular(without_fault))),)

    def of_training(self, keep: Mask) -> tuple[Effect, ...]:
        """Return the effect on a popularity list of training on some of the rows only."""
        tables = self.tables
        keys = distinct(tables.key(tables.train.rows(keep)))
        return self.of_counts(np.bincount(keys % tables.n_items, minlength=tables.n_items))

    def of_future(self) -> tuple[Effect, ...]:
        """Return the effect on a popularity list of training after each user's first test event."""
        past = popularity_before(self.tables, self._length, with_seen=self.is_repeating)
        after = self.values(self.tables.truth, past)
        return (self.effect(POPULARITY, self.base[POPULARITY], after),)

    def has_relevant(self, truth: Part) -> Mask:
        """Return which users of the test part have what the measure needs in a truth.

        That is a relevance above 0 for a measure that keeps low grades, nothing for judged@k, and
        a positive for the others.
        """
        request = self.request
        if not request.measure.metric.needs_positive:
            is_counted = np.ones(truth.n_rows, np.bool_)
        else:
            keeps_low = request.keeps_low_grades
            is_counted = truth.values > 0 if keeps_low else truth.values >= request.threshold
        return present(truth.user[is_counted], self.tables.n_users)[self.tables.test_users]

    def _share_ids(self, truth: Part, run: Part) -> bool:
        """Return whether two tables have a user and an item in common."""
        is_user = present(truth.user, self.tables.n_users)
        # Repeats that count as other items have codes from n_items.
        is_item = present(truth.item, 1 + max(int(part.item.max()) for part in (truth, run)))
        return bool(is_user[run.user].any() and is_item[run.item].any())
