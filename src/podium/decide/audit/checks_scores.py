"""Checks of the scores of each run: ties, limits, their order, and lists without a model."""

from __future__ import annotations

import numpy as np

from podium.data.best import top_rows
from podium.data.ids import distinct
from podium.decide.audit.pricing import POPULARITY, Pricing
from podium.decide.audit.tables import Ints
from podium.decide.finding import Facts, finding
from podium.evaluation.finding import Finding
from podium.evaluation.open_ties import differs
from podium.groups import Groups
from podium.types import Mask

# A list that is worse than its reverse by this many standard errors is in the wrong order: chance
# does that to one in 30,000 lists without any information.
_SURE = 4.0
_LIKELY = 1.0  # standard errors, if the file is in the reverse order too
_ALMOST_ALL = 0.99  # share of rows, without a few that differ by chance
_MOST = 0.9  # share of lists
_LEAST_LISTS = 5  # with fewer lists, their order in the file is chance
_SATURATED = 0.05  # share of lists; a few ties at the highest score are chance
_SAME = 0.9  # share of users with the same list from which a run is not personal


def tied_scores(price: Pricing, name: str) -> Finding | None:
    """Lists whose value depends on the order of equal scores."""
    tables = price.tables
    best, worst = price.best_of(name), price.base[name]
    is_tied = best != worst
    is_tied &= ~(np.isnan(best) | np.isnan(worst))
    if not is_tied.any():
        return None
    count, total = int(is_tied.sum()), int((~np.isnan(worst)).sum())
    effects = price.effects({name: (best, worst)})
    examples = tables.user_examples(tables.test_users[is_tied])
    return finding("ties", (count, total), examples, effects, run=name)


def constant_scores(price: Pricing, name: str) -> Finding | None:
    """Lists of which all items have the same score."""
    sizes, is_constant = _constant(price, name)
    count, total = int(is_constant.sum()), int((sizes > 1).sum())
    if not count or count < _MOST * total:
        return None
    examples = price.tables.user_examples(np.flatnonzero(is_constant))
    effects = price.effects({name: (price.best_of(name), price.base[name])})
    return finding("constant-scores", (count, total), examples, effects, run=name)


def saturated_scores(price: Pricing, name: str) -> Finding | None:
    """Lists that begin with several items of the highest score of the whole run."""
    tables = price.tables
    run = tables.tested(name)
    if not run.n_rows or constant_scores(price, name) is not None:
        return None
    is_highest = run.values == run.values.max()
    n_highest = np.bincount(run.user[is_highest], minlength=tables.n_users)
    users = np.flatnonzero(n_highest > 1)
    n_lists = distinct(run.user).size
    if users.size < _SATURATED * n_lists:
        return None
    best, base = price.best_of(name), price.base[name]
    is_affected = np.isin(tables.test_users, users)
    effects = price.effects({name: (np.where(is_affected, best, base), base)})
    # Of ranks and of integers that float64 would round, only the order is known.
    highest = "best rank or score" if run.is_order else f"highest score, {run.values.max():g}"
    of, examples = (users.size, n_lists), tables.user_examples(users)
    return finding("saturated-scores", of, examples, effects, run=name, highest=highest)


def reversed_scores(price: Pricing, name: str) -> Finding | None:
    """Lists that are better in reverse, such as distances that were read as scores."""
    reverse, base = price.reverse_of(name), price.base[name]
    gain = price.summary(reverse - base)
    sign, share = price.request.measure.metric.sign, _steps(price, name, 1)
    is_file_reversed = share >= _ALMOST_ALL and not price.tables.list_of(name).is_order
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
    user, is_positive = tables.tested(name).user, price.is_positive(name)
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
    best, base = price.best_of(name), price.base[name]
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
    run = price.tables.tested(name)
    first = np.zeros(price.tables.n_items)
    first[run.item] = run.values
    n_lists, n_listed = distinct(run.user).size, distinct(run.item).size
    is_same = run.values == first[run.item]
    is_open = run.is_order or n_lists < _LEAST_LISTS or run.n_rows < 2 * n_listed
    if is_open or is_same.mean() < _ALMOST_ALL or constant_scores(price, name) is not None:
        return None
    of, examples = (int(is_same.sum()), run.n_rows), price.tables.item_examples(run.item)
    popular = price.base.get(POPULARITY)
    is_popular = popular is not None and differs(price.base[name], popular).mean() < 1 - _MOST
    facts: Facts = {"n_items": n_listed, "n_lists": n_lists, "run": name}
    return finding("same-scores", of, examples, kind="popular" if is_popular else "", **facts)


def same_lists(price: Pricing, name: str) -> Finding | None:
    """A run that lists the same best item for almost every user."""
    run = price.tables.list_of(name)
    best = run.item[top_rows(Groups.from_qid(run.user), run.values, run.item, 1)[1]]
    if best.size < 2 or same_scores(price, name) is not None:
        return None
    share = np.bincount(best).max() / best.size
    if share < _SAME:
        return None
    counts = np.bincount(best)
    of, examples = (
        (int(counts.max()), best.size),
        price.tables.item_examples(best[best == counts.argmax()]),
    )
    return finding("same-lists", of, examples, run=name, share=share)


def _constant(price: Pricing, name: str) -> tuple[Ints, Mask]:
    """Return the size of the list of each user, and whether its items have one score."""
    run, n_users = price.tables.tested(name), price.tables.n_users
    last = np.zeros(n_users)
    last[run.user] = run.values
    sizes = np.bincount(run.user, minlength=n_users)
    n_same = np.bincount(run.user[run.values == last[run.user]], minlength=n_users)
    return sizes, (sizes > 1) & (n_same == sizes)


def _steps(price: Pricing, name: str, sign: int) -> float:
    """Return the share of the rows of lists whose score rises (1) or falls (-1) from the last."""
    run = price.tables.tested(name)
    steps = sign * np.diff(run.values)[run.user[1:] == run.user[:-1]]
    return float((steps > 0).mean()) if steps.size else 0.0


CHECKS = (
    tied_scores,
    constant_scores,
    saturated_scores,
    reversed_scores,
    file_order,
    same_scores,
    same_lists,
)
OF_TRAIN = (below_popularity,)
