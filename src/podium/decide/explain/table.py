"""The values of a measure of one run under any conventions, readings and deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._fields import FIELDS
from podium.data.join import Join
from podium.data.runs import Run
from podium.decide.explain import formulas, readings
from podium.decide.explain.deviation import REGISTRY, Case, Deviation
from podium.decide.explain.grid import LISTS, MEANS, Choice, conventions, pooled_mean, with_options
from podium.decide.explain.lists import ListsByChoice, Recent
from podium.errors import DataError
from podium.evaluation.evaluation import fill
from podium.metrics import Measure
from podium.protocol import Conventions, Protocol
from podium.ranking import Ranking, relevance_rule
from podium.types import PerGroup

DEVIATION, READING = "deviation", "reading"

Change = tuple[str, Any]
"""A convention, "deviation" or "reading", and its value."""

Cause = tuple[Change, ...]

_ENTERED = (formulas, readings)  # the modules that register podium's deviations
_OF_TIES = ("average", "threshold")  # rules that give the items of a tie a common value
_MOST_KEPT = 16  # values of users
_MOST_CASES = 2  # with ranks of whole lists
# The place of a change in the computation; that of a formula is 1.
_LEVELS = {
    READING: -2,
    **dict.fromkeys(LISTS, -1),
    **dict.fromkeys(("min_relevance", "low_grades"), 0),
    **dict.fromkeys(MEANS, 2),
}


class Readings:
    """The lists of a truth and a run as each reading of the tables gives them.

    Parameters
    ----------
    join : Join
        The users of truth and run.
    given : Conventions
        The number of items and the seed of ties.
    run : Run, optional
        The run with the repeated items that the join lacks.
    depth : int, optional
        The number of ranks that the measures need. By default, whole lists.
    """

    def __init__(
        self, join: Join, given: Conventions, run: Run | None = None, depth: int | None = None
    ) -> None:
        self._given, self._run, self._depth = given, run or join.run, depth
        self.usual = ListsByChoice(join, given)
        self._lists: dict[str | None, tuple[ListsByChoice, ListsByChoice] | None] = {
            None: self._with_top(self.usual)
        }

    def lists(self, reading: str | None, *, whole: bool = True) -> ListsByChoice:
        """Return the lists of a reading, or at least their first ranks.

        Raises
        ------
        ArgumentError, DataError
            If the tables can't be read so, or are the same.
        """
        if reading not in self._lists:
            self._lists[reading] = self._read(REGISTRY[str(reading)])
        if (both := self._lists[reading]) is None:
            raise DataError(f"{reading} changes nothing in these tables. Leave it out.")
        return both[0 if whole else 1]

    def _with_top(self, lists: ListsByChoice) -> tuple[ListsByChoice, ListsByChoice]:
        return lists, lists if self._depth is None else lists.top(self._depth)

    def _read(self, deviation: Deviation) -> tuple[ListsByChoice, ListsByChoice] | None:
        before = self.usual.join
        if deviation.reads_repeated and self._run is before.run:
            return None
        run = self._run if deviation.reads_repeated else before.run
        tables = deviation.function(before.truth, run)
        if tables is None:
            return None
        truth, run = tables
        is_joined = truth is before.truth and run.item is before.run.item
        join = replace(before, run=run) if is_joined else Join.of(truth, run)
        best = self.usual if deviation.keeps_ideal else None
        return self._with_top(ListsByChoice(join, self._given, best=best))


class ValueTable:
    """A measure of one run under any conventions, with a deviation and a reading, or without.

    Parameters
    ----------
    tables : Readings
    measure : Measure
    given : Conventions
        The conventions of podium's value.

    Attributes
    ----------
    conventions : dict of str to tuple
        The values of all conventions of the measure; the first value of each is the default.
    deviations : list of Deviation
        The deviations of the measure.
    """

    def __init__(self, tables: Readings, measure: Measure, given: Conventions) -> None:
        self.tables, self.measure, self._given = tables, measure, given
        grades = np.unique(tables.usual.join.truth.relevance)
        self.conventions = conventions(measure, grades[grades > 0].tolist(), given)
        self.deviations = [rule for rule in REGISTRY.values() if rule.applies(measure)]
        self._values: Recent[PerGroup | float] = Recent(_MOST_KEPT)
        self._cases: Recent[Case] = Recent(_MOST_CASES)
        self._reads_whole = (
            measure.k is None or bool(measure.metric.needs) or self._differs_in_top()
        )

    def _differs_in_top(self) -> bool:
        both = (self.tables.lists(None, whole=is_whole) for is_whole in (True, False))
        values = [self.measure(lists.ranking(self.defaults)) for lists in both]
        return not np.array_equal(*values, equal_nan=True)

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each convention."""
        defaults = {name: values[0] for name, values in self.conventions.items()}
        return {**defaults, DEVIATION: None, READING: None}

    def changes(self) -> list[Change]:
        """Return each change of one convention, deviation or reading."""
        rules = [(READING if d.stage == "tables" else DEVIATION, d.name) for d in self.deviations]
        others = [(name, v) for name, values in self.conventions.items() for v in values[1:]]
        return [*sorted(rules, key=lambda change: change[0]), *others]

    def order(self, cause: Cause) -> list[tuple[int, str]]:
        """Return a key for sorting: causes with equal lists or formulas are neighbours."""
        return sorted((_LEVELS.get(name, 1), f"{name}={value}") for name, value in cause)

    def is_formula(self, name: str) -> bool:
        """Return whether a change concerns the formula, not the lists or the mean."""
        return name not in _LEVELS

    def choice(self, cause: Cause) -> dict[str, Any]:
        """Return a choice of all conventions: the changes that the measure can have."""
        rules = tuple(rule.name for rule in self.deviations)
        known = {**self.conventions, DEVIATION: rules, READING: rules}
        changed = {name: value for name, value in cause if value in known.get(name, ())}
        return as_choice(changed, self.defaults)

    def protocol(self, given: Protocol, changed: Choice) -> Protocol:
        """Return the protocol of changed conventions, given that of podium's value."""
        choice, measure = {**self.defaults, **changed}, given.measures[0]
        fields: dict[str, Any] = dict(changed)
        if given.package is not None:  # it fixes conventions and options, so that all are stated
            usual = {**vars(Conventions()), "low_grades": None}
            fields = {n: None if v == usual.get(n) else v for n, v in choice.items()}
            fields["like"] = None
        elif self.tables.usual.join.is_absent.any():
            fields.setdefault("missing", choice["missing"])
        fields = {name: value for name, value in fields.items() if name in FIELDS}
        if given.package is not None or changed.keys() & self.measure.metric.options.keys():
            measure = with_options(self.measure, choice)
        return given.replace(**fields, measures=[measure, *given.measures[1:]])

    def values(self, choice: Choice) -> PerGroup | float:
        """Return the value of each user under a choice, (n_users,), or a mean without such values.

        Raises
        ------
        ArgumentError, DataError
            If the measure can't be computed under this choice.
        """
        choice = self._resolved(choice)
        names = [name for name in self.conventions if name not in MEANS]
        key = tuple(choice[name] for name in (*names, "low_grades", DEVIATION, READING))
        return self._values.result(key, lambda: self._computed(choice))

    def _computed(self, choice: Choice) -> PerGroup | float:
        deviation, case = self._deviation(choice), self._case(choice)
        if deviation is None or deviation.stage == "mean":
            return case.measure(case.ranking)
        return deviation.values(case)

    def _deviation(self, choice: Choice) -> Deviation | None:
        name = choice.get(DEVIATION)
        return None if name is None else REGISTRY[name]

    def _resolved(self, choice: Choice) -> Choice:
        """Return a choice with a rule for low grades, and one value of what has no effect.

        Low grades have a rule of their own, or count as 0 if a threshold is passed.
        """
        if choice[DEVIATION] is None and not with_options(self.measure, choice).graded:
            return {**choice, "low_grades": "keep"}
        _, rule = relevance_rule(choice["min_relevance"], choice.get("low_grades"))
        has_effect = rule != "keep" or choice[DEVIATION] is not None
        return {**choice, "low_grades": rule, **({} if has_effect else {"min_relevance": None})}

    def _case(self, choice: Choice) -> Case:
        """Return the lists under a choice; the last ones are kept for further deviations."""
        deviation = self._deviation(choice)
        is_whole = self._reads_whole or (deviation is not None and deviation.reads_whole)
        lists = self.tables.lists(choice[READING], whole=is_whole)
        measure = with_options(self.measure, choice)
        names = (*LISTS, "min_relevance", "low_grades")
        key = id(lists), measure, tuple(choice.get(name) for name in names)
        n_others = lists.join.runs.n_groups - int((~lists.join.is_absent).sum())
        return self._cases.result(key, lambda: Case(lists.ranking(choice), measure, n_others))

    def has_usual_lists(self, choice: Choice) -> bool:
        """Return whether lists, to the rank after the cutoff, and positives are the defaults'."""
        both = ({**rules, "low_grades": "keep"} for rules in (choice, self.defaults))
        one, other = (self._case(self._resolved(rules)).ranking for rules in both)
        return all(map(np.array_equal, _parts(one), _parts(other)))

    def mean(self, choice: Choice) -> float:
        """Return the mean over users under a choice; nan if there is none."""
        deviation, values = self._deviation(choice), self.values(choice)
        if not isinstance(values, np.ndarray):
            return values
        counted = self.counted(choice)
        if deviation is not None and deviation.stage == "mean":
            case = self._case(self._resolved(choice))
            return np.nan if np.isnan(counted).all() else float(deviation.function(counted, case))
        if choice.get("pooled"):  # no graded measure has a pooled form
            case = self._case(self._resolved(choice))
            weights = case.measure.weights(case.ranking)
            if weights is not None:
                return pooled_mean(np.where(np.isnan(counted), np.nan, values), weights)
        is_counted = ~np.isnan(counted)
        return float(counted[is_counted].mean()) if is_counted.any() else np.nan

    def counted(self, choice: Choice) -> PerGroup:
        """Return what each user counts in the mean, nan if nothing."""
        values, lists = self.values(choice), self.tables.lists(choice[READING])
        if not isinstance(values, np.ndarray):
            return np.full(lists.join.labels.size, np.nan)
        values = fill(values, choice["undefined"])
        return (
            np.where(lists.join.is_absent, np.nan, values)
            if choice["missing"] == "skip"
            else values
        )

    def labels(self, choice: Choice) -> list[Any]:
        """Return the ids of the users of `counted`; another reading can have others."""
        return self.tables.lists(choice[READING]).join.labels.tolist()

    def rows_of(self, users: Sequence[str], reading: str | None) -> NDArray[np.int64]:
        """Return the row of each user in `counted`; -1 if there is none."""
        spelling = readings.SPELLINGS.get(reading or "", str)
        labels = self.tables.lists(reading).join.labels.tolist()
        rows = {str(label): row for row, label in enumerate(labels)}
        return np.array([rows.get(user, rows.get(spelling(user), -1)) for user in users])

    def of_measure(self, measure: Measure) -> ValueTable:
        """Return the table of another measure of the same lists."""
        return ValueTable(self.tables, measure, self._given)


def _parts(ranking: Ranking) -> tuple[NDArray[Any], ...]:
    """Return what makes lists the same for every measure: their grades and positives.

    Means over the orders of a tie differ from one order where its grades do, whatever the positives
    are.
    """
    grades, tied = ranking.relevance, ranking.tied[:-1]
    mixed = tied & (grades[1:] != grades[:-1]) if ranking.ties in _OF_TIES else tied[:0]
    is_pos = grades >= ranking.min_relevance
    return ranking.groups.offsets, grades, is_pos, ranking.n_pos, np.flatnonzero(mixed)


def changes(choice: Choice, defaults: Choice) -> dict[str, Any]:
    """Return the conventions of a choice that are not defaults."""
    return {name: value for name, value in choice.items() if value != defaults[name]}


def as_choice(rules: Mapping[str, Any], defaults: Choice) -> dict[str, Any]:
    """Return a choice of all conventions; those that `rules` lacks are defaults."""
    return {name: rules.get(name, default) for name, default in defaults.items()}
