"""The search of the causes of numbers, from the most probable ones to others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from podium.decide.explain.answers import Example, Match, Search
from podium.decide.explain.causes import Candidates, causes_of
from podium.decide.explain.deviation import REGISTRY
from podium.decide.explain.grid import separated_by
from podium.decide.explain.joint import Joint, grouped, joints, of_packages, unsearched
from podium.decide.explain.numbers import Number
from podium.decide.explain.table import DEVIATION, READING, Cause, ValueTable
from podium.metrics import Measure
from podium.protocol import Protocol

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
        _without_effect(candidates),
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


def _without_effect(candidates: Sequence[Candidates]) -> dict[str, str]:
    """Return the conventions that change no mean, with the data that would show one."""
    names = {axis.name for one in candidates for axis in one.table.conventions}
    without = sorted(names.difference(*(one.effective() for one in candidates)))
    return {name: separated_by(name) for name in without}


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
