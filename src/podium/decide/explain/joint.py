"""Causes of several numbers of one program, and how probable each is.

The causes of each number must agree. A change of all measures that can have it counts once; a
change of one measure alone is less probable where a program reads lists and takes means for all of
its measures. The rest is Bayes' rule: an answer is as probable as its causes were beforehand, next
to all other answers, and to a cause that isn't searched and gives the digits by chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from math import prod
from typing import Any

from podium import presets
from podium.decide.explain.causes import Candidates, odds_of
from podium.decide.explain.deviation import REGISTRY
from podium.decide.explain.table import (
    DEVIATION,
    READING,
    Cause,
    Change,
    ValueTable,
    as_choice,
    changes,
)
from podium.errors import ArgumentError

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
