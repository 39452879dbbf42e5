"""Checks of the values of runs: what they can't separate. The gate and compare make one too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Floats
from podium.decide.finding import Facts, finding
from podium.evaluation.finding import Finding
from podium.evaluation.open_ties import differs
from podium.metrics import Measure

_SIZE = 0.05  # of a test
_LEAST_USERS = 5  # with fewer users, equal values are chance
_MOST = 0.98  # share of users with the best value, above which runs have no room to differ
_ANY_ORDER = 0.95  # of the way from the worst to the best value, which lists in random order reach
_SINGLE = {"recall": "hit_rate", "ap": "rr", "precision": "hit_rate divided by k"}


def no_difference(
    runs: tuple[str, str], values: Mapping[Measure, tuple[Floats, Floats]]
) -> Iterator[Finding]:
    """Yield measures in which two runs differ for so few users that no test can be significant.

    Parameters
    ----------
    runs : (str, str)
    values : dict of Measure to pair of float64 (n_users,)
        The values of both runs.
    """
    differing = dict[str, int]()
    n_users = 0
    for measure, (first, second) in values.items():
        is_defined = ~(np.isnan(first) | np.isnan(second))
        n_other = int(differs(first[is_defined], second[is_defined]).sum())
        if 2.0 ** (1 - n_other) > _SIZE and is_defined.any():
            differing[str(measure)], n_users = n_other, max(n_users, int(is_defined.sum()))
    for kind in ("none", ""):
        of_kind = {measure: n for measure, n in differing.items() if (n == 0) == (kind == "none")}
        if of_kind:
            most = max(of_kind.values())
            facts: Facts = {"measures": " and ".join(of_kind), "n_other": most, "kind": kind}
            facts |= {"one": runs[0], "other": runs[1], "smallest": 2.0 ** (1 - most)}
            yield finding("no-difference", (n_users - most, n_users), **facts)


def same_as_first(price: Pricing, name: str) -> Finding | None:
    """A run with almost the same values as the first one."""
    first = next(iter(price.tables.runs))
    two = {price.request.measure: (price.base[first], price.base[name])}
    return next(no_difference((first, name), two), None) if name != first else None


def one_value(price: Pricing, name: str) -> Finding | None:
    """A run with one value for all users, or with the best value for almost all."""
    measure, values = price.request.measure, price.base[name]
    values = values[~np.isnan(values)]
    if values.size < _LEAST_USERS:
        return None
    best, worst = (np.full(values.size, m) for m in (measure.metric.best, measure.metric.worst))
    is_best, is_same = ~differs(values, best), ~differs(values, values[:1])
    if not is_same.all() and is_best.mean() < _MOST:
        return None
    is_worst = is_same.all() and not differs(values, worst).any()
    count = values.size if is_same.all() else int(is_best.sum())
    facts: Facts = {"measure": measure, "kind": "worst" if is_worst else ""}
    value = float(values[0] if is_same.all() else measure.metric.best)
    return finding("one-value", (count, values.size), run=name, value=value, **facts)


def any_order(price: Pricing, name: str) -> Finding | None:
    """Lists that have almost the best value in random order too."""
    measure = price.request.measure
    worst, best = measure.metric.worst, measure.metric.best
    if not np.isfinite(best - worst) or _most_hits(price, name) < _ANY_ORDER:
        return None
    summary = price.summary(price.shuffled_of(name))
    share = (summary.mean - worst) / (best - worst)
    if summary.n_groups < _LEAST_USERS or not share >= _ANY_ORDER:
        return None
    sizes = np.bincount(price.tables.tested(name).user, minlength=price.tables.n_users)
    sizes = sizes[sizes > 0]
    means = {"random": summary.mean, "mean": price.summary(price.base[name]).mean}
    facts: Facts = {"measure": measure, **means}
    if measure.k is not None and (sizes <= measure.k).mean() > 1 / 2:
        facts |= {"kind": "everything", "n_whole": int((sizes <= measure.k).sum()), "k": measure.k}
        facts |= {"n_lists": sizes.size, "longest": sizes.max()}
    effects = price.effects({name: (price.base[name], price.shuffled_of(name))})
    return finding("any-order", summary.n_groups, (), effects, run=name, **facts)


def _most_hits(price: Pricing, name: str) -> float:
    """Return a bound of the share of lists in random order that begin with a relevant item.

    A sum over relevant ranks can't be larger. Of other measures, nothing is known: 1.
    """
    measure, run = price.request.measure, price.tables.tested(name)
    is_sum = measure.metric.rank_weights is not None and not price.has_low_grades
    if measure.k is None or not is_sum or not run.n_rows:
        return 1.0
    sizes, is_hit = np.bincount(run.user), price.is_positive(name)
    n_hits = np.bincount(run.user[is_hit], minlength=sizes.size)
    share = np.minimum(n_hits * measure.k / np.maximum(sizes, 1), 1.0)
    return float(share[sizes > 0].mean())


def single_positives(price: Pricing) -> Finding | None:
    """Users with one positive each, for whom two measures are one."""
    measure, users = price.request.measure, price.tables.positives.user
    n_positives = np.bincount(users)[np.unique(users)]
    if measure.name not in _SINGLE or n_positives.size < _LEAST_USERS or n_positives.max() > 1:
        return None
    same = _SINGLE[measure.name]
    return finding("single-positives", n_positives.size, measure=measure, same=same)


CHECKS = (one_value, any_order, same_as_first)
OF_TEST = (single_positives,)
