"""The causes of one number and of several numbers, and how probable each is.

A cause is a set of changes of podium's value: conventions, a deviation of the formula and a reading
of the tables. Its odds, compared with no change, are the product of those of its changes.

The causes of several numbers of one program must agree. A change of all measures that can have it
counts once; a change of one measure alone is less probable where a program reads lists and takes
means for all of its measures. The rest is Bayes' rule: an answer is as probable as its causes were
beforehand, next to all other answers, and to a cause that isn't searched and gives the digits by
chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import presets
from podium.decide.explain import grid
from podium.decide.explain.deviation import REGISTRY
from podium.decide.explain.numbers import Number
from podium.decide.explain.table import (
    DEVIATION,
    READING,
    Cause,
    Change,
    ValueTable,
    as_choice,
    changes,
)
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
            return rule is None  # a threshold can need whole lists, unless others are dropped too
        self.search([(change,)])
        is_same = self.table.has_usual_lists(choice) and not np.isnan(usual).all()
        is_same &= np.array_equal(values, usual, equal_nan=True)
        means = self.mean((change,)), self.mean(())
        is_same &= bool(np.isclose(*means, rtol=1e-12, atol=0.0, equal_nan=True))
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


_UNSEARCHED = 0.6
"""The odds of a cause that is not among those searched, compared with no change."""

_SHARE_OF_ONE = 0.3  # of these, the share that concern one of several numbers
_OF_A_PACKAGE = 0.05  # the odds of the conventions of a package
_AT_ONE_CUTOFF = 0.1
_OF_ONE = 0.15
_OF_ONE_READING = 0.03
_OF_A_PROGRAM = ("ties", "single_precision", "missing")  # conventions of a program, not a measure
_MOST_JOINT = 100


@dataclass(frozen=True)
class Joint:
    """A cause of several numbers.

    Attributes
    ----------
    parts : tuple of Cause
        The changes of each measure.
    odds : float
        How probable it is before the numbers are known, compared with no change.
    packages : tuple of str
        The packages with these conventions.
    """

    parts: tuple[Cause, ...]
    odds: float
    packages: tuple[str, ...] = ()

    @property
    def changes(self) -> list[Change]:
        """The changes of all measures, each once."""
        return list(dict.fromkeys(chain.from_iterable(self.parts)))

    def named(self, candidates: Sequence[Candidates]) -> dict[str, Any]:
        """Return the changes by their convention, with " of MEASURE" if not all measures do."""
        names = [name for name, _ in self.changes]
        named: dict[str, Any] = {}
        for change in self.changes:
            name, value = change
            having, lacking = _sides(change, self.parts, candidates)
            if not lacking and names.count(name) == 1:
                named[name] = value
            else:
                named |= {f"{name} of {one.name}": value for one in having}
        return named


def _sides(
    change: Change, parts: Sequence[Cause], candidates: Sequence[Candidates]
) -> tuple[list[Candidates], list[Candidates]]:
    """Return the measures that have a change, and those that could have it."""
    pairs = list(zip(candidates, parts, strict=False))
    having = [one for one, part in pairs if change in part]
    return having, [one for one, part in pairs if change not in part and change in one.changes]


def _odds(parts: Sequence[Cause], candidates: Sequence[Candidates]) -> float:
    """Return the odds of the changes of several measures."""
    odds = 1.0
    for change in dict.fromkeys(chain.from_iterable(parts)):
        having, lacking = _sides(change, parts, candidates)
        odds *= odds_of(change) * (_odds_of_scope(change, having, lacking) if lacking else 1.0)
    return odds


def _odds_of_scope(
    change: Change, having: Sequence[Candidates], lacking: Sequence[Candidates]
) -> float:
    """Return how often some measures of a program have a change that others lack."""
    name, value = change
    if {one.table.measure.name for one in having} & {one.table.measure.name for one in lacking}:
        return _AT_ONE_CUTOFF
    if name in (READING, *_OF_A_PROGRAM):
        return _OF_ONE_READING
    is_formula = having[0].table.is_formula(name)
    return 1.0 if is_formula and not (name == DEVIATION and REGISTRY[value].is_of_mean) else _OF_ONE


def joints(candidates: Sequence[Candidates]) -> list[Joint]:
    """Return the causes that fit all numbers, the most probable ones first."""
    joint = [Joint((), 1.0)]
    for n in range(1, len(candidates) + 1):
        some = candidates[:n]
        longer = ((*one.parts, cause) for one in joint for cause in some[-1].fitting())
        joint = [Joint(parts, _odds(parts, some)) for parts in longer]
        joint = nlargest(_MOST_JOINT, joint, key=lambda one: one.odds)
    return joint


def of_packages(candidates: Sequence[Candidates]) -> Iterator[Joint]:
    """Yield the conventions of packages that have all measures, and search them."""
    packages: dict[tuple[Cause, ...], list[str]] = {}
    for name in presets.PACKAGES:
        choices = [package_choices(one.table, name) for one in candidates]
        if all(choices):
            for chosen in zip(*choices, strict=False):
                pairs = zip(candidates, chosen, strict=True)
                parts = tuple(
                    tuple(changes(choice, one.table.defaults).items()) for one, choice in pairs
                )
                packages.setdefault(parts, []).append(name)
    for parts, names in packages.items():
        for one, cause in zip(candidates, parts, strict=True):
            one.search([cause])
        odds = max(_OF_A_PACKAGE, _odds(parts, candidates))
        yield Joint(parts, odds, tuple(names))


def grouped(
    joint: Sequence[Joint], candidates: Sequence[Candidates]
) -> dict[tuple[Hashable, ...], list[Joint]]:
    """Return causes by what they give, the most probable answer first."""
    answers: dict[tuple[Hashable, ...], list[Joint]] = {}
    for one in sorted(joint, key=lambda one: -one.odds):
        pairs = zip(candidates, one.parts, strict=True)
        key = tuple(candidate.key(cause) for candidate, cause in pairs)
        simpler = answers.get(key, [])
        is_known = any(set(other.changes) <= set(one.changes) for other in simpler)
        if None not in key and not is_known:
            answers[key] = [*simpler, one]
    return answers


def unsearched(candidates: Sequence[Candidates]) -> float:
    """Return the odds that a cause that isn't searched gives the numbers.

    It gives all of them by chance, or one of them, while a cause of the others is searched.
    """
    chances = [one.chance for one in candidates]
    if len(chances) == 1:
        return _UNSEARCHED * chances[0]
    of_one = 0.0
    for at, chance in enumerate(chances):
        others = joints([*candidates[:at], *candidates[at + 1 :]])
        of_one += chance * max((one.odds for one in others), default=0.0)
    return _UNSEARCHED * (prod(chances) + _SHARE_OF_ONE * of_one)


def package_choices(table: ValueTable, like: str) -> list[dict[str, Any]]:
    """Return the conventions of a package, with both extreme orders of ties if it leaves them open.

    The list is empty if the package lacks the measure.
    """
    preset = presets.get(like)
    try:
        rules: Mapping[str, Any] = preset.rules(table.measure)
        options = dict(preset.measure(table.measure).options)
    except ArgumentError:
        return []
    orders = [rules["ties"]] if "ties" in rules else ["worst", "best"]
    rules = {**rules, "missing": "zero" if rules["missing"] == "error" else rules["missing"]}
    if table.defaults["min_relevance"] is None and rules["low_grades"] == "keep":
        del rules["low_grades"]  # the default
    return [as_choice({**rules, **options, "ties": ties}, table.defaults) for ties in orders]
