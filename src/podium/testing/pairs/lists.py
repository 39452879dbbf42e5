"""The lists of a run under conventions, as docs/conventions.md defines them."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from podium.testing.pairs.cases import Tables
from podium.testing.pairs.formulas import NAN, Entry, List, Measure, ap_of, pair_share

DEFAULTS: dict[str, Any] = {
    "ties": "worst",
    "min_relevance": None,
    "low_grades": None,
    "missing": "error",
    "unjudged": "negative",
    "unretrieved": "count",
    "single_precision": False,
    "score_above": None,
    "n_items": None,
    "undefined": "skip",
}
"""The conventions of lists and users, with podium's defaults."""

Draws = Mapping[str, Sequence[str]]
"""The order in which ties=random ranks the items of each user if all scores are equal."""


class Refused(Exception):  # noqa: N818 - it is an answer, not a failure
    """The documents say that these options or data are refused; the text is the reason."""


def grade_of(relevance: float, rules: Mapping[str, Any]) -> float:
    """Return the grade of a relevance: below a threshold that is passed it counts as 0."""
    least = rules["min_relevance"]
    default = "keep" if least is None else "zero"
    is_low = relevance < (least or 1.0)
    return 0.0 if is_low and (rules["low_grades"] or default) == "zero" else relevance


def scores_of(tables: Tables, name: str, rules: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the scores of each user's items; ranks and large integers keep their exact order."""
    scores: dict[str, dict[str, Any]] = {}
    for user, item, score in tables.runs[name]:
        if tables.scores == "rank":
            score = -score
        elif rules["single_precision"] and not tables.is_order:
            score = struct.unpack("f", struct.pack("f", score))[0]
        scores.setdefault(str(user), {})[str(item)] = score
    return scores


def lists_of(tables: Tables, name: str, rules: Mapping[str, Any]) -> dict[str, List]:
    """Return the list of each user of the truth, in no particular order of equal scores.

    Raises
    ------
    Refused
        If the conventions refuse the data.
    """
    truth = tables.judged()
    run = scores_of(tables, name, rules)
    missing = [user for user in truth if user not in run]
    if missing and rules["missing"] == "error":
        raise Refused("missing=error: the run lacks users")
    users = [user for user in truth if user in run or rules["missing"] == "zero"]
    lists = {user: _list(truth[user], run.get(user), rules) for user in users}
    if rules["n_items"] is not None:
        _refuse_many(truth, run, users, rules["n_items"])
        return {user: replace(one, n_items=rules["n_items"]) for user, one in lists.items()}
    least = rules["min_relevance"] or 1.0
    names_negatives = min(r for grades in truth.values() for r in grades.values()) < least
    return _with_lengths(lists, truth, run, rules, names_negatives)


def _list(judged: Mapping[str, float], scores: Mapping[str, Any] | None, rules: Any) -> List:
    """Return the list of one user, whose length is not known yet."""
    least = rules["min_relevance"] or 1.0
    entries = _entries(judged, scores or {}, rules)
    counted = {item: grade_of(r, rules) for item, r in judged.items()}
    n_judged = len(judged)
    if rules["unretrieved"] == "drop" and scores is not None:
        counted = {e.item: e.grade for e in entries}
        n_judged = sum(e.judged for e in entries)
    grades = tuple(sorted((g for g in counted.values() if g > 0), reverse=True))
    above = rules["score_above"]
    retrieved = tuple(e for e in entries if above is None or e.score > above)
    return List(retrieved, grades, None, n_judged, least, absent=scores is None)


def _entries(judged: Mapping[str, float], scores: Mapping[str, Any], rules: Any) -> list[Entry]:
    """Return the items of a list before `score_above`."""
    unjudged = [item for item in scores if item not in judged]
    if unjudged and rules["unjudged"] == "error":
        raise Refused("unjudged=error: the truth lacks items of the run")
    return [
        Entry(item, score, grade_of(judged.get(item, 0.0), rules), item in judged)
        for item, score in scores.items()
        if item in judged or rules["unjudged"] != "skip"
    ]


def _refuse_many(truth: Any, run: Any, users: Sequence[str], total: int) -> None:
    for user in users:
        if len({*truth[user], *run.get(user, ())}) > total:
            raise Refused("n_items is less than the items of a user")


def _with_lengths(
    lists: dict[str, List], truth: Any, run: Any, rules: Any, names_negatives: bool
) -> dict[str, List]:
    """Return the lists with their n_items: that of a whole list, or None."""
    items = {
        user: {e.item for e in _entries(truth[user], run.get(user, {}), rules)} for user in lists
    }
    if rules["unretrieved"] == "drop":
        return {
            user: one if one.absent else replace(one, n_items=len(items[user]))
            for user, one in lists.items()
        }
    is_whole = {
        user: names_negatives and items[user] == set(truth[user])
        for user, one in lists.items()
        if not one.absent
    }
    are_all = all(is_whole.values())  # then an absent list is one of a whole list too
    return {
        user: replace(one, n_items=len(truth[user])) if is_whole.get(user, are_all) else one
        for user, one in lists.items()
    }


def refuse_open_ties(lists: Mapping[str, List], rules: Mapping[str, Any]) -> None:
    """Refuse bounds where judgements would change the order of equal scores."""
    if rules["unjudged"] != "bounds" or rules["ties"] in ("id", "random"):
        return
    for one in lists.values():
        scores = [e.score for e in one.entries]
        if any(not e.judged and scores.count(e.score) > 1 for e in one.entries):
            raise Refused("unjudged=bounds: an unjudged item has the score of another item")


def value_of(measure: Measure, one: List, ties: str, draw: Sequence[str]) -> float:
    """Return the value of a list under a rule for equal scores."""
    if one.absent or measure.never_defined(one):
        return measure.value(one)
    by_score = sorted(one.entries, key=lambda e: e.score, reverse=True)
    if ties == "threshold":
        last = [sum(f.score >= e.score for f in by_score) for e in by_score]
        return ap_of(last, one.ordered(by_score), k=measure.k, norm=measure.options["norm"])
    if ties == "average" and measure.metric.average == "pairs":
        return pair_share(measure, one.ordered(by_score), [-e.score for e in by_score])
    values = [measure.value(one.ordered(order)) for order in orders(by_score, ties, draw)]
    return NAN if any(math.isnan(v) for v in values) else math.fsum(values) / len(values)


def orders(entries: Sequence[Entry], ties: str, draw: Sequence[str]) -> Iterator[list[Entry]]:
    """Yield the orders that a rule allows: all of them for "average", otherwise one."""
    blocks = [[*block] for _, block in itertools.groupby(entries, key=lambda e: e.score)]
    if ties == "average":
        for chosen in itertools.product(*map(_arrangements, blocks)):
            yield [*itertools.chain(*chosen)]
        return

    def place(entry: Entry) -> Any:
        if ties == "random":
            return draw.index(entry.item)
        return entry.item if ties == "id" else (entry.grade, entry.judged)

    falls = ties in ("best", "id")
    yield [e for block in blocks for e in sorted(block, key=place, reverse=falls)]


def _arrangements(block: Sequence[Entry]) -> list[tuple[Entry, ...]]:
    """Return the orders of a tie that differ in grades; each arises equally often."""
    if len({e.grade for e in block}) == 1:
        return [tuple(block)]
    distinct = {tuple(e.grade for e in order): order for order in itertools.permutations(block)}
    return [*distinct.values()]


def judgements(lists: Sequence[List], levels: Sequence[float], rules: Any) -> Iterator[list[List]]:
    """Yield the lists of one user under all judgements of their unjudged items."""
    items = sorted({e.item for one in lists for e in one.entries if not e.judged})
    for chosen in itertools.product((0.0, *levels), repeat=len(items)):
        grade = {i: grade_of(level, rules) for i, level in zip(items, chosen, strict=True)}
        gained = [g for g in grade.values() if g > 0]
        yield [_judged_list(one, grade, gained) for one in lists]


def _judged_list(one: List, grade: Mapping[str, float], gained: Sequence[float]) -> List:
    entries = tuple(
        replace(e, grade=grade[e.item], judged=True) if e.item in grade else e for e in one.entries
    )
    grades = tuple(sorted((*one.grades, *gained), reverse=True))
    return replace(one, entries=entries, grades=grades)
