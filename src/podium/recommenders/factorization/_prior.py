"""The prior: a bias of items by their popularity, whose size held-out pairs choose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from podium.evaluation.stats.comparing import is_greater
from podium.executors import Executor
from podium.metrics.measures import parse_relevance
from podium.recommenders._pairs import Floats, Ints, Pairs
from podium.recommenders.factorization._descent import Factors
from podium.recommenders.factorization._passes import Validation, learned, of_users, report_end
from podium.recommenders.factorization._settings import Settings
from podium.types import Progress

_PURPOSE = 7  # the number of this purpose in the seeds of random draws
_SHARE = 0.1  # of the pairs of some users, which are held out
_MOST_USERS, _FEWEST_USERS = 10_000, 200  # whose pairs are held out, or none
_SURE = 3.0  # standard errors: five are tried, and a short fit profits more than a whole one
_MEASURE = "ndcg@20"  # a longer list than that of ndcg@10, and less noise
_PASSES = 1 / 3  # of those of the fit
_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)  # the priors to try, in units of `Settings.unit`


def bias(prior: float, item_counts: Ints) -> Floats:
    """Return the bias of items with these numbers of users."""
    return (prior * np.log1p(item_counts)).astype(np.float32)


def held_out(pairs: Pairs, seed: int) -> Validation | None:
    """Hold out random pairs of some users, each of whom keeps a pair; None if too few have any.

    All learned pairs have the same chance, so that users with few pairs are as rare among the users
    of held-out pairs as in a random test part.
    """
    rng = np.random.default_rng([seed, _PURPOSE])
    user = np.repeat(np.arange(pairs.n_users), np.diff(pairs.offsets))
    is_learned = pairs.weights > 0
    is_held_out = is_learned & (rng.random(user.size) < _SHARE)
    n_left = np.bincount(user, is_learned & ~is_held_out, pairs.n_users)
    is_held_out &= n_left[user] > 0
    users = rng.permutation(np.unique(user[is_held_out]))[:_MOST_USERS]
    if users.size < _FEWEST_USERS:
        return None
    is_held_out &= np.isin(user, users)
    held, rest = pairs.select(is_held_out), pairs.select(~is_held_out)
    return Validation(held, rest, parse_relevance(_MEASURE), None)


def short_fit(
    validation: Validation, settings: Settings, executor: Executor, progress: Progress
) -> Factors:
    """Return factors after a third of the passes over the pairs that are not held out."""
    pairs = validation.seen.learned()
    short = replace(settings, n_epochs=max(1, round(settings.n_epochs * _PASSES)))

    def show(done: int, total: int, note: str) -> None:
        progress(done, total, f"to choose the prior: {note}")

    factors, history = learned(pairs, short, executor, show)
    report_end(history, short.learning_rate)
    return factors


def choose(
    factors: Factors, validation: Validation, unit: float
) -> tuple[float, dict[str, NDArray[np.float64]]]:
    """Return a prior, and the means of all that were tried, for `history_`.

    It is the best one if its gain is more than three standard errors of the difference from no
    prior, paired by user, and otherwise 0.
    """
    counts = validation.seen.learned().item_counts()
    priors = np.array([float(f"{step * unit:.3g}") for step in _STEPS])
    values = np.stack(
        [
            of_users(replace(factors, bias=factors.bias + bias(prior, counts)), validation)
            for prior in priors
        ]
    )
    values = values[:, ~np.isnan(values).any(axis=0)]
    if values.shape[1] < _FEWEST_USERS:
        return 0.0, {}
    means = values.mean(axis=1)
    best = int(means.argmax())
    is_gain = is_greater(values[best], values[0], _SURE)
    sign = validation.measure.metric.sign
    tried = {"prior": priors, "prior_validation": sign * means}
    return float(priors[best]) if is_gain else 0.0, tried
