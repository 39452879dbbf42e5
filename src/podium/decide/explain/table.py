"""The values of a measure under every combination of conventions, from one pass over the lists."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from podium._fields import FIELDS
from podium.data.join import Join
from podium.decide.explain.grid import (
    Choice,
    Sums,
    combinations,
    conventions,
    pooled_mean,
    with_options,
)
from podium.decide.explain.lists import ListsByChoice
from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.protocol import Conventions, Protocol
from podium.ranking import relevance_rule
from podium.types import PerGroup


class ValueTable:
    """A measure of one run under any conventions.

    Each list and each formula is computed once per combination that changes it, and each mean from
    the values of users.

    Parameters
    ----------
    join : Join
        The users of truth and run.
    measure : Measure
    given : Conventions
        The conventions of podium's value.

    Attributes
    ----------
    lists : ListsByChoice
    measure : Measure
    conventions : list of Convention
        All conventions of the measure; the first value of each is the default.
    """

    def __init__(self, join: Join, measure: Measure, given: Conventions) -> None:
        self.measure = measure
        grades = np.unique(join.truth.relevance)
        self.conventions = conventions(measure, grades[grades > 0].tolist(), given)
        self.lists = self._shortened(ListsByChoice(join, given))
        self._tied = self.lists.tied(with_equal=measure.metric.thresholds)
        self._tied_lists = self.lists.users(self._tied)
        self._known: dict[tuple[Any, ...], PerGroup] = {}
        self._sums: dict[tuple[int, str], Sums] = {}  # by the id of known values

    def _shortened(self, lists: ListsByChoice) -> ListsByChoice:
        """Return the lists to rank k if the measure reads no further."""
        if self.measure.k is None or self.measure.metric.needs:
            return lists
        top = lists.top(self.measure.k)
        same = (self.measure(part.ranking(self.defaults)) for part in (lists, top))
        return top if np.array_equal(*same, equal_nan=True) else lists

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each convention."""
        return {axis.name: axis.values[0] for axis in self.conventions}

    def protocol(self, given: Protocol, changed: Choice) -> Protocol:
        """Return the protocol of changed conventions, given that of podium's value."""
        choice, measure = {**self.defaults, **changed}, given.measures[0]
        fields: dict[str, Any] = dict(changed)
        if given.package is not None:  # it fixes conventions and options, so that all are stated
            usual = {**vars(Conventions()), "low_grades": None}
            fields = {n: None if v == usual.get(n) else v for n, v in choice.items()}
            fields["like"] = None
        elif self.lists.absent.any():
            fields.setdefault("missing", choice["missing"])
        fields = {name: value for name, value in fields.items() if name in FIELDS}
        if given.package is not None or changed.keys() & self.measure.metric.options.keys():
            measure = with_options(self.measure, choice)
        return given.replace(**fields, measures=[measure, *given.measures[1:]])

    def values(self, choice: Choice) -> PerGroup:
        """Return the value of each user under a choice of all conventions, (n_users,).

        Raises
        ------
        ArgumentError
            If the measure can't be computed under this choice.
        """
        measure = with_options(self.measure, choice)
        choice = self._resolved(measure, choice)
        names = [axis.name for axis in self.conventions if axis.level != "mean"]
        key = tuple(choice[name] for name in (*names, "low_grades"))
        if key not in self._known:
            self._known[key] = self._computed(measure, choice)
        return self._known[key]

    def _resolved(self, measure: Measure, choice: Choice) -> Choice:
        """Return a choice with a rule for low grades, and one value of what has no effect.

        Low grades have a rule of their own, or count as 0 if a threshold is passed.
        """
        if not measure.graded:
            return {**choice, "low_grades": "keep"}
        _, rule = relevance_rule(choice["min_relevance"], choice.get("low_grades"))
        no_effect = {"min_relevance": None} if rule == "keep" else {}
        return {**choice, "low_grades": rule, **no_effect}

    def _computed(self, measure: Measure, choice: Choice) -> PerGroup:
        """Compute the values; other orders of equal scores concern only users who have some."""
        usual = {**choice, "ties": "worst", "single_precision": False}
        if usual == choice:
            return measure(self.lists.ranking(choice))
        values = self.values(usual).copy()
        values[self._tied] = measure(self._tied_lists.ranking(choice))
        return values

    def mean(self, choice: Choice) -> float:
        """Return the mean over users under a choice of all conventions; nan if there is none."""
        return self._mean(self.values(choice), choice)

    def _mean(self, values: PerGroup, choice: Choice) -> float:
        """Return the mean of the values of users, which `values` has returned."""
        counts = slice(None) if choice["missing"] == "zero" else ~self.lists.absent
        weights = None
        if choice.get("pooled"):  # no graded measure has a pooled form
            weights = with_options(self.measure, choice).weights(self.lists.ranking(choice))
        if weights is not None:
            return pooled_mean(values[counts], weights[counts])
        key = id(values), choice["missing"]
        if key not in self._sums:
            self._sums[key] = Sums.of(values[counts])
        return self._sums[key].mean(choice["undefined"])

    def means(self) -> Iterator[tuple[dict[str, Any], float]]:
        """Yield each choice of the conventions that matter, as all conventions, with its mean.

        Choices under which the measure can't be computed are left out.
        """
        defaults = self.defaults
        active = [axis for axis in self.conventions if axis.name not in self.without_effect()]
        of_means = [axis for axis in active if axis.level == "mean"]
        for choice in combinations([axis for axis in active if axis.level != "mean"]):
            try:
                values = self.values({**defaults, **choice})
            except ArgumentError:
                continue
            for rules in combinations(of_means):
                full_choice = {**defaults, **choice, **rules}
                yield full_choice, self._mean(values, full_choice)

    def without_effect(self) -> set[str]:
        """Return the conventions that have no effect on these lists, whatever the others are."""
        same = self.lists.without_effect(with_equal=self.measure.metric.thresholds)
        return same if self.lists.absent.any() else {*same, "missing"}

    @cached_property
    def never_effective(self) -> set[str]:
        """The conventions that change the value of no combination of the others."""
        first: dict[tuple[Any, ...], float] = {}
        effective: set[str] = set()
        for choice, value in self.means():
            for name in choice.keys() - effective:
                others = (name, *(rule for other, rule in choice.items() if other != name))
                if not _is_same(first.setdefault(others, value), value):
                    effective.add(name)
        return {axis.name for axis in self.conventions} - effective

    def size(self) -> int:
        """Return the number of combinations of all conventions."""
        return int(np.prod([len(axis.values) for axis in self.conventions]))


def _is_same(one: float, other: float) -> bool:
    """Return whether two means are equal up to rounding, or both undefined."""
    return math.isclose(one, other, rel_tol=1e-12) or (math.isnan(one) and math.isnan(other))


def changes(choice: Choice, defaults: Choice) -> dict[str, Any]:
    """Return the conventions of a choice that are not defaults."""
    return {name: value for name, value in choice.items() if value != defaults[name]}


def as_choice(rules: Mapping[str, Any], defaults: Choice) -> dict[str, Any]:
    """Return a choice of all conventions; those that `rules` lacks are defaults."""
    return {name: rules.get(name, default) for name, default in defaults.items()}
