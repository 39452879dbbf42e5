"""Unjudged items as bounds: the range of a measure, or of a difference, over all judgements.

An item is unjudged if it is in a user's list, but the truth has no row for this user and item. It
could have any relevance of the truth, or 0. Items in neither the lists nor the truth stay not
relevant. If a measure is undefined for a user with all unjudged items as not relevant, it stays
undefined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._json import plain
from podium.evaluation import _unjudged_kernels as kernels
from podium.evaluation._judgements import Minima, RunValues, Search, distinct_levels
from podium.evaluation.evaluation import Evaluation
from podium.metrics import Measure, parse, parse_all
from podium.metrics.measures import ByMeasure
from podium.protocol import Protocol
from podium.protocol.conventions import refuse_excluded
from podium.ranking import Ranking, kept_offsets
from podium.types import Labels, Mask, Offsets, PerGroup

if TYPE_CHECKING:
    from podium.data.unjudged import UnjudgedPool

_BOUNDS = {"unjudged": "bounds"}
_ROUNDING = 1e-12  # a difference that is this close to 0 is 0


@dataclass(frozen=True, eq=False)
class DifferenceBounds:
    """The range of candidate - base for each user, over all judgements of unjudged items.

    The judgements of users are independent. Therefore the range of a mean, also of a weighted one,
    is from the mean of `low` to the mean of `high`.

    Attributes
    ----------
    value : float64, (n_users,)
        The difference with all unjudged items as not relevant; nan if undefined.
    low, high : float64, (n_users,)
        The smallest and the largest difference, each of which some judgement reaches; nan if
        undefined.
    """

    value: PerGroup
    low: PerGroup
    high: PerGroup


@dataclass(frozen=True)
class UnjudgedRange:
    """The range of a mean difference over all judgements of unjudged items.

    Attributes
    ----------
    low, high : float
        The smallest and the largest mean difference, in units of the measure; nan without users.
    """

    low: float
    high: float

    @property
    def can_reverse(self) -> bool:
        """Whether the difference can have either sign, so that either run can be the better one."""
        return self.low < -_ROUNDING and self.high > _ROUNDING

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form; nan becomes None."""
        return {**plain(vars(self)), "can_reverse": self.can_reverse}


def judgement_bounds(
    ranking: Ranking, measure: str | Measure, grades: ArrayLike | None = None
) -> tuple[PerGroup, PerGroup]:
    """Return the smallest and largest value of a measure over all ways to judge unjudged items.

    Parameters
    ----------
    ranking : Ranking
        The lists; `judged` marks the judged ranks, as in ``data.ranking(unjudged="bounds")``. The
        order of its ties must not depend on relevance, which only `data.ranking` checks.
    measure : str or Measure
        precision, recall, rr or ndcg, with any options and cutoff.
    grades : (n_grades,), optional
        The relevances > 0 that an item can have; by default those of `ranking`. Only ndcg uses
        them. The other measures only use whether an item is positive.

    Returns
    -------
    low, high : float64, (n_groups,)
        Unitless, in [0, 1]; nan where the measure is undefined. Both are exact.

    Raises
    ------
    ArgumentError
        If the measure is not supported. For ndcg, also if there are more than 100 grades, if
        `grades` lacks a relevance of `ranking`, or if a grade is too high for its gain.

    Notes
    -----
    For recall and ndcg, an item below the cutoff matters too: if it is relevant, it increases
    the number of positives and improves the ideal list.
    Cost: O(n) per list after sorting, with n unjudged items; for ndcg with several grades,
    O(n_grades x n) for each of a few steps of Dinkelbach's method.

    References
    ----------
    dinkelbach1967.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [0, 1, 0], judged=[False, True, False])
    >>> judgement_bounds(r, "precision@2")
    (array([0.5]), array([1.]))
    >>> judgement_bounds(r, "recall@2")
    (array([0.5]), array([1.]))
    """
    parsed = parse(measure)
    refuse_excluded(_BOUNDS, [parsed])
    value = parsed(ranking)
    if ranking.judged is None:
        return value.copy(), value.copy()
    rows = np.flatnonzero(~ranking.judged)
    offsets = kept_offsets(~ranking.judged, ranking.groups.offsets)
    rank = rows + 1 - np.repeat(ranking.groups.offsets[:-1], np.diff(offsets))
    lists = RunValues(ranking, np.arange(ranking.n_groups), value, rank)
    search = Search(parsed, distinct_levels(parsed, ranking, grades), offsets, lists)
    low, high = search.minima(None, lists).values, 0.0 - search.minima(lists, None).values
    return np.minimum(low, value), np.maximum(high, value)


def difference_bounds(
    pool: UnjudgedPool, measures: str | Measure | Iterable[str | Measure]
) -> dict[str, DifferenceBounds]:
    """Return the range of the difference of two runs over all ways to judge unjudged items.

    An item that both lists contain has one judgement. The range of a difference can therefore be
    narrower than that of two independent values.

    Parameters
    ----------
    pool : UnjudgedPool
        The unjudged items of both runs, from `podium.data.pool_unjudged`.
    measures : str, Measure, or several
        precision, recall, rr or ndcg, with any options and cutoff.

    Returns
    -------
    dict of str to DifferenceBounds
        The ranges by measure, for the users of `pool`.

    Raises
    ------
    ArgumentError
        If a measure is not supported, or ndcg has more than 100 grades.

    Notes
    -----
    Cost: as in `judgement_bounds`.

    Examples
    --------
    >>> from podium.data import pool_unjudged
    >>> truth = {"user": [1, 1], "item": ["a", "b"]}
    >>> base = {"user": [1, 1], "item": ["x", "a"], "score": [2, 1]}
    >>> candidate = {"user": [1, 1], "item": ["a", "x"], "score": [2, 1]}
    >>> bounds = difference_bounds(pool_unjudged(truth, base, candidate), "rr")["rr"]
    >>> bounds.value, bounds.low, bounds.high
    (array([0.5]), array([0.]), array([0.5]))
    """
    result: dict[str, DifferenceBounds] = ByMeasure()
    for measure in parse_all(measures):
        base, candidate, search = _of_pool(pool, measure)
        value = candidate.value - base.value
        low = search.minima(base, candidate).values
        high = 0.0 - search.minima(candidate, base).values  # 0 - 0 is 0, and not -0
        result[str(measure)] = DifferenceBounds(
            value, np.minimum(low, value) + 0.0, np.maximum(high, value)
        )
    return result


def labels_to_settle(
    pool: UnjudgedPool, measure: str | Measure, *, weights: PerGroup | None = None
) -> dict[str, Labels]:
    """Return items whose judgement as not relevant settles which of two runs is better.

    The order of the runs is that of the means with all unjudged items as not relevant. If all
    returned items turn out not relevant, no judgement of the others can reverse it. It can then
    at most become a tie.

    Parameters
    ----------
    pool : UnjudgedPool
        The unjudged items of both runs, from `podium.data.pool_unjudged`.
    measure : str or Measure
        precision, recall, rr or ndcg, with any options and cutoff.
    weights : float64, (n_users,), optional
        The weights >= 0 of users in the means; by default, all are 1.

    Returns
    -------
    dict
        The columns user and item, one row per item, the most effective first. They are empty if no
        judgement can reverse the order, or if the means are equal, because there is no order then.

    Raises
    ------
    ArgumentError
        If the measure is not supported, ndcg has more than 100 grades, or weights are wrong.

    Notes
    -----
    The choice is greedy, so that fewer items can be sufficient. The items of one user are ordered
    by their largest possible harm. Items of different users are ordered by how much they narrow the
    range of the mean.
    Cost: n times that of `difference_bounds`, with n unjudged items of a user.

    Examples
    --------
    >>> from podium.data import pool_unjudged
    >>> truth = {"user": [1, 2, 3], "item": ["a", "a", "a"]}
    >>> base = {"user": [1, 2, 3], "item": ["x", "y", "a"], "rank": [1, 1, 1]}
    >>> candidate = {"user": [1, 2, 3], "item": ["a", "a", "z"], "rank": [1, 1, 1]}
    >>> pool = pool_unjudged(truth, base, candidate)
    >>> {name: ids.tolist() for name, ids in labels_to_settle(pool, "precision@1").items()}
    {'user': [1], 'item': ['x']}
    """
    base, candidate, search = _of_pool(pool, parse(measure))
    n_users = pool.labels.size
    shares = (
        np.ones(n_users)
        if weights is None
        else _check.weights(weights, n_users, pool.labels, name="weights")
    )
    difference = candidate.value - base.value
    is_defined = ~np.isnan(difference)
    total = float((shares * difference)[is_defined].sum())
    rows = np.empty(0, np.int64)
    if abs(total) > _ROUNDING * shares.sum():
        worse, better = (base, candidate) if total > 0 else (candidate, base)
        rows = _settling(search.minima(worse, better, with_fixed=True), pool.offsets, shares)
    users = np.searchsorted(pool.offsets, rows, side="right") - 1
    return {"user": pool.labels[users], "item": pool.items(rows)}


@dataclass(frozen=True, eq=False)
class UnjudgedRanges:
    """The ranges of the mean differences of two runs over all judgements of unjudged items.

    Attributes
    ----------
    pool : UnjudgedPool
        The unjudged items of both runs.
    bounds : dict of str to DifferenceBounds
        The bounds of each user by measure.
    users : Evaluation
        The evaluation of a run, with the rules for undefined groups and the weights of users.
    """

    pool: UnjudgedPool
    bounds: dict[str, DifferenceBounds]
    users: Evaluation

    @classmethod
    def read(
        cls, truth: Any, base: Any, candidate: Any, users: Evaluation, protocol: Protocol
    ) -> UnjudgedRanges:
        """Return the ranges of two runs for the users of an evaluation, with their weights."""
        from podium import data

        pool = data.pool_unjudged(truth, base, candidate, protocol, labels=users.labels)
        measures = [m for m in protocol.measures if m.metric.reads == "relevance"]
        return cls(pool, difference_bounds(pool, measures), users)

    def of(self, measure: str | Measure, rows: Mask | None = None) -> UnjudgedRange | None:
        """Return the range over some or all users; None for a measure without bounds."""
        bounds = self.bounds.get(str(measure))
        if bounds is None:
            return None
        is_undefined = np.isnan(bounds.value)
        weight = self.users.weight
        shares = np.ones(is_undefined.size) if weight is None else weight
        shares = shares if rows is None else np.where(rows, shares, 0.0)
        if self.users.undefined_rule(measure) in ("skip", "error"):
            shares = np.where(is_undefined, 0.0, shares)
        if not shares.any():
            return UnjudgedRange(np.nan, np.nan)
        low, high = (
            float(np.average(np.where(is_undefined, 0.0, ends), weights=shares))
            for ends in (bounds.low, bounds.high)
        )
        return UnjudgedRange(low, high)

    def labels_to_settle(self, measure: str | Measure) -> dict[str, Labels]:
        """Return the labels that settle the order; none if no judgement can reverse it."""
        reach = self.of(measure)
        if reach is None or not reach.can_reverse:
            return {"user": self.pool.labels[:0], "item": self.pool.items(np.empty(0, np.int64))}
        return labels_to_settle(self.pool, measure, weights=self.users.weight)


def _of_pool(pool: UnjudgedPool, measure: Measure) -> tuple[RunValues, RunValues, Search]:
    """Return the lists of base and candidate, and the search."""
    refuse_excluded(_BOUNDS, [measure])
    base, candidate = (
        RunValues(ranking, group, measure(ranking)[group], rank)
        for ranking, group, rank in (
            (pool.base, pool.base_group, pool.base_rank),
            (pool.candidate, pool.candidate_group, pool.candidate_rank),
        )
    )
    levels = distinct_levels(measure, pool.base, pool.grades)
    return base, candidate, Search(measure, levels, pool.offsets, base)


def _settling(minima: Minima, offsets: Offsets, shares: PerGroup) -> NDArray[np.int64]:
    """Return the items to fix as not relevant until the weighted sum of minima is >= 0."""
    first = minima.values[minima.offsets[:-1]]
    is_defined = ~np.isnan(first)
    reached = float((shares * first)[is_defined].sum())
    if reached >= 0.0:
        return np.empty(0, np.int64)
    user = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    place = np.arange(user.size) + user  # each user has one minimum more than items
    narrowed = shares[user] * (minima.values[place + 1] - minima.values[place])
    narrowed[np.isnan(narrowed)] = 0.0
    pooled = np.empty(narrowed.size)
    kernels.pooled_gains(offsets, narrowed, pooled)
    order = np.argsort(-pooled, kind="stable")
    is_settled = reached + np.cumsum(narrowed[order]) >= 0.0
    n_labels = int(is_settled.argmax()) + 1 if is_settled.any() else order.size
    return minima.order[order[:n_labels]]
