"""The effect of a fault: the mean of the measure with the fault and without it.

The measure is compared on runs, and on lists without a model; see `podium.decide.audit.baselines`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property

import numpy as np

from podium._text import counted
from podium.data import Run, Truth
from podium.data.ids import distinct
from podium.data.lists import Lists, Whole
from podium.decide.audit.baselines import (
    own_history,
    popularity_before,
    popularity_list,
    random_list,
    recent_counts,
)
from podium.decide.audit.tables import Floats, Ints, Part, Tables, is_among, present
from podium.errors import PodiumError
from podium.evaluation.finding import Effect
from podium.evaluation.stats import Summary, summarize
from podium.protocol import Conventions
from podium.types import Mask

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
    lists : dict of str to Part
        The lists of each run, and the popularity list if there is a training part.
    base : dict of str to float64 (n_test_users,)
        The values of these lists for every user of the test part. Users that a run lacks have the
        worst value; nan is undefined.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.request = tables.request
        self.lists = dict(tables.lists)
        if tables.train.n_rows:
            self.lists[POPULARITY] = self.popular(tables.n_item_users)
        self.base = {name: self.values(tables.truth, part) for name, part in self.lists.items()}

    @cached_property
    def baselines(self) -> dict[str, Part]:
        """Lists without a model by name: popular, recent and, if users repeat, their own items."""
        if not self.tables.train.n_rows:
            return {}
        lists = {POPULARITY: self.lists[POPULARITY]}
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
        is_seen = self.tables.is_seen(self.tables.positives)
        return bool(is_seen.size and is_seen.mean() >= _REPEATING)

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

    @cached_property
    def is_positive(self) -> dict[str, Mask]:
        """Which rows of the lists of each run, for test users, are positives."""
        key = self.tables.key
        positives = np.sort(key(self.tables.positives))
        return {name: is_among(key(run), positives) for name, run in self.tables.tested.items()}

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

    @cached_property
    def best(self) -> dict[str, Floats]:
        """The values of each run with positives first among equal scores."""
        truth, lists = self.tables.truth, self.tables.lists
        return {name: self.values(truth, run, ties="best") for name, run in lists.items()}

    def with_scores(self, name: str, scores: Floats) -> Floats:
        """Return the values of a run with other scores."""
        run = self.lists[name]
        return self.values(self.tables.truth, Part(run.user, run.item, scores))

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
        measure = str(self.request.measure)
        return Effect(run, measure, before.mean, after.mean, before.std_error, *ends)

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
            {n: (self.base[n], self.values(truth, part)) for n, part in self.lists.items()}
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

    def of_popularity(self, after: Part, before: Part | None = None) -> tuple[Effect, ...]:
        """Return the effect of another popularity list, by default instead of the usual one."""
        truth, base = self.tables.truth, self.base[POPULARITY]
        with_fault = base if before is None else self.values(truth, before)
        return (self.effect(POPULARITY, with_fault, self.values(truth, after)),)

    def of_training(self, keep: Mask) -> tuple[Effect, ...]:
        """Return the effect on a popularity list of training on some of the rows only."""
        tables = self.tables
        keys = distinct(tables.key(tables.train.rows(keep)))
        counts = np.bincount(keys % tables.n_items, minlength=tables.n_items)
        return self.of_popularity(self.popular(counts))

    def of_future(self) -> tuple[Effect, ...]:
        """Return the effect on a popularity list of training after each user's first test event."""
        past = popularity_before(self.tables, self._length, with_seen=self.is_repeating)
        return self.of_popularity(past)

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
