"""The effect of a fault: the mean of the measure with the fault and without it."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

import numpy as np

from podium.data import Run, Truth
from podium.data.ids import distinct
from podium.data.lists import Lists, Whole
from podium.decide.audit.finding import Effect
from podium.decide.audit.lists import popularity_before, popularity_list, random_list
from podium.decide.audit.tables import Floats, Ints, Part, Tables, is_among, present
from podium.errors import PodiumError
from podium.evaluation.stats import Summary, summarize
from podium.protocol import Conventions
from podium.types import Mask

POPULARITY = "a popularity list"
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
        for name in tables.runs:
            self.base[name] = self.values(tables.truth, tables.list_of(name))
        self.base[POPULARITY] = self.values(tables.truth, self.popularity)

    @cached_property
    def popularity(self) -> Part:
        """The popularity list."""
        return self.popular(self.tables.n_item_users)

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

    @property
    def _length(self) -> int:
        return min(self.request.depth, self.tables.n_items)

    def popular(self, counts: Ints) -> Part:
        """Return the popularity list of some counts of items."""
        return popularity_list(self.tables, counts, self._length, with_seen=self.is_repeating)

    def is_positive_row(self, run: Part) -> Mask:
        """Return which rows of a run are positives of the test part."""
        tables = self.tables
        return is_among(tables.key(run), np.sort(tables.key(tables.positives)))

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
            return self._worst(truth)
        rules = {"missing": "zero", "ties": ties, "min_relevance": self.request.given_threshold}
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

    def summary(self, values: Floats) -> Summary:
        """Return the mean over users for whom the measure is defined."""
        return summarize(values, bounds=self.request.measure.metric.bounds)

    def effect(self, run: str, with_fault: Floats, without_fault: Floats) -> Effect:
        """Return the effect from the users' values."""
        before, after = self.summary(with_fault), self.summary(without_fault)
        return Effect(run, str(self.request.measure), before.mean, after.mean, before.std_error)

    def of_truth(self, truth: Part) -> tuple[Effect, ...]:
        """Return the effects on all runs and the popularity list of another truth."""
        return tuple(
            self.effect(name, base, self.values(truth, self.list_of(name)))
            for name, base in self.base.items()
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
        return tuple(
            self.effect(name, base, np.where(keep, base, np.nan))
            for name, base in self.base.items()
        )

    def of_run(self, name: str, run: Part) -> tuple[Effect, ...]:
        """Return the effect of other lists of a run."""
        return (self.effect(name, self.base[name], self.values(self.tables.truth, run)),)

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

    def _worst(self, truth: Part) -> Floats:
        """Return the worst value for each user for whom the measure is defined."""
        return np.where(self.has_relevant(truth), self.request.measure.metric.worst, np.nan)

    def _share_ids(self, truth: Part, run: Part) -> bool:
        """Return whether two tables have a user and an item in common."""
        is_user = present(truth.user, self.tables.n_users)
        # Repeats that count as other items have codes from n_items.
        is_item = present(truth.item, 1 + max(int(part.item.max()) for part in (truth, run)))
        return bool(is_user[run.user].any() and is_item[run.item].any())
