"""The causes of one number, and how probable each is before the number is known.

A cause is a set of changes of podium's value: conventions, a deviation of the formula and a reading
of the tables. Its odds, compared with no change, are the product of those of its changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from podium.decide.explain import grid
from podium.decide.explain.deviation import REGISTRY
from podium.decide.explain.numbers import Number
from podium.decide.explain.table import DEVIATION, READING, Cause, Change, ValueTable
from podium.errors import ArgumentError, DataError
from podium.types import PerGroup

_MOST_FITTING = 60
_MOST_COMPARED = 200  # causes, for the share of them that give a value of a user
_LEAST_SHARE = 0.02
_FEWEST_NEAR = 3
_OF_OTHERS = ("undefined", "low_grades")  # they can have an effect where min_relevance differs


def odds_of(change: Change) -> float:
    """Return how often an implementation has a change, compared with not having it."""
    name, value = change
    if name in (DEVIATION, READING):
        return REGISTRY[value].odds
    return grid.odds_of(name, value)


def causes_of(changes: Sequence[Change], least: float) -> Iterator[Cause]:
    """Yield the causes whose odds are at least `least`, with one change of each convention."""
    odds = [odds_of(change) for change in changes]
    unfinished: list[tuple[Cause, int, float]] = [((), 0, 1.0)]
    for cause, start, odds_before in unfinished:
        yield cause
        names = {name for name, _ in cause}
        unfinished.extend(
            ((*cause, changes[at]), at + 1, odds_before * odds[at])
            for at in range(start, len(changes))
            if odds_before * odds[at] >= least and changes[at][0] not in names
        )


class Candidates:
    """The causes of one number, with the mean that each gives.

    Parameters
    ----------
    table : ValueTable
        The measure of the number.
    number : Number

    Attributes
    ----------
    changes : list of Change
        The changes that have an effect on these data.
    """

    def __init__(self, table: ValueTable, number: Number) -> None:
        self.table, self.number = table, number
        self._results: dict[Cause, tuple[float, Hashable]] = {}
        self._rows: dict[str | None, NDArray[np.int64]] = {}
        self.search([()])
        self.changes: list[Change] = []
        for change in reversed(table.changes()):
            if self._has_effect(change):
                self.changes.insert(0, change)

    @property
    def name(self) -> str:
        """The text of the measure."""
        return str(self.table.measure)

    @property
    def causes(self) -> list[Cause]:
        """The causes that were searched."""
        return list(self._results)

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each cause, (n_causes,)."""
        return np.array([mean for mean, _ in self._results.values()])

    def _has_effect(self, change: Change) -> bool:
        """Return whether a change alone changes a value, or may do so together with another one."""
        choice = self.table.choice((change,))
        rule = REGISTRY[change[1]] if change[0] in (DEVIATION, READING) else None
        if rule is not None and rule.reads_ties and all(name != "ties" for name, _ in self.changes):
            return False
        try:
            values, usual = self.table.counted(choice), self.table.counted(self.table.defaults)
        except (ArgumentError, DataError):
            return False
        self.search([(change,)])
        is_same = self.table.has_usual_lists(choice) and not np.isnan(usual).all()
        is_same &= np.array_equal(values, usual, equal_nan=True)
        is_same &= _is_close(self.mean((change,)), self.mean(()))
        return not is_same or change[0] in _OF_OTHERS or (rule is not None and rule.is_of_mean)

    def search(self, causes: Iterable[Cause]) -> None:
        """Compute what causes give; those that share lists or values follow each other."""
        new = dict.fromkeys(cause for cause in causes if cause not in self._results)
        ordered = sorted(new, key=self.table.order)
        results = {cause: self._result(cause) for cause in ordered}
        self._results |= {cause: results[cause] for cause in new}

    def _result(self, cause: Cause) -> tuple[float, Hashable]:
        """Return the mean under a cause, and what equal causes share if it fits; else None."""
        try:
            mean = self.table.mean(self.table.choice(cause))
            mean = mean if np.isfinite(mean) else np.nan
            if not self.number.users:
                return mean, f"{mean:.12g}" if self.number.fits(mean) else None
            values = self.of_users(cause)
        except (ArgumentError, DataError):
            return np.nan, None
        fits = self.number.same(values).all()
        return mean, np.round(values, 10).tobytes() if fits else None

    def mean(self, cause: Cause) -> float:
        """Return the mean under a cause that was searched."""
        return self._results[cause][0]

    def key(self, cause: Cause) -> Hashable:
        """Return what the causes of one answer share; None if a cause doesn't fit."""
        return self._results[cause][1]

    def of_users(self, cause: Cause) -> PerGroup:
        """Return the values of the users that have a number; nan if there are none."""
        choice = self.table.choice(cause)
        reading = choice[READING]
        if reading not in self._rows:
            self._rows[reading] = self.table.rows_of(list(self.number.users), reading)
        return np.append(self.table.counted(choice), np.nan)[self._rows[reading]]

    def fitting(self) -> list[Cause]:
        """Return the causes that fit the number, the most probable ones first."""
        fitting = [cause for cause, (_, key) in self._results.items() if key is not None]
        fitting.sort(key=lambda cause: -prod(map(odds_of, cause)))
        return fitting[:_MOST_FITTING]

    @cached_property
    def chance(self) -> float:
        """The probability that a cause that is not searched gives the number."""
        if self.number.users:
            return self._chance_of_users()
        means = np.unique(np.round(self.means[~np.isnan(self.means)], 10))
        distance = np.sort(np.abs(means - self.number.target))
        others = distance[distance > self.number.half]
        n_near = min(others.size, max(_FEWEST_NEAR, int(np.sqrt(others.size))))
        reach = max(others[:n_near].max(initial=0.0), 2 * self.number.half)
        return n_near * self.number.half / reach / max(means.size, 1)

    def _chance_of_users(self) -> float:
        """Return the probability that the values of users who differ are those of a cause."""
        some = [cause for cause in self.causes if not np.isnan(self.mean(cause))]
        same = [self.number.same(self.of_users(cause)) for cause in some[:_MOST_COMPARED]]
        differs = ~same[0] if not same[0].all() else same[0]
        share = np.mean([others[differs].mean() for others in same[1:]])
        return float(max(share, _LEAST_SHARE) ** differs.sum())

    def effective(self) -> set[str]:
        """Return the conventions that change a mean in one of the causes."""
        names: set[str] = set()
        for cause, (mean, _) in self._results.items():
            for change in cause:
                others = tuple(other for other in cause if other != change)
                if change[0] not in names and others in self._results:
                    names |= set() if _is_close(mean, self.mean(others)) else {change[0]}
        return names


def _is_close(one: float, other: float) -> bool:
    """Return whether two means are equal up to rounding, or both undefined."""
    return bool(np.isclose(one, other, rtol=1e-12, atol=0.0, equal_nan=True))
