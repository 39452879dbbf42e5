"""Checks shared by the losses: scores against the target, labels, and weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.types import Mask, Offsets, PerGroup, PerRow, RowIndex

LEAST_CURVATURE = 1e-16  # the least divisor of a Newton step
TINY = float(np.finfo(np.float64).tiny)

LIMIT = 1e290  # of scores, weights and relevance; sums of larger numbers overflow


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
    return _within_limit(array, "scores", groups, advice)


def _within_limit(values: PerRow, name: str, groups: Groups, advice: str = "") -> PerRow:
    """Return the values, or raise if one is not finite, or so large that sums would overflow."""
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))  # nan if a value is
    if not largest < LIMIT:
        _check.finite(values, name, RowLabels(groups), advice=advice)
        row = int(np.abs(values).argmax())
        raise ArgumentError(
            f"{name} must be below {LIMIT:g} in size, so that no sum overflows, got "
            f"{values[row]:g} at row {row} (qid {_check.label(RowLabels(groups)[row])})."
        )
    return values


def relevance_of(relevance: Any, groups: Groups) -> PerRow:
    """Return relevances >= 0, one per row of the groups."""
    array = _check.column(relevance, "relevance")
    if array.size != groups.n_rows:
        raise ArgumentError(
            f"relevance and qid must have equal length, got {array.size} and {groups.n_rows}."
        )
    return _within_limit(_check.relevance(array, RowLabels(groups)), "relevance", groups)


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
    """Return weights >= 0, one per row; ones by default."""
    if weights is None:
        return np.ones(groups.n_rows)
    checked = _check.weights(weights, groups.n_rows, RowLabels(groups))
    by_row = _within_limit(checked, "weights", groups)
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


def group_shares(weights: Any, groups: Groups, loss_name: str, defined: Mask) -> PerGroup:
    """Return the factors of the groups' values that turn their plain mean into the weighted mean.

    The weights of rows are constant within groups. The mean of ``shares * values`` over the defined
    groups is ``sum(weights * values) / sum(weights)``. The factors of undefined groups are 0.
    """
    defined_weights = np.where(defined, group_weights(weights, groups, loss_name), 0.0)
    largest = float(defined_weights.max(initial=0.0))
    if largest > 0.0:
        defined_weights = defined_weights / largest  # so that no sum of weights overflows
    total = float(defined_weights.sum())
    if total == 0.0:
        if defined.any():
            raise ArgumentError(
                "weights are zero for all groups on which the loss is defined. "
                "Give at least one of them a weight > 0."
            )
        return defined_weights
    return defined_weights * (int(np.count_nonzero(defined)) / total)
