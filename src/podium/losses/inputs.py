"""Checks and units shared by the losses: scores against the target, labels, and weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError, CostWarning, warn
from podium.groups import Groups
from podium.types import Mask, Offsets, PerGroup, PerRow, RowIndex

LEAST_CURVATURE = 1e-16  # the least divisor of a Newton step
TINY = float(np.finfo(np.float64).tiny)


_HUGE = 1e290  # larger scores are scaled down, because sums of their differences overflow
_DOWN = 2.0**-100
_MANY_PAIRS = 1e9  # a pair takes about a nanosecond


class RowLabels:
    """A sequence of the group label of each row, looked up only for error messages."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def __len__(self) -> int:
        return self._groups.n_rows

    def __getitem__(self, row: int) -> Any:
        return self._groups.labels[self._groups.index[row]]


def scores_of(scores: Any, groups: Groups) -> PerRow:
    """Return finite contiguous scores, one per row of the target."""
    array = _check.column(scores, "scores")
    if array.size != groups.n_rows:
        raise ArgumentError(
            f"scores and the target must have equal length, got {array.size} and {groups.n_rows}."
        )
    advice = "Look for overflow in the model: scale its features, or take smaller steps."
    _check.finite(array, "scores", RowLabels(groups), advice=advice)
    return array


def in_units(scores: PerRow) -> tuple[PerRow, float]:
    """Return the scores in a unit in which sums of differences do not overflow, and that unit.

    The unit is 1 except for huge scores, for which it is a power of two, so that no digit
    changes.
    """
    if max(scores.max(initial=0.0), -scores.min(initial=0.0)) < _HUGE:
        return scores, 1.0
    return scores * _DOWN, _DOWN


def out_of_units(values: PerGroup, unit: float) -> None:
    """Convert values back from the unit of `in_units`, in place; inf if they overflow."""
    if unit != 1.0:
        with np.errstate(over="ignore"):
            values /= unit


def warn_about_pairs(n_pairs: float, name: str, advice: str) -> None:
    """Warn, before the first evaluation, if a loss visits more than 1e9 pairs of rows."""
    if n_pairs > _MANY_PAIRS:
        warn(
            f"{name} visits {n_pairs:.2g} pairs of rows in each evaluation, which takes about "
            f"{n_pairs / _MANY_PAIRS:.2g} s. {advice}",
            CostWarning,
        )


def relevance_of(relevance: Any, groups: Groups) -> PerRow:
    """Return relevances >= 0, one per row of the groups."""
    array = _check.column(relevance, "relevance")
    if array.size != groups.n_rows:
        raise ArgumentError(
            f"relevance and qid must have equal length, got {array.size} and {groups.n_rows}."
        )
    return _check.relevance(array, RowLabels(groups))


def rows_by_group(groups: Groups) -> RowIndex:
    """Return the positions of all rows, group after group."""
    return np.arange(groups.n_rows) if groups.order is None else groups.order


def positives_first(positive: Mask, groups: Groups) -> tuple[RowIndex, Offsets]:
    """Return the rows sorted by (group, negative), stably, and where each of these parts begins."""
    from podium._kernels import counting_order, read_only

    rows = np.empty(positive.size, np.int64)
    bounds = np.zeros(2 * groups.n_groups + 1, np.int64)
    counting_order(read_only(2 * groups.index + ~positive), 0, bounds, rows)
    return rows, bounds


def row_weights(weights: Any, groups: Groups) -> PerRow:
    """Return weights >= 0, one per row, in a unit in which no sum overflows; ones by default."""
    if weights is None:
        return np.ones(groups.n_rows)
    by_row = in_units(_check.weights(weights, groups.n_rows, RowLabels(groups)))[0]
    if by_row.size and not by_row.any():
        raise ArgumentError("weights are all zero. Give at least one row a weight > 0.")
    return by_row


def group_weights(weights: Any, groups: Groups, loss_name: str) -> PerGroup:
    """Return one weight per group, from row weights that must be constant within groups."""
    if weights is None:
        return np.ones(groups.n_groups)
    by_row = row_weights(weights, groups)
    index = groups.index
    per_group = np.zeros(groups.n_groups)
    per_group[index] = by_row
    differing_rows = np.flatnonzero(by_row != per_group[index])
    if differing_rows.size:
        row = int(differing_rows[0])
        raise ArgumentError(
            f"weights must be constant within a group for {loss_name}, got {by_row[row]:g} and "
            f"{per_group[index[row]]:g} in qid {_check.label(groups.labels[index[row]])}. "
            "Pass one weight per group."
        )
    return per_group


def shares(weights: PerGroup, defined: Any) -> PerGroup:
    """Return the factors of the groups' values that turn their plain mean into the weighted mean.

    The mean of ``shares * values`` over the defined groups is
    ``sum(weights * values) / sum(weights)``. The factors of undefined groups are 0.
    """
    defined_weights = np.where(defined, weights, 0.0)
    largest = float(defined_weights.max(initial=0.0))
    if largest > 0.0:
        defined_weights = defined_weights / largest  # so that no sum of weights overflows
    total = float(defined_weights.sum())
    if total == 0.0:
        if bool(np.any(defined)):
            raise ArgumentError(
                "weights are zero for all groups on which the loss is defined. "
                "Give at least one of them a weight > 0."
            )
        return defined_weights
    return defined_weights * (int(np.count_nonzero(defined)) / total)


def group_shares(weights: Any, groups: Groups, loss_name: str, defined: Mask) -> PerGroup:
    """Return the `shares` of row weights that are constant within groups."""
    return shares(group_weights(weights, groups, loss_name), defined)
