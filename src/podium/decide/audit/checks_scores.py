"""Checks of the scores of each run: ties, limits, their order, and lists without a model."""

from __future__ import annotations

import numpy as np

from podium._numbers import measured
from podium.data.best import top_rows
from podium.data.ids import distinct
from podium.decide.audit.finding import Finding, weigh
from podium.decide.audit.pricing import POPULARITY, Pricing
from podium.decide.audit.tables import Part, present
from podium.groups import Groups

# A list that is worse than its reverse by this many standard errors is in the wrong order: chance
# does that to one in 30,000 lists without any information.
_SURE = 4.0
_SATURATED = 0.05  # share of lists; a few ties at the highest score are chance
_SAME = 0.9  # share of users with the same list from which a run is not personal


def tied_scores(price: Pricing, name: str) -> Finding | None:
    """Lists whose value depends on the order of equal scores."""
    tables = price.tables
    best = price.values(tables.truth, tables.list_of(name), ties="best")
    worst = price.base[name]
    is_tied = best != worst
    is_tied &= ~(np.isnan(best) | np.isnan(worst))
    if not is_tied.any():
        return None
    count, total = int(is_tied.sum()), int((~np.isnan(worst)).sum())
    effects = (price.effect(name, best, worst),)
    remedy = (
        "If the engine that shows the lists has an order of its own, write its ranks instead of "
        "scores (--column rank=NAME). Otherwise write scores with more digits, or break ties in "
        "the model. "
        "podium measure TEST RUN --ties id orders equal scores by id, as trec_eval does."
    )
    return Finding(
        check="ties",
        severity=weigh("warning", count, total, effects),
        text=f"The value of {count:,} of the {total:,} lists of run {name} changes with the order "
        "of equal scores. The value with the fault places positives first, and the value without "
        "it places them last, as podium does by default.",
        remedy=remedy,
        count=count,
        total=total,
        noun="lists",
        examples=tables.user_examples(tables.test_users[is_tied]),
        effects=effects,
    )


def saturated_scores(price: Pricing, name: str) -> Finding | None:
    """Lists that begin with several items of the highest score of the whole run."""
    tables = price.tables
    run = tables.list_of(name)
    run = run.rows(present(tables.test_users, tables.n_users)[run.user])
    if not run.n_rows:
        return None
    is_highest = run.values == run.values.max()
    n_highest = np.bincount(run.user[is_highest], minlength=tables.n_users)
    users = np.flatnonzero(n_highest > 1)
    n_lists = distinct(run.user).size
    if users.size < _SATURATED * n_lists:
        return None
    best = price.values(tables.truth, tables.list_of(name), ties="best")
    base = price.base[name]
    is_affected = np.isin(tables.test_users, users)
    effects = (price.effect(name, np.where(is_affected, best, base), base),)
    # Of ranks and of integers that float64 would round, only the order is known.
    highest = "best rank or score" if run.is_order else f"highest score, {run.values.max():g}"
    return Finding(
        check="saturated-scores",
        severity=weigh("warning", users.size, n_lists, effects),
        text=f"Run {name} begins {users.size:,} of its {n_lists:,} lists with several items of its "
        f"{highest}. Scores that are cut off at a limit lose the order of the best items.",
        remedy="Write scores before the sigmoid, clipping or rounding.",
        count=users.size,
        total=n_lists,
        noun="lists",
        examples=tables.user_examples(users),
        effects=effects,
    )


def reversed_scores(price: Pricing, name: str) -> Finding | None:
    """Lists that are better in reverse, such as distances that were read as scores."""
    tables = price.tables
    run = tables.list_of(name)
    reverse = price.values(tables.truth, Part(run.user, run.item, -run.values))
    base = price.base[name]
    gain = price.summary(reverse - base)
    sign = price.request.measure.metric.sign
    if not sign * gain.mean > _SURE * gain.std_error:
        return None
    return Finding(
        check="reversed-scores",
        severity="error",
        text=f"Run {name} is better in reverse order. Its scores may be distances or ranks, for "
        "which lower values are better.",
        remedy="Negate the scores, or, if they are ranks, name their column: --column rank=NAME.",
        count=gain.n_groups,
        total=gain.n_groups,
        noun="lists",
        effects=(price.effect(name, base, reverse),),
    )


def below_popularity(price: Pricing, name: str) -> Finding | None:
    """A run that is no better than a list of the most popular items."""
    values, popular = price.base[name], price.base[POPULARITY]
    if price.request.is_sampled:
        return None  # a list of sampled candidates is easier than a list of all items
    sign = price.request.measure.metric.sign
    run, other = price.summary(values).mean, price.summary(popular).mean
    if not sign * (run - other) <= 0:
        return None
    n_users = price.summary(values).n_groups
    return Finding(
        check="below-popularity",
        severity="warning",
        text=f"Run {name} has {price.request.measure} {measured(run)}, and a list of the most "
        f"popular items has {measured(other)}. The run is no better than a list that ignores the "
        "user's taste.",
        remedy="Check the model, its training, and the ids of its lists. "
        "podium.recommenders.Popularity ranks items by popularity.",
        count=n_users,
        total=n_users,
        noun="users",
    )


def same_lists(price: Pricing, name: str) -> Finding | None:
    """A run that lists the same best item for almost every user."""
    run = price.tables.list_of(name)
    best = run.item[top_rows(Groups.from_qid(run.user), run.values, run.item, 1)[1]]
    if best.size < 2:
        return None
    share = np.bincount(best).max() / best.size
    if share < _SAME:
        return None
    return Finding(
        check="same-lists",
        severity="note",
        text=f"Run {name} has the same first item for {100 * share:.0f} % of its users. Its "
        "lists may not be personal.",
        remedy="Check that the list of each user was computed from this user's row of the model.",
        count=int(np.bincount(best).max()),
        total=best.size,
        noun="users",
        examples=price.tables.item_examples(best[best == np.bincount(best).argmax()]),
    )


CHECKS = (tied_scores, saturated_scores, reversed_scores, below_popularity, same_lists)
