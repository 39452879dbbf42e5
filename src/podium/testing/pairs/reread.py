"""The numbers of doors that read the tables a second time: explain, audit, and a report's data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from podium.testing.pairs import brute, figures, shown
from podium.testing.pairs.brute import Measured, values_of
from podium.testing.pairs.cases import Case
from podium.testing.pairs.figures import Facts
from podium.testing.pairs.formulas import parse
from podium.testing.pairs.lists import Draws, Refused, orders, scores_of
from podium.testing.pairs.refused import refuse_pairs, resolved

EXPLAINED: Mapping[str, tuple[Any, ...]] = {
    "ties": (None, "best", "id", "average", "threshold"),
    "min_relevance": (None, 2.0, 0.5),
    "low_grades": (None, "keep"),
    "missing": (None, "zero", "skip"),
    "unjudged": (None, "skip"),
    "unretrieved": (None, "drop"),
    "single_precision": (None, True),
    "score_above": (None, 0.0),
    "undefined": (None, "zero", "one"),
    "n_items": (None,),
}
"""The values that explain searches."""

LISTED = 10  # ranks that a report shows


def is_explained(case: Case) -> bool:
    """Return whether explain searches the options of a case, for one measure of relevance."""
    measure = parse(case.measures[0])
    options = {n: v for n, v in case.options.items() if n in EXPLAINED or n == "like"}
    return measure.metric.reads == "relevance" and all(
        value in EXPLAINED.get(name, (None, value)) for name, value in options.items()
    )


def with_lists(case: Case) -> Case:
    """Return a case with missing=zero where users are missing: explain and audit count them."""
    options = dict(case.options)
    options.setdefault("missing", "zero")
    return case.replace(options=options)


def explained(case: Case, draws: Draws) -> Facts:
    """Return the mean of the first measure, which explain must find."""
    text = case.measures[0]
    options = {n: v for n, v in case.options.items() if n in (*EXPLAINED, "like")}
    narrowed = case.replace(measures=(text,), options=options)
    _refuse_default(narrowed, draws)
    try:
        refuse_pairs(narrowed, "measure")
        m = values_of(narrowed, text, "a", ["a"], draws)
    except Refused:
        if case["like"] or case["missing"]:
            raise
        return explained(with_lists(case), draws)
    column = [figures.filled(v, m.rules["undefined"]) for v in m.of(m.users)]
    return {("explained", text, "a", ""): figures.mean(figures.defined(column))}


def options_of_explain(case: Case) -> dict[str, Any]:
    """Return the options for explain: all, the threshold, or less than the value has."""
    thresholds = {n: v for n, v in case.options.items() if n in ("min_relevance", "low_grades")}
    highest = max(relevance for *_, relevance in case.tables.truth)
    is_found = highest >= thresholds.get(
        "min_relevance", 1.0
    )  # only grades of the truth are searched
    if case["like"] or case.number % 8 == 0 or not is_found:
        return thresholds
    if case.number % 8 == 2:  # podium's value has all conventions, and needs no change
        return {n: v for n, v in case.options.items() if n in EXPLAINED}
    return {} if thresholds else {"min_relevance": 2.0}


def _refuse_default(case: Case, draws: Draws) -> None:
    """Raise if podium's own value, from which explain starts, is refused."""
    default = case.replace(options={**options_of_explain(case), "missing": "zero"})
    refuse_pairs(default, "measure")
    values_of(default, case.measures[0], "a", ["a"], draws)


def audited(case: Case, draws: Draws) -> Facts:
    """Return the means with and without the faults of users and of the order of equal scores."""
    text = case.measures[0]
    passed = {"min_relevance": case["min_relevance"], "low_grades": case["low_grades"]}
    facts: Facts = {}
    means = {
        ("with", "all findings"): {},
        ("without", "users-without-positives"): {},
        ("with", "missing-users"): {"missing": "skip"},
        ("without", "missing-users"): {},
        ("with", "ties"): {"ties": "best"},
        ("without", "ties"): {},
    }
    for (which, check), options in means.items():
        rules = {n: v for n, v in {**passed, "missing": "zero", **options}.items() if v is not None}
        m = values_of(case.replace(measures=(text,), options=rules), text, "a", ["a"], draws)
        column = m.of(m.users)
        if check == "users-without-positives" and which == "without":
            column = [
                0.0 if math.isnan(v) and m.lists[u].n_pos == 0 else v for u, v in m.values.items()
            ]
        facts[which, text, check, ""] = figures.mean(figures.defined(column))
    return facts


def reported(case: Case, draws: Draws) -> Facts:
    """Return the lists of the worst-served users; the means at other cutoffs are `curve_of`."""
    refuse_pairs(case, "measure")
    measured = [values_of(case, text, "a", ["a"], draws) for text in case.measures]
    first = next((m for m in measured if m.measure.metric.is_mean), None)
    return {} if first is None else _listed(case, first, measured[0])


def _listed(case: Case, m: Measured, counts: Measured) -> Facts:
    """Return the top of each list as (score, is positive), and the positives missed."""
    depth = min(m.measure.k or LISTED, LISTED)
    judged = case.tables.judged()
    raw = scores_as_read(case, m.text)
    facts: Facts = {}
    for user in m.users:
        if math.isnan(m.values[user]):
            continue
        items = _items(case, m, user)[:depth]
        positive = {i for i, r in judged[user].items() if r >= m.lists[user].least}
        facts["listed", m.text, user, ""] = tuple((raw[user][i], i in positive) for i in items)
        n_shown = len(positive.intersection(items))
        facts["missed", m.text, user, ""] = m.lists[user].n_pos - n_shown
    return facts


def scores_as_read(case: Case, text: str) -> dict[str, dict[str, Any]]:
    """Return the scores of each user's items under the conventions of a measure."""
    return scores_of(case.tables, "a", resolved(text, case.options)[1])


def _items(case: Case, m: Measured, user: str) -> list[str]:
    if m.measure.metric.reads != "relevance":
        return shown.shown_of(case.tables, "a", [user], LISTED, m.rules, m.draws).get(user, [])
    by_score = sorted(m.lists[user].entries, key=lambda e: e.score, reverse=True)
    ties = m.rules["ties"] if m.rules["ties"] in ("best", "id", "random") else "worst"
    [order] = orders(by_score, ties, m.draws.get(user, ()))
    return [entry.item for entry in order]


def curve_of(case: Case, draws: Draws, text: str, k: int) -> float:
    """Return the mean of a measure at another cutoff.

    Raises
    ------
    Refused
        If it is refused there.
    """
    at_k = f"{text.rpartition('@')[0]}@{k}"
    return brute.measured(case.replace(measures=(at_k,)), draws)["mean", at_k, "a", ""]
