"""The values of a measure under combinations of conventions and one deviation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from podium._fields import FIELDS
from podium.data.join import Join
from podium.data.runs import Run
from podium.decide.explain import formulas, readings
from podium.decide.explain.deviation import REGISTRY, Case, Deviation, of_measure
from podium.decide.explain.grid import LISTS, Choice, Sums, conventions, pooled_mean, with_options
from podium.decide.explain.lists import ListsByChoice
from podium.errors import ArgumentError, DataError
from podium.evaluation.evaluation import fill
from podium.metrics import Measure
from podium.protocol import Conventions, Protocol
from podium.ranking import relevance_rule
from podium.types import PerGroup

_ENTERED = (formulas, readings)  # the modules that register podium's deviations
_MOST_KEPT = 64  # values of users
_MOST_CASES = 2  # with ranks of whole lists


class ValueTable:
    """A measure of one run under any conventions, with one deviation or none.

    Parameters
    ----------
    join : Join
        The users of truth and run.
    measure : Measure
    given : Conventions
        The conventions of podium's value.
    run : Run, optional
        The run with the repeated items that the join lacks.
    best : ListsByChoice, optional
        Lists whose best lists take the place of those of the join.

    Attributes
    ----------
    lists : ListsByChoice
    measure : Measure
    conventions : list of Convention
        All conventions of the measure; the first value of each is the default.
    deviations : list of Deviation
        The deviations of the measure.
    """

    def __init__(
        self,
        join: Join,
        measure: Measure,
        given: Conventions,
        run: Run | None = None,
        best: ListsByChoice | None = None,
    ) -> None:
        self.measure = measure
        self.join, self._given, self._run, self._best = join, given, run or join.run, best
        grades = np.unique(join.truth.relevance)
        self.conventions = conventions(measure, grades[grades > 0].tolist(), given)
        self.deviations = of_measure(measure)
        self._whole = ListsByChoice(join, given)
        self.lists = self._shortened(self._whole)
        self._tied = self.lists.tied(with_equal=measure.metric.thresholds)
        self._of_tied = {id(part): part.users(self._tied) for part in (self.lists, self._whole)}
        self._n_others = join.runs.n_groups - int((~join.is_absent).sum())
        self._known: dict[tuple[Any, ...], PerGroup | float] = {}
        self._sums: dict[tuple[Any, ...], Sums] = {}
        self._cases: dict[tuple[Any, ...], Case] = {}
        self._read: dict[str, ValueTable | None] = {}

    def _shortened(self, lists: ListsByChoice) -> ListsByChoice:
        """Return the lists to rank k + 1 if the measure reads no further."""
        if self.measure.k is None or self.measure.metric.needs:
            return lists
        top = lists.top(self.measure.k + 1)
        same = (self.measure(part.ranking(self.defaults)) for part in (lists, top))
        return top if np.array_equal(*same, equal_nan=True) else lists

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each convention."""
        defaults = {axis.name: axis.values[0] for axis in self.conventions}
        return {**defaults, "deviation": None, "reading": None}

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

    def values(self, choice: Choice) -> PerGroup | float:
        """Return the value of each user under a choice, (n_users,), or a mean without such values.

        Raises
        ------
        ArgumentError, DataError
            If the measure can't be computed under this choice.
        """
        if choice["reading"] is not None:
            return self._reading(choice).values({**choice, "reading": None})
        measure = with_options(self.measure, choice)
        choice = self._resolved(measure, choice)
        key = self._key(choice)
        if key not in self._known:
            while len(self._known) >= _MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = self._computed(measure, choice)
        return self._known[key]

    def _key(self, choice: Choice) -> tuple[Any, ...]:
        names = [axis.name for axis in self.conventions if axis.level != "mean"]
        return tuple(choice[name] for name in (*names, "low_grades", "deviation"))

    def _deviation(self, choice: Choice) -> Deviation | None:
        name = choice.get("deviation")
        return None if name is None else REGISTRY[name]

    def _reading(self, choice: Choice) -> ValueTable:
        """Return the table of the truth and the run as a deviation reads them."""
        name = choice["reading"]
        if name not in self._read:
            self._read[name] = self._made(REGISTRY[name])
        if (table := self._read[name]) is None:
            raise DataError(f"{name} changes nothing in these tables. Leave it out.")
        return table

    def is_read(self, name: str) -> bool:
        """Return whether a deviation of tables changes these."""
        try:
            self._reading({"reading": name})
        except (ArgumentError, DataError):
            return False
        return True

    def _made(self, deviation: Deviation) -> ValueTable | None:
        run = self._run if deviation.reads_repeated else self.join.run
        tables = deviation.function(self.join.truth, run)
        if tables is None:
            return None
        truth, run = tables
        is_joined = truth is self.join.truth and run.item is self.join.run.item
        join = replace(self.join, run=run) if is_joined else Join.of(truth, run)
        best = self._whole if deviation.keeps_ideal else None
        return ValueTable(join, self.measure, self._given, best=best)

    def _resolved(self, measure: Measure, choice: Choice) -> Choice:
        """Return a choice with a rule for low grades, and one value of what has no effect.

        Low grades have a rule of their own, or count as 0 if a threshold is passed.
        """
        if not measure.graded and choice.get("deviation") is None:
            return {**choice, "low_grades": "keep"}
        _, rule = relevance_rule(choice["min_relevance"], choice.get("low_grades"))
        has_effect = rule != "keep" or choice.get("deviation") is not None
        return {**choice, "low_grades": rule, **({} if has_effect else {"min_relevance": None})}

    def _computed(self, measure: Measure, choice: Choice) -> PerGroup | float:
        """Compute the values; other orders of equal scores concern only users who have some."""
        deviation = self._deviation(choice)
        if deviation is not None and deviation.stage == "mean":
            return self.values({**choice, "deviation": None})
        lists = self._whole if deviation is not None and deviation.whole else self.lists
        usual = {**choice, "ties": "worst", "single_precision": False}
        values = None if usual == choice else self.values(usual)
        if not isinstance(values, np.ndarray) or self._best is not None:
            return self._of(deviation, measure, lists, choice)
        values = values.copy()
        values[self._tied] = self._of(deviation, measure, self._of_tied[id(lists)], choice)
        return values

    def _of(
        self, deviation: Deviation | None, measure: Measure, lists: ListsByChoice, choice: Choice
    ) -> PerGroup | float:
        case = self._case(measure, lists, choice)
        return measure(case.ranking) if deviation is None else deviation.values(case)

    def _case(self, measure: Measure, lists: ListsByChoice, choice: Choice) -> Case:
        """Return the lists under a choice; the last ones are kept for further deviations."""
        names = (*LISTS, "min_relevance", "low_grades")
        key = id(lists), measure, tuple(choice.get(name) for name in names)
        if key not in self._cases:
            while len(self._cases) >= _MOST_CASES:
                del self._cases[next(iter(self._cases))]
            ranking = lists.ranking(choice)
            if self._best is not None:
                best = self._best.ranking(choice)
                ranking = replace(ranking, ideal=best.ideal, ideal_offsets=best.ideal_offsets)
            self._cases[key] = Case(ranking, measure, self._n_others)
        return self._cases[key]

    def mean(self, choice: Choice) -> float:
        """Return the mean over users under a choice; nan if there is none."""
        if choice["reading"] is not None:
            return self._reading(choice).mean({**choice, "reading": None})
        deviation, values = self._deviation(choice), self.values(choice)
        if not isinstance(values, np.ndarray):
            return values
        measure = with_options(self.measure, choice)
        if deviation is not None and deviation.stage == "mean":
            counted, case = self.counted(choice), self._case(measure, self.lists, choice)
            return np.nan if np.isnan(counted).all() else float(deviation.function(counted, case))
        counts = slice(None) if choice["missing"] == "zero" else ~self.lists.absent
        weights = None
        if choice.get("pooled"):  # no graded measure has a pooled form
            weights = measure.weights(self._case(measure, self.lists, choice).ranking)
        if weights is not None:
            return pooled_mean(values[counts], weights[counts])
        key = *self._key(self._resolved(measure, choice)), choice["missing"]
        if key not in self._sums:
            self._sums[key] = Sums.of(values[counts])
        return self._sums[key].mean(choice["undefined"])

    def counted(self, choice: Choice) -> PerGroup:
        """Return what each user counts in the mean, nan if nothing."""
        if choice["reading"] is not None:
            return self._reading(choice).counted({**choice, "reading": None})
        values = self.values(choice)
        if not isinstance(values, np.ndarray):
            return np.full(self.join.labels.size, np.nan)
        values = fill(values, choice["undefined"]).copy()
        if choice["missing"] == "skip":
            values[self.lists.absent] = np.nan
        return values

    def labels(self, choice: Choice) -> list[Any]:
        """Return the ids of the users of `counted`; another reading can have others."""
        table = self if choice["reading"] is None else self._reading(choice)
        return table.join.labels.tolist()

    def without_effect(self) -> set[str]:
        """Return the conventions that have no effect on these lists, whatever the others are."""
        same = self.lists.without_effect(with_equal=self.measure.metric.thresholds)
        return same if self.lists.absent.any() else {*same, "missing"}

    def of_measure(self, measure: Measure) -> ValueTable:
        """Return the table of another measure of the same lists."""
        return ValueTable(self.join, measure, self._given, self._run)

    def listed(self, user: int) -> tuple[str, ...]:
        """Return the items of a user to rank k, with the relevance of relevant ones."""
        return self._whole.listed(user, self.measure.k)


def changes(choice: Choice, defaults: Choice) -> dict[str, Any]:
    """Return the conventions of a choice that are not defaults."""
    return {name: value for name, value in choice.items() if value != defaults[name]}


def as_choice(rules: Mapping[str, Any], defaults: Choice) -> dict[str, Any]:
    """Return a choice of all conventions; those that `rules` lacks are defaults."""
    return {name: rules.get(name, default) for name, default in defaults.items()}
