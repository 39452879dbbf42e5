"""The causes under which measures have given values: conventions, and one deviation.

Causes are searched by their number of changes. An answer is one value, or one value of each
measure; all causes that give it on these data are one answer. Its chance is the probability that
one of the causes with as few changes fits a number that has nothing to do with them, from the
density of their values around the number. Two numbers make the chances of both a product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import presets
from podium.decide.explain.deviation import REGISTRY
from podium.decide.explain.grid import LISTS, MEANS, separated_by
from podium.decide.explain.numbers import Number
from podium.decide.explain.table import ValueTable, as_choice, changes
from podium.errors import ArgumentError, DataError
from podium.metrics import Measure
from podium.protocol import Protocol
from podium.types import Mask, PerGroup

_BEFOREHAND = (0.3, 0.75, 0.05, 0.01, 0.005)
"""How probable it is, before the number is known, that a cause has 0, 1, 2, 3 or more changes."""

_ELSE = 0.15
"""How probable it is, before the number is known, that the cause is not among those searched."""

_SURE = 0.95  # the share from which an answer is determined
_LEAST_CHANCE = 1e-12
_MOST_REPORTED = 50
_MOST_COMPARED = 4  # answers that a further measure should separate
_MOST_EXAMPLES = 3
_DECIDING = ("recall", "precision", "hit_rate", "rr", "ap", "ndcg")
_MOST_ASKED = 200  # causes, for the share of them that give a value of a user
_LEAST_SHARE = 0.02
_MOST_APART = 3  # measures, each of which may have a change of its own
_MOST_VALUES = 100_000_000  # users times combinations of all conventions

DEVIATION, READING = "deviation", "reading"
_OF = " of "  # a change of one measure: "deviation of recall@5"

Change = tuple[str, Any]
Cause = tuple[Change, ...]
Means = NDArray[np.float64]


@dataclass(frozen=True)
class Match:
    """An answer: causes that give the numbers.

    Attributes
    ----------
    value : float
        The mean of the first measure over users.
    changes : tuple of dict
        What differs from the defaults, as little as possible: conventions, and at most one
        deviation. If several causes have this value, to 12 digits, each is a dictionary.
    packages : tuple of str
        The packages with these conventions.
    toml : tuple of str
        The lines of podium.toml to change, for each cause. No line stands for pooled or for a
        deviation.
    protocol : dict
        The stated fields of a protocol with the first cause.
    values : dict of str to float
        The mean of each measure.
    chance : float
        The probability that one of the causes with at most as many changes fits by chance.
    share : float
        The probability of this answer among all that fit, and of causes that aren't searched.
    sentence, remedy : str
        What the deviations of a cause do, and what to do instead; empty without one.
    """

    value: float
    changes: tuple[dict[str, Any], ...]
    packages: tuple[str, ...] = ()
    toml: tuple[str, ...] = ()
    protocol: Mapping[str, Any] = field(default_factory=dict[str, Any])
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    chance: float = 1.0
    share: float = 0.0
    sentence: str = ""
    remedy: str = ""

    @property
    def n_changes(self) -> int:
        return len(self.changes[0])


@dataclass(frozen=True)
class Example:
    """A user whose value differs.

    Attributes
    ----------
    user : str
    values : tuple of float
        Podium's value and that of the first answer; or those of the answers.
    items : tuple of str
        The items of the list to rank k, with the relevance of relevant ones.
    """

    user: str
    values: tuple[float, ...]
    items: tuple[str, ...]


@dataclass(frozen=True)
class Search:
    """The causes that give numbers on these data.

    Attributes
    ----------
    measure, value : str
        The first measure, and its number as it was given.
    default : float
        The value under podium's conventions.
    numbers : dict of str to str
        All numbers as they were given.
    defaults : dict of str to float
        Podium's value of each measure.
    matches : tuple of Match
        The answers, the most probable one first.
    is_determined : bool
        Whether the first answer is the cause. Otherwise another one could be, also one that isn't
        searched.
    n_others : int
        The number of further answers.
    nearest : Match
        The answer with the nearest value of the first measure.
    n_combinations : int
        The number of causes that were searched.
    without_effect : dict of str to str
        The conventions that have no effect on these data, and data that would show one.
    deciding : dict of str to tuple of float
        A further measure, with its value under each of the first answers, if the cause is not
        determined; empty if no measure separates them.
    examples : tuple of Example
        Users on whom the first answer differs from podium's value; if the cause is not determined,
        those on whom the first two answers differ.
    """

    measure: str
    value: str
    default: float
    numbers: Mapping[str, str]
    defaults: Mapping[str, float]
    matches: tuple[Match, ...]
    is_determined: bool
    n_others: int
    nearest: Match
    n_combinations: int
    without_effect: dict[str, str]
    deciding: Mapping[str, tuple[float, ...]]
    examples: tuple[Example, ...]


class Causes:
    """The causes of some measures of a run, with their values.

    Parameters
    ----------
    tables : sequence of ValueTable
        One for each number.
    """

    def __init__(self, tables: Sequence[ValueTable]) -> None:
        self.tables = tables
        self._means: list[dict[frozenset[Change], float]] = [{} for _ in tables]
        self._names = [str(table.measure) for table in tables]

    @cached_property
    def causes(self) -> list[Cause]:
        """The causes with at most two changes."""
        pairs = combinations(self._single, 2)
        single = [(), *((change,) for change in self._single)]
        return [*single, *(pair for pair in pairs if _word(pair[0]) != _word(pair[1]))]

    @cached_property
    def _single(self) -> list[Change]:
        """Each change that has an effect on the lists: deviations first, means last.

        It may hold for one of a few measures, or for all of them.
        """
        found: dict[Change, None] = {}
        for word in (DEVIATION, READING, "list", "metric", "mean"):
            for name, table in zip(self._names, self.tables, strict=True):
                for change, value in self._of(table, word):
                    found[change, value] = None
                    if 1 < len(self.tables) <= _MOST_APART:
                        found[f"{change}{_OF}{name}", value] = None
        return list(found)

    @staticmethod
    def _of(table: ValueTable, word: str) -> Iterator[Change]:
        """Yield the deviations, the readings, or the conventions of a level, of a measure."""
        for deviation in table.deviations:
            name, reads = deviation.name, deviation.stage == "tables"
            if word == (READING if reads else DEVIATION) and (not reads or table.is_read(name)):
                yield word, name
        without = table.without_effect()
        for axis in table.conventions:
            if axis.level == word and axis.name not in without:
                yield from ((axis.name, value) for value in axis.values[1:])

    def triples(self, *, is_alone: bool) -> Iterator[Cause]:
        """Yield deviations with conventions, three in all; for a number alone, one deviation.

        Of two conventions, one at most is then of lists: a number can't tell so many causes apart.
        """
        words = (DEVIATION, READING)
        rules = [c for c in self._single if _word(c) not in words and _OF not in c[0]]
        faults = [change for change in self._single if _word(change) in words]
        pairs = [pair for pair in combinations(rules, 2) if _word(pair[0]) != _word(pair[1])]
        few = [p for p in pairs if not is_alone or sum(_word(c) in LISTS for c in p) < 2]
        yield from ((fault, *pair) for fault in faults for pair in few)
        both = [pair for pair in combinations(faults, 2) if _word(pair[0]) != _word(pair[1])]
        yield from ((*pair, rule) for pair in both if not is_alone for rule in rules)

    def of_conventions(self) -> Iterator[Cause]:
        """Yield all combinations of three and more conventions, unless these are too many."""
        axes: dict[str, list[Change | None]] = {}
        for name, value in self._single:
            if name not in (DEVIATION, READING) and _OF not in name:
                axes.setdefault(name, [None]).append((name, value))
        n_users = self.tables[0].join.labels.size
        if prod(map(len, axes.values())) * n_users > _MOST_VALUES:
            return
        for choice in product(*axes.values()):
            cause = tuple(change for change in choice if change is not None)
            if len(cause) > 2:
                yield cause

    def choice(self, number: int, cause: Cause) -> dict[str, Any]:
        """Return a choice of all conventions of a measure, and its deviation if it can have it."""
        table, name = self.tables[number], self._names[number]
        known = {axis.name: axis.values for axis in table.conventions}
        known[DEVIATION] = known[READING] = tuple(each.name for each in table.deviations)
        changed: dict[str, Any] = {}
        for change, value in cause:
            word, _, of = change.partition(_OF)
            if of in ("", name) and value in known.get(word, ()):
                changed[word] = value
        return as_choice(changed, table.defaults)

    def mean(self, number: int, cause: Cause) -> float:
        """Return the mean of a measure under a cause; nan if it has none."""
        table, choice = self.tables[number], self.choice(number, cause)
        key = frozenset(changes(choice, table.defaults).items())
        if key not in self._means[number]:
            try:
                self._means[number][key] = table.mean(choice)
            except (ArgumentError, DataError):
                self._means[number][key] = np.nan
        return self._means[number][key]

    def of_users(self, column: int, number: Number, cause: Cause) -> NDArray[np.float64]:
        """Return the values of the users that have a number; nan if there are none."""
        table, choice = self.tables[column], self.choice(column, cause)
        try:
            return number.of_users(table.labels(choice), table.counted(choice))
        except (ArgumentError, DataError):
            return np.full(len(number.users), np.nan)

    def fitting(
        self, column: int, number: Number, causes: Sequence[Cause], means: PerGroup
    ) -> Mask:
        """Return which causes give a number, (n_causes,)."""
        if not number.users:
            return number.fits(means)
        fits = [number.same(self.of_users(column, number, cause)).all() for cause in causes]
        return np.array(fits)

    def by_chance(self, column: int, number: Number) -> float:
        """Return the probability that a cause by chance gives the users whose value differs."""
        every = [number.same(self.of_users(column, number, c)) for c in self.causes[:_MOST_ASKED]]
        differs = ~every[0] if not every[0].all() else every[0]
        share = np.mean([same[differs].mean() for same in every[1:]])
        return float(max(share, _LEAST_SHARE) ** differs.sum())

    def means(self, causes: Sequence[Cause], numbers: Sequence[Number] = ()) -> Means:
        """Return the mean of each measure under each cause, (n_causes, n_measures).

        With numbers, further measures have a mean only if the first ones fit.
        """
        values = np.full((len(causes), len(self.tables)), np.nan)
        for row in sorted(range(len(causes)), key=lambda row: _lists_of(causes[row])):
            for m in range(len(self.tables)):
                values[row, m] = self.mean(m, causes[row])
                if numbers and not (numbers[m].users or numbers[m].fits(values[row, m])):
                    break
        return values


def _lists_of(cause: Cause) -> tuple[str, str]:
    """Return what the lists and the values of users depend on: such causes are neighbours."""
    kept = sorted(((*change,) for change in cause if change[0] not in MEANS), key=str)
    formula = [change for change in kept if change[0] not in LISTS]
    return str([change for change in kept if change[0] in LISTS]), str(formula[::-1])


def _word(change: Change) -> str:
    """Return the convention of a change, or "deviation"."""
    return change[0].partition(_OF)[0]


def _unscoped(cause: Cause) -> frozenset[Change]:
    """Return the changes of a cause, whether they hold for one measure or for all."""
    return frozenset((_word(change), change[1]) for change in cause)


def _is_of_rules(cause: Cause) -> bool:
    """Return whether a cause consists of conventions only."""
    return not {DEVIATION, READING} & {_word(change) for change in cause}


def search(found: Causes, numbers: Sequence[Number], given: Protocol) -> Search:
    """Search the causes that give numbers.

    Parameters
    ----------
    found : Causes
        The causes of the measures of the numbers.
    numbers : sequence of Number
    given : Protocol
        The protocol of podium's value.
    """
    causes, table = found.causes, found.tables[0]
    values = found.means(causes)
    packages = _of_packages(found)
    causes, values = [*causes, *packages], np.concatenate([values, found.means([*packages])])
    answers = _answers(found, numbers, causes, values, packages)
    nearest = _nearest(causes, values, numbers[0])
    is_alone = len(numbers) == 1 and not numbers[0].users
    for more in (found.triples(is_alone=is_alone), found.of_conventions()):
        if not answers:
            further = list(more)
            causes, values = (
                [*causes, *further],
                np.concatenate([values, found.means(further, numbers)]),
            )
            answers = _answers(found, numbers, causes, values, packages)
    n_known = len(answers)
    reported = tuple(_shown(table, given, answer) for answer in answers[:_MOST_REPORTED])
    is_determined = bool(reported) and reported[0].share >= _SURE
    first = [dict(match.changes[0]) for match in reported[:_MOST_COMPARED]]
    return Search(
        str(numbers[0].measure),
        numbers[0].text,
        float(values[0, 0]),
        {str(number.measure): number.text for number in numbers},
        {str(number.measure): float(v) for number, v in zip(numbers, values[0], strict=True)},
        reported,
        is_determined,
        n_known - len(reported),
        _shown(table, given, nearest),
        len(causes),
        _without_effect(found),
        {} if is_determined else _deciding(table, first),
        _examples(found, first, is_determined),
    )


def _nearest(causes: Sequence[Cause], values: Means, number: Number) -> Match:
    """Return the cause with the nearest mean of the first measure."""
    gap = np.abs(values[:, 0] - number.target)
    at = int(np.nanargmin(gap)) if np.isfinite(gap).any() else 0
    return Match(float(values[at, 0]), (dict(causes[at]),))


def _answers(
    found: Causes,
    numbers: Sequence[Number],
    causes: Sequence[Cause],
    values: NDArray[np.float64],
    packages: Mapping[Cause, list[str]],
) -> list[Match]:
    """Return the answers, the most probable first."""
    each = np.array([found.fitting(m, n, causes, values[:, m]) for m, n in enumerate(numbers)])
    fits = each.all(axis=0)
    by_value: dict[tuple[Any, ...], list[int]] = {}
    for row in np.flatnonzero(fits).tolist():
        by_value.setdefault(_key(found, numbers, causes[row], values[row]), []).append(row)
    size = np.array([min(len(c), 1) if c in packages else len(c) for c in causes])
    names = [str(number.measure) for number in numbers]
    matches: list[Match] = []
    for rows in by_value.values():
        n_changes = int(size[rows].min())
        equal = [causes[row] for row in rows if size[row] == n_changes]
        simple = [cause for cause in equal if not any(set(less) < set(cause) for less in equal)]
        simple.sort(key=lambda cause: (not _is_of_rules(cause), cause in packages, len(cause)))
        few = size <= max(n_changes, 1)
        chance = _chance(found, numbers, each[:, few], values[few], n_changes)
        of = tuple(dict.fromkeys(name for row in rows for name in packages.get(causes[row], ())))
        means = [float(value) for value in values[rows[0]]]
        matches.append(
            Match(
                means[0],
                tuple(map(dict, {_unscoped(c): c for c in reversed(simple)}.values()))[::-1],
                of,
                values=dict(zip(names, means, strict=True)),
                chance=chance,
                share=_BEFOREHAND[min(n_changes, 4)] / chance,
            )
        )
    rest = _ELSE + sum(match.share for match in matches)
    shared = [replace(m, share=m.share / rest, chance=1 - np.exp(-m.chance)) for m in matches]
    return sorted(shared, key=lambda match: -match.share)


def _key(
    found: Causes, numbers: Sequence[Number], cause: Cause, values: NDArray[np.float64]
) -> tuple[Any, ...]:
    """Return what two causes of one answer have in common: means, or values of users."""
    return tuple(
        np.round(found.of_users(m, number, cause), 10).tobytes()
        if number.users
        else _rounded(float(values[m]))
        for m, number in enumerate(numbers)
    )


def _rounded(value: float) -> float:
    """Return the value to 12 digits, by which values are compared."""
    return float(f"{value:.12g}")


def _chance(
    found: Causes, numbers: Sequence[Number], fits: Any, values: Means, n_changes: int
) -> float:
    """Return the expected number of answers that fit by chance, of causes with few changes.

    The causes that give all numbers but one have some distinct values of this one. A number that
    has nothing to do with them fits one of these with the probability of the density of all values
    around it, times its last digit.
    """
    known: NDArray[np.int64] = np.flatnonzero(~np.isnan(values).any(axis=1))
    expected = _LEAST_CHANCE
    for m, number in enumerate(numbers):
        column: PerGroup = np.round(values[:, m], 10)
        others: Mask = np.delete(fits, m, axis=0).all(axis=0)
        rest: NDArray[np.int64] = known[others[known]]
        n_distinct = np.unique(column[rest]).size if n_changes else 1
        if number.users:
            by_chance = found.by_chance(m, number)
        else:
            by_chance = _density(np.unique(column[known]), number)
        expected = max(expected, n_distinct * by_chance)
    return float(expected)


def _density(values: NDArray[np.float64], number: Number) -> float:
    """Return the probability of a value with the digits of a number, from the values around it."""
    distance = np.sort(np.abs(values - number.target))
    others = distance[distance > number.half]
    n_near = min(others.size, max(3, int(np.sqrt(others.size))))
    reach = max(others[:n_near].max(initial=0.0), 2 * number.half)
    return n_near * number.half / reach / max(values.size, 1)


def _shown(table: ValueTable, given: Protocol, match: Match) -> Match:
    """Return an answer with the changes as those of a protocol, and the words of its deviation."""
    protocols = [table.protocol(given, changed) for changed in match.changes]
    lines = tuple(given.changes_to(protocol) for protocol in protocols)
    causes = [tuple(changed.items()) for changed in match.changes]
    faulty = next((cause for cause in causes if not _is_of_rules(cause)), ())
    found = [REGISTRY[c[1]] for c in faulty if _word(c) in (DEVIATION, READING)]
    packages = [*match.packages, *(name for each in found for name in each.packages)]
    return replace(
        match,
        packages=tuple(dict.fromkeys(packages)),
        toml=lines,
        protocol=protocols[0].as_json(),
        sentence=" ".join(each.sentence for each in found),
        remedy=" ".join(each.remedy for each in found),
    )


def _without_effect(found: Causes) -> dict[str, str]:
    """Return the conventions that change no value of at most two changes."""
    names = dict.fromkeys(axis.name for table in found.tables for axis in table.conventions)
    effective: set[str] = set()
    for cause in found.causes:
        for change in cause:
            others = tuple(other for other in cause if other != change)
            if change[0] not in effective and any(
                not _is_same(found.mean(m, cause), found.mean(m, others))
                for m in range(len(found.tables))
            ):
                effective.add(change[0])
    return {name: separated_by(name) for name in sorted(names) if name not in effective}


def _is_same(one: float, other: float) -> bool:
    """Return whether two means are equal up to rounding, or both undefined."""
    return bool(np.isclose(one, other, rtol=1e-12, atol=0.0, equal_nan=True))


def _deciding(
    table: ValueTable, answers: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[float, ...]]:
    """Return the measure that separates most of some answers, with its values."""
    best: dict[str, tuple[float, ...]] = {}
    most = 1
    for name in _DECIDING if len(answers) > 1 else ():
        if name == table.measure.name or (name == "precision" and table.measure.k is None):
            continue
        measure = Measure(name, table.measure.k)
        causes = Causes([table.of_measure(measure)])
        values = tuple(causes.mean(0, tuple(changed.items())) for changed in answers)
        n_distinct = len({f"{value:.4f}" for value in values})
        if n_distinct > most:
            best, most = {str(measure): values}, n_distinct
    return best


def _examples(
    found: Causes, answers: Sequence[Mapping[str, Any]], is_determined: bool
) -> tuple[Example, ...]:
    """Return users on whom the first answer and podium's value, or two answers, differ."""
    if not answers:
        return ()
    podiums: Mapping[str, Any] = {}
    pair = [podiums, answers[0]] if is_determined or len(answers) < 2 else answers[:2]
    table = found.tables[0]
    choices = [found.choice(0, tuple(changed.items())) for changed in pair]
    if table.labels(choices[0]) != table.labels(choices[1]):
        return ()
    values = [table.counted(choice) for choice in choices]
    gap = np.abs(np.nan_to_num(values[0], nan=-1.0) - np.nan_to_num(values[1], nan=-1.0))
    order = np.argsort(-gap, kind="stable")[:_MOST_EXAMPLES]
    return tuple(
        Example(
            str(table.join.labels[at]),
            (float(values[0][at]), float(values[1][at])),
            table.listed(int(at)),
        )
        for at in order
        if gap[at] > 1e-12
    )


def _of_packages(found: Causes) -> dict[Cause, list[str]]:
    """Return the packages by their conventions of all measures."""
    packages: dict[Cause, list[str]] = {}
    for name in presets.PACKAGES:
        of_tables = [package_choices(table, name) for table in found.tables]
        if all(of_tables):
            for chosen in zip(*of_tables, strict=False):
                cause: dict[str, Any] = {}
                for table, choice in zip(found.tables, chosen, strict=True):
                    cause |= changes(choice, table.defaults)
                packages.setdefault(tuple(cause.items()), []).append(name)
    return packages


def package_choices(table: ValueTable, like: str) -> list[dict[str, Any]]:
    """Return the conventions of a package, with both extreme orders of ties if it leaves them open.

    The list is empty if the package lacks the measure.
    """
    preset = presets.get(like)
    try:
        rules = preset.rules(table.measure)
        options = dict(preset.measure(table.measure).options)
    except ArgumentError:
        return []
    orders = [rules["ties"]] if "ties" in rules else ["worst", "best"]
    rules = {**rules, "missing": "zero" if rules["missing"] == "error" else rules["missing"]}
    if table.defaults["min_relevance"] is None and rules["low_grades"] == "keep":
        del rules["low_grades"]  # the default
    return [as_choice({**rules, **options, "ties": ties}, table.defaults) for ties in orders]
