"""The claims of `podium.gate`, by brute force from docs/ship.md."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from podium.testing.pairs import figures
from podium.testing.pairs.brute import Measured, of_all_runs, places, ranges, values_of
from podium.testing.pairs.cases import Case
from podium.testing.pairs.figures import Facts
from podium.testing.pairs.lists import Draws, Refused, lists_of, scores_of
from podium.testing.pairs.refused import refuse_pairs


def gated(case: Case, draws: Draws) -> Facts:
    """Return the facts of the claims of `podium.gate`: the first measure is the primary one."""
    refuse_pairs(case, "gate")
    person = {str(u): row[1] for u, row in case.tables.users.items()}
    clusters = person if case["cluster"] else None
    measures = [
        tuple(values_of(case, text, run, "ab", draws, clusters) for run in "ab")
        for text in case.measures
    ]
    first = of_all_runs(case, measures[0][0])
    weight = {str(u): row[2] for u, row in case.tables.users.items()}
    if case["weight"] and not any(weight[user] for user in first.users):
        raise Refused("weight: no user has one above 0")
    all_places = [(place, users) for place, users in places(case, first) if users or not place]
    n_claims = sum(m.measure.metric.is_mean for m, _ in measures) * (len(all_places) - 1)
    level = case["level"] or 0.95
    facts: Facts = {}
    is_equal = all(same_lists(case, *pair) for pair in measures)
    for number, (a, b) in enumerate(measures):
        limit = (case["margin"] or 0.0) if number == 0 else GUARD
        sign = 1 if a.measure.metric.higher_is_better else -1
        limit = -sign * limit
        for place, users in all_places if a.measure.metric.is_mean else all_places[:1]:
            of_place = 1 - (1 - level) / max(n_claims, 1) if place else level
            claim = _claim(case, (a, b), users, place, of_place, limit)
            if is_equal and claim["n_users", a.text, "claim", place]:
                equal = {"low": 0.0, "high": 0.0, "verdict": "equal"}
                claim |= {(name, a.text, "claim", place): v for name, v in equal.items()}
            facts |= claim
    return facts


def same_lists(case: Case, a: Measured, b: Measured) -> bool:
    """Return whether both runs list the same items, with the same ties, to the depth that is read.

    The depth is k, 2k - 1 for pap, and otherwise that of the whole lists. Runs that have lists of
    other users are not the same. With unretrieved=drop, items below `score_above` decide which
    relevant items count, and so belong to a list.
    """
    in_a, in_b = (scores_of(case.tables, run, a.rules) for run in "ab")
    if any((user in in_a) != (user in in_b) for user in case.tables.judged()):
        return False
    reads_whole = a.measure.name == "pauc" or a.rules["unretrieved"] == "drop"
    if a.rules["unretrieved"] == "drop":
        every = {**a.rules, "score_above": None}
        a, b = (
            replace(m, lists=lists_of(case.tables, run, every))
            for m, run in zip((a, b), "ab", strict=True)
        )
    k = None if reads_whole else a.measure.k
    depth = 2 * k - 1 if k and a.measure.name == "pap" else k
    return all(_blocks(case, a, u, depth) == _blocks(case, b, u, depth) for u in a.users)


def _blocks(case: Case, m: Measured, user: str, depth: int | None) -> list[frozenset[str]]:
    """Return the items of equal scores, best first, as far as a measure reads them."""
    entries = sorted(m.lists[user].entries, key=lambda e: e.score, reverse=True)
    blocks = [
        frozenset(e.item for e in block)
        for _, block in itertools.groupby(entries, key=lambda e: e.score)
    ]
    n_above = [sum(map(len, blocks[:i])) for i in range(len(blocks))]
    return [block for block, n in zip(blocks, n_above, strict=True) if depth is None or n < depth]


GUARD = 0.1
"""The loss that a guard of the law accepts."""


def _claim(
    case: Case,
    pair: tuple[Measured, Measured],
    users: Sequence[str],
    place: str,
    level: float,
    limit: float,
) -> Facts:
    a = pair[0]
    metric, rule = a.measure.metric, a.rules["undefined"]
    rows = {u: tuple(figures.filled(m.values[u], rule) for m in pair) for u in users}
    table = {str(u): row for u, row in case.tables.users.items()}
    has_weight = case["weight"] is not None and metric.is_mean
    weight = {u: table[u][2] if has_weight else 1.0 for u in users}
    cluster = {u: table[u][1] if case["cluster"] else u for u in users}
    both = [u for u in users if not math.isnan(sum(rows[u]))]
    columns = [weight[u] for u in users], [cluster[u] for u in users]
    differences = [_rounded(rows[u][1] - rows[u][0]) for u in users]
    centre, error, n = figures.clustered(differences, *columns)
    width = metric.bounds[1] - metric.bounds[0]
    is_wide = metric.is_mean and math.isfinite(width)
    widened = math.hypot(error, width / n) if is_wide and n else error
    ends = width if metric.is_mean else math.inf
    low, high = figures.cut(*figures.t_interval(centre, widened, n, level), (-ends, ends))
    # The coverage and the gini of a run do not depend on the other run.
    counted = both if metric.is_mean else users
    shares = [weight[u] for u in counted]
    result = {
        "base": figures.clustered([rows[u][0] for u in counted], shares, counted)[0],
        "candidate": figures.clustered([rows[u][1] for u in counted], shares, counted)[0],
        "difference": centre,
        "std_error": error,
        "low": low,
        "high": high,
        "level": level,
        "limit": limit + 0.0,
        "n_users": sum(weight[u] > 0 for u in both),
        "n_undefined": len(users) - len(both),
        "verdict": verdict(low, high, limit, metric.higher_is_better),
    }
    facts: Facts = {(name, a.text, "claim", place): value for name, value in result.items()}
    return facts | ranges(case, pair, users, "claim", place, weight)


def _rounded(difference: float) -> float:
    return 0.0 if abs(difference) <= figures.ROUNDING else difference


def verdict(low: float, high: float, limit: float, higher_is_better: bool) -> str:
    """Return what an interval of the difference allows, given the limit."""
    if not higher_is_better:
        low, high, limit = -high, -low, -limit
    near = figures.ROUNDING
    if low > limit + near:
        return "superior" if low > near else "non-inferior"
    return "inferior" if high < limit - near else "cannot tell"
