"""Checks of the scores and the values of each run: ties, order, and what they can't separate.

The gate and compare make `no_difference` too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from podium.data.ids import distinct
from podium.decide.audit.pricing import POPULARITY, Pricing
from podium.decide.audit.tables import Floats, Ints
from podium.decide.finding import Facts, fault, finding
from podium.evaluation.finding import Finding
from podium.evaluation.open_ties import differs
from podium.metrics import Measure
from podium.types import Mask

# A list that is worse than its reverse by this many standard errors is in the wrong order: chance
# does that to one in 30,000 lists without any information.
_SURE = 4.0
_LIKELY = 1.0  # standard errors, if the file is in the reverse order too
_ALMOST_ALL = 0.99  # share of rows, without a few that differ by chance
_MOST = 0.9  # share of lists
_LEAST_LISTS = 5  # with fewer lists, their order in the file is chance


def tied_scores(price: Pricing, name: str) -> Finding | None:
    """Lists whose value depends on the order of equal scores."""
    tables = price.tables
    best, worst = price.best[name], price.base[name]
    is_tied = best != worst
    is_tied &= ~(np.isnan(best) | np.isnan(worst))
    effects = partial(price.effects, {name: (best, worst)})
    examples = tables.examples("user", tables.test_users[is_tied])
    return fault("ties", is_tied[~np.isnan(worst)], examples, effects, run=name)


def constant_scores(price: Pricing, name: str) -> Finding | None:
    """Lists of which all items have the same score."""
    sizes, is_constant = _constant(price, name)
    count, total = int(is_constant.sum()), int((sizes > 1).sum())
    if not count or count < _MOST * total:
        return None
    examples = price.tables.examples("user", np.flatnonzero(is_constant))
    effects = price.effects({name: (price.best[name], price.base[name])})
    return finding("constant-scores", (count, total), examples, effects, run=name)


def reversed_scores(price: Pricing, name: str) -> Finding | None:
    """Lists that are better in reverse, such as distances that were read as scores."""
    reverse, base = price.with_scores(name, -price.lists[name].values), price.base[name]
    gain = price.summary(reverse - base)
    sign, share = price.request.measure.metric.sign, _steps(price, name, 1)
    is_file_reversed = share >= _ALMOST_ALL and not price.lists[name].is_order
    if not sign * gain.mean > (_LIKELY if is_file_reversed else _SURE) * gain.std_error:
        return None
    file = "Its rows are in the order of rising scores too. " if is_file_reversed else ""
    effects = price.effects({name: (base, reverse)})
    return finding("reversed-scores", gain.n_groups, (), effects, run=name, file=file)


def file_order(price: Pricing, name: str) -> Finding | None:
    """Lists of candidates whose positives come first in the file, though not by score."""
    tables = price.tables
    if _steps(price, name, -1) >= _ALMOST_ALL:
        return None  # the file is in the order of scores
    user, is_positive = tables.tested[name].user, price.is_positive[name]
    n_listed, n_positives = (
        np.bincount(user[rows], minlength=tables.n_users) for rows in (slice(None), is_positive)
    )
    place = np.arange(user.size) - (np.cumsum(n_listed) - n_listed)[user]
    n_first = np.bincount(user[is_positive & (place < n_positives[user])], minlength=tables.n_users)
    is_mixed = (n_positives > 0) & (n_positives < n_listed)
    is_first = is_mixed & (n_first == n_positives)
    count, total = int(is_first.sum()), int(is_mixed.sum())
    if total < _LEAST_LISTS or count < _MOST * total:
        return None
    best, base = price.best[name], price.base[name]
    effects, kind = price.effects({name: (best, base)}), "tied" if differs(best, base).any() else ""
    return finding("file-order", (count, total), (), effects, kind=kind, run=name)


def below_popularity(price: Pricing, name: str) -> Finding | None:
    """A run that is no better than a list without a model: popular, recent or own items."""
    if price.request.is_sampled:
        return None  # a list of sampled candidates is easier than a list of all items
    sign = price.request.measure.metric.sign
    run = price.summary(price.base[name])
    means = {n: price.summary(values).mean for n, values in price.baseline_values.items()}
    best = max(means, key=lambda n: sign * means[n])
    if not sign * (run.mean - means[best]) <= 0:
        return None
    facts: Facts = {"measure": price.request.measure, "mean": run.mean, "highest": means[best]}
    return finding("below-popularity", run.n_groups, run=name, best=best, **facts)


def same_scores(price: Pricing, name: str) -> Finding | None:
    """Items that have the same score in all lists, so that the user has no effect on scores."""
    run = price.tables.tested[name]
    first = np.zeros(price.tables.n_items)
    first[run.item] = run.values
    n_lists, n_listed = distinct(run.user).size, distinct(run.item).size
    is_same = run.values == first[run.item]
    is_open = run.is_order or n_lists < _LEAST_LISTS or run.n_rows < 2 * n_listed
    if is_open or is_same.mean() < _ALMOST_ALL or constant_scores(price, name) is not None:
        return None
    of, examples = (int(is_same.sum()), run.n_rows), price.tables.examples("item", run.item)
    popular = price.base.get(POPULARITY)
    is_popular = popular is not None and differs(price.base[name], popular).mean() < 1 - _MOST
    facts: Facts = {"n_items": n_listed, "n_lists": n_lists, "run": name}
    return finding("same-scores", of, examples, kind="popular" if is_popular else "", **facts)


def _constant(price: Pricing, name: str) -> tuple[Ints, Mask]:
    """Return the size of the list of each user, and whether its items have one score."""
    run, n_users = price.tables.tested[name], price.tables.n_users
    last = np.zeros(n_users)
    last[run.user] = run.values
    sizes = np.bincount(run.user, minlength=n_users)
    n_same = np.bincount(run.user[run.values == last[run.user]], minlength=n_users)
    return sizes, (sizes > 1) & (n_same == sizes)


def _steps(price: Pricing, name: str, sign: int) -> float:
    """Return the share of the rows of lists whose score rises (1) or falls (-1) from the last."""
    run = price.tables.tested[name]
    steps = sign * np.diff(run.values)[run.user[1:] == run.user[:-1]]
    return float((steps > 0).mean()) if steps.size else 0.0


CHECKS = (tied_scores, constant_scores, reversed_scores, file_order, same_scores)
OF_TRAIN = (below_popularity,)


_SIZE = 0.05  # of a test
_LEAST_USERS = 5  # with fewer users, equal values are chance
_MOST_PERFECT = 0.98  # share of users with the best value, above which runs have no room to differ
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
    if not is_same.all() and is_best.mean() < _MOST_PERFECT:
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
    draws = np.random.default_rng(0).random(price.lists[name].n_rows)
    in_random_order = price.with_scores(name, draws)
    summary = price.summary(in_random_order)
    share = (summary.mean - worst) / (best - worst)
    if summary.n_groups < _LEAST_USERS or not share >= _ANY_ORDER:
        return None
    sizes = np.bincount(price.tables.tested[name].user, minlength=price.tables.n_users)
    sizes = sizes[sizes > 0]
    means = {"random": summary.mean, "mean": price.summary(price.base[name]).mean}
    facts: Facts = {"measure": measure, **means}
    if measure.k is not None and (sizes <= measure.k).mean() > 1 / 2:
        facts |= {"kind": "everything", "n_whole": int((sizes <= measure.k).sum()), "k": measure.k}
        facts |= {"n_lists": sizes.size, "longest": sizes.max()}
    effects = price.effects({name: (price.base[name], in_random_order)})
    return finding("any-order", summary.n_groups, (), effects, run=name, **facts)


def _most_hits(price: Pricing, name: str) -> float:
    """Return a bound of the share of lists in random order that begin with a relevant item.

    A sum over relevant ranks can't be larger. Of other measures, nothing is known: 1.
    """
    measure, run = price.request.measure, price.tables.tested[name]
    is_sum = measure.metric.rank_weights is not None and not price.has_low_grades
    if measure.k is None or not is_sum or not run.n_rows:
        return 1.0
    sizes, is_hit = np.bincount(run.user), price.is_positive[name]
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


OF_VALUES = (one_value, any_order, same_as_first)
OF_TEST = (single_positives,)
