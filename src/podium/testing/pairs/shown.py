"""Measures of the items shown, as docs/conventions.md defines them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium.testing.pairs.cases import Tables
from podium.testing.pairs.figures import mean
from podium.testing.pairs.formulas import NAN, Measure
from podium.testing.pairs.lists import Draws, Refused, scores_of

Shown = dict[str, list[str]]
"""The items that each user is shown, best first."""


def by_value(item: str) -> tuple[int, int, str]:
    """Return the key that sorts ids: 9 before 10, also if they are text."""
    return (0, int(item), "") if item.isdecimal() else (1, 0, item)


def shown_of(
    tables: Tables, name: str, users: Sequence[str], k: int, rules: Any, draws: Draws
) -> Shown:
    """Return the top k of each user who has a list.

    Of equal scores, the lower id comes first, except under ties=random.
    """
    is_drawn = rules["ties"] == "random"
    run = scores_of(tables, name, rules)
    above, judged = rules["score_above"], tables.judged()
    lists = {
        user: {
            i: s
            for i, s in run[user].items()
            if (above is None or s > above) and (i in judged[user] or rules["unjudged"] != "skip")
        }
        for user in users
        if user in run
    }

    def order_of(user: str, item: str) -> Any:
        return draws[user].index(item) if is_drawn else by_value(item)

    return {
        user: sorted(scores, key=lambda i: (-scores[i], order_of(user, i)))[:k]
        for user, scores in lists.items()
    }


def catalogue_of(tables: Tables, names: Sequence[str]) -> set[str]:
    """Return all items of the past interactions and of the compared runs."""
    listed = {str(item) for name in names for _, item, _ in tables.runs[name]}
    return {str(item) for _, item in tables.past} | listed


def _refuse_strangers(tables: Tables, names: Sequence[str]) -> None:
    past = {str(item) for _, item in tables.past}
    for name in names:
        if past.isdisjoint(str(item) for _, item, _ in tables.runs[name]):
            raise Refused("catalogue: it has no item of the run")


def values_of(
    tables: Tables,
    name: str,
    measure: Measure,
    users: Sequence[str],
    *,
    runs: Sequence[str],
    rules: Mapping[str, Any],
    clusters: Mapping[str, Any] | None = None,
    draws: Draws,
) -> list[float]:
    """Return a value per user, whose mean is the measure."""
    if measure.metric.reads == "catalogue":
        _refuse_strangers(tables, runs)
    lists = shown_of(tables, name, users, measure.k or 0, rules, draws)
    if measure.name == "coverage":
        size = len(catalogue_of(tables, runs))
        return _jackknife(lists, users, size, clusters or {u: u for u in users})
    if measure.name == "gini":
        return _gini(lists, users, catalogue_of(tables, runs))
    past = Counter(str(item) for _, item in tables.past)
    if measure.name == "diversity":
        return [_diversity(lists.get(user, []), tables.kinds) for user in users]

    def of_item(item: str) -> float:
        if measure.name == "popularity":
            return past[item]
        return -math.log2((past[item] or 0.5) / past.total())

    return [mean([of_item(item) for item in lists.get(user, [])]) for user in users]


def _diversity(items: Sequence[str], kinds: Mapping[Any, str]) -> float:
    """Return the mean distance of pairs of known items: Jaccard's, of their categories."""
    sets = {str(i): {*text.split("|")} for i, text in kinds.items() if text}
    known = [sets[i] for i in items if i in sets]
    distances = [1 - len(x & y) / len(x | y) for x, y in itertools.combinations(known, 2)]
    return mean(distances)


def _jackknife(
    lists: Shown, users: Sequence[str], size: int, clusters: Mapping[str, Any]
) -> list[float]:
    """Return the pseudo-values of the coverage: what it loses without a user, or a cluster.

    With clusters of equal sizes this is the usual jackknife; the values of a cluster are equal.
    """
    covered = {i for items in lists.values() for i in items}
    groups = {c: [u for u in users if clusters[u] == c] for c in dict.fromkeys(clusters.values())}
    groups = {c: members for c, members in groups.items() if members}
    lost: dict[Any, float] = {}
    for c, members in groups.items():
        others = {i for u, items in lists.items() if u not in members for i in items}
        lost[c] = len(covered - others)
    n_others = {c: len(users) - len(members) for c, members in groups.items()}
    weights = [*n_others.values()] if any(n_others.values()) else [1] * len(groups)
    centre = float(np.average([*lost.values()], weights=weights))
    value = {
        c: (len(covered) + n_others[c] / len(groups[c]) * (lost[c] - centre)) / size for c in groups
    }
    return [value[clusters[u]] for u in users]


def gini_of(counts: Sequence[float]) -> float:
    """Return the Gini coefficient of counts; nan if all are 0."""
    total = sum(counts) * len(counts)
    pairs = sum(abs(x - y) for x, y in itertools.combinations(counts, 2))
    return pairs / total if total else NAN


def _gini(lists: Shown, users: Sequence[str], catalogue: set[str]) -> list[float]:
    """Return the coefficient plus n times its derivative with respect to the user's weight."""
    counts = Counter(i for items in lists.values() for i in items)
    of_all = [counts[i] for i in catalogue]
    coefficient, total, n = gini_of(of_all), sum(of_all), len(catalogue)
    if not total:
        return [NAN] * len(users)
    slope = {i: sum((counts[i] > c) - (counts[i] < c) for c in of_all) for i in counts}
    return [
        coefficient
        + len(users) * sum(slope[i] / n - coefficient for i in lists.get(user, [])) / total
        for user in users
    ]
