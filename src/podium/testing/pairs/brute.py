"""The numbers of each door, by brute force from the definitions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from podium.testing.pairs import figures, shown
from podium.testing.pairs.cases import Case
from podium.testing.pairs.figures import Facts
from podium.testing.pairs.formulas import NAN, List, Measure, parse
from podium.testing.pairs.lists import (
    Draws,
    Refused,
    judgements,
    lists_of,
    refuse_open_ties,
    value_of,
)
from podium.testing.pairs.refused import refuse_pairs, refuse_undefined, resolved


@dataclass(frozen=True)
class Measured:
    """A measure of one run, for the users that count.

    Attributes
    ----------
    measure : Measure
    rules : dict
        The conventions.
    values : dict of user to float
    lists : dict of user to List
        The lists before equal scores are ordered.
    draws : dict of user to sequence of item
        The order of equal scores under ties=random.
    """

    measure: Measure
    rules: Mapping[str, Any]
    values: Mapping[str, float]
    lists: Mapping[str, List]
    draws: Draws

    @property
    def users(self) -> list[str]:
        return [*self.values]

    @property
    def text(self) -> str:
        return self.measure.text

    def of(self, users: Sequence[str]) -> list[float]:
        """Return the values of some users."""
        return [self.values[user] for user in users]


def values_of(
    case: Case,
    text: str,
    run: str,
    runs: Sequence[str],
    draws: Draws,
    clusters: Mapping[str, Any] | None = None,
) -> Measured:
    """Return the values of a measure of one run.

    Raises
    ------
    Refused
        If the documents refuse it.
    """
    measure, rules = resolved(text, case.options)
    lists = lists_of(case.tables, run, rules)
    users = [*lists]
    refuse_open_ties(lists, rules)
    if rules["missing"] == "skip":  # users whom any of the runs lacks are left out
        for other in runs:
            users = [u for u in users if u in lists_of(case.tables, other, rules)]
    if measure.metric.reads != "relevance":
        values = shown.values_of(
            case.tables, run, measure, users, runs=runs, rules=rules, clusters=clusters, draws=draws
        )
        of_user = dict(zip(users, values, strict=True))
        refuse_undefined(values, rules["undefined"])
        return Measured(measure, rules, of_user, lists, draws)
    _refuse_grades(measure, lists.values())
    if any(measure.is_unsettled(one) for one in lists.values()):
        raise Refused("a list does not determine the value")
    of_all = {
        u: value_of(measure, one, rules["ties"], draws.get(u, ())) for u, one in lists.items()
    }
    refuse_undefined([*of_all.values()], rules["undefined"])
    return Measured(measure, rules, {u: of_all[u] for u in users}, lists, draws)


def _refuse_grades(measure: Measure, lists: Any) -> None:
    highest = max((one.grades[0] for one in lists if one.grades), default=0.0)
    if measure.name == "err" and highest > measure.options["max_grade"]:
        raise Refused("err: a relevance is above max_grade")


def measured(case: Case, draws: Draws, run: str = "a") -> Facts:
    """Return the facts of `podium.measure`."""
    refuse_pairs(case, "measure")
    facts: Facts = {}
    first: Measured | None = None
    for text in case.measures:
        m = values_of(case, text, run, [run], draws)
        first = first or m
        facts |= _values(m, run) | _bounds(case, m, run)
        facts |= _summaries(case, m, of_all_runs(case, first), run)
        facts |= _pooled(case, m, run)
    if first is not None:
        facts |= {("n_pos", "", run, u): first.lists[u].n_pos for u in first.users}
    return facts


def _values(m: Measured, run: str) -> Facts:
    if not m.measure.metric.is_mean:
        return {}
    return {("value", m.text, run, user): value for user, value in m.values.items()}


def _summaries(case: Case, m: Measured, first: Measured, run: str) -> Facts:
    facts: Facts = {}
    for place, users in places(case, first, has_segments=m.measure.metric.is_mean):
        result = figures.summary(
            m.of(users),
            m.rules["undefined"],
            level=case["level"] or 0.95,
            interval=(case["interval"] or "t") if m.measure.metric.is_mean else "t",
            bounds=m.measure.metric.bounds,
        )
        facts |= {(name, m.text, run, place): value for name, value in result.items()}
    return facts


def _pooled(case: Case, m: Measured, run: str) -> Facts:
    divisor: Any = m.measure.metric.divisor
    if divisor is None:
        return {}
    weights = [divisor(m.lists[u], k=m.measure.k, **m.measure.options) for u in m.users]
    result = figures.pooled(m.of(m.users), weights, case["level"] or 0.95, m.measure.metric.bounds)
    return {(name, m.text, run, ""): value for name, value in result.items()}


def places(
    case: Case, first: Measured, *, has_segments: bool = True
) -> Iterator[tuple[str, list[str]]]:
    """Yield all users, then the users of each segment."""
    yield "", first.users
    n_pos = {user: first.lists[user].n_pos for user in first.users}
    country = {str(user): row[0] for user, row in case.tables.users.items()}
    for by in (case["by"] or ()) if has_segments else ():
        if by == "engagement":
            k = _engagement(case)
            yield f"n_pos <= {k}", [user for user, n in n_pos.items() if n <= k]
            yield f"n_pos > {k}", [user for user, n in n_pos.items() if n > k]
        elif by == "n_pos":
            for low, high in _quarters([*n_pos.values()]):
                name = f"n_pos {low}" if low == high else f"n_pos {low}-{high}"
                yield name, [user for user, n in n_pos.items() if low <= n <= high]
        else:
            names = {user: country.get(user, "unknown") for user in first.users}
            for name in sorted({*names.values()}):
                yield name, [user for user in first.users if names[user] == name]


def _engagement(case: Case) -> int:
    """Return the cutoff of pap if it is measured, otherwise that of the first with a cutoff."""
    cutoffs = [(m.name != "pap", m.k) for m in map(parse, case.measures) if m.k is not None]
    return min(cutoffs, key=lambda c: c[0])[1]


def _quarters(counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the ends of the quarters of users with positives by their number."""
    ordered = sorted(n for n in counts if n > 0)
    ends = [ordered[math.ceil(len(ordered) * q / 4) - 1] for q in (1, 2, 3, 4)] if ordered else []
    low = 1
    for high in dict.fromkeys(ends):
        yield low, high
        low = high + 1


def levels_of(case: Case) -> list[float]:
    """Return the grades that a judgement can give."""
    return sorted({r for grades in case.tables.judged().values() for r in grades.values() if r > 0})


def _bounds(case: Case, m: Measured, run: str) -> Facts:
    """Return the lowest and highest value of each user over all judgements, and the means."""
    if m.rules["unjudged"] != "bounds" or m.measure.metric.reads != "relevance":
        return {}
    ends = {user: _range(case, [m], user) for user in m.users}
    facts: Facts = {}
    for end, name in enumerate(("lowest", "highest")):
        column = [figures.filled(ends[u][end], m.rules["undefined"]) for u in m.users]
        facts |= {(f"{name} value", m.text, run, u): ends[u][end] for u in m.users}
        facts[f"{name} mean", m.text, run, ""] = figures.mean(figures.defined(column))
    return facts


def _range(case: Case, runs: Sequence[Measured], user: str) -> tuple[float, float]:
    """Return the range of the value, or of the difference of two runs, over all judgements."""
    if any(math.isnan(m.values[user]) for m in runs):
        return NAN, NAN
    rules, draw = runs[0].rules, runs[0].draws.get(user, ())
    outcomes: list[float] = []
    for lists in judgements([m.lists[user] for m in runs], levels_of(case), rules):
        values = [
            value_of(m.measure, one, rules["ties"], draw)
            for m, one in zip(runs, lists, strict=True)
        ]
        outcomes.append(values[-1] - (values[0] if len(values) > 1 else 0.0))
    return min(outcomes), max(outcomes)


def compared(case: Case, draws: Draws) -> Facts:
    """Return the facts of `podium.compare`."""
    refuse_pairs(case, "compare")
    runs = ["a", "b", "c"] if case["pairs"] == "all" else ["a", "b"]
    facts: Facts = {}
    p_values: dict[Any, float] = {}
    first: Measured | None = None
    for text in case.measures:
        by_run = {run: values_of(case, text, run, runs, draws) for run in runs}
        first = first or of_all_runs(case, by_run["a"])
        for run, m in by_run.items():
            facts |= _values(m, run) | _summaries(case, m, first, run)
        for i, run in enumerate(runs):
            for base in runs[:i] if case["pairs"] == "all" else runs[:1] if i else ():
                facts |= _differences(case, by_run[base], by_run[run], first, (base, run), p_values)
    adjusted = figures.holm(p_values)
    return facts | {("holm_p_value", *key): p for key, p in adjusted.items()}


def of_all_runs(case: Case, m: Measured) -> Measured:
    """Return the lists that divide users into segments: the positives of the truth, of any run."""
    counted = {**m.rules, "unretrieved": "count", "missing": "zero", "n_items": None}
    return replace(m, lists=lists_of(case.tables, "a", counted))


def _differences(
    case: Case,
    a: Measured,
    b: Measured,
    first: Measured,
    names: tuple[str, str],
    p_values: dict[Any, float],
) -> Facts:
    facts: Facts = {}
    metric, pair = a.measure.metric, f"{names[1]} - {names[0]}"
    for place, users in places(case, first, has_segments=metric.is_mean):
        test = figures.paired(
            a.of(users),
            b.of(users),
            undefined=a.rules["undefined"],
            level=case["level"] or 0.95,
            bounds=metric.bounds,
            is_mean=metric.is_mean,
            higher_is_better=metric.higher_is_better,
        )
        p_values[a.text, pair, place] = test.get("randomisation_p_value", test["t_p_value"])
        facts |= {(name, a.text, pair, place): value for name, value in test.items()}
        facts |= ranges(case, (a, b), users, pair, place)
    return facts


def ranges(
    case: Case,
    runs: tuple[Measured, Measured],
    users: Sequence[str],
    pair: str,
    place: str,
    weight: Mapping[str, float] | None = None,
) -> Facts:
    """Return the range of the mean difference over all judgements."""
    m = runs[0]
    if m.rules["unjudged"] != "bounds" or m.measure.metric.reads != "relevance":
        return {}
    skips = m.rules["undefined"] in ("skip", "error")
    ends = {user: _range(case, runs, user) for user in users}
    used = [u for u in users if not (skips and math.isnan(ends[u][0]))]
    share = weight or dict.fromkeys(users, 1.0)
    total = math.fsum(share[u] for u in used)
    facts: Facts = {}
    for end, name in enumerate(("unjudged low", "unjudged high")):
        terms = [share[u] * figures.filled(ends[u][end], "zero") for u in used]
        facts[name, m.text, pair, place] = math.fsum(terms) / total if total else NAN
    return facts
