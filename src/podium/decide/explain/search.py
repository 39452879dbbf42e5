"""The search of the causes of numbers, from the most probable ones to others, and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from podium.decide.explain.causes import (
    Candidates,
    Joint,
    causes_of,
    grouped,
    joints,
    of_packages,
    unsearched,
)
from podium.decide.explain.deviation import REGISTRY
from podium.decide.explain.numbers import Number
from podium.decide.explain.table import DEVIATION, READING, Cause, ValueTable
from podium.metrics import Measure
from podium.protocol import Protocol


@dataclass(frozen=True)
class Match:
    """An answer: causes that give the numbers.

    Attributes
    ----------
    value : float
        The mean of the first measure over users.
    changes : tuple of dict
        The differences from the defaults: conventions, a deviation and a reading. If several causes
        have this value, to 12 digits, each is a dictionary, the most probable one first.
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
        The probability that a cause that isn't searched gives the numbers by chance, if the only
        alternative is this answer.
    share : float
        The probability of this answer among all that fit, and of causes that aren't searched.
    sentence, remedy : str
        The words of the deviations of a cause, and what to do instead; empty without one.
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
        The number of causes that were searched, of all measures.
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
    deciding: Mapping[str, tuple[float, ...]]
    examples: tuple[Example, ...]


_LEAST_ODDS = 2e-4
_LEAST_ODDS_IF_NONE_FITS = 2e-5
_MOST_VALUES = 10_000_000  # users times causes of a search that goes on
_SURE = 0.9  # the share from which an answer is determined
_MOST_REPORTED = 50
_MOST_EQUAL = 10
_MOST_COMPARED = 4  # answers that a further measure should separate
_MOST_EXAMPLES = 3
_DECIDING = ("recall", "precision", "hit_rate", "rr", "ap", "ndcg")


def search(tables: Sequence[ValueTable], numbers: Sequence[Number], given: Protocol) -> Search:
    """Search the causes that give numbers.

    Parameters
    ----------
    tables : sequence of ValueTable
        The measure of each number.
    numbers : sequence of Number
    given : Protocol
        The protocol of podium's value.
    """
    candidates = [Candidates(*pair) for pair in zip(tables, numbers, strict=True)]
    answers: list[list[Joint]] = []
    for least in (_LEAST_ODDS, _LEAST_ODDS_IF_NONE_FITS):
        if not answers:
            _search_to(candidates, least)
            every = [*of_packages(candidates), *joints(candidates)]
            answers = list(grouped(every, candidates).values())
    rest = unsearched(candidates) if answers else 0.0
    total = rest + sum(causes[0].odds for causes in answers)
    matches = [_match(c, candidates, given, (rest, total)) for c in answers[:_MOST_REPORTED]]
    is_determined = bool(matches) and matches[0].share >= _SURE
    first = [causes[0].parts[0] for causes in answers[:_MOST_COMPARED]]
    defaults = [one.mean(()) for one in candidates]
    names = [one.name for one in candidates]
    return Search(
        names[0],
        numbers[0].text,
        defaults[0],
        {name: number.text for name, number in zip(names, numbers, strict=True)},
        dict(zip(names, defaults, strict=True)),
        tuple(matches),
        is_determined,
        len(answers) - len(matches),
        _nearest(candidates[0], given),
        sum(len(one.causes) for one in candidates),
        {} if is_determined else _deciding(tables[0], first),
        _examples(tables[0], first, is_determined),
    )


def _search_to(candidates: Sequence[Candidates], least: float) -> None:
    """Search the causes of all measures down to some odds; fewer of large data."""
    for one in candidates:
        most = _MOST_VALUES // one.table.tables.usual.join.labels.size
        causes = list(causes_of(one.changes, least))
        if least == _LEAST_ODDS or len(causes) <= most:
            one.search(causes)


def _match(
    causes: Sequence[Joint],
    candidates: Sequence[Candidates],
    given: Protocol,
    odds: tuple[float, float],
) -> Match:
    """Return an answer, given the odds of a cause that isn't searched, and those of all causes."""
    table, simplest = candidates[0].table, _simplest(causes)[:_MOST_EQUAL]
    best = simplest[0]
    named = [joint.named(candidates) for joint in simplest]
    protocols = [table.protocol(given, dict(joint.parts[0])) for joint in simplest]
    deviations = [REGISTRY[v] for name, v in best.changes if name in (DEVIATION, READING)]
    packages = (*(joint.packages for joint in causes), *(rule.packages for rule in deviations))
    pairs = zip(candidates, best.parts, strict=True)
    values = {one.name: one.mean(cause) for one, cause in pairs}
    return Match(
        next(iter(values.values())),
        tuple(named),
        tuple(dict.fromkeys(chain.from_iterable(packages))),
        tuple(given.changes_to(protocol) for protocol in protocols),
        protocols[0].as_json(),
        values,
        odds[0] / (odds[0] + causes[0].odds),
        causes[0].odds / odds[1],
        " ".join(rule.sentence for rule in deviations),
        " ".join(rule.remedy for rule in deviations),
    )


def _simplest(causes: Sequence[Joint]) -> list[Joint]:
    """Return the causes without those that contain all changes of another one."""
    sets = [set(joint.changes) for joint in causes]
    pairs = zip(causes, sets, strict=True)
    return [joint for joint, changes in pairs if not any(less < changes for less in sets)]


def _nearest(candidates: Candidates, given: Protocol) -> Match:
    """Return the cause with the nearest mean."""
    gap = np.abs(candidates.means - candidates.number.target)
    at = int(np.nanargmin(gap)) if np.isfinite(gap).any() else 0
    return _match([Joint((candidates.causes[at],), 0.0)], [candidates], given, (1.0, 1.0))


def _deciding(table: ValueTable, answers: Sequence[Cause]) -> dict[str, tuple[float, ...]]:
    """Return the measure that separates most of some answers, with its values."""
    best: dict[str, tuple[float, ...]] = {}
    most = 1
    for name in _DECIDING if len(answers) > 1 else ():
        if name == table.measure.name or (name == "precision" and table.measure.k is None):
            continue
        other = table.of_measure(Measure(name, table.measure.k))
        values = tuple(other.mean(other.choice(cause)) for cause in answers)
        n_distinct = len({f"{value:.4f}" for value in values})
        if n_distinct > most:
            best, most = {str(other.measure): values}, n_distinct
    return best


def _examples(
    table: ValueTable, answers: Sequence[Cause], is_determined: bool
) -> tuple[Example, ...]:
    """Return users on whom the first answer and podium's value, or two answers, differ."""
    if not answers:
        return ()
    pair = [(), answers[0]] if is_determined or len(answers) < 2 else answers[:2]
    choices = [table.choice(cause) for cause in pair]
    if table.labels(choices[0]) != table.labels(choices[1]):
        return ()
    values = [table.counted(choice) for choice in choices]
    gap = np.abs(np.nan_to_num(values[0], nan=-1.0) - np.nan_to_num(values[1], nan=-1.0))
    lists = table.tables.usual
    return tuple(
        Example(
            str(lists.join.labels[at]),
            (float(values[0][at]), float(values[1][at])),
            lists.listed(int(at), table.measure.k),
        )
        for at in np.argsort(-gap, kind="stable")[:_MOST_EXAMPLES]
        if gap[at] > 1e-12
    )
