"""The claims of a gate, from the values of both runs for all users, and their intervals.

Intervals of paired differences are those of one look, of looks at any time, or until a horizon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from podium.decide.claims import Claim, Role
from podium.decide.pairs import Paired, Pairs
from podium.decide.rules import width
from podium.decide.state import State
from podium.evaluation.segments import numbers_in_order
from podium.evaluation.stats import (
    ClusteredMean,
    Interval,
    betting_interval,
    repeated_interval,
    spending_boundaries,
)
from podium.evaluation.stats.clustered import running_means
from podium.evaluation.unjudged import UnjudgedRanges
from podium.types import PerGroup


def claims(
    state: State, ranges: UnjudgedRanges | None = None, *, equal: bool = False
) -> Iterator[Claim]:
    """Yield the claims of the measures and floors for all users, then those of each segment.

    Parameters
    ----------
    state : State
    ranges : UnjudgedRanges, optional
        The ranges over all judgements of unjudged items.
    equal : bool
        Whether the runs have the same lists, so that no difference is tested.
    """
    everyone = np.arange(state.pairs.n_users)
    rules = state.rules
    level = rules.protocol.level
    for number, _ in enumerate(rules.limits):
        role: Role = "primary" if number == 0 else "guard"
        yield _claim(state, ranges, number, everyone, level, role, equal=equal)
    for measure, floor in rules.floors:
        number = rules.measures.index(measure)
        claim = _claim(state, None, number, everyone, level, "floor", floor=floor)
        # The interval has only values that the measure can have.
        lowest, highest = (bound - floor for bound in measure.metric.bounds)
        low, high = claim.interval
        within = Interval(max(low, lowest), min(high, highest))
        yield replace(claim, base=floor, interval=within)
    segments = [*_segments(state.pairs, state.looks[0])]
    measures = [i for i, _ in enumerate(rules.limits) if rules.measures[i].metric.is_mean]
    level = 1 - (1 - rules.protocol.level) / max(len(segments) * len(measures), 1)
    for by, name, rows in segments:
        for number in measures:
            yield _claim(state, ranges, number, rows, level, "segment", by, name, equal=equal)


def _segments(pairs: Pairs, n_first: int) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Yield the segments of the first look, with the positions of their users."""
    for by, column in pairs.segments.items():
        for name in sorted(np.unique(column[:n_first]).tolist(), key=numbers_in_order):
            if name:
                yield by, name, np.flatnonzero(column == name)


def _claim(
    state: State,
    ranges: UnjudgedRanges | None,
    number: int,
    rows: NDArray[np.int64],
    level: float,
    role: Role,
    by: str = "",
    segment: str = "",
    floor: float | None = None,
    equal: bool = False,
) -> Claim:
    measure, rules = state.rules.measures[number], state.rules
    unjudged = None
    if ranges is not None:
        unjudged = ranges.of(measure, np.isin(ranges.pool.labels, state.pairs.labels[rows]))
    pairs = state.pairs.of_measure(measure, rows)
    if floor is not None:
        pairs = replace(pairs, base=np.full_like(pairs.base, floor))
    if rules.looks == "any time":
        pairs = pairs.with_equal_clusters()
    estimate = pairs.difference()
    base, candidate = pairs.means()
    is_defined = pairs.is_defined
    is_used = is_defined if pairs.weight is None else is_defined & (pairs.weight > 0)
    claim = Claim(
        role=role,
        measure=str(measure),
        by=by,
        segment=segment,
        higher_is_better=measure.metric.higher_is_better,
        base=base,
        candidate=candidate,
        difference=estimate.mean,
        std_error=estimate.std_error,
        interval=_interval(state, pairs, rows, estimate, level),
        level=level,
        limit=rules.limits[number] if floor is None else 0.0,
        n_users=int(is_used.sum()),
        n_undefined=int(is_defined.size - is_defined.sum()),
        unjudged=unjudged,
    )
    if not equal or not claim.n_users:
        return claim
    # The lists are the same, so that the difference of each user is 0.
    return replace(claim, is_equal=True, difference=0.0, interval=Interval(0.0, 0.0))


def _interval(
    state: State,
    pairs: Paired,
    arrival: NDArray[np.int64],
    estimate: ClusteredMean,
    level: float,
) -> Interval:
    """Return the interval of the mean difference.

    Parameters
    ----------
    state : State
    pairs : Paired
        Some or all users, in the order of arrival.
    arrival : int64, (n_users,)
        The position of each of these users among all users in the order of arrival.
    estimate : ClusteredMean
        The mean difference of these users.
    level : float
        The level of the interval.

    Returns
    -------
    Interval
        Its low end exceeds its high end if the intervals of two looks contradict each other.
    """
    rules, looks, widest = state.rules, state.looks, width(pairs.measure)
    if rules.looks == "any time":
        return betting_interval(_by_cluster(pairs), (-widest, widest), level=level)
    widening = widest if np.isfinite(widest) else 0.0  # increases the variance; see `gate`
    if rules.looks == "once":
        return estimate.interval(level, widest, widened=widening)
    horizon = rules.horizon or looks[-1]
    counts = np.searchsorted(arrival, looks)
    fractions = tuple(n / horizon for n in looks)
    boundaries = _boundaries(fractions, (1 - level) / 2, tuple(counts.tolist()))
    estimates = _estimates(pairs, counts)
    low, high = -widest, widest
    for estimate, boundary in zip(estimates, boundaries, strict=True):
        error = estimate.error(widening)
        if np.isnan(error) or np.isinf(boundary):
            continue  # fewer than two users, or no error to spend
        repeated = repeated_interval(estimate.mean, error, estimate.n_clusters - 1, boundary)
        low, high = max(low, repeated.low), min(high, repeated.high)
    return Interval(low, high)


def _estimates(pairs: Paired, counts: NDArray[np.int64]) -> list[ClusteredMean]:
    """Return the mean differences of the first users at each look."""
    if pairs.weight is None and pairs.cluster is None:
        return running_means(pairs.differences, counts)
    return [pairs.rows(slice(count)).difference() for count in counts.tolist()]


def _by_cluster(pairs: Paired) -> PerGroup:
    """Return the defined differences, or their mean per cluster, in the order of arrival."""
    values = pairs.differences
    is_defined = ~np.isnan(values)
    if pairs.cluster is None:
        return values[is_defined]
    _, first, codes = np.unique(pairs.cluster[is_defined], return_index=True, return_inverse=True)
    means = np.bincount(codes, values[is_defined]) / np.bincount(codes)
    return means[np.argsort(first)]


@lru_cache(maxsize=64)
def _boundaries(fractions: tuple[float, ...], alpha: float, counts: tuple[int, ...]) -> list[float]:
    return spending_boundaries(fractions, alpha, counts=counts).tolist()
